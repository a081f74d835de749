"""Measures of pairs, one module a measure; :mod:`.registry` lists them."""

from __future__ import annotations
