"""Bitext for translation models: its splits, its languages, and its text cleaned as in Moses (by sacremoses)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..data.folder import DataFolder
from ..data.rows import Rows
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


def open_bitext(folder: str, split: str) -> Rows:
    """Open a split of a bitext, which has the columns `source`, `target`, `source_lang` and `target_lang`."""
    data = DataFolder(folder)
    data.require(*COLUMNS, split=data.splits[0])
    if split not in data.splits:
        remedy = "prepare bitext --validation-size N makes a split `validation`"
        raise InputError(f"no split `{split}`", path=folder, remedy=remedy)
    return data.rows(split)


def languages_of(bitexts: Sequence[Rows]) -> tuple[str, str]:
    """Return the source and target language of the first bitext; the other bitexts must have these or variants."""
    languages: list[tuple[str, str]] = []
    for bitext in bitexts:
        first_row = bitext.read(COLUMNS, stop=1).to_pylist()
        if not first_row:
            raise InputError("no training pairs", path=bitext.name, remedy="give another --bitext")
        (row,) = first_row
        languages.append((row["source_lang"], row["target_lang"]))
        if any(map(are_different, languages[-1], languages[0])):
            own, first = ("→".join(code or "und" for code in pair) for pair in (languages[-1], languages[0]))
            problem = f"this bitext is {own}, but the first one is {first}"
            raise InputError(problem, path=bitext.name, remedy="mix bitext of the same two languages")
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


def check_languages(folder: str, model: Any, bitext: Rows, max_rows: int | None = None) -> None:
    """Refuse bitext with rows in other languages than a model's, if both name their languages.

    Variants of a language, such as `fr` and `fr-CA`, are equal. With `max_rows` only the first rows are checked.
    """
    translates = {"source_lang": "translates", "target_lang": "translates into"}
    present = [name for name in translates if name in bitext.columns]
    languages: dict[str, dict[str | None, None]] = {name: {} for name in present}
    for batch in bitext.batches(present, stop=max_rows) if present else ():
        for name in present:
            languages[name] |= dict.fromkeys(batch.column(name).unique().to_pylist())
    for name, codes in languages.items():
        own = getattr(model.config, name, None)
        if (language := next((code for code in codes if are_different(code, own)), None)) is not None:
            side, has = name.partition("_")[0], "is" if len(codes) == 1 else "has rows in"
            problem = f"the {side} {has} {language}, but the model {folder} {translates[name]} {own}"
            raise InputError(problem, path=bitext.name, remedy="give a model and bitext of the same two languages")


def are_different(one: str | None, other: str | None) -> bool:
    """Return whether two language codes name different languages; false if one is undefined."""
    primary = [primary_language(re.split("[-_]", code)[0]) for code in (one, other) if code and code != "und"]
    return len(set(primary)) == 2


def normalized_sources(model: Any, texts: Iterable[str], language: str | None) -> list[str]:
    """Normalize the sources of an RNNsearch model like its training data; return them unchanged for others."""
    if model.config.model_type != "rnn_search":
        return list(texts)
    return normalize_punctuation(texts, language or "en")
