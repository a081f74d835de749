"""Benchmarks of sentence encoders, one module a benchmark, and the floors that need no training."""

from __future__ import annotations
