"""The registry of similarities that need no training, by the name that `evaluate --baseline` takes."""

from __future__ import annotations

from .character_trigrams import trigram_similarity, weighted_trigram_similarity
from .graded_set import Similarity
from .word_counts import word_count_similarity

FLOORS: dict[str, Similarity] = {
    "words": word_count_similarity,
    "trigrams": trigram_similarity,
    "weighted-trigrams": weighted_trigram_similarity,
}
