"""Pairs that a person keeps: rows that are added to a data folder, which stays whole at any time."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from ..artefacts.artefact import Artefact, Card
from ..artefacts.provenance import read_provenance
from ..data.folder import DataFolder, write_split
from ..data.schema import BACK_TRANSLATED
from ..errors import OutputError, UsageError

_COMMAND = "demo"


def keep_pairs(folder: str | os.PathLike[str], pairs: pa.Table, *, model: str) -> int:
    """Adds pairs to a data folder, which is made if need be; a pair that is there already is not added again."""
    if not pairs.num_rows:
        raise UsageError("no translation is marked", remedy="mark those to keep")
    if any(not text.strip() for text in pairs.column("sentence1").to_pylist()):
        raise UsageError("a pair needs a reference as its first side", remedy="type it, and translate again")
    path = Path(folder).expanduser()
    rows = pairs.select(BACK_TRANSLATED.names).cast(BACK_TRANSLATED).to_pylist()
    models = [model]
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        record = read_provenance(path) if path.is_dir() else {}
        if record.get("command") != f"hf-paraphrase {_COMMAND}":
            raise OutputError("the folder contains other files", path=path, remedy="give another folder")
        before = DataFolder(path).table("train", BACK_TRANSLATED.names).to_pylist()
        rows = before + rows
        models = [*record.get("settings", {}).get("models", []), model]
    numbers: dict[tuple[str, str], str] = {}
    distinct = {(row["source"], row["sentence1"], row["sentence2"]): row for row in reversed(rows)}
    kept = list(distinct.values())[::-1]
    for row in kept:
        row["id"] = numbers.setdefault((row["source"], row["sentence1"]), str(len(numbers) + 1))
    models = list(dict.fromkeys(models))
    with Artefact(path, command=_COMMAND, settings={"models": models}, overwrite=True) as artefact:
        write_split(artefact.staging, "train", [pa.Table.from_pylist(kept, schema=BACK_TRANSLATED)], BACK_TRANSLATED)
        values = {"title": path.resolve().name, "rows": len(kept), "models": models}
        card = Card("kept", {**values, "language": languages_of(kept)})
        artefact.finish(results={"pairs": len(kept)}, card=card)
    return len(kept)


def languages_of(rows: list[dict[str, object]]) -> list[str]:
    """Lists the languages of kept pairs: English, and those that were translated from."""
    return sorted({"en", *(str(row["source_lang"]) for row in rows)})
