"""`provenance.json`: how an artefact came to be."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..messages import STREAM_COPIES, as_given, printable, without_secrets
from .files import read_json_object
from .hub_models import fetched_folder, repository_name
from .origins import KEPT_OUT, origin_of
from .remote_paths import to_path
from .whole_files import write_text_whole

PROVENANCE = "provenance.json"
SOURCE_PROVENANCE = "source_provenance.json"
"""The provenance of the model that was exported, in the folder of the export."""
REPORT = "report.html"
"""The page for a browser that shows the card and the provenance."""
_LOG = "events.out.tfevents."
_KEEPING_OUT = ("decontaminate", "expansion_decontaminate")
"""Settings that name evaluation data, of which no sentence may be in the artefact."""
_ELSEWHERE = re.compile(
    r"(?P<name>[^=/\\\s]*=)?"
    r"(?P<path>(?:[/\\]|~[^/\\\s]*[/\\]|[A-Za-z]:[/\\]|[Ff][Ii][Ll][Ee]:[/\\]|(?:\.[/\\])*\.\.[/\\]"
    r"|(?:\w+::)*(?!https?:|hf:)[a-z][\w+.-]+://)[^\n]*)"
)
"""An absolute path, one that leads out of the working folder, or a URL that is not public; `name=` may precede it."""
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

    Cards, reports, provenance files and logs of training are ignored: they have dates and paths and no data.
    """
    path = fetched_folder(path) or to_path(path)
    digest = hashlib.sha256()
    if path.is_dir():
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            name = file.relative_to(path)
            is_log = file.name.startswith(_LOG) or (name.parts[0] == "logs" and "wandb" in name.parts)
            is_hidden = any(part.startswith(".") for part in name.parts)
            if not is_log and not is_hidden and file.name not in {PROVENANCE, REPORT, "README.md"}:
                digest.update(name.as_posix().encode())
                digest.update(bytes.fromhex(fingerprint(file)))
        return digest.hexdigest()
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check the path")
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=path, remedy="check the path") from error
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Returns the versions of Python and of the packages that shape a result; an absent package is left out."""
    # It imports the modules of e-mail, which `encode` does not need.
    from importlib import metadata

    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


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

    `inputs` has the SHA-256 of each file, folder and model that was read, by its name. Each is recorded with what its
    own card and provenance say of its licence, languages and source. By `job`, the fingerprint of the job, a continued
    run detects that it is finished.
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
    write_text_whole(Path(folder) / PROVENANCE, record_text(record))
    return record


def _name(item: str | os.PathLike[str]) -> str:
    """Returns the last part of an input's path; for a stream, whose last part is often a number, all of it."""
    return as_given(os.fspath(item)) if os.fspath(item) in STREAM_COPIES else to_path(item).name


def record_text(record: Mapping[str, Any]) -> str:
    """Writes a record as JSON, without credentials; values that JSON lacks never fail: they become text or null."""
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


def read_provenance(folder: str | os.PathLike[str], name: str = PROVENANCE) -> dict[str, Any]:
    """Reads `provenance.json` of an artefact; an empty dictionary if there is no such file."""
    path = Path(folder) / name
    if not os.path.lexists(path):
        return {}
    record = read_json_object(path)
    for part, kind in (("settings", dict), ("results", dict), ("evaluations", dict), ("inputs", list)):
        if not isinstance(record.get(part, kind()), kind):
            what = "a list" if kind is list else "an object"
            raise InputError(f"`{part}` is not {what}", path=path, remedy="copy or re-create the artefact")
    return record


def add_evaluation(folder: str | os.PathLike[str], name: str, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Adds a later evaluation to `provenance.json`, in place of an earlier one of that name; returns the record."""
    record = read_provenance(folder)
    record["evaluations"] = {**record.get("evaluations", {}), name: dict(evaluation)}
    write_text_whole(Path(folder) / PROVENANCE, record_text(record))
    return record


def with_short_paths(value: Any) -> Any:
    """Reduces paths in settings that lead out of the working folder to their last part.

    They tell strangers the names of people and projects; what was read is identified by its name and fingerprint.
    """
    if isinstance(value, Mapping):
        return {name: with_short_paths(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_short_paths(item) for item in value]
    if isinstance(value, str) and (found := _ELSEWHERE.fullmatch(value)):
        return (found["name"] or "") + re.split(r"[/\\]", found["path"].rstrip("/\\"))[-1]
    return value
