"""Token ids as the input of `/v1/embeddings`: lists of integers that the client's tokenizer made, instead of texts.

A request does not name that tokenizer, so the server has the flag `--token-arrays` for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..encoders.backends.base import TokenBackend
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import UsageError, choice_of, missing_package
from ..tokenization.ragged_ids import TokenIds

OWN_TOKENIZER = "model"
Arrays = list[list[int]]
ArrayReader = Callable[[Arrays], TokenIds | list[str]]
"""Turns arrays into ids of the encoder or into texts; an id that its tokenizer lacks is a `UsageError`."""


def open_array_reader(name: str, encoder: SentenceEncoder) -> ArrayReader:
    """Return the reader for a value of `--token-arrays`: `model`, or the name of an encoding of tiktoken."""
    if name == OWN_TOKENIZER:
        return own_ids_reader(encoder)
    try:
        import tiktoken
    except ImportError as error:
        raise missing_package("tiktoken") from error
    names = [OWN_TOKENIZER, *tiktoken.list_encoding_names()]
    if name not in names:
        raise UsageError(f"--token-arrays `{name}` is unknown", remedy=choice_of(name, names))
    try:
        return tiktoken_reader(tiktoken.get_encoding(name))
    except Exception as error:  # of the client that fetches the file, or of a damaged file
        remedy = "start the server once with a network, or set TIKTOKEN_CACHE_DIR to a folder that has it"
        raise UsageError(f"tiktoken cannot load the encoding {name}", remedy=remedy) from error


def tiktoken_reader(encoding: Any) -> ArrayReader:
    """Return the reader that decodes ids by an encoding of tiktoken; an incomplete character becomes U+FFFD."""

    def read(arrays: Arrays) -> list[str]:
        texts = []
        for row, ids in enumerate(arrays, 1):
            try:
                texts.append(encoding.decode(ids))
            except (KeyError, OverflowError) as error:
                what = f"input: array {row} has an id that {encoding.name} lacks: {error.args[0]}"
                raise UsageError(what) from error
        return texts

    return read


def own_ids_reader(encoder: SentenceEncoder) -> ArrayReader:
    """Return the reader of ids of the encoder's own tokenizer; the client adds special tokens itself."""
    remedy = "name an encoding of tiktoken, or leave --token-arrays out"
    if not isinstance(encoder.backend, TokenBackend):
        raise UsageError("--token-arrays model: the modules of this encoder do not read token ids", remedy=remedy)
    if encoder.choose_prompt():
        what = "--token-arrays model: this encoder puts a prompt before each text, which token ids cannot have"
        raise UsageError(what, remedy=remedy)
    num_ids, longest = max(encoder.vocabulary()[0].values()) + 1, encoder.max_seq_length

    def read(arrays: Arrays) -> TokenIds:
        for row, ids in enumerate(arrays, 1):
            if (largest := max(ids, default=0)) >= num_ids:
                raise UsageError(f"input: array {row} has the id {largest}, but the encoder has {num_ids:,} tokens")
            if longest is not None and len(ids) > longest:
                raise UsageError(f"input: array {row} has {len(ids):,} ids, more than {longest:,}")
        return TokenIds.of_lists(arrays)

    return read


def list_token_arrays(value: Any) -> Arrays | None:
    """Return the arrays of token ids in an input, or None if it has no ids; refuse an array with other values."""
    if not isinstance(value, list) or not value or not isinstance(value[0], int | list):
        return None
    arrays = value if isinstance(value[0], list) else [value]
    for row, ids in enumerate(arrays, 1):
        wrong = [each for each in ids if type(each) is not int or each < 0] if isinstance(ids, list) else [ids]
        if wrong:
            raise UsageError(f"input: array {row} has {wrong[0]!r:.80}, which is no token id")
    return arrays
