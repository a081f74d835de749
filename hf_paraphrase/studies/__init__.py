"""A package for each study: all that only one of the papers needs; the core imports none of them.

`analysis` compares back-translations with references (paper 000, its tables 9 to 11), `supervised` and `gates` are of
paper 001, `mining` of 002, `detection` of 003, `expansion` and `sdae` of 004. The recipes of each are named in its
`__init__`.
"""

from __future__ import annotations
