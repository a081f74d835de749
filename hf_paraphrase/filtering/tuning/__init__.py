"""Choosing a selection of pairs: encoders are trained on many, and the dev set chooses (paper 000, section 5.4).

`tuning_grids` says which selections are tried, `selection_pool` and `pair_pool` draw their pairs, `tuning_choice`
chooses, and `tuning_tables` and `tuning_plot` show what was found. The verb is `tune`.
"""

from __future__ import annotations
