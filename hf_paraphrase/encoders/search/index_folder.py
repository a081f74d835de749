"""What an index folder has beside the index, its encoder, card and provenance, and how the folder is replaced."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...artefacts.artefact import Artefact, Card, is_ours
from ...artefacts.provenance import inherited_metadata, read_provenance
from ...data.folder import DataFolder
from ...data.sentences import SentenceCorpus
from ...errors import ModelError, OutputError
from .search_settings import SearchSettings
from .stored_index import ENCODER_FOLDER, IndexSettings, StoredIndex


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
