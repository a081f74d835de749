"""The Paraphrase Database, 1.0 and 2.0, as a `datasets` builder.

    builder = PpdbBuilder(file=["ppdb-2.0-l-phrasal.gz"], max_tokens=1_000_000)
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

Three layouts are read. `rules`: the database itself, every pack (lexical, one-to-many, many-to-one, phrasal,
syntactic) and size; `lexical`: a head and its paraphrases on a line, as used for retrofitting word vectors;
`annotated`: the sample with human scores. Under datasets 3 this file runs as a loading script, see
:mod:`hf_paraphrase.data.sources.builder`. `prepare ppdb` makes a data folder of the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_paraphrase.data.cleaning import count_words
from hf_paraphrase.data.languages import check_language
from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.ppdb_features import FeatureColumns, check_features, split_features
from hf_paraphrase.data.sources.source import Part, Reader, Source, TrainingSettings
from hf_paraphrase.data.text_files import PLAIN_OR_COMPRESSED, LineErrors, read_lines
from hf_paraphrase.data.typed_fields import Field, read_typed_fields
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.settings import setting

LAYOUTS = ("auto", "rules", "lexical", "annotated")
_SEPARATOR = " ||| "
_STORED = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("lhs", pa.string()),
        ("alignment", pa.string()),
        ("entailment", pa.string()),
        ("features", pa.string()),
    ]
)
_LEXICAL = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("rank", pa.int64())])
_ANNOTATED = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("score", pa.float64()),
        ("lhs", pa.string()),
        ("votes", pa.list_(pa.float64())),
    ]
)
_REMEDY = "fix the line, or fetch the file again"


@dataclass(kw_only=True)
class PpdbSource(Source, TrainingSettings):
    """Makes a data folder of PPDB 1.0 or 2.0, any pack and size, its lexical lists, or its annotated sample."""

    SUMMARY: ClassVar[str] = "PPDB 1.0 and 2.0: the database, its lexical lists, its annotated sample"
    TITLE: ClassVar[str] = "PPDB: The Paraphrase Database"
    DESCRIPTION: ClassVar[str] = "PPDB: paraphrases of words and phrases found by bilingual pivoting."
    CITATION: ClassVar[str] = (
        "Juri Ganitkevitch, Benjamin Van Durme and Chris Callison-Burch. 2013. PPDB: The Paraphrase Database. In "
        "Proceedings of NAACL-HLT 2013, 758-764. Ellie Pavlick, Pushpendre Rastogi, Juri Ganitkevitch, Benjamin Van "
        "Durme and Chris Callison-Burch. 2015. PPDB 2.0. In Proceedings of ACL-IJCNLP 2015 (Short Papers), 425-430."
    )
    LICENSE: ClassVar[str] = "cc-by-3.0"
    URL: ClassVar[str] = "http://paraphrase.org/"
    TEMPLATE: ClassVar[str] = "ppdb"
    PATHS: ClassVar[tuple[str, ...]] = ("file",)

    file: list[str] = setting(f"one or more files, {PLAIN_OR_COMPRESSED}, read in their order", path=True)
    layout: str = setting(
        "rules: the database; lexical: a head and its paraphrases a line; annotated: the sample with human scores; "
        "auto: detect from the first line",
        "auto",
        choices=LAYOUTS,
    )
    columns: list[str] = setting(
        "the features to keep, separated by spaces or commas, e.g. PPDB2.0Score AGigaSim; all by default", []
    )
    max_tokens: int = setting(
        "take pairs from the beginning until they have this many tokens, both sides together; 0 = all", 0, at_least=0
    )
    drop_identical: bool = setting("leave out pairs of which both sides are the same", False)
    lang: str = setting("language code of the phrases", "en", names=["--lang", "--language"])

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages."""
        return (self.lang,)

    def check(self) -> None:
        """Checks the language too."""
        check_language(self.lang, "--lang")
        super().check()

    def parts(self) -> list[Part]:
        """Returns the one part: `train`, or `test` for the annotated sample."""
        if not self.file:
            raise UsageError("no --file", remedy="name one or more files of PPDB")
        files = tuple(map(Path, self.file))
        layouts = {_recognise(path) if self.layout == "auto" else self.layout for path in files}
        if len(layouts) > 1:
            raise InputError(
                f"files of several layouts: {', '.join(sorted(layouts))}",
                path=files[0],
                remedy="prepare each by itself",
            )
        layout = layouts.pop()
        if layout != "rules" and self.columns:
            raise UsageError("--columns selects features, which only the database itself has", path=files[0])
        if layout == "annotated":
            if self.max_tokens or self.negatives is not None or self.decontaminate:
                raise UsageError(
                    "--max-tokens, --negatives and --decontaminate do not apply to the annotated sample",
                    path=files[0],
                )
            return [Part("test", _ANNOTATED, tuple(partial(_read_annotated, path) for path in files), files)]
        budget = _Budget(self.max_tokens)
        if layout == "lexical":
            lexical = tuple(self._limited(partial(_read_lexical, path), budget) for path in files)
            return [Part("train", _LEXICAL, lexical, files, training=True)]
        feature_columns = FeatureColumns(tuple(self.columns))
        readers = tuple(self._limited(partial(_read_rules, path, feature_columns), budget) for path in files)

        def finish() -> tuple[pa.Schema, partial[pa.Table]]:
            features = feature_columns.schema(files[0])
            others = [entry for entry in _STORED if entry.name not in {"features", *feature_columns.absent(files)}]
            schema = pa.schema([*others, *features])
            return schema, partial(split_features, schema=features)

        return [Part("train", _STORED, readers, files, training=True, finish=finish)]

    def _limited(self, read: Reader, budget: _Budget) -> Reader:
        return partial(_limited, read, budget, self.drop_identical)


