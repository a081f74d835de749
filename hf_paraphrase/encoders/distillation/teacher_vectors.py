"""What teachers say of texts: unit vectors that are computed once, in a folder that grows.

Below it is a folder for each teacher, state of its weights and precision: `vectors.f16` with a row of float16 for
each text, and `keys.u64` with 64 bits of a digest of the text. Rows are added a block at a time, the keys after the
rows, so a killed run continues after the last complete block, and texts that any earlier run has met are not encoded
again, whatever else its text was.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import check_no_links, locked
from ...artefacts.provenance import fingerprint
from ...errors import ModelError, OutputError
from ...messages import log
from ..sentence_encoder import SentenceEncoder
from ..vectors import normalized

if TYPE_CHECKING:
    from .texts import Texts

TEXTS_PER_BLOCK = 2048
_KEYS, _VECTORS = "keys.u64", "vectors.f16"


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
    """The vectors of several teachers side by side, of unit length, so that cosines are the means of theirs."""

    def __init__(self, teachers: Sequence[UnitVectors]) -> None:
        self.teachers = list(teachers)

    def __len__(self) -> int:
        return len(self.teachers[0].rows)

    @property
    def dimension(self) -> int:
        """The number of components of all teachers together."""
        return sum(teacher.dimension for teacher in self.teachers)

    def take(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """Reads the vectors (texts, dimension) of some texts by their numbers (texts,)."""
        scale = np.sqrt(1 / len(self.teachers)).astype(np.float32)
        return np.concatenate([scale * teacher.take(numbers) for teacher in self.teachers], axis=1)


def teacher_vectors(
    folder: str | os.PathLike[str],
    teacher: str,
    encoder: SentenceEncoder,
    texts: Texts,
    *,
    bf16: bool,
    show_progress_bar: bool = False,
) -> UnitVectors:
    """Returns the unit vectors that texts are taught by a teacher; missing ones are computed, longest texts first."""
    state = f"{fingerprint(teacher)[:16]}-{'bf16' if bf16 else 'fp32'}"
    place = Path(folder) / f"{Path(teacher).resolve().name}-{state}"
    dimension = encoder.dimension
    # Rows are added to the files that are here, and through a link they would go elsewhere.
    check_no_links(place)
    if len(_missing(place, dimension, texts)):
        with locked(place):
            # Another run may have written until now.
            missing = _missing(place, dimension, texts)
            log(f"{place.name}: {len(missing):,} of {len(np.unique(texts.taught_by)):,} texts to encode")
            _add(place, encoder, teacher, texts, missing, show_progress_bar)
    keys = _read_keys(place, dimension)
    order = np.argsort(keys, kind="stable")
    rows = order[np.searchsorted(keys, texts.keys[texts.taught_by], sorter=order)]
    matrix = np.memmap(place / _VECTORS, np.float16, "r", shape=(len(keys), dimension))
    return UnitVectors(np.asarray(matrix), rows)


def _read_keys(place: Path, dimension: int) -> NDArray[np.uint64]:
    """Reads the keys of the whole rows that are there."""
    if not (place / _KEYS).is_file() or not (place / _VECTORS).is_file():
        return np.zeros(0, np.uint64)
    rows = (place / _VECTORS).stat().st_size // (2 * dimension)
    return np.fromfile(place / _KEYS, np.uint64)[:rows]


def _missing(place: Path, dimension: int, texts: Texts) -> NDArray[np.int64]:
    """Lists the texts without a vector, the longest first: what does not fit the memory shows at once."""
    numbers = np.unique(texts.taught_by)
    numbers = numbers[~np.isin(texts.keys[numbers], _read_keys(place, dimension))]
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
        place.mkdir(parents=True, exist_ok=True)
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
            f"its vector is not finite for the text `{texts[wrong[0]][:60]}`",
            path=teacher,
            remedy="take another teacher, or --teacher-precision fp32",
        )
    return normalized(vectors)
