"""Tells from a folder's files what it is on the Hub (model, dataset or Space), and whether it is whole."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..artefacts.card_heads import CARD, texts
from ..artefacts.provenance import FILE_NAME as PROVENANCE
from ..errors import InputError, OutputError, UsageError
from .travelling_files import FileList, TravellingFile

REPO_TYPES = ("model", "dataset", "space")
SDKS = ("gradio", "streamlit", "docker", "static")
# Not .tsv: a classifier's folder lists its references by fingerprint in one, which holds no sentence.
DATA_SUFFIXES = (".parquet", ".arrow", ".jsonl")
_SHARD = re.compile(r"(?P<stem>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})\.parquet")
_TOKENIZER = "tokenizer.json"
_WEIGHTS = (".safetensors", ".onnx")


def kind_of(folder: str | os.PathLike[str], files: FileList, head: Mapping[str, Any]) -> str:
    """Tells a folder's repository type.

    A card that names an `sdk` makes a Space; a model has a `config.json` or a tokenizer; a data folder has Parquet
    files or a card that lists `configs`.

    Args:
        folder: The folder, for messages.
        files: What travels.
        head: The YAML head of the card.

    Returns:
        One of :data:`REPO_TYPES`.

    Raises:
        UsageError: If the files do not tell, or tell two things.
    """
    names = files.names
    if texts(head.get("sdk")):
        return "space"
    model = "config.json" in names or _TOKENIZER in names
    data = "configs" in head or any(name.endswith(".parquet") for name in names)
    if model != data:
        return "model" if model else "dataset"
    if "app.py" in names and not model:
        raise UsageError(
            "the card names no `sdk`, which a Space needs", path=Path(folder) / CARD, remedy="e.g. `sdk: gradio`"
        )
    raise UsageError(
        "the folder holds a model and data" if model else "cannot tell whether this is a model, data or a Space",
        path=folder,
        remedy=f"say so with --repo-type {'|'.join(REPO_TYPES)}",
    )


def holds_data(repo_type: str, files: FileList) -> bool:
    """Tells whether sentences travel, so that the licence of data matters."""
    return repo_type == "dataset" or any(name.endswith(DATA_SUFFIXES) for name in files.names)


def check_place(folder: str | os.PathLike[str]) -> None:
    """Refuses the folders in which unfinished work is kept.

    Raises:
        OutputError: If the folder's name is that of unfinished or replaced work.
    """
    name = Path(folder).resolve().name
    if name.startswith(".") and name.endswith((".partial", ".previous")):
        raise OutputError(
            "the folder is unfinished work",
            path=folder,
            remedy="finish it by the command that began it, with --resume",
        )


def check_whole(folder: str | os.PathLike[str], repo_type: str, files: FileList, head: Mapping[str, Any]) -> None:
    """Makes sure that what travels is a whole artefact of hf-paraphrase, or a whole Space.

    Card and provenance must be there; of sharded files every shard; weights and Parquet files must be as long as they
    say. Nothing is opened beyond headers, so this takes no longer for a large folder.

    Raises:
        InputError: If something is missing or damaged; the message names it.
    """
    names = files.names
    if CARD not in names:
        raise InputError(
            "the folder has no card README.md", path=folder, remedy="name a folder that hf-paraphrase has made"
        )
    if repo_type == "space":
        _check_space(Path(folder), names, head)
    else:
        _check_provenance(Path(folder), names)
    _check_shards(Path(folder), names)
    if repo_type == "model" and "config.json" in names and not any(name.endswith(_WEIGHTS) for name in names):
        raise InputError(
            "the model has no weights", path=Path(folder) / "model.safetensors", remedy="train or export it anew"
        )
    for file in files.files:
        if file.name.endswith(".parquet"):
            _check_parquet(file)
        elif file.name.endswith(".safetensors"):
            _check_safetensors(file)
    for pattern in data_patterns(head):
        if not fnmatch.filter(names, pattern):
            raise InputError(
                f"the card lists `{pattern}`, but no such file travels",
                path=Path(folder) / CARD,
                remedy="make the folder anew",
            )


def data_patterns(head: Mapping[str, Any]) -> Iterator[str]:
    """Yields the patterns of files that `load_dataset` reads by the card's `configs`."""
    configurations = head.get("configs")
    for configuration in configurations if isinstance(configurations, list) else []:
        found = configuration.get("data_files") if isinstance(configuration, dict) else None
        for item in found if isinstance(found, list) else [found]:
            yield from texts(item.get("path") if isinstance(item, dict) else item)


def _check_space(folder: Path, names: frozenset[str], head: Mapping[str, Any]) -> None:
    if head.get("sdk") not in SDKS:
        raise InputError(
            f"the card names no `sdk` of {', '.join(SDKS)}, which a Space needs",
            path=folder / CARD,
            remedy="e.g. `sdk: gradio`",
        )
    file = next(iter(texts(head.get("app_file"))), "app.py")
    if head["sdk"] in {"gradio", "streamlit"} and file not in names:
        raise InputError("the Space lacks the program that its card names", path=folder / file)


def _check_provenance(folder: Path, names: frozenset[str]) -> None:
    path = folder / PROVENANCE
    remedy = "name a folder that hf-paraphrase has made, whole"
    if PROVENANCE not in names:
        raise InputError("there is no provenance.json: not an artefact of hf-paraphrase", path=folder, remedy=remedy)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("the record is not JSON", path=path, remedy=remedy) from error
    command = record.get("command") if isinstance(record, dict) else None
    if not isinstance(command, str) or not command.startswith("hf-paraphrase "):
        raise InputError("the record names no command of hf-paraphrase", path=path, remedy=remedy)


def _check_shards(folder: Path, names: frozenset[str]) -> None:
    for name in sorted(names):
        if shard := _SHARD.fullmatch(name):
            count = int(shard["count"])
            for index in range(count):
                other = f"{shard['stem']}-{index:05d}-of-{count:05d}.parquet"
                if other not in names:
                    raise InputError(f"one of {count} parts is missing", path=folder / other, remedy="make it anew")
        elif name.endswith(".safetensors.index.json"):
            for other in _indexed(folder / name):
                if (Path(name).parent / other).as_posix() not in names:
                    raise InputError("a part of the weights is missing", path=folder / other, remedy="save it anew")


def _indexed(path: Path) -> list[str]:
    try:
        return sorted({str(part) for part in json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()})
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise InputError("the list of the weights' parts cannot be read", path=path, remedy="save it anew") from error


def _check_parquet(file: TravellingFile) -> None:
    # https://parquet.apache.org/docs/file-format/: the magic number stands at both ends.
    with file.path.open("rb") as stream:
        start = stream.read(4)
        stream.seek(max(0, file.size - 4))
        end = stream.read(4)
    if file.size < 12 or start != b"PAR1" or end != b"PAR1":
        raise InputError("the Parquet file is damaged or cut off", path=file.path, remedy="make the folder anew")


def _check_safetensors(file: TravellingFile) -> None:
    # https://huggingface.co/docs/safetensors: 8 bytes with the length of a JSON header, the header, the tensors.
    try:
        with file.path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= min(file.size - 8, 100_000_000):
                raise ValueError("length")
            header = json.loads(stream.read(length))
        ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
        if 8 + length + max(ends, default=0) != file.size:
            raise ValueError("size")
    except (OSError, ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise InputError("the weights are damaged or cut off", path=file.path, remedy="save the model anew") from error
