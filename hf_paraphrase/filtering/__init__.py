"""Measures, which add columns to pairs, and selections, which are predicates on columns."""

from __future__ import annotations
