"""The vocabulary of a new encoder and the initial vectors of its words."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..training.word_vectors import FREQUENCY_CONSTANT, Coverage, WordVectors, initial_embeddings, read_counts
from .initial_vectors import (
    SENTENCE_ENCODER,
    check_coverage,
    kind_of_source,
    read_initial_vectors,
    read_word_list,
    words_of_tokens,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast


@dataclass
class EncoderVocabulary:
    """The tokens of a new encoder.

    Attributes:
        tokenizer: Its tokenizer.
        sizes: The number of token vectors of each part, in the order of their ids; one for most encoders.
        words: The tokenizer of the first part if its tokens are words, or sub-words, which can have vectors.
        vectors: Their initial vectors; None starts all at random.
    """

    tokenizer: PreTrainedTokenizerBase
    sizes: list[int]
    words: PreTrainedTokenizerFast | None
    vectors: WordVectors | None


def with_trigrams(
    words: tuple[PreTrainedTokenizerFast, WordVectors | None] | None,
    sentences: Iterable[str],
    *,
    vocabulary_size: int | None,
    min_frequency: int,
    lower_case: bool,
    skip_unknown: bool,
) -> EncoderVocabulary:
    """Adds the character trigrams of some sentences to words, or makes a vocabulary of trigrams alone."""
    from ..models.tokenization_concatenation import ConcatenationTokenizer
    from ..tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary

    trigram_list = trigram_vocabulary(
        sentences, lower_case=lower_case, min_frequency=min_frequency, max_size=vocabulary_size
    )
    trigrams = build_character_trigram_tokenizer(trigram_list, lower_case=lower_case, skip_unknown=skip_unknown)
    if words is None:
        return EncoderVocabulary(trigrams, [len(trigrams)], None, None)
    tokenizer, vectors = words
    sizes = [len(tokenizer), len(trigrams)]
    return EncoderVocabulary(ConcatenationTokenizer(parts=[tokenizer, trigrams]), sizes, tokenizer, vectors)


def word_level_vocabulary(
    sentences: Iterable[str],
    *,
    initial_vectors: str | os.PathLike[str] | None = None,
    word_list: str | os.PathLike[str] | None = None,
    vocabulary_size: int | None = None,
    min_frequency: int = 1,
    lower_case: bool = True,
    contractions: bool = True,
    treebank: bool = False,
    dimension: int | None = None,
    show_progress_bar: bool = False,
) -> tuple[PreTrainedTokenizerFast, WordVectors | None]:
    """Builds a word-level tokenizer, and reads the initial vectors of its words.

    The words are those of the sentences, then those of the word list, then those of the source of vectors (a sentence
    encoder has none of its own), until the vocabulary is full.

    Returns:
        The tokenizer, and the vectors that were read.
    """
    from ..tokenization.word_level import build_word_level_tokenizer, reachable_words, sentence_vocabulary

    kind = None if initial_vectors is None else kind_of_source(initial_vectors)
    style: dict[str, Any] = {"lower_case": lower_case, "contractions": contractions, "treebank": treebank}
    listed = [] if word_list is None else reachable_words(read_word_list(word_list), **style)
    vocabulary = sentence_vocabulary(sentences, min_frequency=min_frequency, max_size=vocabulary_size, **style)
    words = list(dict.fromkeys([*vocabulary, *listed]))[:vocabulary_size]
    vectors = None
    if initial_vectors is not None:
        room = sys.maxsize if vocabulary_size is None else vocabulary_size - len(words)
        vectors = read_initial_vectors(
            initial_vectors, words, first=room, dimension=dimension, show_progress_bar=show_progress_bar
        )
        if kind != SENTENCE_ENCODER:
            words = list(dict.fromkeys([*words, *reachable_words(vectors.words, **style)]))
    return build_word_level_tokenizer(words[:vocabulary_size], **style), vectors


def given_vocabulary(
    folder: str | os.PathLike[str],
    *,
    initial_vectors: str | os.PathLike[str] | None = None,
    dimension: int | None = None,
    show_progress_bar: bool = False,
) -> tuple[PreTrainedTokenizerFast, WordVectors | None]:
    """Opens a tokenizer of any fast kind, and reads the initial vectors of its tokens.

    A sub-word token gets the vector of the word that it alone spells. Only where the vectors come from a saved model
    with the very same vocabulary does every token have one.
    """
    from ..tokenization.encoder_tokenizer import load_encoder_tokenizer

    if initial_vectors is not None:
        kind_of_source(initial_vectors)
    tokenizer = load_encoder_tokenizer(folder)
    if initial_vectors is None:
        return tokenizer, None
    special = set(tokenizer.all_special_tokens)
    words = dict.fromkeys(word for word in words_of_tokens(tokenizer) if word and word not in special)
    vectors = read_initial_vectors(
        initial_vectors,
        list(words),
        first=0,
        dimension=dimension,
        pieces=tokenizer.convert_ids_to_tokens(range(len(tokenizer))),
        show_progress_bar=show_progress_bar,
    )
    return tokenizer, vectors


def start_embeddings(
    tokenizer: PreTrainedTokenizerFast,
    vectors: WordVectors | None,
    token_counts: NDArray[np.int64],
    *,
    dimension: int,
    frequency_weights: bool = False,
    frequency_constant: float = FREQUENCY_CONSTANT,
    frequency_counts: str | os.PathLike[str] | None = None,
    seed: int = 0,
) -> tuple[NDArray[np.float32], Coverage]:
    """Aligns initial vectors with a tokenizer's vocabulary; `token_counts` (vocabulary,) are of the training data.

    Returns:
        The matrix (vocabulary, dimension), float32, and the coverage.
    """
    size = len(tokenizer)
    counts = None
    if frequency_weights and frequency_counts is not None:
        counts = read_counts(frequency_counts, tokenizer, size)
    matrix, coverage = initial_embeddings(
        tokenizer.convert_ids_to_tokens(range(size)),
        vectors,
        dimension=dimension,
        pad_id=tokenizer.pad_token_id,
        unknown_id=tokenizer.unk_token_id,
        counts=token_counts,
        frequency_weights=frequency_weights,
        seed=seed,
        weight_counts=counts,
        constant=frequency_constant,
        texts=None if vectors is None or vectors.by_token else words_of_tokens(tokenizer),
    )
    if vectors is not None:
        check_coverage(coverage, vectors.source or "")
    return matrix, coverage
