"""Prepares the encoder to train: a new encoder with its vocabulary and word vectors, or one to continue from."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import fetched_folder, model_folder
from ..artefacts.model_loading import load_tokenizer
from ..data.pair_rows import PairSource, iterate_pairs
from ..errors import ModelError, UsageError
from ..inputs import temporary_folder
from ..messages import is_main_process
from ..registry import BUILTINS, ENCODERS
from ..settings import flag
from ..tokenization.character_trigram import looks_like_trigrams
from ..tokenization.ragged_ids import TokenIds
from ..training.word_vectors import Coverage, WordVectors, fill_embeddings, words_of_tokens
from .architectures import (
    DROPOUTS,
    check_own_class,
    find_encoder_class,
    get_architecture,
    new_encoder,
    read_third_party_type,
)
from .backends.batch_tokenizer import InputProcessing
from .backends.sentence_transformers_files import is_onnx_folder
from .backends.static_table import read_static
from .encoded_pairs import EncodedPairs
from .initial_vectors import read_initial_vectors, read_word_list

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

    from .sentence_encoder import SentenceEncoder

Encoded = TypeVar("Encoded", EncodedPairs, TokenIds)


@dataclass
class EncoderVocabulary:
    """The tokenizer of a new encoder, its part for words or subwords, and the initial vectors of the words."""

    tokenizer: PreTrainedTokenizerBase
    words: PreTrainedTokenizerFast | None = None
    vectors: WordVectors | None = None


def word_level_vocabulary(
    sentences: Iterable[str],
    *,
    initial_vectors: str | os.PathLike[str] | None = None,
    word_list: str | os.PathLike[str] | None = None,
    vocab_size: int | None = None,
    min_frequency: int = 1,
    dimension: int | None = None,
    show_progress_bar: bool = False,
    **style: Any,
) -> tuple[PreTrainedTokenizerFast, WordVectors | None]:
    """Build a word-level tokenizer, and read the initial vectors of its words.

    The vocabulary has the words of the sentences, then of the word list, then of a source of vectors with a table,
    up to `vocab_size`. `style` goes to :func:`~..tokenization.word_level.build_word_level_tokenizer`.
    """
    from ..tokenization.word_level import build_word_level_tokenizer, reachable_words, sentence_vocabulary

    listed = [] if word_list is None else reachable_words(read_word_list(word_list), **style)
    vocabulary = sentence_vocabulary(sentences, min_frequency=min_frequency, max_size=vocab_size, **style)
    words = list(dict.fromkeys([*vocabulary, *listed]))[:vocab_size]
    vectors = None
    if initial_vectors is not None:
        num_free = sys.maxsize if vocab_size is None else vocab_size - len(words)
        vectors = read_initial_vectors(
            initial_vectors, words, first=num_free, dimension=dimension, show_progress_bar=show_progress_bar
        )
        words = list(dict.fromkeys([*words, *reachable_words(vectors.words, **style)]))
    return build_word_level_tokenizer(words[:vocab_size], **style), vectors


def load_vocabulary(
    folder: str | os.PathLike[str], initial_vectors: str | os.PathLike[str] | None = None, **options: Any
) -> tuple[PreTrainedTokenizerFast, WordVectors | None]:
    """Open a fast tokenizer, and read the initial vectors of its tokens.

    A token gets the vector of the word that it spells. If the vectors come from a model with the same vocabulary,
    every token gets its vector.
    """
    from ..tokenization.encoder_pieces import load_encoder_tokenizer

    tokenizer = load_encoder_tokenizer(folder)
    if initial_vectors is None:
        return tokenizer, None
    special = set(tokenizer.all_special_tokens)
    words = dict.fromkeys(word for word in words_of_tokens(tokenizer) if word and word not in special)
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    return tokenizer, read_initial_vectors(initial_vectors, list(words), first=0, pieces=pieces, **options)


def stream_sentences(pairs: PairSource, *, max_pairs: int | None = None, seed: int = 0) -> Iterator[str]:
    """Stream the sentences of pairs, for each block the first and then the second sentences."""
    blocks = iterate_pairs(pairs, max_pairs=max_pairs, seed=seed)
    return chain.from_iterable(chain(first, second) for first, second in blocks)


def make_untrained_encoder(
    name: str,
    pairs: EncodedPairs | PairSource,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    seed: int = 0,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Make an encoder with random weights for some pairs."""
    if get_architecture(name).trigrams:
        raise UsageError(f"the tokens of `{name}` are not words alone", remedy="use hf_paraphrase.train_encoder")
    if tokenizer is None:
        if isinstance(pairs, EncodedPairs | Iterator):
            remedy = "give a tokenizer as processing_class"
            raise UsageError("cannot build a vocabulary: no training sentences", remedy=remedy)
        tokenizer, _ = word_level_vocabulary(stream_sentences(pairs), min_frequency=2, vocab_size=200_000)
    return new_encoder(name, tokenizer, seed=seed), tokenizer


