"""What `evaluate` compares: encoders of any library, and the baselines that are always at hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from ..artefacts.hub_models import BUILTIN
from .baselines import UNTRAINED_BASELINES, Scorer

BASELINES = (*UNTRAINED_BASELINES, BUILTIN)
"""What `evaluate --baseline` takes: baselines without training, and the built-in encoder."""


def baseline(name: str, *, device: str, batch_size: int) -> Scorer:
    """Returns a baseline."""
    if name in UNTRAINED_BASELINES:
        return UNTRAINED_BASELINES[name]
    return replace(scorers(name, device=device, batch_size=batch_size)[0], kind="baseline")


def scorers(name: str, *, device: str, batch_size: int, sizes: Iterable[int] = ()) -> list[Scorer]:
    """Opens an encoder of any library.

    Returns:
        The whole encoder, then one for each size.
    """
    from ..encoders.sentence_encoder import SentenceEncoder

    whole = SentenceEncoder.from_pretrained(name, device=device)
    parts = {size: whole.truncated(size) for size in sizes}
    options: dict[str, Any] = {"batch_size": batch_size, "show_progress_bar": True}
    return [
        Scorer.model(name, partial(whole.encode, **options)),
        *(Scorer.truncated(name, partial(part.encode, **options), size) for size, part in parts.items()),
    ]
