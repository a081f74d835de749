"""Paraphrase data from bitext and small, fast sentence embeddings, native to the Hugging Face libraries.

Importing the package is cheap: public names are loaded at first use, and the model types are registered with the Auto
classes of transformers as soon as those are imported, before or after this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy_attributes
from .models.registration import register_when_imported

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .encoding.search import SearchIndex as SearchIndex
    from .encoding.sentence_encoder import SentenceEncoder as SentenceEncoder
    from .errors import HfParaphraseError as HfParaphraseError
    from .errors import HubError as HubError
    from .errors import InputError as InputError
    from .errors import ModelError as ModelError
    from .errors import OutputError as OutputError
    from .errors import UsageError as UsageError
    from .models.avg import AvgConfig as AvgConfig
    from .models.avg import AvgModel as AvgModel
    from .models.gran import GranConfig as GranConfig
    from .models.gran import GranModel as GranModel
    from .models.parallel_bigru import ParallelBiGruConfig as ParallelBiGruConfig
    from .models.parallel_bigru import ParallelBiGruModel as ParallelBiGruModel
    from .models.recurrent import RecurrentConfig as RecurrentConfig
    from .models.recurrent import RecurrentModel as RecurrentModel
    from .models.reference_classifier import ReferenceClassifier as ReferenceClassifier
    from .models.reference_classifier import ReferenceClassifierConfig as ReferenceClassifierConfig
    from .models.rnn_search import RnnSearchConfig as RnnSearchConfig
    from .models.rnn_search import RnnSearchForConditionalGeneration as RnnSearchForConditionalGeneration
    from .models.sdae import SdaeConfig as SdaeConfig
    from .models.sdae import SdaeModel as SdaeModel
    from .models.sentence_classifier import SentenceClassifier as SentenceClassifier
    from .models.sentence_classifier import SentenceClassifierConfig as SentenceClassifierConfig

_MODULE_OF = {
    "SearchIndex": ".encoding.search",
    "SentenceEncoder": ".encoding.sentence_encoder",
    "HfParaphraseError": ".errors",
    "HubError": ".errors",
    "InputError": ".errors",
    "ModelError": ".errors",
    "OutputError": ".errors",
    "UsageError": ".errors",
    "AvgConfig": ".models.avg",
    "AvgModel": ".models.avg",
    "GranConfig": ".models.gran",
    "GranModel": ".models.gran",
    "ParallelBiGruConfig": ".models.parallel_bigru",
    "ParallelBiGruModel": ".models.parallel_bigru",
    "RecurrentConfig": ".models.recurrent",
    "RecurrentModel": ".models.recurrent",
    "ReferenceClassifier": ".models.reference_classifier",
    "ReferenceClassifierConfig": ".models.reference_classifier",
    "RnnSearchConfig": ".models.rnn_search",
    "RnnSearchForConditionalGeneration": ".models.rnn_search",
    "SdaeConfig": ".models.sdae",
    "SdaeModel": ".models.sdae",
    "SentenceClassifier": ".models.sentence_classifier",
    "SentenceClassifierConfig": ".models.sentence_classifier",
}

__all__ = ["__version__", *_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)

register_when_imported()
