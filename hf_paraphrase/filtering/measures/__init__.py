"""Measures of pairs, a file a measure; :data:`~hf_paraphrase.registry.MEASURES` names them.

A measure reads columns of a batch of pairs and adds columns. `base` says what a measure is; `length` is the shortest
example, `similarity` one with an option and a model.
"""

from __future__ import annotations
