"""What every output of this package is, and how models and data of any origin are opened.

`artefact` makes an output that appears whole or not at all, with its record (`provenance`), its card (`cards`,
`card_heads`), to which later results can be added, and its `report`. `hub_models` finds the folder of a model by its
name and `model_loading` opens it; `remote_paths` reads data at URLs. Start reading at `artefact`.
"""

from __future__ import annotations
