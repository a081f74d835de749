"""Writes the outputs of this package, and finds and opens models and data.

Start reading at `artefact`; `hub_models` finds the folder of a model by its name, `model_loading` opens it.
"""

from __future__ import annotations
