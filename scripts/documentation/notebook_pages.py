"""Notebooks as Markdown: their text, their code, and below it what it printed when they were last run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def notebook_page(path: Path) -> str:
    """Returns the Markdown of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(_markdown(cell) for cell in cells) + "\n"


def printed(cell: dict[str, Any]) -> str:
    """Returns what a cell of code showed as text: what it printed, and the value of its last line."""
    shown = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            shown.append(_text(output["text"]))
        elif output["output_type"] in {"execute_result", "display_data"} and "image/png" not in output["data"]:
            shown.append(_text(output["data"].get("text/plain", "")) + "\n")
    return _TERMINAL_CODES.sub("", "".join(shown)).rstrip()


def _markdown(cell: dict[str, Any]) -> str:
    source = _text(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    parts = [f"```python\n{source}\n```"]
    if text := printed(cell):
        parts.append(f'```text {{ .output title="prints" }}\n{text}\n```')
    for output in cell["outputs"]:
        if image := output.get("data", {}).get("image/png"):
            parts.append(f"![A picture that the code above shows](data:image/png;base64,{_text(image).strip()})")
    return "\n\n".join(parts)


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
