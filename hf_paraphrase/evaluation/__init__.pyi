# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import evaluate

from ..artefacts.card_metadata import Measurement
from ..encoders.dev_sets.pair_sets import GradedSet, read_graded_folder
from ..encoders.dev_sets.scorer import dev_scorer
from ..encoders.dev_sets.sts_files import find_sts_sets
from ..vectors.similarity import correlations, cosine_similarities
from .baselines import Scorer
from .evaluate_settings import EvaluateSettings
from .paraphrase import evaluate_detection, read_task
from .run import Evaluation
from .sts import evaluate_sts
from .suite import Benchmark, Scores, Suite

__all__ = [
    "Benchmark",
    "EvaluateSettings",
    "Evaluation",
    "GradedSet",
    "Measurement",
    "Scorer",
    "Scores",
    "Suite",
    "correlations",
    "cosine_similarities",
    "dev_scorer",
    "evaluate",
    "evaluate_detection",
    "evaluate_sts",
    "find_sts_sets",
    "read_graded_folder",
    "read_task",
]
