"""A store of teachers' unit vectors: each text is encoded once.

The store has one folder per teacher, fingerprint of its weights, and precision. `vectors.f16` contains one float16 row
per text, and `keys.u64` the 64-bit hash of the text. Rows are added block by block, the keys after the rows: a killed
run continues after the last complete block, and no text is encoded again, whichever run encoded it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import check_no_links, locked
from ...artefacts.provenance import fingerprint
from ...errors import ModelError, OutputError
from ...messages import log
from ...vectors.similarity import unit_rows
from ..sentence_encoder import SentenceEncoder

if TYPE_CHECKING:
    from .texts import Texts

TEXTS_PER_BLOCK = 2048
_KEYS, _VECTORS = "keys.u64", "vectors.f16"
_TEXTS_OF_MEAN = 1 << 16
_TEXTS_OF_CHECK = 500


class UnitVectors:
    """The unit vectors of texts by one teacher.

    Args:
        matrix: The stored vectors (rows, dimension), usually memory-mapped.
        rows: The row of each text (texts,), -1 for a text without a vector.
        center: Whether to subtract the mean vector.
    """

    def __init__(self, matrix: NDArray[np.float16], rows: NDArray[np.int64], *, center: bool = False) -> None:
        self.matrix, self.rows = matrix, rows
        self.dimension = int(matrix.shape[1])
        self.mean: NDArray[np.float32] | None = None
        if center:
            used = np.unique(rows[rows >= 0])
            sample = matrix[used[:: max(1, len(used) // _TEXTS_OF_MEAN)]]
            nonzero = sample[sample.any(axis=1)]
            self.mean = nonzero.mean(axis=0, dtype=np.float64).astype(np.float32) if len(nonzero) else None

    def take(self, text_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of texts by their ids (texts,) as (texts, dimension), zero for a text without one."""
        rows = self.rows[text_ids]
        vectors = self.matrix[rows].astype(np.float32)
        if self.mean is not None:
            # A zero vector, of a text with unknown words only, stays zero.
            is_nonzero = vectors.any(axis=1, keepdims=True)
            vectors = unit_rows(np.where(is_nonzero, vectors - self.mean, 0))
        vectors[rows < 0] = 0
        return vectors


