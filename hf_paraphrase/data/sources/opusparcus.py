"""Opusparcus 1.0 (Creutz 2018): subtitle paraphrases in six languages, from the files of the distribution.

Training pairs that are also development or test pairs, in either order, are left out and counted; `--decontaminate`
looks for single sentences too, of four words or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, UsageError
from ...settings import setting
from ...text.hashing import are_among, hash_rows
from ..text_blocks import LineErrors
from ..text_files import Field, read_tables
from .source import Part, Read, Source, TrainingSettings, find_files

LANGUAGES = ("de", "en", "fi", "fr", "ru", "sv")
_RANKING = {
    "pmi": "double",
    "expected_alignments": "double",
    "num_pivot_languages": "int64",
    "edit_distance": "double",
}
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("id", "sentence1", "sentence2", "lang")]
    + [(name, pa.type_for_alias(kind)) for name, kind in {**_RANKING, "score": "double", "label": "int64"}.items()]
)
"""Training pairs have the four ranking columns, annotated pairs `score` and `label`; what a row lacks is null."""

UNDECIDED = 2.5
"""The mean score of a pair that one annotator took for a paraphrase and the other did not."""

_SIDES = ["sentence1", "sentence2"]
_FILES = {"train": "{0}-train.txt", "validation": "{0}-dev.txt", "test": "{0}-test.txt"}
_LETTERS = {"train": "N", "validation": "D", "test": "T"}

PUBLISHED = {
    "de": {90: 1_000_000, 80: 4_000_000, 70: 6_000_000, 60: 12_000_000},
    "en": {97: 1_000_000, 80: 5_000_000, 70: 20_000_000, 60: 34_000_000},
    "fi": {83: 1_000_000, 80: 2_500_000, 70: 3_500_000, 60: 9_000_000},
    "fr": {95: 1_000_000, 80: 5_000_000, 70: 13_000_000, 60: 22_000_000},
    "ru": {85: 1_000_000, 80: 2_000_000, 70: 5_000_000, 60: 15_000_000},
    "sv": {85: 1_000_000, 80: 1_200_000, 70: 1_800_000, 60: 5_000_000},
}
"""For each language and estimated percentage of good pairs, the number of pairs from the beginning of the file:
Sjöblom, Creutz and Aulamo (2018), Table 3, in which the figures are rounded."""


@dataclass(kw_only=True)
class OpusparcusSource(Source, TrainingSettings):
    """Make a data folder of Opusparcus 1.0 (Creutz 2018) for one language.

    The split train holds ranked pairs, best first; validation and test hold pairs with the annotators' mean score.
    The configuration `labelled` is validation and test without the pairs scored 2.5.
    """

    SUMMARY: ClassVar[str] = "Opusparcus 1.0: subtitle paraphrases in six languages"
    LICENSE: ClassVar[str] = "cc-by-nc-4.0"
    URL: ClassVar[str] = "https://huggingface.co/datasets/GEM/opusparcus"
    TEMPLATE: ClassVar[str] = "opusparcus"

    data_dir: str = setting("the unpacked distribution, with fr/train/fr-train.txt.bz2 and so on", path=True)
    lang: str = setting("the language", choices=LANGUAGES, names=["--lang", "--language"])
    quality: int | None = setting(
        "use the best training pairs, with this estimated percentage of good ones; published values: 90, 80, "
        "70, 60 (de), 97, 80, 70, 60 (en), 83, 80, 70, 60 (fi), 95, 80, 70, 60 (fr), 85, 80, 70, 60 (ru, sv)",
        None,
    )

    @property
    def title(self) -> str:
        """The name, with the language."""
        return f"Opusparcus 1.0 ({self.lang})"

    def parts(self) -> list[Part]:
        """List the splits whose files exist; the annotated ones also as the configuration `labelled`."""
        files = find_files(self.data_dir, {split: name.format(self.lang) for split, name in _FILES.items()})
        if "train" not in files and (self.quality is not None or self.decontaminate):
            remedy = "--quality and --decontaminate concern the training part only"
            raise InputError(f"no training pairs of {self.lang} below this folder", path=self.data_dir, remedy=remedy)
        most = None if self.quality is None else pairs_at_quality(self.lang, self.quality)
        parts = [Part(name, SCHEMA, [path], partial(_read, path, name, self.lang)) for name, path in files.items()]
        judged = [part for part in parts if part.split != "train"]
        if "train" in files:
            training = partial(_training_pairs, parts[0].read, [part.read for part in judged], most)
            parts[0] = replace(parts[0], read=training, training=True)
        schema = pa.schema([field for field in SCHEMA if field.name not in _RANKING])
        for part in judged:
            read = partial(_labelled_only, part.read)
            parts.append(Part(part.split, schema, part.files, read, "labelled", may_be_empty=True))
        return parts


def pairs_at_quality(lang: str, quality: int) -> int:
    """Return the number of pairs to take for an estimated percentage of good ones."""
    if quality not in PUBLISHED[lang]:
        qualities = ", ".join(map(str, sorted(PUBLISHED[lang], reverse=True)))
        problem = f"no number of pairs is known for --quality {quality} in {lang}; known values are {qualities}"
        raise UsageError(problem, remedy="give one of these, or use filter --first N")
    return PUBLISHED[lang][quality]


def _read(path: Path, split: str, lang: str, errors: LineErrors) -> Iterator[pa.Table]:
    """Read rows, and add the language and for annotated rows the label, which is null at 2.5."""
    identifier = f"{lang}-{_LETTERS[split]}"
    fields = [Field("id", pattern=f"{identifier}[0-9]+", example=f"{identifier}12"), *map(Field, _SIDES)]
    if split == "train":
        fields += [Field(name, pa.type_for_alias(kind)) for name, kind in _RANKING.items()]
    else:
        fields.append(Field("score", pa.float64(), low=1, high=4))
    for table in read_tables(path, fields, errors, remedy="fix the line, or download Opusparcus 1.0 again"):
        table = table.append_column("lang", pa.repeat(pa.scalar(lang), table.num_rows))
        if split != "train":
            score = table.column("score")
            label = pc.greater(score, UNDECIDED).cast(pa.int64())
            table = table.append_column("label", pc.if_else(pc.equal(score, UNDECIDED), None, label))
        yield table


def _training_pairs(read: Read, judged: Sequence[Read], most: int | None, errors: LineErrors) -> Iterator[pa.Table]:
    """Stream the first rows, and drop pairs that are also development or test pairs, in either order."""
    judged_keys = [np.empty(0, np.uint64)]
    # Errors in these files are reported where they are read themselves.
    for table in chain.from_iterable(other(LineErrors("skip")) for other in judged):
        sides = table.select(_SIDES).columns
        judged_keys += [hash_rows(*sides), hash_rows(*reversed(sides))]
    keys = np.unique(np.concatenate(judged_keys))
    taken = 0
    for table in read(errors):
        table = table if most is None else table.slice(0, most - taken)
        taken += table.num_rows
        matched = are_among(hash_rows(*table.select(_SIDES).columns), keys)
        if matched.any():
            errors.left_out["evaluation_pair"] += int(matched.sum())
            table = table.filter(pa.array(~matched))
        yield table
        if taken == most:
            return


def _labelled_only(read: Read, errors: LineErrors) -> Iterator[pa.Table]:
    for table in read(errors):
        decided = table.filter(table.column("label").is_valid())
        errors.left_out["undecided"] += table.num_rows - decided.num_rows
        yield decided
