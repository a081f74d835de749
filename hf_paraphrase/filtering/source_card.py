"""The name under which filtering gives out what :mod:`..data.source_card` reads from the card of a data folder."""

from __future__ import annotations

from ..data.source_card import inherited_metadata

__all__ = ["inherited_metadata"]
