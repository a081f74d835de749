"""tokenization."""

from __future__ import annotations
