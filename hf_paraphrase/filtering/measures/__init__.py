"""Measures of pairs; :data:`~hf_paraphrase.registry.MEASURES` names them.

A measure reads columns of a batch of pairs and adds columns. `base` says what a measure is; `wording` has those of
words alone, `models`, `cost` and `language` those that load something, with their options.
"""

from __future__ import annotations
