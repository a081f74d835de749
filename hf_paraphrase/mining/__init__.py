"""Mines bitext: finds the pairs of sentences in two collections that are translations of each other.

Start at `mine.py`, the command `mine`. `collections.py` reads sentences and known pairs, `candidates.py` finds and
scores candidate pairs, and `scores.py` computes margins, precision and recall.
"""

from __future__ import annotations
