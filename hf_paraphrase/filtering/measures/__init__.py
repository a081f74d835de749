"""Measures of pairs; :data:`~hf_paraphrase.registry.MEASURES` names them.

A measure reads columns of a batch of pairs and adds columns. `base` says what a measure is; `wording` has those of
words alone, the others have a file each, with their options and what they load.
"""

from __future__ import annotations
