"""Translation: training RNNsearch on bitext, measuring it, and translating the foreign side back."""

from __future__ import annotations
