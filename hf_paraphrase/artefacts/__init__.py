"""What every output of this package is, and how the models and data of any origin are opened.

An output folder appears whole or not at all (`folders`), says how it was made (`provenance`, `origins`) and carries
its card (`cards`), whose head the Hub reads (`card_heads`, `measurements`) and which later measurements are added to
(`evaluated_cards`). `hub_models` finds the folder of a model by its name, `model_loading` opens it (`weights`,
`int8_tables`); `files` reads single files, `remote_paths` data folders at URLs. Start reading at `folders`.
"""

from __future__ import annotations
