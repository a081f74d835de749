"""`report.html`: the card as a page, plots of the results, settings and provenance.

Styles, plots and pictures are in the file, and a policy in its head keeps the browser from loading or running anything
but the script that sorts tables. The same folder has the same report, byte for byte.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...messages import printable, without_secrets
from ..card_heads import split_card
from ..provenance import REPORT, read_provenance, with_short_paths
from ..whole_files import write_text_whole
from .plots import recorded_plots

if TYPE_CHECKING:
    import jinja2

_GENERATOR = b'<meta name="generator" content="hf-paraphrase">'
_KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}


def write_report(folder: str | os.PathLike[str], card: str) -> Path:
    """Writes `report.html` of a folder from its record and pictures and the text of its card; returns the path."""
    path = Path(folder) / REPORT
    write_text_whole(path, render_report(split_card(card)[1], read_provenance(folder), pictures=Path(folder)))
    return path


def is_report(path: str | os.PathLike[str]) -> bool:
    """Returns whether a file is a report that this package made."""
    try:
        with Path(path).open("rb") as stream:
            return _GENERATOR in stream.read(1024)
    except OSError:
        return False


def render_report(markdown: str, record: Mapping[str, Any], *, pictures: Path | None = None) -> str:
    """Renders a Markdown text, whose first heading is the title, with a record as in `provenance.json`."""
    title, lead, body = _page(markdown, pictures)
    script = Path(__file__).with_name("sort.js").read_text(encoding="utf-8")
    text = _template().render(
        title=title,
        command=record.get("command") or "hf-paraphrase",
        lead=lead,
        body=body,
        plots=recorded_plots(record),
        tables=_tables(record),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    # Neither function changes the script, whose hash is in the page.
    return printable(without_secrets(text)).rstrip() + "\n"


def _page(markdown: str, pictures: Path | None) -> tuple[str, str, str]:
    """Returns the title of a card, and as HTML the text before its second heading and the rest."""
    from markdown_it import MarkdownIt

    # Tags are shown as text, and links to scripts are not made.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    comments = re.compile("^<!--.*-->$", re.MULTILINE)
    tokens = parser.parse(comments.sub("", markdown))
    for token in tokens:
        for part in token.children or []:
            if part.type == "image" and (content := _picture(pictures, str(part.attrs["src"]))):
                part.attrs["src"] = content
            elif part.type == "image":
                part.type, part.children = "text", None
    headings = [index for index, token in enumerate(tokens) if token.type == "heading_open"]
    begin, title = 0, "Report"
    if headings and tokens[headings[0]].tag == "h1":
        first = headings.pop(0)
        begin = first + 3
        title = "".join(part.content for part in tokens[first + 1].children or [])
    end = headings[0] if headings else len(tokens)
    lead, body = (
        parser.renderer.render(part, parser.options, {})
        .replace("<table>", '<div class="wide"><table>')
        .replace("</table>", "</table></div>")
        for part in (tokens[begin:end], tokens[end:])
    )
    return title, lead, body


def _picture(folder: Path | None, name: str) -> str | None:
    """Reads a picture inside of a folder as a `data:` URL; None for anything else."""
    if folder is None:
        return None
    path = (folder / name).resolve()
    if path.suffix not in _KINDS or not path.is_relative_to(folder.resolve()) or not path.is_file():
        return None
    return f"data:{_KINDS[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _tables(record: Mapping[str, Any]) -> list[tuple[str, tuple[str, str], list[tuple[str, str]]]]:
    settings = with_short_paths(record.get("settings", {}))
    tables = [
        ("Settings", ("setting", "value"), [item for item in settings.items() if item[0] != "output"]),
        (
            "Inputs",
            ("input", "SHA-256 of what was read"),
            [(item["name"], item.get("sha256")) for item in record.get("inputs", [])],
        ),
        ("Versions", ("package", "version"), list(record.get("versions", {}).items())),
    ]
    return [
        (title, header, [(str(name), _value(value)) for name, value in rows]) for title, header, rows in tables if rows
    ]


def _value(value: object) -> str:
    """Writes a value of a record for people."""
    if value is None or value in ([], {}, ""):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@cache
def _template() -> jinja2.Template:
    import jinja2

    folder = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=folder, undefined=jinja2.StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html")
