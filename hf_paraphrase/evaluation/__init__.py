"""Benchmarks of sentence encoders, one module a benchmark, and the floors that need no training.

All of them take a function from texts to vectors, such as `SentenceEncoder.encode`. `find_sts_sets` reads the STS
sets below a folder and `evaluate_sts` correlates cosines with their scores; `dev_scorer` makes the function by which
`EncoderTrainer` chooses an epoch, and `evaluate_detection` measures how well paraphrases are told from other pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_exports

if TYPE_CHECKING:
    from .correlation import correlations, cosine_similarities
    from .dev import dev_scorer
    from .graded_set import GradedSet, read_graded_folder
    from .mteb_encoder import MtebEncoder
    from .paraphrase import evaluate_detection, read_task
    from .sts import StsResult, evaluate_sts
    from .sts_files import find_sts_sets

__getattr__, __dir__, __all__ = lazy_exports(__name__)
