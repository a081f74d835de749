"""What teachers say of texts: unit vectors that are computed once, in a folder that grows.

Each teacher has a folder below, called like its own: `vectors.f16` with a row of float16 for each text, `keys.u64`
with 64 bits of a digest of the text, and `teacher.json`, which says whose vectors they are. Rows are added a block at
a time, the keys after the rows, so a killed run continues after the last complete block, and texts that any
earlier run has met are not encoded again, whatever else its text was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import check_no_links, locked, write_text_whole
from ...artefacts.provenance import fingerprint
from ...errors import InputError, ModelError, OutputError, UsageError
from ...messages import log
from ..sentence_encoder import SentenceEncoder
from ..vectors import normalized

if TYPE_CHECKING:
    from .texts import Texts

TEXTS_PER_BLOCK = 2048
_MANIFEST, _KEYS, _VECTORS = "teacher.json", "keys.u64", "vectors.f16"
_SHOWN = 60


@dataclass
class UnitVectors:
    """The unit vectors of texts by one teacher.

    Attributes:
        matrix: The rows of its folder (rows, dimension), float16, usually a map of a file.
        rows: Which of them belongs to each text (texts,), int64.
    """

    matrix: NDArray[np.float16]
    rows: NDArray[np.int64]

    @property
    def dimension(self) -> int:
        """The number of components."""
        return int(self.matrix.shape[1])

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Reads the vectors of some texts by their numbers (texts,), as (texts, dimension)."""
        return self.matrix[self.rows[numbers]].astype(np.float32)


class TeacherVectors:
    """The vectors of several teachers side by side, each weighted so that cosines are weighted means of theirs."""

    def __init__(self, teachers: Sequence[UnitVectors], weights: Sequence[float] = ()) -> None:
        self.teachers = list(teachers)
        given = np.array(weights or [1.0] * len(teachers), np.float64)
        self.scales = np.sqrt(given / given.sum()).astype(np.float32)

    def __len__(self) -> int:
        return len(self.teachers[0].rows)

    @property
    def dimension(self) -> int:
        """The number of components of all teachers together."""
        return sum(teacher.dimension for teacher in self.teachers)

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Reads the vectors (texts, dimension) of some texts by their numbers (texts,), of unit length."""
        parts = [scale * teacher.take(numbers) for scale, teacher in zip(self.scales, self.teachers, strict=True)]
        return np.concatenate(parts, axis=1)


def check_teachers(teachers: Sequence[str], folder: str | None, *, bf16: bool) -> None:
    """Refuses teachers whose vectors cannot be kept, before anything is computed."""
    names = [Path(teacher).resolve().name for teacher in teachers]
    if len(set(names)) < len(names):
        raise UsageError("two teachers have folders of one name", remedy="rename one of them")
    for teacher, name in zip(teachers, names, strict=True):
        if folder is not None and (Path(folder) / name).is_dir() and Path(teacher).is_dir():
            _check_manifest(Path(folder) / name, _state(teacher, bf16))


def teacher_vectors(
    folder: str | os.PathLike[str],
    teacher: str,
    encoder: SentenceEncoder,
    texts: Texts,
    *,
    bf16: bool,
    show_progress_bar: bool = False,
) -> UnitVectors:
    """Returns a teacher's unit vectors of texts; vectors missing from its folder are computed, longest texts first."""
    place = Path(folder) / Path(teacher).resolve().name
    state = _state(teacher, bf16)
    dimension = encoder.dimension
    _check_manifest(place, state)
    if len(_missing(place, dimension, texts)):
        with locked(place):
            # Another run may have written until now.
            _check_manifest(place, state)
            write_text_whole(place / _MANIFEST, json.dumps(state, indent=2) + "\n")
            missing = _missing(place, dimension, texts)
            log(f"{place.name}: {len(missing):,} of {len(texts):,} texts to encode")
            _add(place, encoder, teacher, texts, missing, show_progress_bar)
    keys = _read_keys(place, dimension)
    order = np.argsort(keys, kind="stable")
    rows = order[np.searchsorted(keys, texts.keys, sorter=order)]
    matrix = np.memmap(place / _VECTORS, np.float16, "r", shape=(len(keys), dimension))
    return UnitVectors(np.asarray(matrix), rows)


def _state(teacher: str, bf16: bool) -> dict[str, str]:
    """Describes whose vectors these are."""
    name = Path(teacher).resolve().name
    return {"teacher": name, "sha256": fingerprint(teacher), "precision": "bf16" if bf16 else "fp32"}


def _check_manifest(place: Path, state: dict[str, str]) -> None:
    # Rows are added to the files that are here, and through a link they would go elsewhere.
    check_no_links(place)
    path = place / _MANIFEST
    if not path.is_file():
        return
    try:
        manifest = {name: str(value) for name, value in json.loads(path.read_text(encoding="utf-8")).items()}
    except (ValueError, AttributeError, OSError):
        manifest = {}
    if manifest.get("sha256") != state["sha256"]:
        what = "of another teacher, or of another state of it"
    elif manifest.get("precision") != state["precision"]:
        what = f"in {manifest.get('precision')}, not in {state['precision']}"
    else:
        return
    raise InputError(
        f"the vectors that are kept here are {what}",
        path=place,
        remedy="give another --teacher-vectors, or remove this folder",
    )


def _read_keys(place: Path, dimension: int) -> NDArray[np.uint64]:
    """Reads the keys of the whole rows that are there."""
    if not (place / _KEYS).is_file() or not (place / _VECTORS).is_file():
        return np.zeros(0, np.uint64)
    rows = (place / _VECTORS).stat().st_size // (2 * dimension)
    return np.fromfile(place / _KEYS, np.uint64)[:rows]


def _missing(place: Path, dimension: int, texts: Texts) -> NDArray[np.int64]:
    """Lists the texts without a vector, the longest first: what does not fit the memory shows at once."""
    numbers = np.flatnonzero(~np.isin(texts.keys, _read_keys(place, dimension)))
    return numbers[np.argsort(-texts.lengths[numbers], kind="stable")]


def _add(
    place: Path,
    encoder: SentenceEncoder,
    teacher: str,
    texts: Texts,
    missing: NDArray[np.int64],
    show_progress_bar: bool,
) -> None:
    from tqdm.auto import tqdm

    rows = len(_read_keys(place, encoder.dimension))
    progress = tqdm(total=len(missing), unit=" texts", desc=place.name, disable=not show_progress_bar or None)
    try:
        with (place / _VECTORS).open("ab") as vectors, (place / _KEYS).open("ab") as keys, progress:
            vectors.truncate(rows * 2 * encoder.dimension)
            keys.truncate(rows * 8)
            for start in range(0, len(missing), TEXTS_PER_BLOCK):
                numbers = missing[start : start + TEXTS_PER_BLOCK]
                new_vectors = _embed(encoder, teacher, texts.take(numbers))
                for stream, part in ((vectors, new_vectors.astype(np.float16)), (keys, texts.keys[numbers])):
                    stream.write(np.ascontiguousarray(part).tobytes())
                    stream.flush()
                    os.fsync(stream.fileno())
                progress.update(len(numbers))
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}", path=place) from error


def _embed(encoder: SentenceEncoder, teacher: str, texts: list[str]) -> NDArray[np.float32]:
    vectors = encoder.encode(texts)
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise ModelError(
            f"its vector is not finite for the text `{texts[wrong[0]][:_SHOWN]}`",
            path=teacher,
            remedy="take another teacher, or --teacher-precision fp32",
        )
    return normalized(vectors)
