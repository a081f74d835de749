"""Paraphrase data from bitext and small, fast sentence embeddings, native to the Hugging Face libraries.

Importing the package is cheap: public names are loaded at first use, and the model types are registered with the Auto
classes of transformers as soon as those are imported, before or after this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy_exports
from .models.registration import register_when_imported

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .encoders.search import SearchIndex
    from .encoders.sentence_encoder import SentenceEncoder
    from .errors import HfParaphraseError, HubError, InputError, ModelError, OutputError, UsageError
    from .models.configuration_avg import AvgConfig
    from .models.configuration_gran import GranConfig
    from .models.configuration_parallel_bigru import ParallelBiGruConfig
    from .models.configuration_recurrent import RecurrentConfig
    from .models.configuration_reference_classifier import ReferenceClassifierConfig
    from .models.configuration_rnn_search import RnnSearchConfig
    from .models.configuration_sdae import SdaeConfig
    from .models.configuration_sentence_classifier import SentenceClassifierConfig
    from .models.modeling_avg import AvgModel
    from .models.modeling_gran import GranModel
    from .models.modeling_parallel_bigru import ParallelBiGruModel
    from .models.modeling_recurrent import RecurrentModel
    from .models.modeling_reference_classifier import ReferenceClassifier
    from .models.modeling_rnn_search import RnnSearchForConditionalGeneration
    from .models.modeling_sdae import SdaeModel
    from .models.modeling_sentence_classifier import SentenceClassifier

__getattr__, __dir__, __all__ = lazy_exports(__name__)

register_when_imported()
