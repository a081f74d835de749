"""The classifier of sentence pairs in two languages: are they translations of each other (paper 002)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_parallel_bigru import ParallelBiGruConfig as ParallelBiGruConfig
    from .modeling_parallel_bigru import ParallelBiGruModel as ParallelBiGruModel

_MODULE_OF = {
    "ParallelBiGruConfig": ".configuration_parallel_bigru",
    "ParallelBiGruModel": ".modeling_parallel_bigru",
}

__all__ = ["ParallelBiGruConfig", "ParallelBiGruModel"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