class PpdbBuilder(SourceBuilder, source=PpdbSource):
    """Builds paraphrase pairs of PPDB with their features as typed columns."""


@dataclass
class _Budget:
    """How many tokens are still to be taken, over all files."""

    most: int
    taken: int = 0

    def rows(self, table: pa.Table) -> int:
        """Returns how many rows it takes until the budget is reached; the row that reaches it counts."""
        if not self.most:
            return table.num_rows
        lengths = sum(count_words(table.column(name).combine_chunks()) for name in ("sentence1", "sentence2"))
        reached = np.cumsum(lengths) + self.taken
        rows = min(int(np.searchsorted(reached, self.most)) + 1, table.num_rows)
        self.taken = int(reached[rows - 1]) if rows else self.taken
        return rows

    @property
    def spent(self) -> bool:
        return bool(self.most) and self.taken >= self.most


def _limited(
    read: Reader, budget: _Budget, drop_identical: bool, errors: LineErrors, left_out: Counter[str]
) -> Iterator[pa.Table]:
    if budget.spent:
        return
    for table in read(errors, left_out):
        if drop_identical:
            same = pc.equal(table.column("sentence1"), table.column("sentence2"))
            left_out["identical"] += int(pc.sum(same).as_py() or 0)
            table = table.filter(pc.invert(same))
        yield table.slice(0, budget.rows(table))
        if budget.spent:
            return


def _recognise(path: Path) -> str:
    """Detects the layout from the first line."""
    first = next((block[0].as_py() or "" for block in read_lines(path, LineErrors("skip"))), "")
    if _SEPARATOR in first:
        return "rules"
    return "annotated" if "\t" in first else "lexical"


def _read_rules(
    path: Path, feature_columns: FeatureColumns, errors: LineErrors, left_out: Counter[str]
) -> Iterator[pa.Table]:
    """Reads `[LHS] ||| phrase ||| paraphrase ||| features ||| alignment`, and in 2.0 ` ||| entailment`."""
    first_line = 1
    for lines in read_lines(path, errors):
        numbers = np.arange(first_line, first_line + len(lines))
        first_line += len(lines)
        counts = pc.add(pc.count_substring(lines, _SEPARATOR), 1).fill_null(0).to_numpy(zero_copy_only=False)
        good = (counts == 5) | (counts == 6)
        for row in np.flatnonzero(~good & (counts > 0)):
            errors.handle(
                f"{counts[row]} fields where 5 or 6 separated by `{_SEPARATOR.strip()}` are expected",
                path,
                int(numbers[row]),
                _REMEDY,
            )
        numbers, counts = numbers[good], counts[good]
        fields = pc.split_pattern(lines.filter(pa.array(good)), _SEPARATOR)
        starts = fields.offsets.to_numpy()[:-1]
        column = [fields.values.take(pa.array(starts + place)) for place in range(5)]
        last = pc.if_else(pa.array(counts == 6), pa.array(starts + 5), pa.scalar(None, pa.int64()))
        feature_columns.meet_entailment(bool((counts == 6).any()))
        table = pa.table(
            {
                "sentence1": pc.utf8_trim_whitespace(column[1]),
                "sentence2": pc.utf8_trim_whitespace(column[2]),
                "lhs": column[0],
                "alignment": column[4],
                "entailment": fields.values.take(last),
                "features": column[3],
            },
            schema=_STORED,
        )
        fits = check_features(table.column("features").combine_chunks(), feature_columns, numbers, path, errors)
        yield table if fits.all() else table.filter(pa.array(fits))


def _read_lexical(path: Path, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    """Reads `head paraphrase1 paraphrase2 …`: as many pairs as the head has paraphrases."""
    first_line = 1
    for lines in read_lines(path, errors):
        words = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(lines))
        counts = pc.list_value_length(words).fill_null(0).to_numpy(zero_copy_only=False)
        alone = (counts < 2) & lines.is_valid().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(alone):
            errors.handle("no head with paraphrases", path, first_line + int(row), _REMEDY)
        first_line += len(lines)
        words = words.filter(pa.array(counts >= 2))
        counts = counts[counts >= 2]
        starts = words.offsets.to_numpy()[:-1]
        heads = np.repeat(starts, counts - 1)
        ranks = np.arange(len(heads)) - np.repeat(np.cumsum(counts - 1) - (counts - 1), counts - 1)
        yield pa.table(
            [words.values.take(pa.array(heads)), words.values.take(pa.array(heads + 1 + ranks)), pa.array(ranks)],
            schema=_LEXICAL,
        )


def _read_annotated(path: Path, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    """Reads `mean score, [LHS], phrase, paraphrase, votes`, tab-separated; votes are separated by commas."""
    fields = [
        Field("score", pa.float64(), low=1, high=5),
        Field("lhs"),
        Field("sentence1"),
        Field("sentence2"),
        Field("votes", pattern=r"[0-9.]+(,[0-9.]+)*", example="3.0,4.0,5.0"),
    ]
    for lines, table in read_typed_fields(path, fields, errors, remedy=_REMEDY):
        texts = pc.split_pattern(table.column("votes").combine_chunks(), ",")
        numbers = [[_vote(vote) for vote in votes] for votes in texts.to_pylist()]
        good = np.array([None not in votes for votes in numbers], dtype=bool)
        for row in np.flatnonzero(~good):
            vote = table.column("votes")[int(row)].as_py()
            errors.handle(f"votes `{vote}` are not numbers", path, int(lines[row]), _REMEDY)
        votes = pa.array(numbers, pa.list_(pa.float64()))
        table = table.set_column(table.column_names.index("votes"), "votes", votes)
        yield table if good.all() else table.filter(pa.array(good))


def _vote(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
