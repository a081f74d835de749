"""One room a study: what only one of the papers needs, with all that belongs to it; the core imports none of them.

`analysis` compares back-translations with references (paper 000, its tables 9 to 11), `supervised` and `gates` are of
paper 001, `mining` of 002, `detection` of 003, `expansion` and `sdae` of 004. Each room has its recipes, named in its
own `__init__`.
"""

from __future__ import annotations