def make_vocabulary(settings: Any, sentences: Callable[[], Iterable[str]]) -> EncoderVocabulary:
    """Build or open the tokenizer, and read or make the initial vectors of its words."""
    from ..models.tokenization_concatenation import ConcatenationTokenizer
    from ..tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary

    architecture = get_architecture(settings.model_type)
    options: dict[str, Any] = {
        "initial_vectors": settings.initial_vectors,
        "dimension": None if architecture.own_embedding_size else settings.hidden_size,
        "show_progress_bar": is_main_process(),
    }
    style = {"lower_case": settings.lower_case}
    max_size, min_frequency = settings.vocab_size or None, settings.min_frequency
    words = vectors = None
    if settings.tokenizer is not None:
        words, vectors = load_vocabulary(settings.tokenizer, **options)
    elif architecture.words:
        words, vectors = word_level_vocabulary(
            sentences(),
            word_list=settings.word_list,
            vocab_size=max_size,
            min_frequency=min_frequency,
            contractions=settings.split_contractions,
            treebank=settings.treebank_words,
            **style,
            **options,
        )
    if architecture.trigrams:
        trigrams = trigram_vocabulary(sentences(), min_frequency=min_frequency, max_size=max_size, **style)
        tokenizer = build_character_trigram_tokenizer(trigrams, skip_unknown=bool(settings.skip_unknown), **style)
        if words is not None:
            tokenizer = ConcatenationTokenizer(parts=[words, tokenizer])
        return EncoderVocabulary(tokenizer, words, vectors)
    assert words is not None
    return EncoderVocabulary(words, words, vectors)


def make_untrained_model(
    settings: Any,
    vocabulary: EncoderVocabulary,
    counts: Callable[[int], NDArray[np.int64]],
    *,
    seed: int,
) -> tuple[PreTrainedModel, Coverage | None]:
    """Make the encoder with its initial vectors, and count the words that have one (None without such vectors)."""
    vectors = vocabulary.vectors
    architecture = get_architecture(settings.model_type)
    # The tokenizer of trigrams skips unknown trigrams itself.
    options = [name for name in architecture.options if architecture.words or name != "skip_unknown"]
    model = new_encoder(
        settings.model_type,
        vocabulary.tokenizer,
        hidden_size=settings.hidden_size,
        embedding_size=None if vectors is None else vectors.matrix.shape[1],
        seed=seed,
        **{name: getattr(settings, name) for name in ("dropout", "word_dropout", *options)},
    )
    if vocabulary.words is None or vectors is None:
        return model, None
    embeddings = model.get_parameter("embeddings")
    # Tokens after the words, such as trigrams, keep their random vectors.
    words, occurring = vocabulary.words, counts(len(embeddings))[: len(vocabulary.words)]
    return model, fill_embeddings(embeddings, words, vectors, occurring, seed)


def prepare_encoder(
    settings: Any,
    sentences: Callable[[], Iterable[str]],
    encode: Callable[[Any], Encoded],
) -> tuple[SentenceEncoder, Encoded, Coverage | None]:
    """Open the encoder to continue from or make a new one, and tokenize the training data.

    `sentences` streams the text of a new vocabulary. `encode` tokenizes the data with a tokenizer or an encoder.
    """
    from .sentence_encoder import SentenceEncoder

    if settings.initial_model is not None:
        encoder = as_trainable_encoder(model_folder(settings.initial_model, any_type=True))
        config = encoder.model.config
        for option in DROPOUTS:
            rate = getattr(settings, option)
            if hasattr(encoder.model, "embeddings") and hasattr(config, option):
                setattr(config, option, rate or 0.0)
            elif rate:
                what = f"{flag(option)} is not for a model of type `{config.model_type}`"
                raise UsageError(what, remedy="leave it out")
        return encoder, encode(encoder), None
    vocabulary = make_vocabulary(settings, sentences)
    encoded = encode(vocabulary.tokenizer)
    model, coverage = make_untrained_model(settings, vocabulary, encoded.counts, seed=settings.seed)
    return SentenceEncoder(model, vocabulary.tokenizer), encoded, coverage


