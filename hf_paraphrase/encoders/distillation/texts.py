"""The text that a student learns from: read once, without repeats, and tokenised, in files that the system maps."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from ...data.batch_function import add_report
from ...data.decontamination import Decontaminator
from ...data.folder import DataFolder
from ...data.schema import columns_named
from ...data.sentences import SentenceCorpus
from ...errors import InputError
from ...tokenization.token_ids import TokenIds
from ...tokenization.token_lookup import ids_of, lookup_for
from ..encoded_pairs import GrowingArray, ends_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

COLUMNS = ("sentence", "text", "sentence1", "sentence2", "target")
"""The columns of data folders that are read where none are named."""


@dataclass
class Texts:
    """Different texts, by numbers from 0.

    Attributes:
        characters: The UTF-8 of these texts, and perhaps more, laid end to end (bytes,), uint8.
        ends: Where each of them begins, and the end, int64.
        rows: Which of them these texts are (texts,), int64.
        keys: 64 bits of a digest of each text (texts,), uint64.
        left_out: How many were left out, by the reason.
        contamination: How many were left out by each evaluation set.
    """

    characters: NDArray[np.uint8]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]
    left_out: Counter[str]
    contamination: dict[str, int]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each text in bytes of UTF-8 (texts,)."""
        return self.ends[self.rows + 1] - self.ends[self.rows]

    def take(self, numbers: NDArray[np.int64]) -> list[str]:
        """Returns some texts by their numbers."""
        rows = self.rows[numbers]
        borders = zip(self.ends[rows].tolist(), self.ends[rows + 1].tolist(), strict=True)
        return [self.characters[start:end].tobytes().decode() for start, end in borders]

    def blocks(self, size: int = 1 << 14) -> Iterator[list[str]]:
        """Streams all texts in order."""
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks():
            yield from block


def corpora_of(sources: Sequence[str], columns: Sequence[str] = ()) -> list[SentenceCorpus]:
    """Opens text files and data folders; nothing is read yet."""
    return [SentenceCorpus(Path(source), _columns(Path(source), columns)) for source in sources]


def _columns(source: Path, columns: Sequence[str]) -> list[str]:
    if not source.is_dir():
        return []
    names = DataFolder(source).schema().names
    present = [name for name in columns_named(columns, names) or COLUMNS if name in names]
    if not present:
        raise InputError(
            f"no column is called {', '.join(columns or COLUMNS)}",
            path=source,
            remedy=f"name the columns to read with --columns: {', '.join(names)}",
        )
    return present


def read_texts(
    corpora: Iterable[SentenceCorpus],
    *,
    words: Sequence[str] = (),
    max_characters: int,
    max_texts: int | None = None,
    seed: int = 0,
    held_out: Decontaminator | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> Texts:
    """Reads texts into files without a name; memory stays at one block and a few numbers a text.

    White space at the ends of a text is removed, and texts of more than `max_characters` are left out: they are not
    sentences. `words` are texts of their own, behind the others, which all stay where `max_texts` draws a sample.
    """
    corpora = list(corpora)
    left_out: Counter[str] = Counter(empty=0, long=0, repeated=0, contaminated=0, not_sampled=0)
    contamination = dict.fromkeys([] if held_out is None else held_out.fingerprints.names, 0)
    characters = GrowingArray(np.uint8, scratch, "the text")
    keys: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
    lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    words_from: int | None = None
    for block, are_words in _blocks(corpora, words):
        if are_words:
            words_from = sum(map(len, keys))
        kept = [text for text in block if 0 < len(text) <= max_characters]
        left_out["long"] += sum(len(text) > max_characters for text in block)
        left_out["empty"] += sum(not text for text in block)
        if held_out is not None and kept:
            table, report = held_out.reported(pa.table({"text": kept}))
            add_report(contamination, report["contamination"])
            left_out["contaminated"] += len(kept) - table.num_rows
            kept = table.column("text").to_pylist()
        encoded = [text.encode() for text in kept]
        characters.append(b"".join(encoded))
        keys.append(np.array([xxhash.xxh3_64_intdigest(text) for text in encoded], np.uint64))
        lengths.append(np.array([len(text) for text in encoded], np.int64))
    mapped = characters.map()
    all_keys = np.concatenate(keys)
    # The first of equal ones, in the order of the text.
    rows = np.sort(np.unique(all_keys, return_index=True)[1]).astype(np.int64)
    left_out["repeated"] = len(all_keys) - len(rows)
    if not len(rows):
        raise InputError(
            f"no text to learn from (left out: {described(left_out)})",
            path=corpora[0].path if corpora else None,
            remedy="give running text, one sentence a line",
        )
    rows = _sample(rows, len(all_keys) if words_from is None else words_from, max_texts, seed)
    left_out["not_sampled"] = len(all_keys) - left_out["repeated"] - len(rows)
    return Texts(mapped, ends_of(np.concatenate(lengths)), rows, all_keys[rows], left_out, contamination)


def described(left_out: Counter[str]) -> str:
    """Describes how many texts were left out."""
    words = {"long": "too long", "contaminated": "of evaluation sets", "not_sampled": "not in the sample"}
    return ", ".join(f"{count:,} {words.get(name, name)}" for name, count in left_out.items() if count) or "none"


def _blocks(corpora: Iterable[SentenceCorpus], words: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    for corpus in corpora:
        for block in corpus.blocks():
            yield [(text or "").strip() for text in block], False
    if words:
        yield list(words), True


def _sample(rows: NDArray[np.int64], words_from: int, most: int | None, seed: int) -> NDArray[np.int64]:
    """Draws a sample of the rows before those of the words, in order."""
    texts = rows[rows < words_from]
    if most is None or most >= len(texts):
        return rows
    drawn = np.random.default_rng([seed, 2]).choice(len(texts), most, replace=False)
    return np.concatenate([texts[np.sort(drawn)], rows[rows >= words_from]])


def encode_texts(
    texts: Texts, tokenizer: PreTrainedTokenizerFast, *, scratch: str | os.PathLike[str] | None = None
) -> TokenIds:
    """Tokenises texts into a file that is mapped; a text may have no tokens."""
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    tokens = GrowingArray(np.int32, scratch, "the tokenised text")
    lengths = [np.zeros(0, np.int64)]
    for block in texts.blocks():
        token_ids = ids_of(backend, block, lookup)
        tokens.append(token_ids.ids)
        lengths.append(token_ids.lengths)
    return TokenIds(tokens.map(), ends_of(np.concatenate(lengths)))
