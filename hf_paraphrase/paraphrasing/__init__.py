"""Paraphrases of sentences: sentences go in, ranked pairs of a sentence and a paraphrase come out.

Start at `run.py`, the recipe of the verb `paraphrase`, and `paraphraser.py`, which filters and ranks (`ranking.py`)
the candidates of a generator (`generators.py`): `round_trips.py`, `seq2seq.py`, `chat_model.py`, `endpoint.py`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "generators": ["ApiOptions", "Candidate", "Generator", "SamplingOptions"],
        "paraphraser": ["Paraphraser"],
        "run": ["paraphrase", "paraphrase_file"],
    },
)
