"""Whole words as new tokens of an average, without training.

A subword tokenizer splits rare words, and the sum of their subwords' vectors says little of their meaning. A teacher
knows them. Words that are one token already show which linear map turns the teacher's vector of a word into a token
vector, and the map gives split words a vector of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import BPE
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..artefacts.weights import TABLE
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError, ModelError
from ..tokenization.word_level import as_fast_tokenizer
from ..vectors.similarity import unit_rows

_FEWEST_KNOWN = 500
_RIDGE = 0.01
"""The penalty of the map's weights, in mean squares of the teacher's components."""


def add_words(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    words: Sequence[str],
    teacher: SentenceEncoder,
    length: float,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Make one token of each word that the tokenizer splits.

    The direction of a new vector is halfway between the teacher's vector of the word, mapped by ridge regression, and
    the sum of the vectors of its subwords.

    Args:
        model: An average.
        tokenizer: Its tokenizer, with BPE.
        words: The words. At least 500 must be one token by merges; they teach the map. Words added earlier do not.
        teacher: An encoder that knows the words; those that it embeds to zeros are left out.
        length: Length of the new vectors, in medians of the others. On dev data of similarity 1.3 to 1.5 were alike
            and better than 1.0 for the languages of the encoders in the package, but 1.0 finds more translations.

    Returns:
        The new model, and its tokenizer.

    Raises:
        ModelError: The tokenizer is of another kind, or has other tokens for the first word of a text.
        InputError: Fewer words than 500 are one token.
    """
    backend: Tokenizer = tokenizer.backend_tokenizer
    kind, starts = type(backend.model).__name__, _split(backend, "a a")
    # A sentence would not contain the tokens of words if its first word has other tokens, or if words end in a suffix.
    is_alike = len(starts) == 2 and starts[0] == starts[1]
    if not (is_alike and isinstance(backend.model, BPE) and not backend.model.end_of_word_suffix):
        problem = f"words are added to tokenizers of BPE that mark the start of every word alike, not to this {kind}"
        raise ModelError(problem, remedy="train one with train-tokenizer --kind bpe")
    spelled = _spell(backend, words)
    content = json.loads(backend.to_str())
    merging = content | {"truncation": None, "padding": None, "model": content["model"] | {"ignore_merges": False}}
    subwords = Tokenizer.from_str(json.dumps(merging))
    pieces = [encoding.ids for encoding in subwords.encode_batch(list(spelled.values()), add_special_tokens=False)]
    is_known = np.array([len(ids) == 1 and ids[0] != tokenizer.unk_token_id for ids in pieces], bool)
    if (num_known := int(is_known.sum())) < _FEWEST_KNOWN:
        problem = f"only {num_known} of the words are tokens of the encoder, and {_FEWEST_KNOWN} must teach the map"
        raise InputError(problem, remedy="add a list of frequent words of the language to --words")
    table = model.get_parameter(TABLE).detach().numpy()
    # Unknown letters count nothing: a word of unknown letters alone gets the direction of the teacher's vector.
    sums = np.stack([table[[i for i in ids if i != tokenizer.unk_token_id]].sum(axis=0) for ids in pieces])
    known, lengths = sums[is_known], np.linalg.norm(sums[is_known], axis=1)
    taught = teacher.encode(list(spelled.values()), normalize=True)
    is_new = ~is_known & taught.any(axis=1) & [token not in content["model"]["vocab"] for token in spelled]
    mapped = taught[is_new] @ _fit_map(taught[is_known], unit_rows(known))
    new = length * np.median(lengths) * unit_rows(unit_rows(mapped) + unit_rows(sums[is_new]))
    tokens = list(compress(spelled, is_new))
    special_tokens: dict[str, Any] = tokenizer.special_tokens_map
    enlarged = as_fast_tokenizer(_enlarge(content, tokens, first_id=len(table)), **special_tokens)
    enlarged.model_max_length = tokenizer.model_max_length
    config = model.config.from_dict(model.config.to_dict() | {"vocab_size": len(table) + len(tokens)})
    with torch.device("meta"):
        larger = type(model)(config)
    values = torch.from_numpy(np.concatenate([table, new.astype(np.float32)]))
    larger.load_state_dict({TABLE: values}, assign=True)
    return larger.eval(), enlarged


def _spell(backend: Tokenizer, words: Sequence[str]) -> dict[str, str]:
    """Map the token that a word would become to the word; leave out texts that are not a single word."""
    spelled: dict[str, str] = {}
    for word in words:
        if len(pieces := _split(backend, word)) == 1:
            spelled.setdefault(pieces[0], word.strip())
    return spelled


def _split(backend: Tokenizer, text: str) -> list[str]:
    """Split a text into words, as the tokenizer does before it looks for subwords."""
    text = backend.normalizer.normalize_str(text) if backend.normalizer else text
    return [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(text)] if backend.pre_tokenizer else [text]


def _fit_map(inputs: NDArray[np.float32], outputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Fit the weights (input size, output size) of a ridge regression."""
    squares = inputs.T @ inputs
    penalty = _RIDGE * np.trace(squares) / len(squares)
    return np.linalg.solve(squares + penalty * np.eye(len(squares), dtype=np.float32), inputs.T @ outputs)


def _enlarge(content: dict[str, Any], tokens: Sequence[str], *, first_id: int) -> Tokenizer:
    """Return a tokenizer that finds these tokens before it looks for subwords."""
    content["model"]["vocab"] |= {token: first_id + number for number, token in enumerate(tokens)}
    content["model"]["ignore_merges"] = True
    return Tokenizer.from_str(json.dumps(content))
