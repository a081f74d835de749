"""Choosing a selection of pairs: encoders are trained on many, and the dev set chooses (paper 000, section 5.4).

Folders of pairs and a dev set go in, tables, a plot and a card come out. Start with `grid_search`, the recipe `tune`:
`settings` says which selections are tried, `selection_pool` draws their pairs, `runs` trains the encoders, and
`results` chooses and shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .grid_search import tune

__getattr__, __dir__, __all__ = lazy_exports(__name__)
