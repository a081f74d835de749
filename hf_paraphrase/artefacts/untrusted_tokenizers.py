"""Checks a `tokenizer.json` before the `tokenizers` library opens it.

The library makes room for whatever a file asks for: a list as long as the highest id, padding of any length, a table
of the size in its first four bytes. Where there is not that much memory, it ends the whole process. So no number, text
or pattern may be larger than any tokenizer needs, and nothing may make a text a thousand times as long
(:mod:`.text_growth`). The format is that of https://github.com/huggingface/tokenizers, `Tokenizer.save`.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..errors import ModelError
from .text_growth import MOST_GROWTH, growth
from .untrusted_files import read_json_object

_REMEDY = "copy the tokenizer again, from a source that you trust"
_MOST_TOKENS = 1 << 22
"""How high ids may be, or twice the number of tokens where there are so many."""
_NUMBERS = {
    "Fixed": (0, 1 << 14),
    "pad_to_multiple_of": (0, 1 << 14),
    # The time for a word grows with the cube of its length.
    "max_input_chars_per_word": (0, 1_000),
    "length": (1, 1 << 63),
}
"""The least and the greatest value of a number, by its key."""
_PARTS = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
_SEQUENCES = ("normalizers", "pretokenizers", "processors", "decoders")
_LENGTHS = {
    **dict.fromkeys(("single", "pair", "ids"), 64),
    "Regex": 10_000,
    "precompiled_charsmap": 1 << 24,
    "added_tokens": _MOST_TOKENS,
}
"""How long a list or a text may be, by its key."""
_LONGEST_LIST = 10_000
_LONGEST_TEXT = 1_000
"""How long all others may be, such as the steps of a normalizer, and special tokens."""
_LONGEST_PATTERNS = 200_000
"""How long the regular expressions may be together. Compiled, they are some thousand times as large."""
_MOST_CHARACTERS = 1 << 23
"""How many characters the vocabulary of a Unigram model, and the added tokens, may have together."""
_MOST_COPIES = 16
"""How many times a text may stand in what templates make of it."""
_BLOCK = 256
"""The table of a Darts array, https://github.com/s-yata/darts-clone, consists of blocks of so many units."""


def check_tokenizers(folder: Path) -> None:
    """Checks all files in and below a folder that transformers or this package opens as tokenizers or vocabularies.

    Raises:
        ModelError: If one is damaged, or asks for more than any tokenizer needs.
    """
    for path in sorted(folder.rglob("*.json")):
        if "token" in path.name or "vocab" in path.name:
            check_tokenizer(path)


def check_tokenizer(path: Path) -> None:
    """Checks one file; see :func:`check_tokenizers`.

    Raises:
        ModelError: If it is damaged, or asks for more than any tokenizer needs.
    """
    content = read_json_object(path, ModelError, no_repeats=True)
    parts = content.get("parts")
    try:
        for part in parts if isinstance(parts, list) else [content]:
            if isinstance(part, dict):
                _check_part(part, path)
    except RecursionError as error:
        raise ModelError("damaged: lists in lists without end", path=path, remedy=_REMEDY) from error


def steps_of(step: Any) -> Iterator[Mapping[str, Any]]:
    """Yields the steps of a part of a tokenizer in their order, those of sequences in sequences among them."""
    if not isinstance(step, dict):
        return
    if step.get("type") != "Sequence":
        yield step
    for key in _SEQUENCES:
        for item in step[key] if isinstance(step.get(key), list) else []:
            yield from steps_of(item)


def _check_part(part: Mapping[str, Any], path: Path) -> None:
    """Checks one tokenizer, or what is beside one: its settings, or a table of ids."""
    for key in _PARTS:
        _check_names(key, part.get(key), path)
    # The library may have opened the parts of a tokenizer before it misses the model.
    model = part["model"] if isinstance(part.get("model"), dict) else {}
    for table in (model.get("vocab"), part.get("vocab"), part.get("added_tokens_decoder")):
        _check_ids(table, path)
    if path.name.startswith(("vocab", "added_tokens")):
        _check_ids(part, path)
    _check_trees(model.get("vocab"), part.get("added_tokens"), path)
    pattern_lengths: list[int] = []
    small = {key: value for key, value in model.items() if key not in ("vocab", "merges")}
    for key in (*_PARTS, "added_tokens"):
        _check_values(key, small if key == "model" else part.get(key), path, pattern_lengths)
    if sum(pattern_lengths) > _LONGEST_PATTERNS:
        _refuse("Regex", f"has {sum(pattern_lengths):,} characters in all", _LONGEST_PATTERNS, path)
    for name in ("normalizer", "decoder"):
        if (times := growth(steps_of(part.get(name)))) > MOST_GROWTH:
            _refuse(name, f"may make a text {times:.3g} times as long", MOST_GROWTH, path)
    copies = math.prod(_copies(step) for step in steps_of(part.get("post_processor")))
    if copies > _MOST_COPIES:
        _refuse("post_processor", f"puts a text {str(copies)[:40]} times", _MOST_COPIES, path)


