"""Bitext for translation models: its splits, its languages, and its text cleaned as in Moses (by sacremoses)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..data.folder import DataFolder
from ..errors import InputError
from ..text.languages import primary_language
from ..text.normalization import is_blank
from ..text.words import count_words

COLUMNS = ["source", "target", "source_lang", "target_lang"]


class BitextSides(NamedTuple):
    """Sentences and their translations, cleaned.

    Attributes:
        left_out: The number of empty or too long pairs that were left out.
    """

    sources: list[str]
    targets: list[str]
    left_out: int


class BitextFolder:
    """A split of a bitext, with its columns `source`, `target`, `source_lang` and `target_lang`.

    Raises:
        InputError: The folder has no such split, or the split lacks a column.
    """

    def __init__(self, folder: str, split: str) -> None:
        self.data, self.split = DataFolder(folder), split
        self.data.require(*COLUMNS, split=self.data.splits[0])
        if split not in self.data.splits:
            remedy = "prepare bitext --validation-size N makes a split `validation`"
            raise InputError(f"no split `{split}`", path=folder, remedy=remedy)

    @property
    def num_rows(self) -> int:
        """The number of its pairs."""
        return self.data.count(self.split)

    def tables(self, batch_size: int, max_rows: int | None = None) -> Iterator[pa.Table]:
        """Yield all pairs, or the first `max_rows`, in batches."""
        stop = self.num_rows if max_rows is None else min(max_rows, self.num_rows)
        for table in self.data.row_range(self.split, 0, stop, batch_size=batch_size):
            yield table.select(COLUMNS)

    def head(self, max_rows: int) -> pa.Table:
        """Return the first `max_rows` pairs."""
        tables = list(self.tables(max_rows, max_rows))
        return pa.concat_tables(tables) if tables else self.data.schema(self.split).empty_table().select(COLUMNS)


def languages_of(bitexts: Sequence[BitextFolder]) -> tuple[str, str]:
    """Return the source and target language of the first bitext; the other bitexts must have these or variants."""
    languages: list[tuple[str, str]] = []
    for bitext in bitexts:
        if not bitext.num_rows:
            raise InputError("no training pairs", path=bitext.data.path, remedy="give another --bitext")
        (row,) = bitext.head(1).to_pylist()
        languages.append((row["source_lang"], row["target_lang"]))
        if any(map(are_different, languages[-1], languages[0])):
            own, first = ("→".join(code or "und" for code in pair) for pair in (languages[-1], languages[0]))
            problem = f"this bitext is {own}, but the first one is {first}"
            raise InputError(problem, path=bitext.data.path, remedy="mix bitext of the same two languages")
    return languages[0]


@functools.lru_cache(maxsize=16)
def _normalizer(language: str) -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(lang=language)


def normalize_punctuation(texts: Iterable[str], language: str) -> list[str]:
    """Replace typographic quotes, dashes and spaces as Moses' normalize-punctuation script does.

    The tokenizer of the model repeats the steps that do not depend on the language, so that it reads raw text.
    """
    normalizer = _normalizer(language)
    return [normalizer.normalize(text) for text in texts]


def clean_rows(table: pa.Table, *, max_words: int, moses: bool = True) -> BitextSides:
    """Return the sentences and translations of a bitext that can be used for training.

    Args:
        table: The bitext; its first row has the languages.
        max_words: Maximum number of words (:func:`~hf_paraphrase.text.words.count_words`) of a source and a target.
        moses: Whether to normalize punctuation.
    """
    columns = []
    for side in ("source", "target"):
        texts = [text or "" for text in table[side].to_pylist()]
        (language,) = table[f"{side}_lang"].slice(0, 1).to_pylist() or [None]
        columns.append(normalize_punctuation(texts, language or "en") if moses else texts)
    fits = np.all([count_words(pa.array(side, pa.string())) <= max_words for side in columns], axis=0).tolist()
    pairs = zip(*columns, strict=True)
    clean_pairs = [pair for pair, fit in zip(pairs, fits, strict=True) if fit and not any(map(is_blank, pair))]
    sources, targets = [source for source, _ in clean_pairs], [target for _, target in clean_pairs]
    return BitextSides(sources, targets, table.num_rows - len(clean_pairs))


def check_languages(folder: str, model: Any, bitext: DataFolder, split: str, max_rows: int | None = None) -> None:
    """Refuse bitext with rows in other languages than a model's, if both name their languages.

    Variants of a language, such as `fr` and `fr-CA`, are equal. With `max_rows` only the first rows are checked.
    """
    translates = {"source_lang": "translates", "target_lang": "translates into"}
    present = [name for name in translates if name in bitext.schema(split).names]
    languages: dict[str, dict[str | None, None]] = {name: {} for name in present}
    for batch in bitext.rows(split).batches(present, stop=max_rows) if present else ():
        for name in present:
            languages[name] |= dict.fromkeys(batch.column(name).unique().to_pylist())
    for name, codes in languages.items():
        own = getattr(model.config, name, None)
        if (language := next((code for code in codes if are_different(code, own)), None)) is not None:
            side, has = name.partition("_")[0], "is" if len(codes) == 1 else "has rows in"
            problem = f"the {side} {has} {language}, but the model {folder} {translates[name]} {own}"
            raise InputError(problem, path=bitext.path, remedy="give a model and bitext of the same two languages")


def are_different(one: str | None, other: str | None) -> bool:
    """Return whether two language codes name different languages; false if one is undefined."""
    primary = [primary_language(re.split("[-_]", code)[0]) for code in (one, other) if code and code != "und"]
    return len(set(primary)) == 2


def normalized_sources(model: Any, texts: Iterable[str], language: str | None) -> list[str]:
    """Normalize the sources of an RNNsearch model like its training data; return them unchanged for others."""
    if model.config.model_type != "rnn_search":
        return list(texts)
    return normalize_punctuation(texts, language or "en")
