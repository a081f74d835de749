"""BUCC 2017 (Zweigenbaum, Sharoff and Rapp 2017): comparable corpora with known parallel sentences.

The default configuration is the gold alignment with the texts, in the columns of a bitext; `foreign` and `english` are
the two sides to be mined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, UsageError
from ...settings import setting
from ..schema import BITEXT
from ..text_blocks import LineErrors
from ..typed_fields import Field, read_tables, read_typed_fields
from .source import LineErrorSettings, Part, Source, find_files

LANGUAGES = ("de", "fr", "ru", "zh")
GOLD = pa.schema([*BITEXT, ("source_id", pa.string()), ("target_id", pa.string())])
SENTENCES = pa.schema([("id", pa.string()), ("text", pa.string()), ("lang", pa.string())])

_SPLITS = {"sample": "sample", "train": "training", "test": "test"}


@dataclass(kw_only=True)
class BuccSource(Source, LineErrorSettings):
    """Makes a data folder of BUCC 2017 for one language: the gold pairs, and the two sides to be mined."""

    SUMMARY: ClassVar[str] = "BUCC 2017: comparable corpora with gold pairs"
    DESCRIPTION: ClassVar[str] = "BUCC 2017: two monolingual corpora with parallel sentences hidden in them."
    URL: ClassVar[str] = "https://comparable.limsi.fr/bucc2017/"
    TASKS: ClassVar[tuple[str, ...]] = ("translation", "sentence-similarity")
    TAGS: ClassVar[tuple[str, ...]] = ("bitext-mining",)
    TEMPLATE: ClassVar[str] = "bucc"
    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("default", "foreign", "english")

    data_dir: str = setting("the folder below which files such as fr-en.training.fr, .en and .gold are", path=True)
    lang: str = setting("the foreign language", choices=LANGUAGES, names=["--lang", "--language"])

    @property
    def title(self) -> str:
        """The name, with the language."""
        return f"BUCC 2017 {self.lang}-en"

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages."""
        return (self.lang, "en")

    def parts(self) -> list[Part]:
        """Lists the parts that are there; gold alignments need both sides."""
        paths = self._files()
        parts = []
        for split in _SPLITS:
            foreign, english = paths.get(f"{split}/{self.lang}"), paths.get(f"{split}/en")
            gold = paths.get(f"{split}/gold")
            if gold is None:
                continue
            if foreign is None or english is None:
                lacking = self.lang if foreign is None else "en"
                raise InputError(f"no sentences in {lacking} beside it", path=gold, remedy="put both sides there")
            read = partial(_read_gold, gold, (foreign, english), self.lang)
            parts.append(Part(split, GOLD, [gold, foreign, english], read, texts=("source", "target")))
        for configuration, lang in (("foreign", self.lang), ("english", "en")):
            for split in _SPLITS:
                path = paths.get(f"{split}/{lang}")
                if path is not None:
                    read = partial(_read_sentences, path, lang)
                    parts.append(Part(split, SENTENCES, [path], read, configuration, texts=("text",)))
        return parts

    def missing(self) -> list[str]:
        """Names the files that are not there."""
        paths = self._files()
        return [name for key, name in self._names().items() if key not in paths]

    def _names(self) -> dict[str, str]:
        return {
            f"{split}/{side}": f"{self.lang}-en.{name}.{side}"
            for split, name in _SPLITS.items()
            for side in (self.lang, "en", "gold")
        }

    def _files(self) -> dict[str, Path]:
        return find_files(self.data_dir, self._names())

    @classmethod
    def choose(cls, config_name: str | None, settings: dict[str, Any]) -> tuple[str, str]:
        """Reads language and configuration off a name such as `fr` or `fr.english`."""
        name = config_name or settings.get("lang") or ""
        lang, _, configuration = name.partition(".")
        configuration = configuration or "default"
        if lang not in LANGUAGES or configuration not in BuccSource.CONFIGURATIONS:
            raise UsageError(f"no configuration `{name}`", remedy="e.g. fr, fr.foreign, fr.english")
        if settings.setdefault("lang", lang) != lang:
            raise UsageError(f"the configuration is `{name}`, but lang is `{settings['lang']}`", remedy="give one")
        return name, configuration


def _identifier(name: str, lang: str) -> Field:
    return Field(name, pattern=rf"{lang}-[0-9]{{9}}", example=f"{lang}-000000123")


def _sentences(path: Path, lang: str, errors: LineErrors) -> Iterator[pa.Table]:
    """Reads a side: an id and a sentence, in which tabs are text."""
    return read_tables(path, [_identifier("id", lang), Field("text")], errors, last_takes_tabs=True)


def _read_sentences(path: Path, lang: str, errors: LineErrors) -> Iterator[pa.Table]:
    for table in _sentences(path, lang, errors):
        yield table.append_column("lang", pa.repeat(pa.scalar(lang), table.num_rows))


def _read_gold(path: Path, sides: tuple[Path, Path], lang: str, errors: LineErrors) -> Iterator[pa.Table]:
    """Joins the alignment with the texts; only the texts it names are held in memory."""
    fields = [_identifier("source_id", lang), _identifier("target_id", "en")]
    pairs: list[tuple[int, str, str]] = []
    for lines, table in read_typed_fields(path, fields, errors):
        pairs += zip(lines.tolist(), *(column.to_pylist() for column in table.columns), strict=True)
    sources = _texts(sides[0], lang, pa.array([source for _, source, _ in pairs], pa.string()))
    targets = _texts(sides[1], "en", pa.array([target for _, _, target in pairs], pa.string()))
    rows = []
    for line, source, target in pairs:
        if source in sources and target in targets:
            rows.append([f"{source} {target}", sources[source], targets[target], lang, "en", source, target])
        else:
            name, file = (source, sides[0]) if source not in sources else (target, sides[1])
            errors.handle(f"`{name}` is not in {file.name}", path, line, "fix the line")
    yield pa.Table.from_pylist([dict(zip(GOLD.names, row, strict=True)) for row in rows], schema=GOLD)


def _texts(path: Path, lang: str, wanted: pa.Array) -> dict[str, str]:
    """Finds the sentences with the given ids. Malformed lines are reported when the side itself is read."""
    texts: dict[str, str] = {}
    for table in _sentences(path, lang, LineErrors("skip")):
        table = table.filter(pc.is_in(table.column("id"), wanted))
        texts.update(zip(table.column("id").to_pylist(), table.column("text").to_pylist(), strict=True))
    return texts
