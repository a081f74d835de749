# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from .configurations import (
    AvgConfig,
    ConcatenationConfig,
    GranConfig,
    ParallelBiGruConfig,
    RecurrentConfig,
    RnnSearchConfig,
    SdaeConfig,
    SentenceClassifierConfig,
)
from .modeling_avg import AvgModel
from .modeling_concatenation import ConcatenationModel
from .modeling_gran import GranModel
from .modeling_parallel_bigru import ParallelBiGruModel
from .modeling_recurrent import RecurrentModel
from .modeling_rnn_search import RnnSearchForConditionalGeneration
from .modeling_sdae import SdaeModel
from .modeling_sentence_classifier import SentenceClassifier
from .tokenization_concatenation import ConcatenationTokenizer
from .tokenization_rnn_search import RnnSearchTokenizer

__all__ = [
    "AvgConfig",
    "AvgModel",
    "ConcatenationConfig",
    "ConcatenationModel",
    "ConcatenationTokenizer",
    "GranConfig",
    "GranModel",
    "ParallelBiGruConfig",
    "ParallelBiGruModel",
    "RecurrentConfig",
    "RecurrentModel",
    "RnnSearchConfig",
    "RnnSearchForConditionalGeneration",
    "RnnSearchTokenizer",
    "SdaeConfig",
    "SdaeModel",
    "SentenceClassifier",
    "SentenceClassifierConfig",
]
