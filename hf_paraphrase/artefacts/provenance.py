"""`provenance.json`: the command, settings and results of an artefact, and the licences and sources of its inputs."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import HfParaphraseError, InputError
from ..inputs import OBJECTS, HubDataset
from ..messages import INPUT_COPIES, as_given, printable, without_secrets
from ..tables import harmless_markdown
from .card_metadata import CARD, split_card, texts
from .files import atomic_write_text, read_json_object
from .fsspec_path import to_path
from .hub_models import fetched_folder, repository_name

PROVENANCE = "provenance.json"
SOURCE_PROVENANCE = "source_provenance.json"
"""The provenance of the model that was exported, in the folder of the export."""
REPORT = "report.html"
# An absolute path, a path out of the working folder, or a URL that is not public; `name=` may precede it.
_ELSEWHERE = re.compile(
    r"(?P<name>[^=/\\\s]*=)?"
    r"(?P<path>(?:[/\\]|~[^/\\\s]*[/\\]|[A-Za-z]:[/\\]|[Ff][Ii][Ll][Ee]:[/\\]|(?:\.[/\\])*\.\.[/\\]"
    r"|(?:\w+::)*(?!https?:|hf:)[a-z][\w+.-]+://)[^\n]*)"
)
_URL = re.compile(r"https?://[^\s<>\"'`\\()\[\]{}|]+", re.ASCII)
_HUB_DATASETS = "https://huggingface.co/datasets/"
_HUB_DATASET = re.compile(rf"^{re.escape(_HUB_DATASETS)}([\w.-]+(?:/[\w.-]+)?)/?$", re.ASCII)
_KEPT_OF_MODELS = ("language", "license", "license_name", "license_link", "datasets", "base_model")
_PACKAGES = "hf-paraphrase torch transformers datasets tokenizers accelerate sacrebleu sacremoses onnx onnxruntime"

_MEASURING = {
    "score": ("encoder", "classifier", "language_model", "translation_model"),
    "deduplicate": ("encoder", "model"),
    "mine": ("encoder", "model"),
}
"""Settings that name models which measure data: the training data of these models are no sources of the output."""


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Compute the SHA-256 of a file, or of a folder without hidden files, cards, records and logs."""
    path = fetched_folder(path) or to_path(path)
    if path.is_dir():
        digest = hashlib.sha256()
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            name = file.relative_to(path)
            is_wandb = name.parts[0] == "logs" and "wandb" in name.parts
            is_log = is_wandb or file.name.startswith("events.out.tfevents.")
            is_hidden = any(part.startswith(".") for part in name.parts)
            if not is_log and not is_hidden and file.name not in {PROVENANCE, REPORT, CARD}:
                digest.update(name.as_posix().encode())
                digest.update(bytes.fromhex(fingerprint(file)))
        return digest.hexdigest()
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check the path")
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=path, remedy="check the path") from error


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that influence results."""
    from importlib import metadata

    installed = {"python": platform.python_version()}
    for package in _PACKAGES.split():
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed


def write_provenance(
    folder: str | os.PathLike[str],
    *,
    command: str,
    settings: Mapping[str, Any],
    inputs: Mapping[str, str] | None = None,
    results: Mapping[str, Any] | None = None,
    job: str | None = None,
) -> dict[str, Any]:
    """Write `provenance.json` and return its content.

    `command` is a command, or a script with its command, such as `make_data.py joined`. `inputs` maps the files,
    folders and models that were read to their SHA-256. A resumed run compares the fingerprint `job` with its own, to
    detect that the output is finished.
    """
    kept_out = set(map(str, settings.get("decontaminate") or ()))
    measuring = {settings[name] for name in _MEASURING.get(command, ()) if settings.get(name)}
    measuring |= {settings.get("decontaminate_encoder")}
    record = {
        "command": command if command.partition(" ")[0].endswith(".py") else f"hf-paraphrase {command}",
        "settings": dict(settings),
        "seed": settings.get("seed"),
        "versions": versions(),
        "inputs": [
            {
                **origin_of(fetched_folder(path) or path),
                "name": repository_name(path) or (as_given(path) if path in INPUT_COPIES else to_path(path).name),
                "sha256": sha256,
                **({"revision": data.revision} if isinstance(data := OBJECTS.get(path), HubDataset) else {}),
                **({"kept_out": True} if as_given(path) in kept_out else {}),
                **({"measures": True} if as_given(path) in measuring else {}),
            }
            for path, sha256 in (inputs or {}).items()
        ],
        "results": dict(results or {}),
        **({} if job is None else {"job": job, "hf_paraphrase_version": __version__}),
    }
    atomic_write_text(Path(folder) / PROVENANCE, record_text(record))
    return record


def record_text(record: Mapping[str, Any]) -> str:
    """Write a record as JSON, without credentials; values that JSON lacks become text or null."""
    text = json.dumps(_in_json(record), indent=2, ensure_ascii=False, allow_nan=False)
    return printable(without_secrets(text)) + "\n"


def _in_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _in_json(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_json(part) for part in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def read_provenance(folder: str | os.PathLike[str], name: str = PROVENANCE) -> dict[str, Any]:
    """Read `provenance.json` of an artefact; an empty dictionary if there is no such file."""
    path = Path(folder) / name
    record = read_json_object(path) if os.path.lexists(path) else {}
    for part, kind in (("settings", dict), ("results", dict), ("evaluations", dict), ("inputs", list)):
        if not isinstance(record.get(part, kind()), kind):
            what = "a list" if kind is list else "an object"
            raise InputError(f"`{part}` is not {what}", path=path, remedy="copy or re-create the artefact")
    return record


def find_earlier_weight(folder: str | os.PathLike[str], name: str) -> Any:
    """Return the value of `name`, such as `frequency_weight`, in an export that a model folder stems from, or None."""
    record: dict[str, Any] | None = {**read_provenance(folder), "source": read_provenance(folder, SOURCE_PROVENANCE)}
    while record:
        settings = record.get("settings", {}) if str(record.get("command")).endswith("export") else {}
        if (weight := record.get("results", {}).get(name) or settings.get(name)) is not None:
            return weight
        record = record.get("source")
    return None


def with_short_paths(value: Any) -> Any:
    """Shorten private paths in settings (all that lead out of the working folder) to their last component."""
    if isinstance(value, Mapping):
        return {name: with_short_paths(part) for name, part in value.items()}
    if isinstance(value, list):
        return [with_short_paths(part) for part in value]
    if isinstance(value, str) and (match := _ELSEWHERE.fullmatch(value)):
        return (match["name"] or "") + re.split(r"[/\\]", match["path"].rstrip("/\\"))[-1]
    return value


def is_url(text: object) -> bool:
    """Return whether a text is a URL that a card can link to."""
    return isinstance(text, str) and bool(_URL.fullmatch(text))


def origin_of(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read `license`, `language`, `datasets` (lists), `url` and `made_by` from the card and record of an input."""
    folder = to_path(folder)
    record: dict[str, Any] = {}
    with suppress(HfParaphraseError):
        record = read_json_object(folder / PROVENANCE) if folder.is_dir() else {}
    settings = record.get("settings")
    url = settings.get("url") if isinstance(settings, dict) else None
    head, _ = card_of_input(folder)
    # On the Hub, "original" marks data without sources, and "extended|…" other kinds of sources.
    sources = [name for name in texts(head.get("source_datasets")) if name != "original" and "|" not in name]
    origin = {
        "license": texts(head.get("license")),
        "language": texts(head.get("language")),
        "datasets": sources + texts(head.get("datasets")),
        "made_by": record.get("command"),
        "url": url if is_url(url) else None,
    }
    return {key: value for key, value in origin.items() if value}


