"""Paraphrase pairs by pivoting: two sentences with one translation in common.

Bannard and Callison-Burch (2005) find paraphrases through shared translations of phrases; in corpora with several
translations of a sentence, such as Tatoeba, the same holds for whole sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tqdm import tqdm

from ...artefacts.remote_paths import to_path
from ...errors import InputError, UsageError
from ...settings import setting
from ..decontamination import DecontaminationSettings
from ..fingerprints import normalise_all
from ..folder import DataFolder
from ..row_selection import text_keys
from ..schema import BITEXT
from ..text_files import LineErrors
from .card_values import card_columns
from .preparation import recipe_of
from .source import OriginSettings, Part, ReadRows, SampleSettings, Source

PIVOT = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("source", pa.string()),
        ("source_lang", pa.string()),
        ("num_pivots", pa.int64()),
    ]
)
"""Pivot pairs: the two sentences share the translation `source`, and `num_pivots` translations in all."""

_COLUMNS = ["source", "target", "source_lang", "target_lang"]


@dataclass(kw_only=True)
class PivotSource(Source, SampleSettings, DecontaminationSettings, OriginSettings):
    """Makes a paraphrase data folder of the pairs of target sentences that share a source sentence."""

    SUMMARY: ClassVar[str] = "pairs of sentences that share a translation, from prepared bitexts"
    TEMPLATE: ClassVar[str] = "pairs"
    RECORDED: ClassVar[tuple[str, ...]] = ("counts", "contamination")
    PATHS: ClassVar[tuple[str, ...]] = ("bitext",)

    bitext: list[str] = setting("one or more folders made by `prepare bitext`, with one target language", path=True)
    split: str = setting("the split of the bitexts to take", "train")
    max_pairs_per_source: int = setting(
        "greatest number of pairs from one source sentence; 0 = no limit", 0, at_least=0
    )
    ranked: bool = setting(
        "put the pairs that share the most source sentences (the column num_pivots) first, for `filter --first`", False
    )

    @property
    def title(self) -> str:
        """The names of the bitexts."""
        return f"Pivot pairs ({', '.join(self._names())})"

    @property
    def unit(self) -> str:
        """What is counted under `lines`."""
        return "candidate pairs"

    def parts(self) -> list[Part]:
        """Returns the one part, `train`."""
        return [
            Part(
                "train",
                PIVOT,
                (_Reader(self),),
                (),
                training=True,
                texts=(),
                compared=("sentence1", "sentence2"),
                rules=("over_limit", "repeated"),
            )
        ]

    def inputs(self) -> list[Path]:
        """Lists the bitexts and the evaluation sets."""
        return [Path(path) for path in (*self.bitext, *self.decontaminate)]

    def check(self) -> None:
        """Checks the bitexts too."""
        super().check()
        if len({Path(folder).resolve() for folder in self.bitext}) < len(self.bitext):
            raise UsageError("--bitext names a folder twice", remedy="name each once")
        for folder in self.bitext:
            DataFolder(folder).require(*BITEXT.names, split=self.split)

    def card(self, folder: DataFolder, rows: ReadRows) -> dict[str, Any]:
        """Returns the bitexts, the columns, and what became of the candidates."""
        batch = next(DataFolder(self.bitext[0]).batches(self.split, ["target_lang"]))
        return {
            "lang": str(pc.unique(batch.column("target_lang"))[0].as_py()),
            "files": self._names(),
            "columns": card_columns(PIVOT),
            "splits": folder.sizes(),
            "rules": rows.counts["train"],
        }

    def results(self, rows: ReadRows) -> dict[str, Any]:
        """Returns the size of the bitexts, and how many of their source sentences were shared."""
        (reader,) = rows.parts["train"].readers
        assert isinstance(reader, _Reader)
        return {"bitext_rows": reader.counts["rows"], "shared_sources": reader.counts["sources"]}

    def _names(self) -> list[str]:
        return [to_path(folder).resolve().name for folder in self.bitext]


class _Reader:
    """Finds the pairs as a part is read, and keeps the counts."""

    def __init__(self, source: PivotSource) -> None:
        self.source = source
        self.counts: dict[str, int] = {}

    def __call__(self, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
        source = self.source
        pairs, self.counts = pivot_pairs(
            [Path(folder) for folder in source.bitext],
            split=source.split,
            max_pairs_per_source=source.max_pairs_per_source,
            ranked=source.ranked,
        )
        if not pairs.num_rows:
            raise InputError(
                "no two target sentences share a source sentence", path=source.bitext[0], remedy="add bitexts"
            )
        left_out.update({name: self.counts[name] for name in ("over_limit", "repeated")})
        yield pairs


prepare_pivot = recipe_of("pivot", PivotSource)


def pivot_pairs(
    folders: Sequence[Path],
    *,
    split: str = "train",
    max_pairs_per_source: int = 0,
    ranked: bool = False,
) -> tuple[pa.Table, dict[str, int]]:
    """Finds all pairs of different target sentences that share a source sentence.

    The bitexts are read twice, with 8 bytes a row kept between: only rows whose source sentence occurs more than once
    are held in memory.

    Args:
        folders: Prepared bitexts; their target sides must be of one language.
        split: The split to take of each; held-out parts stay out of training data by leaving it at `train`.
        max_pairs_per_source: The greatest number of pairs from one source sentence, the first ones; 0 for no limit.
        ranked: Put the pairs with the most shared translations first, as Opusparcus puts those first that are the most
            likely paraphrases (Creutz 2018, with a finer measure); equal ones stay in their order.

    Returns:
        The pairs in the schema PIVOT, in the order in which their source sentences first occur unless they are ranked,
        each unordered pair once. `num_pivots` counts the translations through which a pair was found, a sentence in
        two languages twice; with a limit per source some may be missing. Sentences that differ in case and punctuation
        only are one sentence, the first of them. And counts: `rows` read, `sources` shared by several sentences,
        `candidates` (pairs before the next two rules), `over_limit`, `repeated` (found through another source before)
        and `pairs`.
    """
    opened = [DataFolder(folder) for folder in folders]
    keys = _source_keys(opened, split)
    order = np.argsort(keys, kind="stable")
    shared = np.zeros(len(keys), dtype=bool)
    equal = keys[order][1:] == keys[order][:-1]
    shared[order[1:][equal]] = True
    shared[order[:-1][equal]] = True
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for table in _rows(opened, split, shared):
        normal = normalise_all(table.column("target").combine_chunks()).to_pylist()
        rows = zip(*(table.column(name).to_pylist() for name in ("source_lang", "source", "target")), strict=True)
        for (language, source, target), form in zip(rows, normal, strict=True):
            groups.setdefault((language, source), {}).setdefault(form, target)
    counts = {"rows": len(keys), "sources": 0, "candidates": 0, "over_limit": 0, "repeated": 0}
    examples: list[tuple[str, str, str, str]] = []
    pivots: dict[tuple[str, str], int] = {}
    for (language, source), sentences in groups.items():
        forms = [form for form in sentences if form]
        number = len(forms) * (len(forms) - 1) // 2
        counts["sources"] += number > 0
        counts["candidates"] += number
        left = max_pairs_per_source or number
        for first, second in combinations(forms, 2):
            if left == 0:
                break
            left -= 1
            number -= 1
            pair = (first, second) if first < second else (second, first)
            if pair in pivots:
                pivots[pair] += 1
                counts["repeated"] += 1
                continue
            pivots[pair] = 1
            examples.append((sentences[first], sentences[second], source, language))
        counts["over_limit"] += number
    counts["pairs"] = len(examples)
    columns = zip(*examples, strict=True) if examples else [(), (), (), ()]
    # Pairs were found and first counted in the same order.
    numbers = np.fromiter(pivots.values(), dtype=np.int64, count=len(pivots))
    arrays = [*(pa.array(list(column), pa.string()) for column in columns), pa.array(numbers)]
    table = pa.table(arrays, schema=PIVOT)
    return (table.take(np.argsort(-numbers, kind="stable")) if ranked else table), counts


def _source_keys(folders: Sequence[DataFolder], split: str) -> np.ndarray:
    """Hashes the source language and sentence of every row of all folders: (rows,), uint64."""
    keys = [np.empty(0, np.uint64)]
    language: str | None = None
    total = sum(folder.count(split) for folder in folders)
    with tqdm(desc="look up", total=total, unit=" rows", unit_scale=True) as bar:
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
                keys.append(text_keys(batch.column("source_lang"), batch.column("source")))
                bar.update(batch.num_rows)
    return np.concatenate(keys)


def _rows(folders: Sequence[DataFolder], split: str, wanted: np.ndarray) -> Iterator[pa.Table]:
    begin = 0
    for folder in folders:
        number = folder.count(split)
        for batch in folder.batches(split, _COLUMNS, rows=wanted[begin : begin + number]):
            yield pa.Table.from_batches([batch])
        begin += number
