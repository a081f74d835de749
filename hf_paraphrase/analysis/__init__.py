"""Corpus statistics and plots of the papers, one idea a file."""

from __future__ import annotations
