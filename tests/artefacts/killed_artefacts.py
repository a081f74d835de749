"""Kill runs before each of their changes of the file system: `killed_artefacts.py FOLDER [WAY]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from forks import CHANGES, kill
from hf_paraphrase.artefacts import artefact as module
from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.errors import OutputError


def made(output: Path, text: str = "new", **options: object) -> Artefact:
    """Makes an artefact with one file."""
    with Artefact(output, command="toy", settings={"text": text}, **options) as artefact:
        if not artefact.finished:
            (artefact.staging / "text.txt").write_text(text)
            artefact.finish(results={"letters": len(text)})
    return artefact


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def killed(work, folder: Path, moment: int) -> bool:
    """Runs work in another process and kills it before its n-th change of the file system; false if it ended first."""
    pid = os.fork()
    if pid == 0:
        exchange = module._exchange
        # Python does not learn of this change: a folder that is not there is no change, but counts as one.
        module._exchange = lambda one, other: (one / "absent").unlink(missing_ok=True) or exchange(one, other)
        CHANGES.begin(folder, moment, kill)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def replaced(folder: Path, way: str = "exchange") -> None:
    """Check that each kill leaves the old or the new output, and that the next run removes other files."""
    if way == "renames":
        module._exchange = lambda one, other: False
    out, seen = folder / "out", set()
    for moment in range(1, 100):
        made(out, "old", overwrite=True)
        ended = not killed(lambda: made(out, "new", overwrite=True), folder, moment)
        if way == "renames" and not out.exists():
            # The next run, even one that is refused, gives the older output its name back.
            try:
                made(out, "third")
            except OutputError as error:
                assert "exists" in str(error)
        text = (out / "text.txt").read_text()
        assert text in {"old", "new"} and (out / "provenance.json").is_file()
        seen.add(text)
        made(out, "third", overwrite=True)
        assert names(folder) == {"out"} and (out / "text.txt").read_text() == "third"
        if ended:
            break
    assert ended and seen == {"old", "new"} and moment > 8


if __name__ == "__main__":
    replaced(Path(sys.argv[1]), *sys.argv[2:])
