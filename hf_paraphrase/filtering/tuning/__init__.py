"""Choosing a selection of pairs: encoders are trained on many selections, and the dev set chooses (paper 000, 5.4)."""

from __future__ import annotations
