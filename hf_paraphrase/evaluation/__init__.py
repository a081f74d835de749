"""Benchmarks of sentence encoders, as tables of data, and the baselines that need no training.

`evaluate` measures models and baselines on suites, the entries of `hf_paraphrase.registry.SUITES`, which recognise
their data. A suite reads its data once, measures each scorer, and formats a table with a column per scorer. `sts` has
a table of STS protocols, `transfer_tasks` a table of tasks. The functions accept any encoder from texts to vectors,
such as `SentenceEncoder.encode`. Start reading at `run` and `suite`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        ".artefacts.card_metadata": ["Measurement"],
        ".encoders.dev_sets.pair_sets": ["GradedSet", "read_graded_folder"],
        ".encoders.dev_sets.scorer": ["dev_scorer"],
        ".encoders.dev_sets.sts_files": ["find_sts_sets"],
        "baselines": ["Scorer"],
        ".vectors.similarity": ["correlations", "cosine_similarities"],
        "evaluate_settings": ["EvaluateSettings"],
        "paraphrase": ["evaluate_detection", "read_task"],
        "run": ["Evaluation", "evaluate"],
        "sts": ["evaluate_sts"],
        "suite": ["Benchmark", "Scores", "Suite"],
    },
)
