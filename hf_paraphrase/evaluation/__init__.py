"""Benchmarks of sentence encoders, as tables of data, and the baselines that need no training.

`evaluate` measures models and baselines on suites, lines of `hf_paraphrase.registry.SUITES` that recognise their data:
these are read once, each scorer is measured, and all are laid out side by side. STS protocols are a table in `sts`,
transfer tasks one in `transfer_tasks`. All of it takes any function from texts to vectors, such as
`SentenceEncoder.encode`; Start reading at `run` and `suite`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from ..artefacts.card_heads import Measurement as Measurement
    from ..encoders.dev_sets.pair_sets import GradedSet, read_graded_folder
    from ..encoders.dev_sets.scorer import dev_scorer
    from ..encoders.dev_sets.sts_files import find_sts_sets
    from .baselines import Scorer
    from .correlation import correlations, cosine_similarities
    from .evaluate_settings import EvaluateSettings
    from .paraphrase import evaluate_detection, read_task
    from .run import Evaluation, evaluate
    from .sts import evaluate_sts
    from .suite import Benchmark, Scores, Suite

__getattr__, __dir__, __all__ = lazy_exports(__name__)
