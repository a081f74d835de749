"""Paraphrase pairs by pivoting: two sentences with a translation in common.

Bannard and Callison-Burch (2005) find paraphrases through shared translations of phrases. Corpora with several
translations of a sentence, such as Tatoeba, allow the same for whole sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...artefacts.fsspec_path import to_path
from ...errors import InputError, UsageError
from ...settings import setting
from ...text.hashing import draw_keys
from ...text.normalization import is_blank, normalize_words_all
from ..decontamination import DecontaminationSettings
from ..folder import DataFolder
from ..schema import BITEXT, PAIRS
from ..text_blocks import LineErrors
from .preparation import recipe_of
from .source import OriginSettings, Part, SampleSettings, Source

PIVOT = pa.schema([*PAIRS, ("source", pa.string()), ("source_lang", pa.string()), ("num_pivots", pa.int64())])
"""Pivot pairs: the two sentences share the translation `source`, and `num_pivots` translations in all."""

_COLUMNS = ["source", "target", "source_lang", "target_lang"]


@dataclass(kw_only=True)
class PivotSource(Source, SampleSettings, DecontaminationSettings, OriginSettings):
    """Make a paraphrase data folder of the pairs of target sentences that share a source sentence."""

    SUMMARY: ClassVar[str] = "pairs of sentences that share a translation, from prepared bitexts"
    TEMPLATE: ClassVar[str] = "pairs"

    bitext: list[str] = setting(
        "one or more folders made by `prepare bitext`, with one target language", path=True, dataset=True
    )
    split: str = setting("the split of the bitexts to use", "train")
    ranked: bool = setting(
        "put the pairs that share the most source sentences (column num_pivots) first, for `filter --first`", False
    )

    @property
    def title(self) -> str:
        """The names of the bitexts."""
        return f"Pivot pairs ({', '.join(self.origins())})"

    @property
    def languages(self) -> tuple[str, ...]:
        """The target language of the bitexts."""
        batch = next(DataFolder(self.bitext[0]).batches(self.split, ["target_lang"]))
        return (str(batch.column("target_lang")[0]),)

    def parts(self) -> list[Part]:
        """Return the part `train`."""
        return [Part("train", PIVOT, (), self._read, training=True)]

    def inputs(self) -> list[str | Path]:
        """List the bitexts and the evaluation sets."""
        return [*map(to_path, self.bitext), *map(Path, self.decontaminate)]

    def origins(self) -> list[str]:
        """Name the bitexts."""
        return [to_path(folder).resolve().name for folder in self.bitext]

    def check(self) -> None:
        """Check the bitexts too."""
        super().check()
        if len({to_path(folder).resolve() for folder in self.bitext}) < len(self.bitext):
            raise UsageError("--bitext names a folder twice", remedy="name each once")
        for folder in self.bitext:
            DataFolder(folder).require(*BITEXT.names, split=self.split)

    def _read(self, errors: LineErrors) -> Iterator[pa.Table]:
        folders = [DataFolder(folder) for folder in self.bitext]
        pairs, left_out = pivot_pairs(folders, self.split, ranked=self.ranked)
        errors.left_out.update(left_out)
        yield pairs


prepare_pivot = recipe_of("pivot", PivotSource)


def pivot_pairs(
    folders: Sequence[DataFolder], split: str = "train", *, ranked: bool = False
) -> tuple[pa.Table, dict[str, int]]:
    """Find all pairs of different target sentences that share a source sentence, and count repeated pairs.

    The bitexts are read twice: memory holds 8 bytes per row, and the rows with a repeated source sentence. Sentences
    with the same words are one sentence, the first of them. Ranked pairs with the most shared translations come first,
    as in Opusparcus (Creutz 2018); others in the order of their source sentences.
    """
    keys = [np.empty(0, np.uint64)]
    target_languages: dict[str, None] = {}
    for batch in _batches(folders, split):
        target_languages |= dict.fromkeys(pc.unique(batch.column("target_lang")).to_pylist())
        keys.append(draw_keys(*(pc.fill_null(batch.column(name), "") for name in ("source_lang", "source"))))
    if len(target_languages) > 1:
        problem = f"the target languages are {', '.join(target_languages)}"
        raise InputError(problem, path=folders[0].path, remedy="pivot over bitexts with one target language")
    _, groups, sizes = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    wanted, begin = sizes[groups] > 1, 0
    sentences: dict[tuple[str, str], dict[str, str]] = {}
    for batch in _batches(folders, split):
        rows = batch.filter(pa.array(wanted[begin : begin + batch.num_rows]))
        begin += batch.num_rows
        forms = normalize_words_all(rows.column("target")).to_pylist()
        sides = (rows.column(name).to_pylist() for name in ("source_lang", "source", "target"))
        for language, source, target, form in zip(*sides, forms, strict=True):
            if form and not is_blank(source or ""):
                sentences.setdefault((language, source), {}).setdefault(form, target)
    examples: list[tuple[str, str, str, str]] = []
    pivots: dict[frozenset[str], int] = {}
    for (language, source), targets in sentences.items():
        for first, second in combinations(targets, 2):
            pair = frozenset((first, second))
            if pair not in pivots:
                examples.append((targets[first], targets[second], source, language))
            pivots[pair] = pivots.get(pair, 0) + 1
    # The examples have the order of the counts.
    counts = np.fromiter(pivots.values(), dtype=np.int64, count=len(pivots))
    columns = [list(column) for column in zip(*examples, strict=True)] or [[]] * 4
    table = pa.table([*columns, counts], schema=PIVOT)
    left_out = {"repeated": int(counts.sum()) - len(counts)}
    return (table.take(np.argsort(-counts, kind="stable")) if ranked else table), left_out


def _batches(folders: Sequence[DataFolder], split: str) -> Iterator[pa.RecordBatch]:
    return chain.from_iterable(folder.batches(split, _COLUMNS) for folder in folders)
