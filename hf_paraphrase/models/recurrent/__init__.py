"""Recurrent sentence encoders: the LSTM and LSTM-average of paper 001, and their relatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_recurrent import RecurrentConfig as RecurrentConfig
    from .modeling_recurrent import RecurrentModel as RecurrentModel

_MODULE_OF = {"RecurrentConfig": ".configuration_recurrent", "RecurrentModel": ".modeling_recurrent"}

__all__ = ["RecurrentConfig", "RecurrentModel"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
