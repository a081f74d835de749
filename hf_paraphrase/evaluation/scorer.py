"""What an evaluation evaluates: a model or a floor, as vectors of sentences or as similarities of pairs."""

from __future__ import annotations

from dataclasses import dataclass

from .floor_vectors import FLOOR_ENCODERS
from .floors import FLOORS
from .graded_set import Encode, Similarity


@dataclass(frozen=True)
class Scorer:
    """A model or a floor.

    Attributes:
        name: A model folder, or a key of :data:`~.floors.FLOORS`.
        kind: `model` or `baseline`.
        encode: Maps n sentences to vectors (n, dim).
        similarity: Maps n pairs to n similarities; None where that is the cosine of the vectors.
    """

    name: str
    kind: str
    encode: Encode
    similarity: Similarity | None = None

    @classmethod
    def model(cls, name: str, encode: Encode) -> Scorer:
        """Makes a scorer of an encoder."""
        return cls(name, "model", encode)

    @classmethod
    def floor(cls, name: str) -> Scorer:
        """Makes a scorer of one of the floors."""
        return cls(name, "baseline", FLOOR_ENCODERS[name], FLOORS[name])
