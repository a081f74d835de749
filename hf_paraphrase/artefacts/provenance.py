"""`provenance.json`: how an artefact came to be."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..messages import as_given, printable, without_secrets
from ..streams import check_not_stream, is_stream_copy
from .files import read_json_object
from .hub_models import fetched_folder, repository_name
from .origins import KEPT_OUT, origin_of
from .remote_paths import to_path
from .whole_files import write_text_whole

FILE_NAME = "provenance.json"
REPORT = "report.html"
"""The file in which an artefact shows for a browser what its card and its record say."""
SOURCE_FILE_NAME = "source_provenance.json"
"""That of the model that an export was made of."""
_LOG = "events.out.tfevents."
_KEEPING_OUT = ("decontaminate", "expansion_decontaminate")
"""Settings that name evaluation data of which nothing may be in what is made."""
_ELSEWHERE = re.compile(
    r"(?P<name>[^=/\\\s]*=)?"
    r"(?P<path>(?:[/\\]|~[^/\\\s]*[/\\]|[A-Za-z]:[/\\]|[Ff][Ii][Ll][Ee]:[/\\]|(?:\.[/\\])*\.\.[/\\]"
    r"|(?:\w+::)*(?!https?:|hf:)[a-z][\w+.-]+://)[^\n]*)"
)
"""A path that begins at a root, at a home or above the working folder, or in a store that is not public; a setting may
have a name in front of it."""
_KINDS: dict[type, str] = {dict: "an object", list: "a list"}
_PACKAGES = (
    "hf-paraphrase",
    "torch",
    "transformers",
    "datasets",
    "tokenizers",
    "accelerate",
    "sacrebleu",
    "sacremoses",
    "onnx",
    "onnxruntime",
)


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Computes the SHA-256 of a file, or of the names and contents of all visible files below a folder.

    Cards, reports, provenance files and logs of training are left out of a folder's fingerprint: they carry dates and
    paths, not data.

    Raises:
        InputError: If there is no such file or folder, or it cannot be read.
    """
    path = fetched_folder(path) or to_path(path)
    digest = hashlib.sha256()
    if path.is_dir():
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            name = file.relative_to(path)
            if file.name in {FILE_NAME, REPORT, "README.md"} or file.name.startswith(_LOG) or _is_of_wandb(name):
                continue
            if not any(part.startswith(".") for part in name.parts):
                digest.update(name.as_posix().encode())
                digest.update(bytes.fromhex(fingerprint(file)))
        return digest.hexdigest()
    check_not_stream(path)
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        message = "no such file or folder" if missing else f"cannot read: {error.strerror}"
        raise InputError(message, path=path, remedy="check the path") from error
    return digest.hexdigest()


def _is_of_wandb(name: Path) -> bool:
    return name.parts[0] == "logs" and "wandb" in name.parts


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that shape a result; an absent package is left out."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        if version := _version(package):
            found[package] = version
    return found


@cache
def _version(package: str) -> str | None:
    """Returns the version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def write_provenance(
    folder: str | os.PathLike[str],
    *,
    command: str,
    settings: Mapping[str, Any],
    inputs: Mapping[str, str] | None = None,
    results: Mapping[str, Any] | None = None,
    job: str | None = None,
) -> dict[str, Any]:
    """Writes `provenance.json` and returns its content.

    Args:
        folder: The artefact.
        command: The verb that made it, e.g. `train-nmt`.
        settings: Every setting with its value, the seed among them.
        inputs: The SHA-256 of each file, folder and model that was read, by its name. It is recorded with what its own
            card and provenance say of its licence, languages and source.
        results: What was measured.
        job: The fingerprint of the job, by which a run that continues it knows that it is finished.
    """
    kept_out = {str(path) for name in _KEEPING_OUT for path in settings.get(name) or ()}
    record = {
        "command": f"hf-paraphrase {command}",
        "settings": dict(settings),
        "seed": settings.get("seed"),
        "versions": versions(),
        "inputs": [
            {
                **origin_of(fetched_folder(item) or item),
                "name": repository_name(item) or _name(item),
                "sha256": sha256,
            }
            | ({KEPT_OUT: True} if as_given(str(item)) in kept_out else {})
            for item, sha256 in (inputs or {}).items()
        ],
        "results": dict(results or {}),
        **({} if job is None else {"job": job}),
    }
    write_text_whole(Path(folder) / FILE_NAME, record_text(record))
    return record


def _name(item: str | os.PathLike[str]) -> str:
    """Returns what an input is called: its own name, but for a stream, which often has a number there, the whole."""
    return as_given(os.fspath(item)) if is_stream_copy(item) else to_path(item).name


def record_text(record: Mapping[str, Any]) -> str:
    """Writes a record as JSON, whatever names and numbers got into it: no work is lost to its record at the end.

    Halves of characters are escaped, numbers that are none are null, and credentials are left out.
    """
    text = json.dumps(_in_json(record), indent=2, ensure_ascii=False, allow_nan=False)
    return printable(without_secrets(text)) + "\n"


def _in_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _in_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_json(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def read_provenance(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads `provenance.json` of an artefact; an empty dictionary if there is none.

    Raises:
        InputError: If the file is damaged, or a part of it is of another kind than :func:`write_provenance` writes.
    """
    path = Path(folder) / FILE_NAME
    if not os.path.lexists(path):
        return {}
    record = read_json_object(path)
    for part, kind in (("settings", dict), ("results", dict), ("evaluations", dict), ("inputs", list)):
        if not isinstance(record.get(part, kind()), kind):
            raise InputError(f"`{part}` is not {_KINDS[kind]}", path=path, remedy="copy or make the artefact again")
    return record


def add_evaluation(folder: str | os.PathLike[str], name: str, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Puts what was measured after an artefact was made into its `provenance.json`, and returns the whole record.

    Args:
        folder: The artefact; a provenance file is made where there is none.
        name: What was measured on what; an earlier evaluation of that name is replaced.
        evaluation: Results with settings, inputs and versions, as JSON values.

    Raises:
        InputError: As :func:`read_provenance`.
        OutputError: If the file cannot be written.
    """
    record = read_provenance(folder)
    record["evaluations"] = {**record.get("evaluations", {}), name: dict(evaluation)}
    write_text_whole(Path(folder) / FILE_NAME, record_text(record))
    return record


def without_places(value: Any) -> Any:
    """Reduces paths in settings that lead out of the working folder to their last part.

    A path tells strangers the names of people and of their projects, and nothing about the artefact: what was read is
    known by its name and its fingerprint.

    Args:
        value: The settings of a record, or one of them.

    Returns:
        The same with shorter paths.
    """
    if isinstance(value, Mapping):
        return {name: without_places(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_places(item) for item in value]
    if isinstance(value, str) and (found := _ELSEWHERE.fullmatch(value)):
        return (found["name"] or "") + re.split(r"[/\\]", found["path"].rstrip("/\\"))[-1]
    return value
