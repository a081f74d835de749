"""Paraphrases of sentences: sentences go in, ranked pairs of a sentence and a paraphrase come out.

Start at `paraphraser.py`, the recipe of the verb `paraphrase`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "paraphraser": ["Paraphraser", "paraphrase", "paraphrase_file"],
    },
)