def described(inputs: list[dict[str, Any]]) -> list[str]:
    """Format the `inputs` of a provenance record as the items of a Markdown list."""
    lines, kept_out, measuring = [], [], []
    for read in inputs:
        name = f"`{_shown(read['name'])}`"
        if read.get("kept_out"):
            kept_out.append(name)
        elif read.get("measures"):
            measuring.append(name)
        else:
            facts = [f"`{_shown(read['made_by'])}`"] if "made_by" in read else []
            for word, key in (("revision", "revision"), ("licence", "license"), ("language", "language")):
                facts += [f"{word}: {', '.join(map(_shown, texts(read[key])))}"] if read.get(key) else []
            urls = [read.get("url"), *(f"{_HUB_DATASETS}{dataset}" for dataset in read.get("datasets", []))]
            facts += [f"<{url}>" for url in dict.fromkeys(urls) if is_url(url)]
            lines.append(f"{name} ({'; '.join(facts)})" if facts else name)
    if kept_out:
        lines.append(f"decontaminated against {', '.join(kept_out)}")
    if measuring:
        lines.append(f"measured with {', '.join(measuring)}")
    return lines


def hub_datasets(inputs: list[dict[str, Any]]) -> list[str]:
    """List the distinct datasets of the Hub among the inputs of an artefact and their sources."""
    used = [read for read in inputs if not read.get("kept_out") and not read.get("measures")]
    names = [_HUB_DATASET.findall(str(read.get("url"))) + read.get("datasets", []) for read in used]
    return list(dict.fromkeys(chain.from_iterable(names)))


def languages_read(folder: str | os.PathLike[str], *, english: bool) -> list[str]:
    """Return the languages on the card of a model's pairs; with `english` only English, if the card permits it."""
    languages = inherited_metadata(folder)["language"]
    return ["en"] if english and (not languages or "en" in languages) else languages


def inherited_metadata(folder: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Read `license` and `language` from the card of a folder, each as a list, which may be empty."""
    head, _ = card_of_input(folder)
    return {key: texts(head.get(key)) for key in ("license", "language")}


def inherited_model_metadata(folder: Path) -> dict[str, Any]:
    """Read the card entries of a model that also apply to its export; scores do not, because the weights differ."""
    head, _ = card_of_input(folder)
    kept = {name: head[name] for name in _KEPT_OF_MODELS if head.get(name)}
    return {**kept, "language": texts(kept["language"])} if "language" in kept else kept


def inherited_sections(folder: Path) -> str:
    """Return the sections of a folder's card, one level lower, without the title and the usage section."""
    _, body = card_of_input(folder)
    sections = re.split(r"^(?=## )", body, flags=re.MULTILINE)[1:]
    kept = [section for section in sections if not section.lower().startswith("## how to use it\n")]
    # A comment in a block of code begins with a single #.
    return re.sub(r"^(?=##+ )", "#", "".join(kept), flags=re.MULTILINE).strip()


def card_of_input(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    """Read head and text of an input's card; both are empty if it is missing or damaged."""
    with suppress(InputError, OSError, UnicodeDecodeError), (to_path(folder) / CARD).open("rb") as stream:
        return split_card(stream.read().decode("utf-8-sig"))
    return {}, ""


def _shown(text: object) -> str:
    return harmless_markdown(re.sub(r"[`\s]+", " ", str(text)).strip()[:200])
