"""Collections of sentences to be mined and their true pairs, as text files.

The files are plain lines, or follow the shared task of BUCC 2017: `id TAB sentence`, and `source id TAB target id` for
pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..artefacts.files import atomic_write_text
from ..data.folder import DataFolder
from ..data.text_blocks import refuse_records
from ..data.text_files import StrictLines, read_fields, read_lines
from ..errors import InputError
from ..text.normalization import is_blank, normalize_words

LAYOUTS = ("lines", "bucc")
SIDES = ("source", "target")


@dataclass(frozen=True)
class Collection:
    """Sentences with their names: ids, or line numbers from 1. Empty sentences are left out."""

    path: Path
    names: Sequence[str]
    sentences: Sequence[str]

    def __len__(self) -> int:
        return len(self.sentences)


def read_collection(path: Path, layout: str) -> Collection:
    """Read a collection, plain or compressed: `lines`, one sentence per line, or `bucc`, `id TAB sentence`."""
    names: list[str] = []
    sentences: list[str] = []
    if layout == "lines":
        refuse_records(path)
        for lines in read_lines(path, StrictLines()):
            sentences += lines.to_pylist()
        names = [str(number) for number in range(1, len(sentences) + 1)]
    else:
        remedy = "one sentence per line as `id TAB sentence`, or --layout lines"
        for _, texts in read_fields(path, ["id", "sentence"], StrictLines(), remedy=remedy):
            names += texts["id"].to_pylist()
            sentences += texts["sentence"].to_pylist()
        if len(set(names)) < len(names):
            repeated, _ = Counter(names).most_common(1)[0]
            remedy = "give every sentence a unique id"
            raise InputError(f"the id `{repeated[:80]}` occurs more than once", path=path, remedy=remedy)
    filled = [row for row, text in enumerate(sentences) if not is_blank(text)]
    if not filled:
        raise InputError("the file contains no sentences", path=path, remedy="give one sentence per line")
    return Collection(path, [names[row] for row in filled], [sentences[row] for row in filled])


def read_gold(path: Path, source: Collection, target: Collection) -> NDArray[np.int64]:
    """Read the true pairs of two collections, `source id TAB target id` per line, as sorted rows (pairs, 2)."""
    remedy = "one pair per line as `source id TAB target id`; these are the numbers of lines without --layout bucc"
    collections = {"source": source, "target": target}
    rows = {name: {key: row for row, key in enumerate(each.names)} for name, each in collections.items()}
    pairs = set()
    for lines, texts in read_fields(path, list(collections), StrictLines(), remedy=remedy):
        for line, *pair in zip(lines.tolist(), *(texts[name].to_pylist() for name in collections), strict=True):
            for sentence_id, (name, collection) in zip(pair, collections.items(), strict=True):
                if sentence_id not in rows[name]:
                    message = f"the id `{sentence_id[:80]}` is not in {collection.path.name}, or its sentence is empty"
                    raise InputError(message, path=path, line=line, remedy=remedy)
            pairs.add((rows["source"][pair[0]], rows["target"][pair[1]]))
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


@dataclass(frozen=True)
class TaskPart:
    """Two collections and their true pairs, as rows of the source and target sentences (pairs, 2)."""

    files: list[Path]
    source: Collection
    target: Collection
    gold: NDArray[np.int64]

    @classmethod
    def of_files(cls, files: list[Path], layout: str) -> TaskPart:
        """Read the files of the source, the target and the pairs."""
        for path in files:
            if not path.is_file():
                raise InputError(
                    "no such file of known pairs", path=path, remedy="name what its three files begin with"
                )
        source, target = (read_collection(path, layout) for path in files[:2])
        return cls(files, source, target, read_gold(files[2], source, target))

    @classmethod
    def of_task(cls, prefix: str, part: str) -> TaskPart:
        """Read `PREFIX.PART.fr`, `PREFIX.PART.en` and `PREFIX.PART.gold` for a prefix that ends in `fr-en`."""
        codes = Path(prefix).name.split("-")
        # The code of a language may have a hyphen itself: pt-BR-en.
        splits = [("-".join(codes[:position]), "-".join(codes[position:])) for position in range(1, len(codes))]
        splits = [(one, other) for one, other in splits if one != other]
        if not splits or not all(codes):
            raise InputError(
                f"`{Path(prefix).name}` is not a pair of languages",
                path=prefix,
                remedy="give what the files of the task begin with, e.g. task/fr-en",
            )
        readings = [[Path(f"{prefix}.{part}.{ending}") for ending in (*split, "gold")] for split in splits]
        return cls.of_files(next((files for files in readings if files[0].is_file()), readings[0]), "bucc")


def read_bitext_part(folder: str) -> TaskPart:
    """Make a task of a bitext: a random third of its pairs, and sentences without a translation.

    The latter are the sources of the second third and the targets of the last. Sentences repeated in later pairs are
    dropped with these pairs.
    """
    bitext = DataFolder(folder)
    split = "validation" if "validation" in bitext.splits else bitext.splits[0]
    bitext.require(*SIDES, split=split)
    texts = {side: bitext.table(split, [side])[side].to_pylist() for side in SIDES}
    used: set[tuple[str, str]] = set()
    pairs = []
    for pair in zip(*texts.values(), strict=True):
        keys = {(side, normalize_words(text or "")) for side, text in zip(SIDES, pair, strict=True)}
        if all(key for _, key in keys) and not keys & used:
            used |= keys
            pairs.append(pair)
    third = len(pairs) // 3
    if not third:
        raise InputError("too few pairs to choose a threshold", path=folder, remedy="give at least three, better 500")
    order = np.random.default_rng(0).permutation(len(pairs))
    rows = {"source": order[: 2 * third], "target": np.concatenate([order[:third], order[2 * third :]])}
    source, target = (
        Collection(Path(folder), list(map(str, rows[side])), [pairs[row][index] for row in rows[side]])
        for index, side in enumerate(SIDES)
    )
    return TaskPart([Path(folder)], source, target, np.repeat(np.arange(third)[:, None], 2, axis=1))


def write_side(path: Path, names: Sequence[str], sentences: Sequence[str]) -> None:
    """Write a collection, one `id TAB sentence` per line."""
    atomic_write_text(path, "".join(f"{name}\t{text}\n" for name, text in zip(names, sentences, strict=True)))


def write_gold(path: Path, source_names: Sequence[str], target_names: Sequence[str], pairs: NDArray[np.int64]) -> None:
    """Write pairs of positions (pairs, 2) as lines of `source id TAB target id`."""
    atomic_write_text(path, "".join(f"{source_names[one]}\t{target_names[two]}\n" for one, two in pairs.tolist()))
