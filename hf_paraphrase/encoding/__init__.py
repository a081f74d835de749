"""What trained models make of texts: embeddings, nearest neighbours, classes and scores.

`SentenceEncoder` embeds texts, `build_index` and `SearchIndex` find the sentences of a corpus that are nearest to
others, `SentenceJudge` gives the classes or scores of a supervised model, and `ParallelClassifier` tells whether
sentences of two languages are translations of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .index_builder import BuiltIndex as BuiltIndex
    from .index_builder import IndexOptions as IndexOptions
    from .index_builder import build_index as build_index
    from .parallel_classification import ParallelClassifier as ParallelClassifier
    from .reference_classification import ReferenceScorer as ReferenceScorer
    from .search import Neighbour as Neighbour
    from .search import SearchIndex as SearchIndex
    from .sentence_classification import SentenceJudge as SentenceJudge
    from .sentence_encoder import SentenceEncoder as SentenceEncoder

_MODULE_OF = {
    "BuiltIndex": ".index_builder",
    "IndexOptions": ".index_builder",
    "build_index": ".index_builder",
    "ParallelClassifier": ".parallel_classification",
    "ReferenceScorer": ".reference_classification",
    "Neighbour": ".search",
    "SearchIndex": ".search",
    "SentenceJudge": ".sentence_classification",
    "SentenceEncoder": ".sentence_encoder",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
