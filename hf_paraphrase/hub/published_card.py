"""The card as it goes to the Hub: its code names the repository, where here it names the folder.

A folder's own card shows how to open the folder under the name that it was made with. On another machine that name is
no folder, and libraries would ask the Hub for a repository of that name, which is somebody else's. The card here
stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..artefacts.card_heads import CARD, split_head
from ..artefacts.provenance import REPORT
from .published_record import is_record, published_record
from .travelling_files import FileList, TravellingFile

_PLACEHOLDER = "path/to/this/folder"
_METRIC_FOLDER = "path/to/"
_DOWNLOAD = "hf download namespace/name"
_CALLS = r"(?:\bfrom_pretrained\(|\bSentenceTransformer\(|\bload_dataset\(|\bpipeline\([^()\n]*\bmodel=)"
_TITLE = re.compile(r"^# +(?P<title>\S[^\n]*)", re.MULTILINE)
_COMMAND = re.compile(r"\bhf-paraphrase [^`\n]*")
# Flags that take what a repository holds; `--index` is none, because an index is searched in a folder only.
_FLAGS = r"(?:model|classifier|encoder|source-encoder|target-encoder)"


def published_files(folder: Path, files: FileList, repo_id: str, repo_type: str) -> FileList:
    """Puts the repository's name into the code of the cards among some files, and shortens the paths in records.

    Args:
        folder: The folder that they lie in.
        files: What travels.
        repo_id: The repository, `namespace/name`.
        repo_type: `model`, `dataset` or `space`.

    Returns:
        The same files; a card that names the folder and a record with paths of this machine with the content that
        they have on the Hub. Cards of folders within a data folder are those of other artefacts and stay.
    """
    own = next((file for file in files.files if file.name == CARD), None)
    names = {folder.resolve().name}
    if own is not None and (text := _text(own)) is not None and (title := _TITLE.search(_body(text))):
        names.add(title["title"].rstrip())

    def published(file: TravellingFile) -> TravellingFile:
        is_card = file is own or file.name == REPORT or (repo_type == "model" and file.name.endswith(f"/{CARD}"))
        text = _text(file) if is_card or is_record(file.name) else None
        if text is None:
            return file
        changed = published_card(text, names, repo_id) if is_card else published_record(text)
        if changed == text:
            return replace(file, size=file.path.stat().st_size, content=None)
        content = changed.encode("utf-8")
        return replace(file, size=len(content), content=content)

    return replace(files, files=tuple(map(published, files.files)))


def published_card(card: str, names: Iterable[str], repo_id: str) -> str:
    """Puts a repository's name into the code of a card.

    Only calls that open the folder and commands that are given it are changed: what they name must be one of `names`
    or a folder in it, or the placeholder for it in the cards of data and metrics.

    Args:
        card: The card's text.
        names: What the card calls its folder.
        repo_id: The repository, `namespace/name`.
    """
    body = _body(card)
    start = len(card) - len(body)
    known = {form for name in names for form in (name, json.dumps(name)[1:-1])} - {""}
    listed = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    for call, opened in (
        (_CALLS, listed),
        (r"\bload_dataset\(", re.escape(_PLACEHOLDER)),
        (r"\bevaluate\.load\(", f"{_METRIC_FOLDER}(?:{listed})"),
    ):
        body = re.sub(
            rf"(?P<call>{call}){_quoted(opened)}",
            lambda found: f"{found['call']}{found['quote']}{repo_id}{found['rest'] or ''}{found['quote']}",
            body,
        )
    # Code that joins the folder's name with those of files needs the files.
    body = re.sub(
        rf"^folder = {_quoted(listed)}(?=[ \t]*\r?$)",
        lambda found: f'from huggingface_hub import snapshot_download\n\nfolder = snapshot_download("{repo_id}")',
        body,
        flags=re.MULTILINE,
    )
    body = _COMMAND.sub(
        lambda found: re.sub(
            rf"(?P<flag>--{_FLAGS} )(?:{listed})(?=[/\s]|$)", lambda word: word["flag"] + repo_id, found[0]
        ),
        body,
    )
    body = body.replace(_DOWNLOAD, f"hf download {repo_id}")
    return card[:start] + body


def _body(card: str) -> str:
    found = split_head(card)
    return card if found is None else found[1]


def _quoted(name: str) -> str:
    """Makes a pattern for a name, itself a pattern, in quotes, perhaps with a place in what it names."""
    return rf"(?P<quote>[\"'])(?:{name})(?P<rest>/[^\"'\n]*)?(?P=quote)"


def _text(file: TravellingFile) -> str | None:
    try:
        return file.path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
