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
from ...data.languages import is_language, primary_language
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
        taught_by: The number of the text whose vector each one learns (texts,), int64: its own, or that of its
            translation, which the teachers know.
        languages: For each text the place of its language among `names` (texts,), int16.
        names: The languages of bitext, behind that of the teachers.
    """

    characters: NDArray[np.uint8]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]
    left_out: Counter[str]
    contamination: dict[str, int]
    taught_by: NDArray[np.int64]
    languages: NDArray[np.int16]
    names: list[str]

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

    def by_language(self) -> dict[str, int]:
        """Counts the texts of each language of bitext, and those that the teachers know."""
        counts = np.bincount(self.languages, minlength=len(self.names)).tolist()
        return dict(zip(self.names, counts, strict=True))

    def balanced(self, exponent: float, seed: int) -> NDArray[np.int64]:
        """Repeats the texts of smaller languages, as numbers of texts in order.

        Of n texts of a language there are then as many as are proportional to n ** `exponent`, the most frequent
        language being as it is (Conneau and Lample 2019, section 3.1): each text occurs the whole part of the ratio
        times, and a sample of them once more.
        """
        counts = np.bincount(self.languages, minlength=len(self.names)).astype(np.float64)
        ratios = (counts.max() / np.maximum(counts, 1.0)) ** (1.0 - exponent)
        draws = np.random.default_rng([seed, 3]).random(len(self))
        return np.repeat(np.arange(len(self)), np.floor(ratios[self.languages] + draws).astype(np.int64))

    def blocks(self, size: int = 1 << 14) -> Iterator[list[str]]:
        """Streams all texts in order."""
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks():
            yield from block


@dataclass(frozen=True)
class Bitext:
    """A bitext, the column of the language that the teachers know, the other column, and its language."""

    folder: DataFolder
    known: str
    other: str
    language: str

    def blocks(self) -> Iterator[tuple[list[str], list[str]]]:
        """Streams the texts that the teachers know, and their translations; a missing one is empty."""
        for batch in self.folder.batches("train", [self.known, self.other]):
            known, other = ([(text or "").strip() for text in column.to_pylist()] for column in batch.columns)
            yield known, other


def bitext_languages(folder: DataFolder) -> dict[str, str]:
    """Returns the languages of the sides `source` and `target`, which are the same in all rows."""
    found: set[tuple[str | None, str | None]] = set()
    for batch in folder.batches("train", ["source_lang", "target_lang"]):
        found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    if len(found) == 1 and None not in (pair := found.pop()):
        return dict(zip(("source", "target"), map(str, pair), strict=True))
    problem = "the bitext has no rows" if not found else "the rows are of several languages, or of none"
    raise InputError(problem, path=folder.path, remedy="give a bitext of two languages, each always on one side")


def open_bitexts(folders: Sequence[str], teacher_lang: str) -> list[Bitext]:
    """Opens bitexts, of each of which one side is in the language that the teachers know."""
    bitexts = []
    for path in folders:
        folder = DataFolder(path)
        folder.require("source", "target", "source_lang", "target_lang")
        languages = bitext_languages(folder)
        known = [side for side, language in languages.items() if is_language(language, teacher_lang)]
        if len(known) != 1:
            raise InputError(
                f"{'both sides are' if known else 'no side is'} in the language of the teachers, {teacher_lang}, but "
                f"{languages['source']} and {languages['target']}",
                path=path,
                remedy="--teacher-lang names the language that the teachers know",
            )
        other = "target" if known == ["source"] else "source"
        bitexts.append(Bitext(folder, known[0], other, primary_language(languages[other])))
    return bitexts


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
    bitexts: Sequence[Bitext] = (),
    teacher_lang: str = "en",
    words: Sequence[str] = (),
    max_characters: int,
    held_out: Decontaminator | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> Texts:
    """Reads texts into files without a name; memory stays at one block and a few numbers a text.

    White space at the ends of a text is removed, and texts of more than `max_characters` are left out: they are not
    sentences. `words` are texts of their own, behind the others.
    Both sides of bitext are texts; of several translations of a text the first one counts, and a text whose
    translation is left out is left out as `untaught`.
    """
    corpora = list(corpora)
    names = list(dict.fromkeys([teacher_lang, *(bitext.language for bitext in bitexts)]))
    left_out: Counter[str] = Counter(empty=0, long=0, repeated=0, contaminated=0, untaught=0)
    contamination = dict.fromkeys([] if held_out is None else held_out.fingerprints.sets, 0)
    characters = GrowingArray(np.uint8, scratch, "the text")
    keys: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
    lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    languages: list[NDArray[np.int16]] = [np.zeros(0, np.int16)]
    for block, language in _blocks(corpora, bitexts, words):
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
        keys.append(_keys(encoded))
        lengths.append(np.array([len(text) for text in encoded], np.int64))
        languages.append(np.full(len(encoded), names.index(language or teacher_lang), np.int16))
    mapped = characters.map()
    all_keys, all_languages = np.concatenate(keys), np.concatenate(languages)
    # The first of equal ones, in the order of the text, in which what the teachers know is before translations.
    rows = np.sort(np.unique(all_keys, return_index=True)[1]).astype(np.int64)
    left_out["repeated"] = len(all_keys) - len(rows)
    taught_by = _taught_by(all_keys[rows], all_languages[rows] == 0, bitexts)
    is_taught = taught_by >= 0
    left_out["untaught"] = int((~is_taught).sum())
    rows, taught_by = rows[is_taught], (np.cumsum(is_taught) - 1)[taught_by[is_taught]]
    if not len(rows):
        raise InputError(
            f"no text to learn from (left out: {described(left_out)})",
            path=corpora[0].path if corpora else None,
            remedy="give running text, one sentence a line",
        )
    return Texts(
        mapped,
        ends_of(np.concatenate(lengths)),
        rows,
        all_keys[rows],
        left_out,
        contamination,
        taught_by,
        all_languages[rows],
        names,
    )


def _keys(texts: Iterable[bytes]) -> NDArray[np.uint64]:
    return np.array([xxhash.xxh3_64_intdigest(text) for text in texts], np.uint64)


def _taught_by(keys: NDArray[np.uint64], is_known: NDArray[np.bool_], bitexts: Sequence[Bitext]) -> NDArray[np.int64]:
    """Finds for each text the number of the one whose vector it learns; -1 where that is not among the texts."""
    taught_by = np.where(is_known, np.arange(len(keys)), -1)
    if not len(keys):
        return taught_by
    order = np.argsort(keys, kind="stable")

    def numbers(texts: list[str]) -> NDArray[np.int64]:
        wanted = _keys(text.encode() for text in texts)
        found = order[np.searchsorted(keys, wanted, sorter=order).clip(max=len(keys) - 1)]
        return np.where(keys[found] == wanted, found, -1)

    for bitext in bitexts:
        for known, other in bitext.blocks():
            teachers, students = numbers(known), numbers(other)
            # The last assignment to a number would count, and the first shall.
            pairs = np.flatnonzero((teachers >= 0) & (students >= 0))[::-1]
            pairs = pairs[taught_by[students[pairs]] < 0]
            taught_by[students[pairs]] = teachers[pairs]
    return taught_by


def described(left_out: Counter[str]) -> str:
    """Describes how many texts were left out."""
    words = {
        "long": "too long",
        "contaminated": "of evaluation sets",
        "untaught": "whose translation is left out",
    }
    return ", ".join(f"{count:,} {words.get(name, name)}" for name, count in left_out.items() if count) or "none"


def _blocks(
    corpora: Iterable[SentenceCorpus], bitexts: Sequence[Bitext], words: Sequence[str]
) -> Iterator[tuple[list[str], str | None]]:
    """Streams the texts with their language, `""` for that of the teachers, and None for words."""
    for corpus in corpora:
        for block in corpus.blocks():
            yield [(text or "").strip() for text in block], ""
    for bitext in bitexts:
        for known, _ in bitext.blocks():
            yield known, ""
    for bitext in bitexts:
        for _, other in bitext.blocks():
            yield other, bitext.language
    if words:
        yield list(words), None


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
