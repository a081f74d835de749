"""The texts that a student learns from: read once, without repeats, and tokenized into memory-mapped files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.batch_function import add_report
from ...data.decontamination import Decontaminator
from ...data.folder import DataFolder
from ...data.sentences import SentenceCorpus
from ...errors import InputError
from ...messages import log
from ...text.hashing import hash64
from ...text.languages import is_language, open_language_identifier, primary_language
from ...tokenization.ragged_ids import TokenIds, ends_of
from ..encoded_pairs import GrowingArray, TokenArrays, make_tokenize_function

OTHER = "other"
"""The language name of text that is neither bitext nor in the language of the monolingual teachers."""
_TEXTS_OF_DETECTION, _FEWEST_CHARACTERS = 200, 500


@dataclass
class Texts:
    """A collection of different texts with ids from 0.

    Attributes:
        characters: The concatenated UTF-8 of all texts that were read, repeats included (bytes,).
        ends: The offset of each text that was read, and the end.
        rows: The index of each text of this collection in `ends` (texts,).
        keys: The 64-bit hash of each text (texts,).
        left_out: The number of texts left out, by reason.
        contamination: The number of texts left out for each evaluation set.
        target_text_ids: The id of the text whose vector each text learns (texts,): the text itself or its translation;
            -1 if a monolingual teacher supports neither.
        languages: The index of each text's language in `names` (texts,).
        names: The language of the monolingual teachers, the other languages of the bitexts, and :data:`OTHER`.
    """

    characters: NDArray[np.uint8]
    ends: NDArray[np.int64]
    rows: NDArray[np.int64]
    keys: NDArray[np.uint64]
    left_out: Counter[str]
    contamination: dict[str, int]
    target_text_ids: NDArray[np.int64]
    languages: NDArray[np.int16]
    names: list[str]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each text in bytes of UTF-8 (texts,)."""
        return self.ends[self.rows + 1] - self.ends[self.rows]

    def take(self, text_ids: NDArray[np.int64]) -> list[str]:
        """Return texts by their ids."""
        rows = self.rows[text_ids]
        borders = zip(self.ends[rows].tolist(), self.ends[rows + 1].tolist(), strict=True)
        return [self.characters[start:end].tobytes().decode() for start, end in borders]

    def multilingual_target_ids(self, supports: Callable[[str], bool]) -> NDArray[np.int64]:
        """Return `target_text_ids` for a multilingual teacher: its vector of a text, if it supports the language."""
        is_supported = np.array([name == OTHER or supports(name) for name in self.names])
        return np.where(is_supported[self.languages], np.arange(len(self)), self.target_text_ids)

    def count_by_language(self) -> dict[str, int]:
        """Count the texts of each language."""
        counts = np.bincount(self.languages, minlength=len(self.names)).tolist()
        return dict(zip(self.names, counts, strict=True))

    def measure_fractions(self, token_id: int | None, encoded: TokenIds) -> dict[str, float]:
        """Compute the fraction of a token among the tokens of each language."""
        languages = np.repeat(self.languages, encoded.lengths)
        tokens = np.bincount(languages, minlength=len(self.names))
        occurrences = np.bincount(languages[encoded.ids == token_id], minlength=len(self.names))
        return {name: occurrences[row] / tokens[row] for row, name in enumerate(self.names) if tokens[row]}

    def balance_languages(self, exponent: float, seed: int) -> NDArray[np.int64]:
        """Return the ids of all texts in order, with the texts of smaller languages repeated.

        A language with n texts gets a number proportional to n ** `exponent`, and the largest language is not repeated
        (Conneau and Lample 2019, section 3.1). For a ratio of 2.3, each text occurs twice, and a sample of 30 % three
        times.
        """
        counts = np.bincount(self.languages, minlength=len(self.names)).astype(np.float64)
        ratios = (counts.max() / np.maximum(counts, 1.0)) ** (1.0 - exponent)
        draws = np.random.default_rng([seed, 3]).random(len(self))
        return np.repeat(np.arange(len(self)), np.floor(ratios[self.languages] + draws).astype(np.int64))

    def blocks(self, size: int = 1 << 14) -> Iterator[list[str]]:
        """Stream all texts in order."""
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(start + size, len(self))))

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks():
            yield from block


