"""What every output of this package is, and how models and data of any origin are opened.

Start reading at `artefact`; `hub_models` finds the folder of a model by its name, `model_loading` opens it.
"""

from __future__ import annotations
