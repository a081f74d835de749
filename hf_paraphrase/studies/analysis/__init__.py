"""How back-translations differ from human references (paper 000, tables 9 to 11).

A data folder of pairs goes in; n-grams, repetition, and what a reference classifier relies on come out, as tables
and examples. Start with `pairs`, the recipe of `analyze pairs`.
"""

from __future__ import annotations
