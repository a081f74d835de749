"""Parallel sentences in two monolingual collections: candidates, scores, decisions and their measures."""

from __future__ import annotations
