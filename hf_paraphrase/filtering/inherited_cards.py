"""The name under which filtering gives out what `data_card_fields` reads from the card of a data folder."""

from __future__ import annotations

from ..artefacts.data_card_fields import inherited_metadata

__all__ = ["inherited_metadata"]
