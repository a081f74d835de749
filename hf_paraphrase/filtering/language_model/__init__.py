"""A 3-gram language model: modified Kneser-Ney estimation, ARPA files, and queries on arrays."""

from __future__ import annotations
