"""Several tokenizers that act as one, with the `tokenizers` library alone; saved with the model."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

PARTS_FILE = "tokenizers.json"
_BEGIN, _BETWEEN, _END = '{"parts": [\n', ",\n", "\n]}\n"


def read_parts(path: str | os.PathLike[str]) -> list[Tokenizer]:
    """Read the tokenizers of a file."""
    text = Path(path).read_text(encoding="utf-8")
    if text.startswith(_BEGIN) and text.endswith(_END):
        # The layout of `write_parts`: `tokenizers` parses a part many times faster than Python.
        parts = text[len(_BEGIN) : -len(_END)].split(_BETWEEN)
    else:
        parts = list(map(json.dumps, json.loads(text)["parts"]))
    return [Tokenizer.from_str(part) for part in parts]


def write_parts(path: str | os.PathLike[str], parts: Iterable[Tokenizer]) -> None:
    """Write tokenizers to a file, JSON with a line for each."""
    # What `tokenizers` writes has no line breaks, not even in its strings.
    Path(path).write_text(_BEGIN + _BETWEEN.join(part.to_str() for part in parts) + _END, encoding="utf-8")


@dataclass(frozen=True)
class JoinedEncoding:
    """The ids of one text, with the name that `tokenizers` gives them."""

    ids: list[int]


class JoinedTokenizers:
    """Several tokenizers of the `tokenizers` library that act as one; parts occupy consecutive ranges of ids.

    The class has the methods of `tokenizers.Tokenizer` that turn texts into ids.
    """

    def __init__(self, parts: Sequence[Tokenizer], sizes: Sequence[int] | None = None) -> None:
        self.parts = list(parts)
        if sizes is None:
            sizes = [1 + max(part.get_vocab().values(), default=-1) for part in self.parts]
        self.offsets = [sum(sizes[:index]) for index in range(len(sizes))]
        self.sizes = list(sizes)

    def no_padding(self) -> None:
        """Switch padding off in all parts."""
        for part in self.parts:
            part.no_padding()

    def no_truncation(self) -> None:
        """Switch truncation off in all parts."""
        for part in self.parts:
            part.no_truncation()

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Count the ids of all parts, always with their added tokens."""
        return sum(self.sizes)

    def get_vocab(self) -> dict[str, int]:
        """Return the ids of all tokens by name; the names of later parts begin with their number, as `[1]`."""
        names: dict[str, int] = {}
        for index, (part, offset) in enumerate(zip(self.parts, self.offsets, strict=True)):
            prefix = f"[{index}]" if index else ""
            names |= {prefix + token: offset + token_id for token, token_id in part.get_vocab().items()}
        return names

    def id_to_token(self, token_id: int) -> str | None:
        """Return the name of a token in its part; None for an id without a token."""
        index = bisect_right(self.offsets, token_id) - 1
        name: str | None = self.parts[index].id_to_token(token_id - self.offsets[index])
        return name

    def encode_batch_fast(self, texts: Iterable[str], add_special_tokens: bool = True) -> list[JoinedEncoding]:
        """Compute the ids of each text, part by part."""
        texts = list(texts)
        encoded = [part.encode_batch_fast(texts, add_special_tokens=add_special_tokens) for part in self.parts]
        return [
            JoinedEncoding(
                [token_id + offset for offset, part in zip(self.offsets, parts, strict=True) for token_id in part.ids]
            )
            for parts in zip(*encoded, strict=True)
        ]
