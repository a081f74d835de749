"""Lists, checks and adapts the files that a push sends; by-products are left out, a pickle or a link is refused."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from ..artefacts.artefact import has_own_provenance
from ..artefacts.card_metadata import CARD, read_card, split_card, texts
from ..artefacts.provenance import (
    PROVENANCE,
    REPORT,
    SOURCE_PROVENANCE,
    read_provenance,
    record_text,
    with_short_paths,
)
from ..artefacts.weights import read_headers
from ..errors import InputError, UsageError, no_folder

REPO_TYPES = ("model", "dataset", "space")
# Not .tsv: in the folder of a classifier it has fingerprints of references and no sentences.
DATA_SUFFIXES = (".parquet", ".arrow", ".jsonl")
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth", ".ckpt", ".bin")
_LEFT_OUT = (
    (re.compile(r"\..*"), "hidden"),
    (re.compile(r"checkpoints?([-_].*)?", re.IGNORECASE), "a checkpoint of training"),
    (re.compile(r"__pycache__|.*\.py[co]"), "byte code"),
    (re.compile(r"events\.out\.tfevents\..*|wandb"), "a log of training"),
    (re.compile(r"(training_args|optimizer|scheduler|scaler|rng_state(_\d+)?)\.(bin|pth?)"), "state of training"),
    (re.compile(r".*\.(partial|incomplete|tmp)"), "incomplete"),
)
_DATA_PLACEHOLDER = "path/to/this/folder"
_CALLS = r"from_pretrained\(|SentenceTransformer\(|load_dataset\(|evaluate\.load\(|pipeline\([^()\n]*\bmodel="
# Not `--index`, because an index is searched in a folder only.
_FLAGS = r"--(?:model|classifier|encoder|source-encoder|target-encoder) "


@dataclass(frozen=True)
class PushedFile:
    """A file to send, with its name in the repository; `content` replaces its content, None keeps it."""

    name: str
    path: Path
    content: bytes | None = None

    @property
    def size(self) -> int:
        """The number of bytes that are sent."""
        return self.path.stat().st_size if self.content is None else len(self.content)

    def read(self) -> bytes:
        """Return the bytes that are sent."""
        return self.path.read_bytes() if self.content is None else self.content


def list_files(folder: str | os.PathLike[str]) -> tuple[list[PushedFile], list[tuple[str, str]]]:
    """List the files of a folder to send, and the files that are left out with the reason."""
    root, remedy = Path(folder), "name a model, data or metric folder"
    if not root.is_dir():
        raise no_folder(root, remedy)
    files: list[PushedFile] = []
    left_out: dict[str, str] = {}
    for path in root.rglob("*"):
        relative = PurePosixPath(path.relative_to(root).as_posix())
        for part in [*reversed(relative.parents), relative][1:]:
            reason = next((reason for pattern, reason in _LEFT_OUT if pattern.fullmatch(part.name)), None)
            if reason is not None:
                left_out[f"{part}/" if (root / part).is_dir() else str(part)] = reason
                break
        else:
            if path.is_symlink():
                copied = "remove it, or put a copy in its place, e.g. with `cp -RL`"
                raise InputError("a link is not sent", path=path, remedy=copied)
            if path.is_file():
                if path.suffix.lower() in _PICKLE_SUFFIXES:
                    saved = "save weights as safetensors, and remove it"
                    raise InputError("a pickle is not sent, because it can run code", path=path, remedy=saved)
                files.append(PushedFile(str(relative), path))
    if not files:
        raise InputError("the folder has no files to send", path=folder, remedy=remedy)
    return sorted(files, key=lambda file: file.name), sorted(left_out.items())


def detect_repo_type(folder: str | os.PathLike[str], files: Sequence[PushedFile], head: Mapping[str, Any]) -> str:
    """Detect the repository type of a folder by its files and the head of its card."""
    names = {file.name for file in files}
    if texts(head.get("sdk")):
        return "space"
    is_model = "config.json" in names or "tokenizer.json" in names
    is_data = "configs" in head or any(name.endswith(".parquet") for name in names)
    if is_model != is_data:
        return "model" if is_model else "dataset"
    what = "both a model and data" if is_model else "neither a model, data nor a Space (whose card names an `sdk`)"
    raise UsageError(f"the folder is {what}", path=folder, remedy=f"give --repo-type {'|'.join(REPO_TYPES)}")


def check_artefact(folder: str | os.PathLike[str], repo_type: str, files: Sequence[PushedFile]) -> None:
    """Check the provenance of hf-paraphrase, except of a Space, and that weights can be read."""
    names, remedy = {file.name for file in files}, "name a folder that hf-paraphrase has made"
    if repo_type != "space" and not (PROVENANCE in names and has_own_provenance(Path(folder))):
        raise InputError("no provenance.json of hf-paraphrase is in the folder", path=folder, remedy=remedy)
    if repo_type == "model":
        read_headers(folder)  # refuses damaged weights


def adapt_files(folder: Path, files: Iterable[PushedFile], repo_id: str, repo_type: str) -> list[PushedFile]:
    """Insert the repository's name into the code of model and top-level cards, and shorten paths."""
    title = re.search(r"^# (.*\S)", split_card(read_card(folder))[1], re.MULTILINE)
    # The card of a folder that was renamed has the old name in its title.
    names = {folder.resolve().name, *([title[1]] if title else [])}
    published = []
    for file in files:
        name = file.name.rpartition("/")[2]
        if file.name in {CARD, REPORT} or (repo_type == "model" and name == CARD):
            card = file.path.read_bytes().decode("utf-8", "surrogateescape")
            content = adapt_card(card, names, repo_id).encode("utf-8", "surrogateescape")
            file = file if content == file.path.read_bytes() else replace(file, content=content)
        elif name in {PROVENANCE, SOURCE_PROVENANCE}:
            record = read_provenance(file.path.parent, name)
            shortened = adapt_record(record)
            file = file if shortened == record else replace(file, content=record_text(shortened).encode("utf-8"))
        published.append(file)
    return published