class TeacherVectors:
    """The unit vectors of several teachers, concatenated.

    Each teacher's part is scaled by the square root of its weight, and the weights sum to 1: the cosine of two targets
    is the weighted mean of the teachers' cosines. Where a teacher has no vector for a text, its part is zero.
    """

    def __init__(self, teachers: Sequence[UnitVectors], weights: Sequence[float] = ()) -> None:
        self.teachers = list(teachers)
        shares = np.array(weights or [1.0] * len(self.teachers))
        self.scales: list[np.float32] = list(np.sqrt(shares / shares.sum()).astype(np.float32))
        self.sizes = [teacher.dimension for teacher in self.teachers]
        self.are_partial = any((teacher.rows < 0).any() for teacher in self.teachers)

    def __len__(self) -> int:
        return len(self.teachers[0].rows)

    def take(self, text_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors (texts, dimension) of texts by their ids (texts,)."""
        parts = zip(self.scales, self.teachers, strict=True)
        return np.concatenate([scale * teacher.take(text_ids) for scale, teacher in parts], axis=1)


def teacher_vectors(
    folder: str | os.PathLike[str],
    teacher: str,
    encoder: SentenceEncoder,
    texts: Texts,
    *,
    bf16: bool,
    target_text_ids: NDArray[np.int64] | None = None,
    center: bool = False,
) -> UnitVectors:
    """Return a teacher's unit vectors for texts; vectors missing in the folder are computed, longest texts first.

    Args:
        folder: Folder that stores the vectors of all teachers.
        teacher: Folder of the teacher, which names its part of `folder`.
        encoder: The teacher.
        texts: The texts.
        bf16: Whether the teacher computes in bfloat16.
        target_text_ids: For each text, the id of the text whose vector it learns, -1 for none [default:
            `texts.target_text_ids`].
        center: Whether to subtract the mean of the vectors.
    """
    state = f"{fingerprint(teacher)[:16]}-{'bf16' if bf16 else 'fp32'}"
    store = Path(folder) / f"{Path(teacher).resolve().name}-{state}"
    if target_text_ids is None:
        target_text_ids = texts.target_text_ids
    wanted_ids = np.unique(target_text_ids[target_text_ids >= 0])
    # Rows are appended to existing files, and must not end up elsewhere through a link.
    check_no_links(store)
    if len(_missing(store, encoder.dimension, texts, wanted_ids)):
        with locked(store, wait=True):
            # Another run may have written until now.
            missing = _missing(store, encoder.dimension, texts, wanted_ids)
            log(f"{store.name}: {len(missing):,} of {len(wanted_ids):,} texts to encode")
            _add(store, encoder, teacher, texts, missing)
    keys = _read_keys(store, encoder.dimension)
    order = np.argsort(keys, kind="stable")
    rows = order[np.searchsorted(keys, texts.keys[target_text_ids], sorter=order).clip(max=len(keys) - 1)]
    matrix = np.memmap(store / _VECTORS, np.float16, "r", shape=(len(keys), encoder.dimension))
    return UnitVectors(np.asarray(matrix), np.where(target_text_ids < 0, -1, rows), center=center)


def log_unsupported_languages(teacher: str, vectors: UnitVectors, texts: Texts) -> None:
    """Log each language in which most texts have the same vector, because the teacher knows none of their tokens."""
    for language, name in enumerate(texts.names):
        text_ids = np.flatnonzero((texts.languages == language) & (vectors.rows >= 0))
        _, first = np.unique(vectors.rows[text_ids], return_index=True)
        sample = text_ids[first[:_TEXTS_OF_CHECK]]
        num_different = len(np.unique(vectors.take(sample).round(3), axis=0))
        if len(sample) > 1 and num_different <= len(sample) / 2:
            counts = f"{num_different} different vectors for {len(sample)} texts in {name}"
            log(f"{Path(teacher).name}: {counts}; it does not seem to support this language", warning=True)


def _read_keys(store: Path, dimension: int) -> NDArray[np.uint64]:
    """Read the keys of the complete rows."""
    if not (store / _KEYS).is_file() or not (store / _VECTORS).is_file():
        return np.zeros(0, np.uint64)
    rows = (store / _VECTORS).stat().st_size // (2 * dimension)
    return np.fromfile(store / _KEYS, np.uint64)[:rows]


def _missing(store: Path, dimension: int, texts: Texts, text_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the texts without a vector, longest first, so that running out of memory shows at once."""
    text_ids = text_ids[~np.isin(texts.keys[text_ids], _read_keys(store, dimension))]
    return text_ids[np.argsort(-texts.lengths[text_ids], kind="stable")]


def _add(store: Path, encoder: SentenceEncoder, teacher: str, texts: Texts, missing: NDArray[np.int64]) -> None:
    from tqdm.auto import tqdm

    rows = len(_read_keys(store, encoder.dimension))
    progress = tqdm(total=len(missing), unit=" texts", desc=store.name)
    try:
        store.mkdir(parents=True, exist_ok=True)
        with (store / _VECTORS).open("ab") as vectors, (store / _KEYS).open("ab") as keys, progress:
            vectors.truncate(rows * 2 * encoder.dimension)
            keys.truncate(rows * 8)
            for start in range(0, len(missing), TEXTS_PER_BLOCK):
                text_ids = missing[start : start + TEXTS_PER_BLOCK]
                block = texts.take(text_ids)
                embeddings = encoder.encode(block)
                wrong = np.flatnonzero(~np.isfinite(embeddings).all(axis=1))
                if len(wrong):
                    what = f"its vector is not finite for the text `{block[wrong[0]][:60]}`"
                    remedy = "use another teacher, or --teacher-precision fp32"
                    raise ModelError(what, path=teacher, remedy=remedy)
                rows_of_block = unit_rows(embeddings).astype(np.float16)
                for stream, array in ((vectors, rows_of_block), (keys, texts.keys[text_ids])):
                    stream.write(np.ascontiguousarray(array).tobytes())
                    stream.flush()
                    os.fsync(stream.fileno())
                progress.update(len(text_ids))
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror or error}", path=store) from error
