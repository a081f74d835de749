"""The models as transformers knows them: `configuration_x.py`, `modeling_x.py`, `tokenization_x.py`, shared layers.

A model's files import torch, transformers and their siblings only, so that a folder that `save_pretrained` writes
takes along exactly what it needs to open elsewhere. `registry` lists the model types and makes the Auto
classes know them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .configuration_avg import AvgConfig
    from .configuration_concatenation import ConcatenationConfig
    from .configuration_gran import GranConfig
    from .configuration_parallel_bigru import ParallelBiGruConfig
    from .configuration_recurrent import RecurrentConfig
    from .configuration_reference_classifier import ReferenceClassifierConfig
    from .configuration_rnn_search import RnnSearchConfig
    from .configuration_sdae import SdaeConfig
    from .configuration_sentence_classifier import SentenceClassifierConfig
    from .modeling_avg import AvgModel
    from .modeling_concatenation import ConcatenationModel
    from .modeling_gran import GranModel
    from .modeling_parallel_bigru import ParallelBiGruModel
    from .modeling_recurrent import RecurrentModel
    from .modeling_reference_classifier import ReferenceClassifier
    from .modeling_rnn_search import RnnSearchForConditionalGeneration
    from .modeling_sdae import SdaeModel
    from .modeling_sentence_classifier import SentenceClassifier
    from .tokenization_concatenation import ConcatenationTokenizer
    from .tokenization_rnn_search import RnnSearchTokenizer

__getattr__, __dir__, __all__ = lazy_exports(__name__)
