"""The model types, one self-contained folder each, so that its files travel to the Hub as custom code."""

from __future__ import annotations
