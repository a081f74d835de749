"""Tokenizers whose tokens are concatenated, with the `tokenizers` library alone, in a file that travels."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

PARTS_FILE = "tokenizers.json"
"""The file in which they are saved."""
_BEGIN, _BETWEEN, _END = '{"parts": [\n', ",\n", "\n]}\n"


def read_parts(path: str | os.PathLike[str]) -> list[Tokenizer]:
    """Reads the tokenizers of a file."""
    text = Path(path).read_text(encoding="utf-8")
    if text.startswith(_BEGIN) and text.endswith(_END):
        # As written here; `tokenizers` reads a part many times faster than Python.
        parts = text[len(_BEGIN) : -len(_END)].split(_BETWEEN)
    else:
        parts = list(map(json.dumps, json.loads(text)["parts"]))
    return [Tokenizer.from_str(part) for part in parts]


def write_parts(path: str | os.PathLike[str], parts: Iterable[Tokenizer]) -> None:
    """Writes tokenizers to a file, JSON with a line for each."""
    # What `tokenizers` writes has no line breaks, not even in its strings.
    Path(path).write_text(_BEGIN + _BETWEEN.join(part.to_str() for part in parts) + _END, encoding="utf-8")


@dataclass(frozen=True)
class JoinedEncoding:
    """The ids of one text, with the name that `tokenizers` gives them."""

    ids: list[int]


class JoinedTokenizers:
    """Several tokenizers of the `tokenizers` library that act as one; the ids of a part follow those of the last.

    It has those methods of a `tokenizers.Tokenizer` that are needed to turn texts into ids.
    """

    def __init__(self, parts: Sequence[Tokenizer], sizes: Sequence[int] | None = None) -> None:
        self.parts = list(parts)
        if sizes is None:
            sizes = [1 + max(part.get_vocab().values(), default=-1) for part in self.parts]
        self.offsets = [sum(sizes[:place]) for place in range(len(sizes))]
        self.sizes = list(sizes)

    def no_padding(self) -> None:
        """Switches padding off in all parts."""
        for part in self.parts:
            part.no_padding()

    def no_truncation(self) -> None:
        """Switches truncation off in all parts."""
        for part in self.parts:
            part.no_truncation()

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Counts the ids of all parts; their added tokens are always among them."""
        return sum(self.sizes)

    def get_vocab(self) -> dict[str, int]:
        """Returns the ids of all tokens by name; the names of later parts begin with their number, as `[1]`."""
        names: dict[str, int] = {}
        for place, (part, offset) in enumerate(zip(self.parts, self.offsets, strict=True)):
            start = f"[{place}]" if place else ""
            names |= {start + token: offset + number for token, number in part.get_vocab().items()}
        return names

    def encode_batch_fast(self, texts: Iterable[str], add_special_tokens: bool = True) -> list[JoinedEncoding]:
        """Computes the ids of each text: those of the first part, then those of the second, and so on."""
        texts = list(texts)
        encoded = [part.encode_batch_fast(texts, add_special_tokens=add_special_tokens) for part in self.parts]
        return [
            JoinedEncoding(
                [number + offset for offset, item in zip(self.offsets, items, strict=True) for number in item.ids]
            )
            for items in zip(*encoded, strict=True)
        ]