@dataclass(frozen=True)
class Bitext:
    """A bitext: the column in the teachers' language, the column of translations, and the language of translations."""

    folder: DataFolder
    known: str
    other: str
    language: str

    def blocks(self) -> Iterator[tuple[list[str], list[str]]]:
        """Stream texts in the teachers' language with their translations; a missing text is empty."""
        for batch in self.folder.batches("train", [self.known, self.other]):
            texts, translations = ([(text or "").strip() for text in column.to_pylist()] for column in batch.columns)
            yield texts, translations

    def detect_languages(self) -> tuple[str, str] | None:
        """Detect the languages of the teachers' column and the other column from the first texts.

        Returns:
            Two language codes; None without the package py3langid, or if the package does not support the language.
        """
        if find_spec("py3langid") is None:
            return None
        identifier = open_language_identifier()
        teachers_text, translation = (" ".join(texts[:_TEXTS_OF_DETECTION]) for texts in next(self.blocks(), ([], [])))
        if self.language not in identifier.labels or min(len(teachers_text), len(translation)) < _FEWEST_CHARACTERS:
            return None
        return identifier.classify(teachers_text)[0], identifier.classify(translation)[0]


def open_bitexts(folders: Sequence[str], teacher_lang: str) -> list[Bitext]:
    """Open bitexts with one language per column, one of the two columns in the teachers' language."""
    bitexts = []
    for path in folders:
        folder = DataFolder(path)
        folder.require("source", "target", "source_lang", "target_lang")
        batches = folder.batches("train", ["source_lang", "target_lang"])
        pairs = {pair for batch in batches for pair in zip(*map(pa.Array.to_pylist, batch.columns), strict=True)}
        if len(pairs) != 1 or None in (languages := pairs.pop()):
            problem = "the rows have several languages, or none"
            remedy = "give a bitext with one language per column"
            raise InputError(problem, path=path, remedy=remedy)
        is_teachers = [is_language(language, teacher_lang) for language in languages]
        if sum(is_teachers) != 1:
            which = "both" if is_teachers[0] else "neither"
            problem = f"the columns are in {' and '.join(languages)}, {which} in the teachers' language {teacher_lang}"
            raise InputError(problem, path=path, remedy="give the language of the teachers as --teacher-lang")
        sides = ("source", "target") if is_teachers[0] else ("target", "source")
        bitexts.append(Bitext(folder, *sides, primary_language(languages[is_teachers.index(False)])))
        stated = (primary_language(teacher_lang), bitexts[-1].language)
        detected = bitexts[-1].detect_languages()
        if detected == stated[::-1]:
            log(f"{path}: the text in {' and '.join(languages)} looks exchanged; check --columns of prepare bitext")
        elif detected is not None and detected != stated:
            names = " and ".join(detected)
            log(
                f"{path}: the text in {' and '.join(stated)} looks like {names}; check the languages of prepare bitext"
            )
    return bitexts


