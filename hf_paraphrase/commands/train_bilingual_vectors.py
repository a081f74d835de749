"""`train-bilingual-vectors`: a bitext to word vectors of both languages in one space."""

from __future__ import annotations

from collections.abc import Sequence

from ..studies.mining.bilingual_training import BilingualVectorSettings, train_bilingual_vectors
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    train_bilingual_vectors.run(parse(BilingualVectorSettings, "train-bilingual-vectors", argv))
