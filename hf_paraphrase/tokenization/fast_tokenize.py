"""Computes token ids of many texts, by array operations if they give the tokenizer's ids, else by the tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial, reduce
from typing import Any, cast

from ..messages import sanitize_line
from .character_trigram import TrigramLookup
from .ragged_ids import TokenIds, library_ids
from .span_cache import SpanCache

_SURROGATE = re.compile("[\ud800-\udfff]")
Lookup = Callable[[Sequence[str]], TokenIds]
"""Computes the ids that a tokenizer gives, for many texts at once, without padding or truncation."""


def lookup_for(backend: Any, *, special_tokens: bool = False) -> Lookup | None:
    """Make the lookup of a tokenizer, or return None if the tokenizer itself must compute the ids."""
    if hasattr(backend, "parts"):
        parts = [lookup_for(part, special_tokens=special_tokens) for part in backend.parts]
        return None if None in parts else partial(_joined_ids, cast(list[Lookup], parts), backend.offsets)
    return TrigramLookup.for_tokenizer(backend) or SpanCache.for_tokenizer(backend, special_tokens=special_tokens)


def _joined_ids(parts: Sequence[Lookup], offsets: Sequence[int], texts: Sequence[str]) -> TokenIds:
    """Concatenate the ids of several lookups for each text, each increased by its offset."""
    first, *others = zip(parts, offsets, strict=True)
    return reduce(lambda ids, part: ids.interleaved(part[0](texts), part[1]), others, first[0](texts))


def state_of(backend: Any) -> tuple[Any, ...]:
    """Return the state of a tokenizer that its lookup depends on; it takes microseconds."""
    if hasattr(backend, "parts"):
        return tuple(map(state_of, backend.parts))
    return (
        backend.get_vocab_size(with_added_tokens=False),
        [getattr(backend.model, name, None) for name in ("unk_token", "dropout", "alpha", "nbest_size")],
        # Tokens can be added, but not changed or removed.
        len(backend.get_added_tokens_decoder()),
        _state_of_normalizer(backend.normalizer),
        *(part and part.__getstate__() for part in (backend.pre_tokenizer, backend.post_processor)),
    )


def _state_of_normalizer(normalizer: Any, *, is_step: bool = False) -> Any:
    kind = type(normalizer).__name__
    # A sequence within a sequence returns itself as its only step.
    if kind == "Sequence" and not is_step:
        return [_state_of_normalizer(normalizer[index], is_step=True) for index in range(len(normalizer))]
    # The state of SentencePiece's normalizer is a table of 200 kB.
    return kind if kind == "Precompiled" else normalizer and normalizer.__getstate__()


def ids_of(backend: Any, texts: Sequence[str], lookup: Lookup | None, *, special_tokens: bool = False) -> TokenIds:
    """Compute the ids of texts by a lookup, or by the tokenizer if there is no lookup, with the same result."""
    if lookup is not None:
        return lookup(texts)
    return TokenIds.of_lists(library_ids(backend, texts, special_tokens=special_tokens))


def word_ids(tokenizer: Any, texts: Sequence[str]) -> TokenIds:
    """Compute the ids of texts by a fast tokenizer of transformers, without special tokens."""
    backend = tokenizer.backend_tokenizer
    return ids_of(backend, texts, lookup_for(backend))


def list_of_texts(texts: str | Iterable[str]) -> list[str]:
    """Convert one text, or a list, array or column of texts, to a list."""
    # A tokenizer would join a pair of strings, and read the letters of a string as texts.
    if isinstance(texts, str):
        texts = [texts]
    if isinstance(texts, bytes | Mapping | Set) or hasattr(texts, "columns") or not isinstance(texts, Iterable):
        raise TypeError(f"texts is {_described(texts)}, not a string or a sequence of strings")
    listed = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    if not all(issubclass(kind, str) for kind in set(map(type, listed))):
        row = next(row for row, text in enumerate(listed) if not isinstance(text, str))
        raise TypeError(f"texts[{row}] is {_described(listed[row])}, not a string")
    try:
        "".join(listed).encode()  # fast compared with tokenizing
    except UnicodeEncodeError:
        # The error of `tokenizers` does not name the text.
        row = next(row for row, text in enumerate(listed) if _SURROGATE.search(text))
        raise TypeError(f"texts[{row}] is {_described(listed[row])}, which has a lone surrogate") from None
    return listed


def _described(value: Any) -> str:
    return "None" if value is None else f"{sanitize_line(repr(value), 60)} ({type(value).__name__})"
