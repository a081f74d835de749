"""The base class of sources of raw data: settings, splits with their files, origin and licence.

A source is a dataclass of settings, a :class:`Source`. Its fields are the flags of `prepare SOURCE`, its class
variables describe the data set, and :meth:`Source.parts` returns for each split a generator of Arrow tables. `rows`
applies rules, splits and decontamination, `preparation` writes the folder of `prepare SOURCE`, and `loading` has the
builder for `datasets`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from ...artefacts.cards import check_license
from ...artefacts.fsspec_path import to_path
from ...artefacts.provenance import inherited_metadata, is_url
from ...errors import InputError, UsageError, no_folder
from ...inputs import OBJECTS, HubDataset
from ...messages import INPUT_COPIES
from ...settings import Settings, setting
from ...text.languages import check_language
from ..decontamination import DecontaminationSettings
from ..text_blocks import COMPRESSED, LineErrors, check_readable, files_below

Read = Callable[[LineErrors], Iterable[pa.Table]]
"""Reads the files of a part into tables of its schema; a column that is missing is null."""

Clean = Callable[[pa.Table], tuple[pa.Table, dict[str, int]]]
"""Drops rows of a table by rules about single rows, and counts them by rule; it runs in several threads."""


@dataclass(frozen=True)
class Part:
    """One split of one configuration of a source.

    Attributes:
        training: Whether rows that occur in evaluation sets are dropped.
        texts: The columns that must not be empty and that are compared with evaluation sets.
        class_names: For a column of class numbers, the names of the classes.
        clean: Drops rows by rules; by default, rows with an empty text.
        repeats: The columns that identify repeated rows, which are removed.
        sizes: The numbers of rows to draw for held-out parts, in this order; no text of `target` is in two parts.
        shuffle: Whether the remaining rows are put into random order.
        may_be_empty: Whether the part may have no rows.
    """

    split: str
    schema: pa.Schema
    files: Sequence[Path]
    read: Read
    configuration: str = "default"
    training: bool = False
    texts: tuple[str, ...] = ("sentence1", "sentence2")
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    clean: Clean | None = None
    repeats: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    shuffle: bool = False
    may_be_empty: bool = False

    @property
    def name(self) -> str:
        """The name of its shards: the split, with the configuration in front unless that is the default one."""
        return self.split if self.configuration == "default" else f"{self.configuration}.{self.split}"


class SourceOptions(Settings):
    """The options of all sources; a source offers an option by declaring a field of the same name."""

    data_dir: str | None = None
    dataset: str | None = None
    lang: str = "en"
    license: str | None = None
    url: str | None = None
    on_error: str = "raise"
    max_pairs: int | None = None
    seed: int = 0
    decontaminate_ngrams: int | None = None
    decontaminate_similarity: float | None = None


@dataclass(kw_only=True)
class OutputSettings(Settings):
    """The data folder to make."""

    output: str = setting("output data folder")
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(kw_only=True)
class LineErrorSettings(Settings):
    """The setting that defines what happens to malformed lines."""

    on_error: str = setting(
        "a malformed line: raise an error, or skip it, count it, and list it in skipped_lines.tsv",
        "raise",
        choices=["raise", "skip"],
    )


@dataclass(kw_only=True)
class SampleSettings(Settings):
    """The size of a random sample."""

    max_pairs: int | None = setting(
        "keep a random sample of N of the training pairs that pass all rules; for a first try", None, at_least=1
    )


@dataclass(kw_only=True)
class TrainingSettings(SampleSettings, LineErrorSettings, DecontaminationSettings):
    """The settings of all sources of training pairs."""


@dataclass(kw_only=True)
class OriginSettings(SourceOptions):
    """The licence and origin, for the card, of data that the user provides."""

    license: str | None = setting(
        "the licence of the sentences for the card, as the Hub spells it, e.g. cc-by-2.0", None
    )
    url: str | None = setting(
        "URL of the raw data, for the cards; on the Hub https://huggingface.co/datasets/NAME", None
    )

    def check(self) -> None:
        """Refuse an unknown licence or a value that is no URL."""
        super().check()
        check_license(self.license)
        if self.dataset and isinstance(dataset := OBJECTS.get(self.dataset), HubDataset):
            self.url = self.url or f"https://huggingface.co/datasets/{dataset.repo_id}"
            self.license = self.license or next(iter(inherited_metadata(self.dataset)["license"]), None)
        if self.url is not None and not is_url(self.url):
            raise UsageError(f"--url `{self.url}` is not a URL", remedy="give one with http:// or https://")


@dataclass(kw_only=True)
class UserFileSettings(TrainingSettings, OriginSettings):
    """The settings of text files that the user provides."""

    moses_escapes: bool = setting(
        "decode the escapes of the Moses tokenizer in the sentences: &apos; &quot; &amp; &lt; &gt; &#124; &#91; &#93; "
        "and @-@; spaces around punctuation stay",
        False,
    )
    header: str = setting(
        "whether the first line of --tsv is a header: yes, no, or auto (yes if its fields are names in --columns, "
        "or if two of them are usual names of the sides, such as sentence1 and sentence2)",
        "auto",
        choices=["auto", "yes", "no"],
        only_with="tsv",
    )


@dataclass(kw_only=True)
class Source(SourceOptions, ABC):
    """Base class of sources: settings and raw files.

    `SUMMARY` is the line in the list of `prepare --help`, `DESCRIPTION` the text of the card (by default the summary),
    and `TEMPLATE` the template of the card in `dataset_cards/`, `source` or one that extends it.
    """

    SUMMARY: ClassVar[str] = ""
    TITLE: ClassVar[str] = ""
    DESCRIPTION: ClassVar[str] = ""
    LICENSE: ClassVar[str] = ""
    URL: ClassVar[str] = ""
    TASKS: ClassVar[tuple[str, ...]] = ("sentence-similarity",)
    TAGS: ClassVar[tuple[str, ...]] = ("paraphrase",)
    TEMPLATE: ClassVar[str] = "source"

    @property
    def title(self) -> str:
        """The name of the data set."""
        return self.TITLE or type(self).__name__

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages."""
        return (self.lang,)

    @abstractmethod
    def parts(self) -> list[Part]:
        """List the parts whose files exist."""

    def files(self) -> list[Path]:
        """List the raw files, each once."""
        return list(dict.fromkeys(path for part in self.parts() for path in part.files))

    def inputs(self) -> list[str | Path]:
        """List all raw files and evaluation sets, for `provenance.json`."""
        given = [self.dataset] if self.dataset and Path(self.dataset).exists() else []
        given += self.decontaminate if isinstance(self, DecontaminationSettings) else []
        return list(dict.fromkeys([*self.files(), *map(to_path, given)]))

    def check(self) -> None:
        """Check everything that can be checked before reading."""
        super().check()
        check_language(self.lang, "--lang")
        for path in self.files():
            check_readable(path)

    def origins(self) -> list[str]:
        """Return the names of the raw data, for the card."""
        if self.dataset:
            revision = getattr(OBJECTS.get(self.dataset), "revision", None)
            name = INPUT_COPIES.get(self.dataset) or Path(self.dataset).name
            return [f"{name}, revision {revision}" if revision else name]
        return list(dict.fromkeys(path.name for path in self.files()))


