"""A package for each study; the core does not import them.

`analysis` compares back-translations with references (Wieting et al. 2017, tables 9 to 11). `gates` belongs to Gimpel
et al., `mining` to Grégoire and Langlais (2017), `detection` to Sjöblom et al. (2018), `expansion` and `sdae` to
Moskvichev and Steyvers.
"""

from __future__ import annotations
