"""Chooses a selection of pairs by training encoders on many selections (Wieting et al. 2017, section 5.4).

Folders of pairs and a dev set go in, tables, a plot and a card come out. Start with `grid_search`, the recipe `tune`:
`runs` draws the pairs of a selection, trains encoders on them, chooses one and formats tables.
"""

from __future__ import annotations
