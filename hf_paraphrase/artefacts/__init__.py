"""Outputs of this package, and opening models and data of any origin.

Start reading at `artefact`; `hub_models` finds the folder of a model by its name, `model_loading` opens it.
"""

from __future__ import annotations