def adapt_card(card: str, names: Iterable[str], repo_id: str) -> str:
    """Replace the names of a folder by the name of its repository in the code of a card or report."""
    body = split_card(card)[1]
    head = card[: len(card) - len(body)]
    folder_names = {form for name in names for form in (name, json.dumps(name)[1:-1], f"path/to/{name}")}
    listed = "|".join(map(re.escape, sorted({*folder_names, _DATA_PLACEHOLDER}, key=len, reverse=True)))
    quoted = rf"(?P<quote>[\"']|&quot;)(?:{listed})(?P<rest>/[^\"'&\n]*)?(?P=quote)"
    body = re.sub(rf"(?P<call>{_CALLS}){quoted}", rf"\g<call>\g<quote>{repo_id}\g<rest>\g<quote>", body)
    # Code that opens files of the folder needs to download them.
    download = f'from huggingface_hub import snapshot_download\n\nfolder = snapshot_download("{repo_id}")'
    body = re.sub(rf"^folder = {quoted}$", download, body, flags=re.MULTILINE)
    body = re.sub(rf"(?P<flag>{_FLAGS})(?:{listed})(?=[/\s]|$)", rf"\g<flag>{repo_id}", body)
    return head + body.replace("hf download namespace/name", f"hf download {repo_id}")


def adapt_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Shorten the paths in the settings of a record, of its evaluations and of the records of its sources."""
    shortened = {**record, **with_short_paths({name: record[name] for name in ("settings",) if name in record})}
    if evaluations := record.get("evaluations"):
        shortened["evaluations"] = {name: adapt_record(evaluation) for name, evaluation in evaluations.items()}
    if source := record.get("source"):
        shortened["source"] = adapt_record(source)
    return shortened