def folder_setting(files: str) -> Any:
    """Make the setting of the folder that contains the files of a source."""
    return setting(f"the folder that contains, at any depth, {files}", path=True)


class MissingFilesError(InputError):
    """The error for a folder that has no file of the data set."""


def source_folder(data_dir: str) -> Path:
    """Return the folder with the raw files, which must exist."""
    folder = Path(data_dir)
    if not folder.is_dir():
        raise no_folder(folder, "give the folder with the raw files")
    return folder


def find_files(data_dir: str, names: Mapping[str, str]) -> dict[str, Path]:
    """Find files by their names, without case and compression suffix, at any depth."""
    folder = source_folder(data_dir)
    wanted = {f"{name}{end}".lower(): key for key, name in names.items() for end in ("", *COMPRESSED)}
    paths: dict[str, Path] = {}
    for path in (path for path in files_below(folder) if path.name.lower() in wanted):
        key = wanted[path.name.lower()]
        # A plain file comes before its compressed copy.
        if paths.get(key, path).parent != path.parent:
            problem = f"{path.name} occurs twice, also as {paths[key]}"
            raise InputError(problem, path=path, remedy="give a folder with one copy")
        paths.setdefault(key, path)
    if not paths:
        remedy = f"expected {', '.join(names.values())}"
        raise MissingFilesError("this folder contains no file of this set", path=folder, remedy=remedy)
    return {key: paths[key] for key in names if key in paths}
