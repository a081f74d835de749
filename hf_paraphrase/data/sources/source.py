"""What a source of raw data says about itself: its settings, its parts, where it comes from, and its licence.

A source is a dataclass of settings, a :class:`Source`, in a file of its own: what can be set are its fields, what is
always so are its class variables, and :meth:`Source.parts` says which files are there and gives for each split a
generator of Arrow tables. The rest is the same for all: `rows` (rules, splits, decontamination), `preparation` (the
folder of `prepare SOURCE`) and `builder` (for `datasets`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from ...artefacts.cards import check_license
from ...artefacts.provenance import is_url
from ...errors import InputError, UsageError, no_folder
from ...settings import Settings, setting
from ...text.languages import check_language
from ..decontamination import DecontaminationSettings
from ..text_blocks import COMPRESSED, LineErrors, check_readable, files_below

Read = Callable[[LineErrors], Iterable[pa.Table]]
"""Reads the files of a part into tables of its schema; a column that is missing is null."""

Clean = Callable[[pa.Table], tuple[pa.Table, dict[str, int]]]
"""Leaves rows of a table out and counts them by rule; it looks at nothing else and runs in several threads."""


@dataclass(frozen=True)
class Part:
    """One split of one configuration of a source.

    Attributes:
        training: Whether rows that occur in evaluation sets are to be left out.
        texts: The columns that must not be empty, and that are looked up in evaluation sets.
        class_names: For a column of class numbers, the names of the classes.
        clean: Drops rows by rules; by default, rows with an empty text.
        repeats: The columns by which repeated rows are found and removed.
        sizes: The numbers of rows to draw for held-out parts, in this order; no text of the column `target` is in two.
        shuffle: Whether the rows that stay are put into random order.
        repeating: The columns whose values repeat, for `write_split`.
        may_be_empty: Whether a part without rows is not a sign of a wrong file.
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
    repeating: tuple[str, ...] | None = None
    may_be_empty: bool = False

    @property
    def name(self) -> str:
        """The name of its shards: the split, after the configuration where that is not the default one."""
        return self.split if self.configuration == "default" else f"{self.configuration}.{self.split}"


class SourceOptions(Settings):
    """What the preparation of a source asks for; a source that can set it has a field of the same name."""

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
    """Where a data folder is made."""

    output: str = setting("output data folder")
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(kw_only=True)
class LineErrorSettings(Settings):
    """How malformed lines are handled."""

    on_error: str = setting(
        "a malformed line: raise an error, or skip it, count it, and list it in skipped_lines.tsv",
        "raise",
        choices=["raise", "skip"],
    )


@dataclass(kw_only=True)
class MosesSettings(Settings):
    """Whether sentences come from the Moses tokenizer."""

    moses_escapes: bool = setting(
        "decode the escapes of the Moses tokenizer in the sentences: &apos; &quot; &amp; &lt; &gt; &#124; &#91; &#93; "
        "and @-@; spaces around punctuation stay",
        False,
    )


@dataclass(kw_only=True)
class SampleSettings(Settings):
    """How much is made of a large corpus."""

    max_pairs: int | None = setting(
        "keep a random sample of N of the training pairs that pass all rules; for a first try", None, at_least=1
    )


@dataclass(kw_only=True)
class TrainingSettings(SampleSettings, LineErrorSettings, DecontaminationSettings):
    """What sources of training pairs share."""


@dataclass(kw_only=True)
class OriginSettings(SourceOptions):
    """What a card says of data that the user brings along."""

    license: str | None = setting(
        "the licence of the sentences for the card, as the Hub spells it, e.g. cc-by-2.0", None
    )
    url: str | None = setting(
        "URL of the raw data, for the cards; on the Hub https://huggingface.co/datasets/NAME", None
    )

    def check(self) -> None:
        """Refuse what cannot stand on a card."""
        super().check()
        check_license(self.license)
        if self.dataset and not Path(self.dataset).exists() and self.url is None:
            self.url = f"https://huggingface.co/datasets/{self.dataset}"
        if self.url is not None and not is_url(self.url):
            raise UsageError(f"--url `{self.url}` is not a URL", remedy="give one with http:// or https://")


@dataclass(kw_only=True)
class Source(SourceOptions, ABC):
    """Base class of sources: settings and raw files.

    `SUMMARY` is its line in the list of `prepare --help`, `DESCRIPTION` what it is for the card, the summary if empty,
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
        """List everything that is read, for `provenance.json`."""
        given = [self.dataset] if self.dataset and Path(self.dataset).exists() else []
        given += self.decontaminate if isinstance(self, DecontaminationSettings) else []
        return list(dict.fromkeys([*self.files(), *map(Path, given)]))

    def check(self) -> None:
        """Check everything that can be checked before reading."""
        super().check()
        check_language(self.lang, "--lang")
        for path in self.files():
            check_readable(path)

    def origins(self) -> list[str]:
        """Return the names of the raw data, for the card."""
        if self.dataset:
            return [Path(self.dataset).name if Path(self.dataset).exists() else self.dataset]
        return list(dict.fromkeys(path.name for path in self.files()))


def folder_setting(files: str) -> Any:
    """Make the setting of the folder below which the files of a source are."""
    return setting(f"the folder that contains, at any depth, {files}", path=True)


class NothingThereError(InputError):
    """Not one of the files of a set is below a folder."""


def source_folder(data_dir: str) -> Path:
    """Return the folder that was given."""
    folder = Path(data_dir)
    if not folder.is_dir():
        raise no_folder(folder, "give the folder with the raw files")
    return folder


def find_files(data_dir: str, names: Mapping[str, str]) -> dict[str, Path]:
    """Find files by their names (without the suffix of a compression) at any depth; capitals do not matter."""
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
        raise NothingThereError("this folder contains no file of this set", path=folder, remedy=remedy)
    return {key: paths[key] for key in names if key in paths}
