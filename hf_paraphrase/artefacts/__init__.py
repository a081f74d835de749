"""What every output of this package is, and what is checked before a folder of others is opened.

An output folder appears whole or not at all (`folders`), says how it was made (`provenance`, `origins`) and carries
its card (`cards`), whose head the Hub reads (`card_heads`, `measurements`) and which later measurements are added to
(`evaluated_cards`). Names, sizes, links and shapes of what came from elsewhere are looked at before a library opens
it (`untrusted_files`, `untrusted_models`); `model_loading` and `hub_models` then do. Start reading at `folders`.
"""

from __future__ import annotations