def read_initial_type(name: str | os.PathLike[str]) -> str:
    """Return the type of encoder of a folder, as in :data:`~hf_paraphrase.registry.ENCODERS`.

    The tokenizer distinguishes averages of words and of character trigrams, which are of one class. A table of another
    library is an `avg`. The type of a transformer is its model type, such as `bert`.
    """
    folder = model_folder(name, any_type=True)
    if is_onnx_folder(folder):
        raise ModelError("an ONNX export cannot be trained", path=folder, remedy="give the model it was made from")
    third_party = read_third_party_type(folder)
    if third_party in (None, "sentence-transformers"):
        table = read_static(folder)
        if table is not None and not table.has_tokenizer:
            return "avg"  # of model2vec, or a StaticEmbedding
    if third_party is not None:
        return third_party
    model_class = find_encoder_class(folder)
    types = [name for name in ENCODERS if get_architecture(name).model_class is model_class]
    if not types:
        model_type = model_class.config_class.model_type
        remedy = "give a folder that train-encoder made"
        raise ModelError(f"a model of type `{model_type}` cannot be trained on pairs", path=folder, remedy=remedy)
    if len(types) > 1:
        config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True)
        trigrams = looks_like_trigrams(load_tokenizer(folder, config.vocab_size).backend_tokenizer)
        types = [name for name in types if get_architecture(name).trigrams == trigrams] or types
    return types[0]


def as_trainable_encoder(model: Any, tokenizer: Any = None) -> SentenceEncoder:
    """Return an encoder with a PyTorch module to train; its `folder` is the source of the model, if it exists."""
    import torch
    from transformers import PreTrainedModel

    from .backends.onnx_graph import OnnxGraph
    from .backends.pooled_transformer import PooledTransformer
    from .backends.torch_module import TorchModule
    from .sentence_encoder import SentenceEncoder

    if isinstance(model, str | os.PathLike):
        if "/" not in str(model) and not Path(model).exists() and model not in BUILTINS:
            ENCODERS[str(model)]  # raises an error that lists the names
        model = SentenceEncoder.from_pretrained(model, device="cpu")
    elif hasattr(model, "encode") and not isinstance(model, SentenceEncoder | PreTrainedModel):
        # A model of sentence-transformers.
        source = _folder_of(getattr(model, "transformers_model", None))
        with temporary_folder() as folder:
            model.save_pretrained(folder)
            model = SentenceEncoder.from_pretrained(folder, device="cpu")
            # Read the tokenizer before the folder is removed.
            model.to_torch()
        model.folder = source
    if isinstance(model, SentenceEncoder):
        backend = model.to_torch().backend
        if not isinstance(backend, TorchModule) or isinstance(backend, OnnxGraph):
            what = "this encoder cannot be trained"
            raise ModelError(what, path=model.folder, remedy="give the model it was made from")
        encoder = copy.copy(model)
        # An average that is trained neither truncates nor normalizes.
        processing = backend.processing if backend.is_transformer else InputProcessing()
        encoder.backend = TorchModule(backend.model, tokenizer or backend.tokenizer, processing)
        encoder.truncate_dim = None
    else:
        encoder = SentenceEncoder(model, tokenizer)
        encoder.folder = _folder_of(model)
    if not isinstance(encoder.model, PooledTransformer):
        check_own_class(encoder.model)
    if encoder.model.dtype in (torch.float16, torch.bfloat16):
        encoder.model.float()
    encoder.model.train()
    return encoder


def _folder_of(model: Any) -> Path | None:
    """Return the folder that a model of transformers was opened from, if it exists."""
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    source = Path(name) if name and Path(name).is_dir() else fetched_folder(name) if name else None
    return source if source is not None and (source / "config.json").is_file() else None
