"""Mining of bitext: two collections of sentences go in, the pairs that translate each other come out.

Start at `mine.py`, the recipe of the verb `mine`. `collections.py` reads the sentences and known pairs,
`candidates.py` finds and scores candidate pairs, `margins.py` and `curves.py` are the arithmetic of scores and of
precision and recall.
"""

from __future__ import annotations
