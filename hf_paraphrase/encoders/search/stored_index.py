"""An index folder as it is on disk: settings, vectors, sentences, keys and lists, its card, and how it is replaced."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card, is_ours
from ...artefacts.files import open_array, read_json_object
from ...artefacts.provenance import inherited_metadata, read_provenance
from ...data.arrow_arrays import int64_array
from ...data.folder import DataFolder
from ...data.sentences import SentenceCorpus
from ...errors import InputError, ModelError, OutputError
from .approximate import LISTS_FILE, InvertedLists
from .search_settings import SearchSettings
from .vector_file import VectorFile

SENTENCES = pa.schema([("sentence", pa.string()), ("position", pa.int64())])
"""A corpus: each sentence, and its place in the input, from 1."""

SETTINGS_FILE = "index.json"
VECTORS_FILE = "vectors.npy"
KEYS_FILE = "keys.npy"
ENCODER_FOLDER = "encoder"
_FORMAT = 1
_REMEDY = "build the index again"


@dataclass(frozen=True)
class IndexSettings:
    """The settings stored in an index folder.

    Attributes:
        zero_rows: Sentences without a word in the encoder's vocabulary, with zero vectors; no search finds them.
        lists: The number of inverted lists; 0 for an index that is searched exactly only.
        probes: How many of them a query reads by default.
        recall: The share of the true ten nearest neighbours that the lists find, measured on a sample when the index
            was built; None without lists.
        read: How many sentences were read so far; 0 in a folder of version 0.1.
        empty: How many of them had no character but space, and were left out.
        repeated: How many of them had been there before.
    """

    rows: int
    dimension: int
    zero_rows: int
    lists: int = 0
    probes: int = 0
    recall: float | None = None
    format: int = _FORMAT
    read: int = 0
    empty: int = 0
    repeated: int = 0

    def write(self, folder: Path) -> None:
        """Writes them to `index.json`."""
        (folder / SETTINGS_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read_from(cls, folder: Path) -> IndexSettings:
        """Reads `index.json`."""
        path, remedy = folder / SETTINGS_FILE, "make one with hf-paraphrase search --model … --corpus … --output …"
        if not path.exists():
            what = f"not an index folder: it has no {SETTINGS_FILE}" if folder.exists() else "no such index folder"
            raise InputError(what, path=folder, remedy=remedy)
        content = read_json_object(path)
        if content.get("format") != _FORMAT:
            raise InputError(f"an index of format {_FORMAT} is expected", path=path, remedy=remedy)
        try:
            return cls(**content)
        except TypeError as error:
            raise InputError(f"damaged: {error}", path=path, remedy=remedy) from error


class StoredIndex:
    """The folder of an index, without its encoder.

    Attributes:
        sentences: Its sentences and their positions, in memory; the vectors, which are far more, are mapped.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reopen()

    def reopen(self) -> None:
        """Reads the folder again, after it has changed."""
        self.settings = IndexSettings.read_from(self.folder)
        self.vectors = VectorFile(self.folder / VECTORS_FILE)
        # Of many chunks a few rows are not taken without copying all.
        self.sentences = DataFolder(self.folder).table(columns=SENTENCES.names).combine_chunks()
        self._lists: InvertedLists | None = None
        self._keys: NDArray[np.uint64] | None = None
        expected = (self.settings.rows, self.settings.dimension)
        if self.vectors.shape != expected or len(self.sentences) != self.settings.rows:
            what = f"{len(self.sentences)} sentences and vectors of shape {self.vectors.shape}, where {expected} is"
            raise InputError(f"{what} expected", path=self.folder, remedy=_REMEDY)

    def __len__(self) -> int:
        return self.settings.rows

    def sentences_of(self, rows: NDArray[np.int64]) -> pa.Table:
        """Takes some rows (rows,) in their order, with the columns `sentence` and `position`."""
        return self.sentences.take(int64_array(rows))

    @property
    def lists(self) -> InvertedLists:
        """The inverted lists, opened at first use."""
        if self._lists is None:
            self._lists = InvertedLists(self.folder / LISTS_FILE, self.vectors)
        return self._lists

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each sentence (rows,), the same for those that differ in case and spacing only."""
        if self._keys is None:
            path = self.folder / KEYS_FILE
            keys = open_array(path)
            if keys.shape != (self.settings.rows,) or keys.dtype != np.uint64:
                raise InputError("not one key a sentence", path=path, remedy=_REMEDY)
            self._keys = np.array(keys)
        return self._keys


def text_keys(texts: list[str]) -> NDArray[np.uint64]:
    """Computes a number for each text, the same for texts that differ in case and spacing only (texts,)."""
    plain = (" ".join(text.lower().split()).encode() for text in texts)
    return np.fromiter(map(xxhash.xxh3_64_intdigest, plain), np.uint64, len(texts))


def rewrite_index(
    index: StoredIndex,
    build: Callable[[Path], IndexSettings],
    *,
    corpus: SentenceCorpus | None = None,
    settings: SearchSettings | None = None,
) -> int:
    """Replaces an index folder by what `build` writes into a folder; the index then reads the new one.

    The licence of the corpus that sentences were added from is put on the card. Returns how many sentences the index
    has more than before.
    """
    folder, before = index.folder, len(index)
    if not is_ours(folder):
        raise OutputError("only an index that `hf-paraphrase search` made can be changed", path=folder)
    record = read_provenance(folder)
    known, earlier = record["results"], record["settings"]
    names = {
        "sources": known.get("sources") or [Path(str(earlier.get("corpus"))).name],
        "encoder": known.get("encoder") or Path(str(earlier.get("model"))).name,
        "columns": known.get("columns") or earlier.get("columns"),
        "kept": known.get("kept", earlier.get("keep_repeated")) or (settings is not None and settings.keep_repeated),
    }
    metadata = inherited_metadata(folder)
    if corpus is not None:
        names["sources"] = list(dict.fromkeys([*names["sources"], corpus.path.resolve().name]))
        metadata = {key: list(dict.fromkeys([*metadata[key], *metadata_of(corpus)[key]])) for key in metadata}
    inputs = [folder, *([] if corpus is None else [corpus.path])]
    with Artefact(folder, command="search", settings=settings or {}, inputs=inputs, overwrite=True) as artefact:
        made = build(artefact.staging)
        if (folder / ENCODER_FOLDER).is_dir():
            copy_encoder(folder / ENCODER_FOLDER, artefact.staging)
        finish_index(artefact, made, metadata, names)
    index.reopen()
    return len(index) - before


def metadata_of(corpus: SentenceCorpus) -> dict[str, list[str]]:
    """Returns the licences and languages of a corpus, as far as its card names them."""
    return inherited_metadata(corpus.path) if corpus.columns else {"license": [], "language": []}


def finish_index(
    artefact: Artefact, made: IndexSettings, metadata: Mapping[str, Any], names: Mapping[str, Any]
) -> None:
    """Writes the card and record of an index folder."""
    source = ", ".join(names["sources"])
    results = {**vars(made), **names}
    values = {
        **metadata,
        "title": f"Search index of {source}",
        "source": source,
        "keep_repeated": names["kept"],
        "splits": DataFolder(artefact.staging).sizes(),
        **results,
    }
    artefact.finish(results=results, card=Card("search_index", values))


def copy_encoder(model: Path, folder: Path) -> None:
    """Copies the encoder into the index, so that the folder is complete in itself."""
    ignored = shutil.ignore_patterns(".*", "checkpoint-*", "__pycache__")
    try:
        shutil.copytree(model, folder / ENCODER_FOLDER, ignore=ignored)
    except (OSError, shutil.Error) as error:
        raise ModelError(f"the encoder cannot be copied into the index: {error}", path=model) from error
