"""Compares back-translations with human references (Wieting et al. 2017, tables 9 to 11).

It reports n-grams, repetition, and the cues of a reference classifier on a data folder of pairs, as tables and
examples. Start with `pairs`, the command `analyze pairs`.
"""

from __future__ import annotations
