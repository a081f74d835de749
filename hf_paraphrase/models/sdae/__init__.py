"""The sequential denoising autoencoder of Hill, Cho and Korhonen (2016), as paper 004 uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_sdae import SdaeConfig as SdaeConfig
    from .modeling_sdae import SdaeModel as SdaeModel

_MODULE_OF = {"SdaeConfig": ".configuration_sdae", "SdaeModel": ".modeling_sdae"}

__all__ = ["SdaeConfig", "SdaeModel"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
