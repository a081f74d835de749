"""Benchmarks of sentence encoders, one module a benchmark, and the floors that need no training.

All of them take a function from texts to vectors, such as `SentenceEncoder.encode`. `find_sts_sets` reads the STS
sets below a folder and `evaluate_sts` correlates cosines with their scores; `dev_scorer` makes the function by which
`EncoderTrainer` chooses an epoch, and `evaluate_detection` measures how well paraphrases are told from other pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .correlation import correlations as correlations
    from .correlation import cosine_similarities as cosine_similarities
    from .dev import dev_scorer as dev_scorer
    from .graded_set import GradedSet as GradedSet
    from .graded_set import read_graded_folder as read_graded_folder
    from .mteb_encoder import MtebEncoder as MtebEncoder
    from .paraphrase import evaluate_detection as evaluate_detection
    from .paraphrase import read_task as read_task
    from .sts import StsResult as StsResult
    from .sts import evaluate_sts as evaluate_sts
    from .sts_files import find_sts_sets as find_sts_sets

_MODULE_OF = {
    "correlations": ".correlation",
    "cosine_similarities": ".correlation",
    "dev_scorer": ".dev",
    "GradedSet": ".graded_set",
    "read_graded_folder": ".graded_set",
    "MtebEncoder": ".mteb_encoder",
    "evaluate_detection": ".paraphrase",
    "read_task": ".paraphrase",
    "StsResult": ".sts",
    "evaluate_sts": ".sts",
    "find_sts_sets": ".sts_files",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
