"""Runs the notebooks of the documentation in a kernel, and sees that each cell still shows something where it did.

With `--write` what they show is kept in the files instead, for readers of the site: the site runs nothing. Figures are
not compared, since processors differ in the last digits.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from notebook_pages import printed

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
_SECONDS_PER_CELL = 600
_DRAWN = {"application/vnd.jupyter.widget-view+json", "text/html"}
_KEPT = ("output_type", "name", "text", "data", "metadata", "execution_count")


def main() -> int:
    """Runs all notebooks, or those that are named, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="names of notebooks, without .ipynb; all by default")
    parser.add_argument("--write", action="store_true", help="keep what they show")
    options = parser.parse_args()
    paths = [NOTEBOOKS / f"{name}.ipynb" for name in options.names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    # Kernels import the package from where this program does.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(NOTEBOOKS.parents[1]), os.environ.get("PYTHONPATH", "")])
    return max([run(path, write=options.write) for path in paths], default=0)


def run(path: Path, *, write: bool) -> int:
    """Runs one notebook in a folder of its own, and says how it went.

    Returns:
        0, or 1 where a cell fails, or shows nothing any more, or something for the first time.
    """
    before = json.loads(path.read_text(encoding="utf-8"))
    notebook = nbformat.reads(json.dumps(before), as_version=4)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        # Data folders of one name would otherwise be taken for those of another run.
        os.environ["HF_DATASETS_CACHE"] = str(Path(folder) / "cache")
        client = NotebookClient(
            notebook, timeout=_SECONDS_PER_CELL, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        try:
            client.execute()
        except CellExecutionError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            return 1
    after = json.loads(nbformat.writes(notebook))
    for cell in after["cells"]:
        tidy(cell)
    print(f"{path.name}: {time.monotonic() - started:.0f} s")
    if write:
        after["metadata"] = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
        path.write_text(json.dumps(after, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return 0
    changed = [
        number
        for number, (old, new) in enumerate(zip(before["cells"], after["cells"], strict=True), 1)
        if old["cell_type"] == "code" and bool(printed(old)) != bool(printed(new))
    ]
    for number in changed:
        print(
            f"{path.name}: cell {number} shows something other than the file says: --write keeps it", file=sys.stderr
        )
    return int(bool(changed))


def tidy(cell: dict[str, Any]) -> None:
    """Leaves out of a cell what depends on the run: its times, and progress bars and messages."""
    cell["metadata"] = {}
    if cell["cell_type"] == "code":
        shown = [output for output in cell["outputs"] if output.get("name") != "stderr"]
        # Bars and tables of a running training are redrawn all the time.
        shown = [output for output in shown if not _DRAWN & set(output.get("data", {}))]
        cell["outputs"] = [{key: output[key] for key in _KEPT if key in output} for output in shown]


if __name__ == "__main__":
    sys.exit(main())
