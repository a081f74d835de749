"""The references that a classifier has seen, by which others can leave them out.

A classifier's folder holds `references.tsv`: for every reference of its training, dev and test part the part, its id
and a fingerprint of its text, so that the text itself need not be handed on. The fingerprint is that of
:mod:`...data.decontamination`, but sentences of fewer than four words have one as well.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.fingerprints import is_among, normalise_all
from ...errors import ModelError

FILE_NAME = "references.tsv"
_HEADER = "part\tid\tfingerprint\n"


def text_fingerprints(texts: Sequence[str | None]) -> NDArray[np.uint64]:
    """Computes a number for each text, equal for texts with the same words, whatever their case and punctuation.

    Args:
        texts: Sentences (texts,); a missing one counts as empty.
    """
    given = [text or "" for text in texts]
    normal = normalise_all(pa.array(given, pa.string())).to_pylist()
    # A text without any word, such as a row of dots, stands for itself.
    digests = [
        hashlib.sha256((short or text).encode()).digest()[:8] for short, text in zip(normal, given, strict=True)
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def write_seen(folder: str | os.PathLike[str], rows: Iterable[tuple[str, str, int]]) -> None:
    """Writes the list of seen references: for each the part, the id (empty if it has none) and the fingerprint."""
    with (Path(folder) / FILE_NAME).open("w", encoding="utf-8", newline="\n") as file:
        file.write(_HEADER)
        for part, identifier, fingerprint in rows:
            file.write(f"{part}\t{' '.join(identifier.split())}\t{fingerprint:016x}\n")


def read_seen(folder: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """Reads the fingerprints of all references that a classifier has seen, ascending, each once."""
    path = Path(folder) / FILE_NAME
    try:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")[1:]
        return np.unique(np.array([int(line.split("\t")[2], 16) for line in lines], dtype=np.uint64))
    except (OSError, IndexError, ValueError, OverflowError) as error:
        raise ModelError(
            f"the classifier has no readable list of the references it has seen: {error}",
            path=path,
            remedy="copy the whole folder again",
        ) from error


def is_seen(texts: Sequence[str | None], seen: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Returns which texts are among those seen (texts,)."""
    return is_among(text_fingerprints(texts), seen)
