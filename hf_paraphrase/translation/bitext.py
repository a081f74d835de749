"""Bitext as translation takes it: its splits, its languages, and its text cleaned as Moses does (by sacremoses)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ..data.folder import DataFolder
from ..data.languages import primary_language
from ..data.same_text import is_blank
from ..errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset

_COLUMNS = ["source", "target", "source_lang", "target_lang"]
_SIDES = {"source": "translates", "target": "translates into"}


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
    bitext.require(*_COLUMNS, split=bitext.splits[0])
    if split not in bitext.splits:
        remedy = "prepare bitext --validation-size N makes a split `validation`"
        raise InputError(f"no split `{split}`", path=folder, remedy=remedy)
    return bitext.table(split, _COLUMNS)


def languages_of(tables: Mapping[str, pa.Table]) -> tuple[str, str]:
    """Returns the languages of the sides, which must be those of all bitexts."""
    first: tuple[str, str] | None = None
    for folder, table in tables.items():
        if not table.num_rows:
            raise InputError("no training pairs", path=folder)
        languages = (table["source_lang"][0].as_py(), table["target_lang"][0].as_py())
        first = first or languages
        if languages != first:
            raise InputError(
                f"this bitext is {'→'.join(languages)}, the first one {'→'.join(first)}",
                path=folder,
                remedy="mix bitext of the same two languages",
            )
    assert first is not None
    return first


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


def trainable_rows(bitext: pa.Table | Dataset, *, max_words: int) -> BitextSides:
    """Returns the sides of a bitext that can be trained on, Moses-normalised.

    Without `source_lang` or `target_lang` a side counts as English. Pairs with a side of more than `max_words`
    white-space separated words are left out.
    """
    table = bitext if isinstance(bitext, pa.Table) else bitext.with_format("arrow")[:]
    if not {"source", "target"} <= set(table.column_names):
        raise InputError(
            f"no bitext: the columns are {', '.join(table.column_names)}", remedy="name two of them source and target"
        )
    sources, targets = (
        normalize_punctuation((text or "" for text in table[side].to_pylist()), _language(table, f"{side}_lang"))
        for side in ("source", "target")
    )
    kept = [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if all(not is_blank(side) and len(side.split()) <= max_words for side in (source, target))
    ]
    if not kept:
        raise InputError(
            f"none of the {table.num_rows} sentence pairs has 1 to {max_words} words on both sides",
            remedy="look at the bitext",
        )
    return BitextSides([item[0] for item in kept], [item[1] for item in kept], table.num_rows - len(kept))


def check_languages(folder: str, model: Any, bitext: str | DataFolder, split: str) -> None:
    """Refuses bitext with a side in another language than a model's, where both are known.

    Variants of a language, such as `fr` and `fr-CA`, are one. The first row of the bitext speaks for all; without
    `source_lang` or `target_lang`, that side is not known.
    """
    data = DataFolder.open(bitext)
    present = [name for side in _SIDES if (name := f"{side}_lang") in data.schema(split).names]
    rows = next(iter(data.batches(split, present, batch_size=1)), None) if present else None
    if rows is None or not rows.num_rows:
        return
    for name, language in rows.slice(0, 1).to_pylist()[0].items():
        own, side = getattr(model.config, name, None), name.removesuffix("_lang")
        if are_different(language, own):
            raise InputError(
                f"the {side} side is {language}, but the model {folder} {_SIDES[side]} {own}",
                path=data.path,
                remedy="give a model and bitext of the same two languages",
            )


def are_different(one: str | None, other: str | None) -> bool:
    """Returns whether two codes are of different languages; false where one is not known."""
    known = [primary_language(re.split("[-_]", code)[0]) for code in (one, other) if code and code != "und"]
    return len(set(known)) == 2


def normalized_sources(model: Any, texts: Iterable[str], language: str | None) -> list[str]:
    """Returns sources as a model wants them: normalised as its training data for RNNsearch, else as they are."""
    if model.config.model_type != "rnn_search":
        return list(texts)
    return normalize_punctuation(texts, language or "en")


def _language(table: pa.Table, column: str) -> str:
    values: Sequence[Any] = table[column].slice(0, 1).to_pylist() if column in table.column_names else []
    return str(values[0]) if values and values[0] else "en"
