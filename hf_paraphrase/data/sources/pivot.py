"""Paraphrase pairs by pivoting: two sentences with one translation in common.

Bannard and Callison-Burch (2005) find paraphrases through shared translations of phrases; in corpora with several
translations of a sentence, such as Tatoeba, the same holds for whole sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...artefacts.remote_paths import to_path
from ...errors import InputError, UsageError
from ...settings import setting
from ..decontamination import DecontaminationSettings
from ..fingerprints import normalise_all
from ..folder import DataFolder
from ..row_selection import text_keys
from ..schema import BITEXT, PAIRS
from ..text_blocks import LineErrors
from .preparation import card_columns, recipe_of
from .source import OriginSettings, Part, SampleSettings, Source

PIVOT = pa.schema([*PAIRS, ("source", pa.string()), ("source_lang", pa.string()), ("num_pivots", pa.int64())])
"""Pivot pairs: the two sentences share the translation `source`, and `num_pivots` translations in all."""

_COLUMNS = ["source", "target", "source_lang", "target_lang"]


@dataclass(kw_only=True)
class PivotSource(Source, SampleSettings, DecontaminationSettings, OriginSettings):
    """Makes a paraphrase data folder of the pairs of target sentences that share a source sentence."""

    SUMMARY: ClassVar[str] = "pairs of sentences that share a translation, from prepared bitexts"
    TEMPLATE: ClassVar[str] = "pairs"

    bitext: list[str] = setting(
        "one or more folders made by `prepare bitext`, with one target language", path=True, dataset=True
    )
    split: str = setting("the split of the bitexts to take", "train")
    ranked: bool = setting(
        "put the pairs that share the most source sentences (the column num_pivots) first, for `filter --first`", False
    )

    @property
    def title(self) -> str:
        """The names of the bitexts."""
        return f"Pivot pairs ({', '.join(self._names())})"

    def parts(self) -> list[Part]:
        """Returns the one part, `train`."""
        compared = ("sentence1", "sentence2")
        return [Part("train", PIVOT, (), self._read, training=True, texts=(), compared=compared)]

    def inputs(self) -> list[str | Path]:
        """Lists the bitexts and the evaluation sets."""
        return [*map(to_path, self.bitext), *map(Path, self.decontaminate)]

    def check(self) -> None:
        """Checks the bitexts too."""
        super().check()
        if len({to_path(folder).resolve() for folder in self.bitext}) < len(self.bitext):
            raise UsageError("--bitext names a folder twice", remedy="name each once")
        for folder in self.bitext:
            DataFolder(folder).require(*BITEXT.names, split=self.split)

    def card(self, folder: DataFolder, counts: Mapping[str, dict[str, int]]) -> dict[str, Any]:
        """Returns the bitexts, the columns, and what became of the candidates."""
        batch = next(DataFolder(self.bitext[0]).batches(self.split, ["target_lang"]))
        return {
            "lang": str(pc.unique(batch.column("target_lang"))[0].as_py()),
            "files": self._names(),
            "columns": card_columns(PIVOT),
            "splits": folder.sizes(),
            "rules": counts["train"],
        }

    def _names(self) -> list[str]:
        return [to_path(folder).resolve().name for folder in self.bitext]

    def _read(self, errors: LineErrors) -> Iterator[pa.Table]:
        folders = [DataFolder(folder) for folder in self.bitext]
        pairs, left_out = pivot_pairs(folders, self.split, ranked=self.ranked)
        errors.left_out.update(left_out)
        yield pairs


prepare_pivot = recipe_of("pivot", PivotSource)


def pivot_pairs(
    folders: Sequence[DataFolder], split: str = "train", *, ranked: bool = False
) -> tuple[pa.Table, dict[str, int]]:
    """Finds all pairs of different target sentences that share a source sentence, each unordered pair once.

    The bitexts are read twice, with 8 bytes a row kept between: only rows whose source sentence occurs more than once
    are held in memory. Sentences with the same words are one sentence, the first of them. Ranked pairs with the most
    shared translations come first, as Opusparcus puts those first that are the most likely paraphrases (Creutz 2018,
    with a finer measure); others in the order in which their source sentences first occur.

    Returns:
        The pairs, and how many were left out as `repeated`, found through another source before.
    """
    keys = _source_keys(folders, split)
    _, groups, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    sentences: dict[tuple[str, str], dict[str, str]] = {}
    for language, source, target, form in _rows(folders, split, sizes[groups] > 1):
        if form and source:
            sentences.setdefault((language, source), {}).setdefault(form, target)
    examples: list[tuple[str, str, str, str]] = []
    pivots: dict[frozenset[str], int] = {}
    for (language, source), forms in sentences.items():
        for first, second in combinations(forms, 2):
            pair = frozenset((first, second))
            if pair not in pivots:
                examples.append((forms[first], forms[second], source, language))
            pivots[pair] = pivots.get(pair, 0) + 1
    # Pairs were found and first counted in the same order.
    numbers = np.fromiter(pivots.values(), dtype=np.int64, count=len(pivots))
    columns = [list(column) for column in zip(*examples, strict=True)] or [[]] * 4
    table = pa.table([*columns, numbers], schema=PIVOT)
    left_out = {"repeated": int(numbers.sum()) - len(numbers)}
    return (table.take(np.argsort(-numbers, kind="stable")) if ranked else table), left_out


def _source_keys(folders: Sequence[DataFolder], split: str) -> np.ndarray:
    """Hashes the source language and sentence of every row of all folders: (rows,), uint64."""
    keys = [np.empty(0, np.uint64)]
    language: str | None = None
    for folder in folders:
        folder.require(*BITEXT.names, split=split)
        for batch in folder.batches(split, _COLUMNS):
            for target_lang in pc.unique(batch.column("target_lang")).to_pylist():
                if language is not None and target_lang != language:
                    raise InputError(
                        f"the target language is {target_lang}, but {language} before it",
                        path=folder.path,
                        remedy="pivot over bitexts with one target language",
                    )
                language = target_lang
            keys.append(text_keys(*(pc.fill_null(batch.column(name), "") for name in ("source_lang", "source"))))
    return np.concatenate(keys)


def _rows(folders: Sequence[DataFolder], split: str, wanted: np.ndarray) -> Iterator[tuple[str, str, str, str]]:
    """Returns of the wanted rows the source language, the source, the target, and the words of the target."""
    begin = 0
    for folder in folders:
        number = folder.count(split)
        for batch in folder.batches(split, _COLUMNS, rows=wanted[begin : begin + number]):
            forms = normalise_all(batch.column("target")).to_pylist()
            sides = (batch.column(name).to_pylist() for name in ("source_lang", "source", "target"))
            yield from zip(*sides, forms, strict=True)
        begin += number