def _check_names(key: str, value: Any, path: Path) -> None:
    """Refuses what has its values in a list, without their names, as the library reads it but nobody writes it."""
    if isinstance(value, list):
        raise ModelError(f"`{key}` is a list, not an object", path=path, remedy=_REMEDY)
    for name in _SEQUENCES if isinstance(value, dict) else ():
        for item in value[name] if isinstance(value.get(name), list) else []:
            _check_names(name, item, path)


def _check_ids(table: Any, path: Path) -> None:
    """Checks the ids of a table from tokens to ids, or from ids to tokens."""
    if not isinstance(table, dict):
        return
    ids = [value for value in table.values() if type(value) is int]
    ids = ids or [int(name[:30]) for name, value in table.items() if isinstance(value, dict) and name.isdecimal()]
    highest, most = max(ids, default=0), max(_MOST_TOKENS, 2 * len(table))
    if highest > most:
        _refuse("id", f"is {str(highest)[:40]} in a table of {len(table):,} tokens", most, path)


def _check_trees(vocabulary: Any, added: Any, path: Path) -> None:
    """Checks the texts of which the library makes trees, with some hundred bytes a character."""
    for key, items, place in (("vocab", vocabulary, 0), ("added_tokens", added, "content")):
        if not isinstance(items, list):
            continue
        with suppress(TypeError, KeyError, IndexError):
            characters = sum(len(item[place]) for item in items)
            if characters > _MOST_CHARACTERS:
                _refuse(key, f"has {characters:,} characters", _MOST_CHARACTERS, path)


def _check_values(key: str, value: Any, path: Path, pattern_lengths: list[int]) -> None:
    """Checks a value and all that is in it."""
    if type(value) is int and key in _NUMBERS:
        least, most = _NUMBERS[key]
        if value < least:
            raise ModelError(f"`{key}` is {str(value)[:40]}, below {least}", path=path, remedy=_REMEDY)
        if value > most:
            _refuse(key, f"is {str(value)[:40]}", most, path)
    elif isinstance(value, str):
        if len(value) > (most := _LENGTHS.get(key, _LONGEST_TEXT)):
            _refuse(key, f"has {len(value):,} characters", most, path)
        if key == "Regex":
            pattern_lengths.append(len(value))
        elif key == "precompiled_charsmap":
            _check_character_map(value, path)
    elif isinstance(value, list):
        if len(value) > (most := _LENGTHS.get(key, _LONGEST_LIST)):
            _refuse(key, f"has {len(value):,} items", most, path)
        for item in value:
            _check_values(key, item, path, pattern_lengths)
    elif isinstance(value, dict):
        _check_ids({"": value.get("id")}, path)
        for name, item in value.items():
            _check_values(name, item, path, pattern_lengths)


def _check_character_map(text: str, path: Path) -> None:
    """Checks the table of a SentencePiece normalizer: its size, where its units point to, and how long its texts are.

    Four bytes with the size of a Darts array, the array, and texts that end with a zero byte.
    """
    key = "precompiled_charsmap"
    try:
        content = base64.b64decode(text)
    except (binascii.Error, ValueError) as error:
        raise ModelError(f"`{key}` is not base64", path=path, remedy=_REMEDY) from error
    size = int.from_bytes(content[:4], "little")
    if not 0 < size <= len(content) - 4 or size % (4 * _BLOCK):
        raise ModelError(f"`{key}` claims {size:,} bytes, it has {len(content):,}", path=path, remedy=_REMEDY)
    units = np.frombuffer(content, "<u4", size // 4, 4).astype(np.int64)
    texts = content[4 + size :]
    leaves = units >> 31 == 1
    offsets = (units >> 10) << ((units & 512) >> 6)
    # Behind an offset stand the units of all bytes that may follow; what a block does not use points into it.
    ends = (np.arange(len(units)) ^ offsets) | (_BLOCK - 1)
    starts = units[leaves] & 0x7FFFFFFF
    if (ends[~leaves] >= len(units)).any() or (starts > len(texts)).any():
        raise ModelError(f"`{key}` points behind its end", path=path, remedy=_REMEDY)
    longest = max(map(len, texts.split(b"\0")))
    if longest > _LONGEST_TEXT:
        _refuse(key, f"has a text of {longest:,} bytes", _LONGEST_TEXT, path)


def _copies(step: Mapping[str, Any]) -> int:
    """Counts how often a step of the post-processor puts a text into its result."""
    templates = [step.get(name) for name in ("single", "pair")]
    pieces = [[piece for piece in items if isinstance(piece, dict)] for items in templates if isinstance(items, list)]
    return max([1, *(sum("Sequence" in piece for piece in items) for items in pieces)])


def _refuse(key: str, found: str, most: float, path: Path) -> NoReturn:
    raise ModelError(f"`{key[:80]}` {found}; tokenizers need no more than {most:,.0f}", path=path, remedy=_REMEDY)
