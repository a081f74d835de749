"""Bitext as translation takes it: its splits, its languages, and its text cleaned as Moses does (by sacremoses)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from ..data.folder import DataFolder
from ..errors import InputError
from ..text.languages import primary_language
from ..text.normalization import is_blank

COLUMNS = ["source", "target", "source_lang", "target_lang"]


class BitextSides(NamedTuple):
    """Sentences and their translations, cleaned.

    Attributes:
        left_out: How many pairs were left out, being empty or too long.
    """

    sources: list[str]
    targets: list[str]
    left_out: int


def read_bitext(folder: str, split: str) -> pa.Table:
    """Reads a split of a bitext: the columns `source`, `target`, `source_lang` and `target_lang`."""
    bitext = DataFolder(folder)
    bitext.require(*COLUMNS, split=bitext.splits[0])
    if split not in bitext.splits:
        remedy = "prepare bitext --validation-size N makes a split `validation`"
        raise InputError(f"no split `{split}`", path=folder, remedy=remedy)
    return bitext.table(split, COLUMNS)


def languages_of(tables: Mapping[str, pa.Table]) -> tuple[str, str]:
    """Returns the languages of the sides, which must be those of all bitexts."""
    found: list[tuple[str, str]] = []
    for folder, table in tables.items():
        if not table.num_rows:
            raise InputError("no training pairs", path=folder, remedy="give another --bitext")
        found.append((table["source_lang"][0].as_py(), table["target_lang"][0].as_py()))
        if found[-1] != found[0]:
            problem = f"this bitext is {'→'.join(found[-1])}, but the first one is {'→'.join(found[0])}"
            raise InputError(problem, path=folder, remedy="mix bitext of the same two languages")
    return found[0]


@functools.lru_cache(maxsize=16)
def _normalizer(language: str) -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(lang=language)


def normalize_punctuation(texts: Iterable[str], language: str) -> list[str]:
    """Replaces typographic quotes, dashes and spaces as Moses' normalize-punctuation script does.

    The tokenizer of the model does what matters most of this too, so that it takes raw text; what depends on the
    language, the order of quotes and commas, is done here alone.
    """
    normalizer = _normalizer(language)
    return [normalizer.normalize(text) for text in texts]


def trainable_rows(table: pa.Table, *, max_words: int) -> BitextSides:
    """Returns the sides of a bitext that can be trained on, Moses-normalised.

    Pairs with a side of more than `max_words` white-space separated words are left out.
    """
    sides = []
    for side in ("source", "target"):
        (language,) = table[f"{side}_lang"].slice(0, 1).to_pylist() or [None]
        sides.append(normalize_punctuation((text or "" for text in table[side].to_pylist()), language or "en"))
    kept = [
        pair
        for pair in zip(*sides, strict=True)
        if all(not is_blank(side) and len(side.split()) <= max_words for side in pair)
    ]
    if not kept:
        raise InputError(
            f"none of the {table.num_rows} sentence pairs has 1 to {max_words} words on both sides",
            remedy="check the bitext; train-nmt also has --max-words",
        )
    return BitextSides([source for source, _ in kept], [target for _, target in kept], table.num_rows - len(kept))


def check_languages(folder: str, model: Any, bitext: DataFolder, split: str) -> None:
    """Refuses bitext with a side in another language than a model's, where both are known.

    Variants of a language, such as `fr` and `fr-CA`, are one. The first row of the bitext speaks for all.
    """
    (first,) = next(bitext.row_range(split, 0, 1)).to_pylist()
    for side, translates in (("source", "translates"), ("target", "translates into")):
        language, own = first.get(f"{side}_lang"), getattr(model.config, f"{side}_lang", None)
        if are_different(language, own):
            what = f"the {side} side is {language}, but the model {folder} {translates} {own}"
            raise InputError(what, path=bitext.path, remedy="give a model and bitext of the same two languages")


def are_different(one: str | None, other: str | None) -> bool:
    """Returns whether two codes are of different languages; false where one is not known."""
    known = [primary_language(re.split("[-_]", code)[0]) for code in (one, other) if code and code != "und"]
    return len(set(known)) == 2


def normalized_sources(model: Any, texts: Iterable[str], language: str | None) -> list[str]:
    """Returns sources as a model wants them: normalised as its training data for RNNsearch, else as they are."""
    if model.config.model_type != "rnn_search":
        return list(texts)
    return normalize_punctuation(texts, language or "en")
