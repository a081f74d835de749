"""Collections of sentences to be mined and their true pairs as text files, and the data folders of `mine`.

The layout is plain lines, or that of the shared task of BUCC 2017: `id TAB sentence`, and `source id TAB target id`
for pairs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.files import write_text_whole
from ...data.folder import DataFolder
from ...data.schema import BITEXT
from ...data.text_files import StrictLines, read_fields, read_lines
from ...errors import InputError
from .measures import Curve

LAYOUTS = ("lines", "bucc")
MINED = pa.schema([*BITEXT, ("source_id", pa.string()), ("target_id", pa.string()), ("score", pa.float64())])
"""Mined pairs: a bitext with the ids that the sentences have in their collections."""

DIGITS = 9
_GOLD_REMEDY = "one pair a line as `source id TAB target id`"
_NUMBER = re.compile(r"\d+")
_ID = re.compile(r"\S*\d\t")


@dataclass(frozen=True)
class Collection:
    """Sentences with their names.

    Attributes:
        names: The name of each: its id, or the number of its line from 1.
        empty: How many more had no character but white space and are left out.
    """

    path: Path
    names: Sequence[str]
    sentences: Sequence[str]
    empty: int = 0

    def __len__(self) -> int:
        return len(self.sentences)


def read_collection(path: Path, layout: str) -> Collection:
    """Reads one side, plain or compressed.

    Args:
        path: The file.
        layout: `lines` for one sentence a line, `bucc` for `id TAB sentence` as in the shared task of BUCC 2017.
    """
    if layout == "lines":
        sentences = [text for block in read_lines(path, StrictLines()) for text in block.to_pylist()]
        names = [str(number) for number in range(1, len(sentences) + 1)]
        if all(map(_ID.match, sentences)):
            raise InputError(
                f"every line begins with an id, the first with `{sentences[0].partition(chr(9))[0][:80]}`",
                path=path,
                remedy="--layout bucc, or a file without ids",
            )
    else:
        remedy = "one sentence a line as `id TAB sentence`, or --layout lines"
        names, sentences = [], []
        first_lines: dict[str, int] = {}
        for lines, texts in read_fields(path, ["id", "sentence"], StrictLines(), remedy=remedy):
            sentences += texts["sentence"].to_pylist()
            block = texts["id"].to_pylist()
            names += block
            for line, name in zip(lines.tolist(), block, strict=True):
                if not name.strip():
                    raise InputError("the id is empty", path=path, line=line, remedy=remedy)
                if name in first_lines:
                    raise InputError(
                        f"the id `{name[:80]}` was in line {first_lines[name]:,} already",
                        path=path,
                        line=line,
                        remedy="give every sentence an id of its own",
                    )
                first_lines[name] = line
    filled = [place for place, text in enumerate(sentences) if text.strip()]
    if not filled:
        raise InputError("the file contains no sentences", path=path, remedy="give one sentence a line")
    empty = len(sentences) - len(filled)
    return Collection(path, [names[place] for place in filled], [sentences[place] for place in filled], empty)


def check_different(source: Collection, target: Collection) -> None:
    """Refuses two collections of the same sentences, of which each would be found as its own translation."""
    if source.path.resolve() == target.path.resolve() or source.sentences == target.sentences:
        raise InputError(
            "source and target are the same sentences",
            path=target.path,
            remedy="give two languages; hf-paraphrase search --mine finds paraphrases in one collection",
        )


def read_gold(path: Path, source: Collection, target: Collection) -> NDArray[np.int64]:
    """Reads the true pairs, `source id TAB target id` a line; a pair that comes twice counts once.

    Returns:
        The places of the pairs (pairs, 2), sorted.
    """
    positions = [{name: place for place, name in enumerate(side.names)} for side in (source, target)]
    pairs = set()
    for line, pair in _lines_of_gold(path):
        for name, side, places in zip(pair, (source, target), positions, strict=True):
            if name not in places:
                remedy = f"{_GOLD_REMEDY}; these are the numbers of lines without --layout bucc"
                message = f"the id `{name[:80]}` is not in {side.path.name}, or its sentence is empty"
                raise InputError(message, path=path, line=line, remedy=remedy)
        pairs.add((positions[0][pair[0]], positions[1][pair[1]]))
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def _lines_of_gold(path: Path) -> Iterator[tuple[int, tuple[str, str]]]:
    for lines, texts in read_fields(path, ["source", "target"], StrictLines(), remedy=_GOLD_REMEDY):
        pairs = zip(texts["source"].to_pylist(), texts["target"].to_pylist(), strict=True)
        yield from zip(lines.tolist(), pairs, strict=True)


def identifiers(language: str, count: int) -> list[str]:
    """Numbers sentences as the shared task does: a language code, a dash and nine digits, from 1."""
    return [f"{language}-{number:0{DIGITS}d}" for number in range(1, count + 1)]


def write_side(path: Path, names: Sequence[str], sentences: Sequence[str]) -> None:
    """Writes one side, `id TAB sentence` a line."""
    write_text_whole(path, "".join(f"{name}\t{text}\n" for name, text in zip(names, sentences, strict=True)))


def write_gold(path: Path, source_names: Sequence[str], target_names: Sequence[str], pairs: NDArray[np.int64]) -> None:
    """Writes pairs of positions (pairs, 2) as `source id TAB target id` a line."""
    write_text_whole(path, "".join(f"{source_names[one]}\t{target_names[two]}\n" for one, two in pairs.tolist()))


def read_gold_ids(path: Path) -> set[tuple[str, str]]:
    """Reads true pairs, `source id TAB target id` a line."""
    return {pair for _, pair in _lines_of_gold(path)}


def mined_curve(folder: str, gold: set[tuple[str, str]]) -> Curve:
    """Measures the pairs in a folder that `mine` made at every threshold."""
    mined = DataFolder(folder)
    mined.require("source_id", "target_id", "score")
    table = mined.table(columns=["source_id", "target_id", "score"])
    pairs = list(zip(table["source_id"].to_pylist(), table["target_id"].to_pylist(), strict=True))
    if len(set(pairs)) < len(pairs):
        repeated, _ = Counter(pairs).most_common(1)[0]
        raise InputError(f"the pair `{repeated[0]}`, `{repeated[1]}` is in it twice", path=folder)
    if gold and pairs and {_form(source) for source, _ in pairs}.isdisjoint(_form(source) for source, _ in gold):
        raise InputError(
            "its source ids are of another form than those of the gold pairs, e.g. "
            f"`{min(pairs)[0][:40]}` and `{min(gold)[0][:40]}`",
            path=folder,
            remedy="the gold must be of the same collections, and in the same layout",
        )
    right = np.array([pair in gold for pair in pairs], bool)
    return Curve.of(table["score"].to_numpy().astype(np.float64), right, len(gold))


def _form(name: str) -> str:
    """Returns an id with its numbers left out, which distinguishes the ids of two layouts."""
    return _NUMBER.sub("0", name)
