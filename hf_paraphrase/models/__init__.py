"""The models of the package, in the file layout of transformers.

A model's files import only torch, transformers and their siblings. `save_pretrained` copies these files into the
model's folder, which then opens without this package. `registry` registers the model types with the Auto classes.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "configurations": [
            "AvgConfig",
            "ConcatenationConfig",
            "GranConfig",
            "ParallelBiGruConfig",
            "RecurrentConfig",
            "RnnSearchConfig",
            "SdaeConfig",
            "SentenceClassifierConfig",
        ],
        "modeling_avg": ["AvgModel"],
        "modeling_concatenation": ["ConcatenationModel"],
        "modeling_gran": ["GranModel"],
        "modeling_parallel_bigru": ["ParallelBiGruModel"],
        "modeling_recurrent": ["RecurrentModel"],
        "modeling_rnn_search": ["RnnSearchForConditionalGeneration"],
        "modeling_sdae": ["SdaeModel"],
        "modeling_sentence_classifier": ["SentenceClassifier"],
        "tokenization_concatenation": ["ConcatenationTokenizer"],
        "tokenization_rnn_search": ["RnnSearchTokenizer"],
    },
)
