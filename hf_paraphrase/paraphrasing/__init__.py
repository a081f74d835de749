"""Makes ranked paraphrases of sentences.

Start at `run.py`, the command `paraphrase`, and `paraphraser.py`, which filters and ranks the candidates of a
generator (`generators.py`): `seq2seq.py`, `chat_model.py`, `endpoint.py`.
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
