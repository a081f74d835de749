"""Kills runs before each of their changes of the file system: `killed_artefacts.py FOLDER TEST [WAY]`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from forks import CHANGES, kill
from hf_paraphrase.artefacts import artefact as module
from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.artefacts.files import atomic_write_text
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
    """Has the old or the new output after each kill, and the next run removes the rest."""
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


def continued(folder: Path) -> None:
    """Has the bytes of an undisturbed run where long work is continued after each kill."""

    def work(resume: bool) -> None:
        settings, options = {"output": "out", "size": 3}, {"inputs": [folder / "data.txt"], "resume": resume}
        with Artefact(folder / "out", command="toy", settings=settings, **options) as artefact:
            if artefact.finished:
                return
            steps = artefact.checkpoint("steps")
            for step in range(3):
                if not (steps / str(step)).is_file():
                    atomic_write_text(steps / str(step), f"{step}\n")
            text = "".join((steps / str(step)).read_text() for step in range(3))
            atomic_write_text(artefact.staging / "text.txt", text)
            artefact.finish(results={"steps": 3})

    def content() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}

    (folder / "data.txt").write_text("data")
    work(resume=False)
    undisturbed = content()
    for moment in range(1, 200):
        for path in (folder / "out").iterdir():
            path.unlink()
        (folder / "out").rmdir()
        ended = not killed(lambda: work(resume=False), folder, moment)
        work(resume=True)
        assert content() == undisturbed and names(folder) == {"out", "data.txt"}
        if ended:
            break
    assert ended and moment > 15


if __name__ == "__main__":
    {"replaced": replaced, "continued": continued}[sys.argv[2]](Path(sys.argv[1]), *sys.argv[3:])
