"""What `evaluate` compares: encoders of any library, and the baselines that are always at hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from ..artefacts.hub_models import BUILTIN, WORDLLAMA
from ..errors import UsageError
from .baselines import UNTRAINED_BASELINES, Encode, Scorer

BASELINES = (*UNTRAINED_BASELINES, BUILTIN, WORDLLAMA)
"""What `evaluate --baseline` takes: baselines without training, the built-in encoder, and the table of wordllama."""


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
    from ..encoders.any_encoder import open_encoder
    from ..encoders.distillation.teacher import Teacher

    whole = open_encoder(name, device=device)
    different = list(dict.fromkeys(sizes))
    if isinstance(whole, Teacher):
        encode: Encode = partial(whole.encode, normalize=True, show_progress_bar=True)
        parts = [_first_components(encode, size, whole.dimension) for size in different]
    else:
        encode = partial(whole.encode, batch_size=batch_size, show_progress_bar=True)
        parts = [
            partial(whole.truncated(size).encode, batch_size=batch_size, show_progress_bar=True) for size in different
        ]
    return [
        Scorer.model(name, encode),
        *(Scorer.truncated(name, part, size) for size, part in zip(different, parts, strict=True)),
    ]


def _first_components(encode: Encode, size: int, dimension: int) -> Encode:
    if size > dimension:
        raise UsageError(
            f"--truncate-dim {size}, and the embeddings have {dimension} components",
            remedy=f"keep 1 to {dimension} of them",
        )
    return lambda texts: encode(texts)[:, :size]
