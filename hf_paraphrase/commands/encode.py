"""`encode`: lines of text to a NumPy file of sentence embeddings."""

from __future__ import annotations

from collections.abc import Sequence

from ..encoders.encode_file import encode
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs `encode`.

    Raises:
        HfParaphraseError: As :func:`~..encoders.encode_file.encode`.
    """
    encode.run(parse(encode.settings, "encode", argv))