def read_texts(
    corpora: Iterable[SentenceCorpus],
    *,
    bitexts: Sequence[Bitext] = (),
    multilingual: Sequence[SentenceCorpus] | None = None,
    supports: Callable[[str], bool] = lambda language: True,
    teacher_lang: str = "en",
    words: Sequence[str] = (),
    max_characters: int,
    held_out: Decontaminator | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> Texts:
    """Read texts into unnamed temporary files; memory holds one block and a few integers per text.

    White space around a text is removed, and texts longer than `max_characters` are left out, because they are no
    sentences. Both columns of bitexts are texts; a text with several translations learns from the first. A text is
    left out as `untaught` if no teacher supports its language and its translation is left out.

    Args:
        corpora: Text in the language of the monolingual teachers.
        bitexts: Bitexts with one column in that language.
        multilingual: Further text for multilingual teachers, None without such teachers.
        supports: Tells whether the multilingual teachers support a language.
        teacher_lang: The language of the monolingual teachers.
        words: Words, each a text of its own.
        max_characters: The maximum length of a text.
        held_out: Removes sentences of evaluation sets.
        scratch: The folder of the temporary files.
    """
    corpora = list(corpora)
    names = list(dict.fromkeys([teacher_lang, *(bitext.language for bitext in bitexts)]))
    left_out: Counter[str] = Counter(empty=0, long=0, repeated=0, contaminated=0, untaught=0)
    contamination = dict.fromkeys([] if held_out is None else held_out.fingerprints.sets, 0)
    characters = GrowingArray(np.uint8, scratch, "the text")
    keys: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
    lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    languages: list[NDArray[np.int16]] = [np.zeros(0, np.int16)]
    blocks: Iterable[tuple[Sequence[str | None], int]] = chain(
        ((block, 0) for corpus in corpora for block in corpus.blocks()),
        ((known, 0) for bitext in bitexts for known, _ in bitext.blocks()),
        ((other, names.index(bitext.language)) for bitext in bitexts for _, other in bitext.blocks()),
        [(words, 0)],
        ((block, len(names)) for corpus in multilingual or () for block in corpus.blocks()),
    )
    for block, language in blocks:
        texts = [(text or "").strip() for text in block]
        kept = [text for text in texts if 0 < len(text) <= max_characters]
        left_out["empty"] += texts.count("")
        left_out["long"] += sum(len(text) > max_characters for text in texts)
        if held_out is not None and kept:
            table, report = held_out.process(pa.table({"text": kept}))
            add_report(contamination, report["contamination"])
            left_out["contaminated"] += len(kept) - table.num_rows
            kept = table.column("text").to_pylist()
        encoded = [text.encode() for text in kept]
        characters.append(b"".join(encoded))
        keys.append(hash64(encoded))
        lengths.append(np.array([len(text) for text in encoded], np.int64))
        languages.append(np.full(len(encoded), language, np.int16))
    all_keys, all_languages = np.concatenate(keys), np.concatenate(languages)
    # Keep the first of equal texts; texts in the teachers' language come before translations.
    rows = np.sort(np.unique(all_keys, return_index=True)[1]).astype(np.int64)
    left_out["repeated"] = len(all_keys) - len(rows)
    target_text_ids = _find_target_texts(all_keys[rows], all_languages[rows] == 0, bitexts)
    is_multilingual = np.array([multilingual is not None and supports(name) for name in names] + [True])
    is_taught = (target_text_ids >= 0) | is_multilingual[all_languages[rows]]
    if not is_taught.all():
        left_out["untaught"] = int((~is_taught).sum())
        targets, new_ids = target_text_ids[is_taught], np.cumsum(is_taught) - 1
        rows, target_text_ids = rows[is_taught], np.where(targets < 0, -1, new_ids[targets])
    if not len(rows):
        raise InputError(
            f"no text to learn from (left out: {describe_left_out(left_out)})",
            path=corpora[0].path if corpora else None,
            remedy="give running text, one sentence per line",
        )
    return Texts(
        characters.map(),
        ends_of(np.concatenate(lengths)),
        rows,
        all_keys[rows],
        left_out,
        contamination,
        target_text_ids,
        all_languages[rows],
        [*names, *([OTHER] if multilingual else [])],
    )


def _find_target_texts(
    keys: NDArray[np.uint64], is_known: NDArray[np.bool_], bitexts: Sequence[Bitext]
) -> NDArray[np.int64]:
    """Find for each text the id of the text whose vector it learns, -1 if it is not in the collection."""
    target_text_ids = np.where(is_known, np.arange(len(keys)), -1)
    order = np.argsort(keys, kind="stable")

    def find_ids(texts: list[str]) -> NDArray[np.int64]:
        hashes = hash64(texts)
        candidates = order[np.searchsorted(keys, hashes, sorter=order).clip(max=len(keys) - 1)]
        return np.where(keys[candidates] == hashes, candidates, -1)

    for bitext in bitexts if len(keys) else ():
        for texts, translations in bitext.blocks():
            teachers, students = find_ids(texts), find_ids(translations)
            # NumPy keeps the last assignment to an index; reversed, this is the first translation.
            pairs = np.flatnonzero((teachers >= 0) & (students >= 0))[::-1]
            pairs = pairs[target_text_ids[students[pairs]] < 0]
            target_text_ids[students[pairs]] = teachers[pairs]
    return target_text_ids


def describe_left_out(left_out: Counter[str]) -> str:
    """Describe how many texts were left out."""
    words = {"long": "too long", "contaminated": "of evaluation sets", "untaught": "whose translation is left out"}
    return ", ".join(f"{count:,} {words.get(name, name)}" for name, count in left_out.items() if count) or "none"


def encode_texts(texts: Texts, tokenizer: Any, *, scratch: str | os.PathLike[str] | None = None) -> TokenIds:
    """Tokenize texts with a tokenizer or an encoder, into a memory-mapped file; a text may have no tokens."""
    tokenize, arrays = make_tokenize_function(tokenizer), TokenArrays(scratch)
    for block in texts.blocks():
        arrays.append(tokenize(block))
    return arrays.finish().ids
