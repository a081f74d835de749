"""An encoder that is to be trained, from its name: its vocabulary, its initial vectors, its random weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..data.pair_rows import PairSource, iterate_pairs
from ..errors import UsageError
from ..messages import is_main_process
from ..training.word_vectors import FREQUENCY_CONSTANT
from .encoded_pairs import EncodedPairs
from .encoder_vocabulary import (
    EncoderVocabulary,
    given_vocabulary,
    start_embeddings,
    with_trigrams,
    word_level_vocabulary,
)
from .kinds import encoder_kind, new_encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ..training.word_vectors import Coverage
    from .train_settings import NewEncoderSettings


def sentences_of(pairs: PairSource, *, max_pairs: int | None = None, seed: int = 0) -> Iterator[str]:
    """Streams the sentences of pairs, block by block first sides and then second ones."""
    blocks = iterate_pairs(pairs, max_pairs=max_pairs, seed=seed)
    return chain.from_iterable(chain(first, second) for first, second in blocks)


def untrained_encoder(
    name: str,
    pairs: EncodedPairs | PairSource,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    seed: int = 0,
    **settings: Any,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Makes an encoder with random weights for some pairs."""
    kind = encoder_kind(name)
    if kind.trigrams:
        raise UsageError(f"the tokens of `{name}` are not words alone", remedy="use hf_paraphrase.train_encoder")
    if tokenizer is None:
        if isinstance(pairs, EncodedPairs | Iterator):
            raise UsageError(
                "there are no sentences to take words from", remedy="give a tokenizer as processing_class"
            )
        tokenizer, _ = word_level_vocabulary(sentences_of(pairs), min_frequency=2, vocabulary_size=200_000)
    vocabulary = EncoderVocabulary(tokenizer, [len(tokenizer)], None, None)
    return new_encoder(name, vocabulary, seed=seed, **settings), tokenizer


def new_vocabulary(settings: NewEncoderSettings, sentences: Callable[[], Iterable[str]]) -> EncoderVocabulary:
    """Builds or opens the tokenizer, and reads or makes the initial vectors of its words."""
    kind = encoder_kind(settings.model_type)
    common: dict[str, Any] = {
        "initial_vectors": settings.initial_vectors,
        # Encoders whose embeddings have a size of their own take word vectors of any size.
        "dimension": None if kind.own_embedding_size else settings.hidden_size,
        "show_progress_bar": is_main_process(),
    }
    size: dict[str, Any] = {
        "vocabulary_size": settings.vocabulary_size or None,
        "min_frequency": settings.min_frequency,
        "lower_case": settings.lower_case,
    }
    words = None
    if settings.tokenizer is not None:
        words = given_vocabulary(settings.tokenizer, **common)
    elif kind.words:
        words = word_level_vocabulary(
            sentences(),
            word_list=settings.word_list,
            contractions=settings.split_contractions,
            treebank=settings.treebank_words,
            **size,
            **common,
        )
    if kind.trigrams:
        return with_trigrams(words, sentences(), skip_unknown=bool(settings.skip_unknown), **size)
    assert words is not None
    return EncoderVocabulary(words[0], [len(words[0])], *words)


def untrained_model(
    settings: NewEncoderSettings,
    vocabulary: EncoderVocabulary,
    counts: Callable[[int], NDArray[np.int64]],
    *,
    seed: int,
) -> tuple[PreTrainedModel, Coverage | None]:
    """Makes the encoder with its initial vectors.

    Returns:
        The encoder, and how many words have an initial vector (None without such vectors).
    """
    import torch

    vectors = vocabulary.vectors
    kind = encoder_kind(settings.model_type)
    # Trigrams that are to be skipped do not get past their tokenizer.
    options = [name for name in kind.option_names if kind.words or name != "skip_unknown"]
    model = new_encoder(
        settings.model_type,
        vocabulary,
        hidden_size=settings.hidden_size,
        embedding_size=None if vectors is None else vectors.matrix.shape[1],
        seed=seed,
        dropout=settings.dropout,
        word_dropout=settings.word_dropout,
        **{name: getattr(settings, name) for name in options},
    )
    if vocabulary.words is None or (vectors is None and not settings.frequency_weights):
        return model, None
    embeddings = model.get_parameter("embeddings")
    matrix, coverage = start_embeddings(
        vocabulary.words,
        vectors,
        counts(len(embeddings))[: vocabulary.sizes[0]],
        dimension=embeddings.shape[1],
        frequency_weights=settings.frequency_weights,
        frequency_constant=settings.frequency_constant or FREQUENCY_CONSTANT,
        frequency_counts=settings.frequency_counts,
        seed=seed,
    )
    with torch.no_grad():
        # Tokens behind the words, e.g. trigrams, keep their random start.
        embeddings[: len(matrix)].copy_(torch.from_numpy(matrix))
    return model, coverage if vectors is not None else None
