"""Puts `report.html` together: the card as a page, plots of what was recorded, settings and provenance.

A report is made of what lies in the folder, so that the same folder has the same report, byte for byte: one whose run
was killed and resumed has that of an undisturbed one. Nothing in it is fetched: styles, plots and pictures are in the
file, and a policy in its head forbids the browser all else, scripts but the one that sorts tables included.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from ...errors import HfParaphraseError
from ...messages import printable, without_secrets
from ..card_heads import split_head
from ..files import read_bytes
from ..provenance import REPORT, read_provenance, without_places
from ..whole_files import write_text_whole
from .markdown_page import Pictures, as_page
from .plots import COLOURS, Plot
from .recorded_plots import recorded_plots

if TYPE_CHECKING:
    import jinja2

_TEMPLATE = "report.html"
_GENERATOR = b'<meta name="generator" content="hf-paraphrase">'
_SCRIPT = "sort.js"
_KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
_LARGEST_PICTURE = 4 << 20
_ABSENT = "–"


def write_report(folder: str | os.PathLike[str], card: str) -> Path:
    """Writes `report.html` of a folder whose record and pictures lie in it, and returns its path.

    Args:
        folder: The folder.
        card: The text of its card, which need not be written yet.

    Raises:
        InputError: If its record is damaged.
        OutputError: If it cannot be written.
    """
    folder = Path(folder)
    found = split_head(card)
    record = read_provenance(folder)
    text = render_report(
        card if found is None else found[1],
        record,
        plots=recorded_plots(record),
        pictures=lambda place: _picture(folder, place),
    )
    write_text_whole(folder / REPORT, text)
    return folder / REPORT


def is_report(path: str | os.PathLike[str]) -> bool:
    """Tells whether a file is a report that this package made."""
    try:
        with Path(path).open("rb") as stream:
            return _GENERATOR in stream.read(1024)
    except OSError:
        return False


def render_report(
    markdown: str, record: Mapping[str, Any], *, plots: Sequence[Plot] = (), pictures: Pictures = lambda place: None
) -> str:
    """Renders a report.

    Args:
        markdown: What is said in words and tables; its first heading is the title.
        record: `command`, `settings`, `inputs` and `versions` as in a `provenance.json`.
        plots: The plots.
        pictures: What gives out the pictures that the text names.

    Returns:
        The page.
    """
    page = as_page(markdown, pictures)
    script = _source(_SCRIPT)
    text = _template().render(
        title=page.title or "Report",
        command=str(record.get("command") or "hf-paraphrase"),
        page=page,
        plots=plots,
        tables=[(heading, header, rows) for heading, header, rows in _tables(record) if rows],
        colours=COLOURS,
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    # Neither changes the script, whose fingerprint the page names.
    return printable(without_secrets(text)).rstrip() + "\n"


def _tables(record: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    settings, inputs, versions = (record.get(name) for name in ("settings", "inputs", "versions"))
    settings = without_places(settings) if isinstance(settings, Mapping) else {}
    versions = versions if isinstance(versions, Mapping) else {}
    given = [item for item in inputs if isinstance(item, Mapping)] if isinstance(inputs, list) else []
    return [
        (
            "Settings",
            ("setting", "value"),
            [(str(name), _value(value)) for name, value in settings.items() if name != "output"],
        ),
        (
            "Inputs",
            ("input", "SHA-256 of what was read"),
            [(_value(item.get("name")), _value(item.get("sha256"))) for item in given],
        ),
        ("Versions", ("package", "version"), [(str(name), _value(value)) for name, value in versions.items()]),
    ]


def _value(value: object) -> str:
    """Writes a value of a record for people."""
    if value is None or value in ([], {}, ""):
        return _ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _picture(folder: Path, place: str) -> str | None:
    """Reads a picture that lies in a folder, as an address that holds all of it; None for anything else."""
    path = PurePosixPath(place)
    if path.is_absolute() or ".." in path.parts or not place.isprintable() or path.suffix not in _KINDS:
        return None
    try:
        if (folder / path).stat().st_size > _LARGEST_PICTURE:
            return None
        content = read_bytes(folder / path)
    except (HfParaphraseError, OSError):
        return None
    return f"data:{_KINDS[path.suffix]};base64,{base64.b64encode(content).decode()}"


@cache
def _source(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(_TEMPLATE)
