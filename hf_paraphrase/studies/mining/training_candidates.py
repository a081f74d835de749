"""The n-best lists from which a classifier of parallel sentences gets its hard negatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError
from .candidates import candidate_blocks
from .parallel_examples import NOTHING, ParallelExamples

_SPARE = 8
"""How many more than asked for are looked up, because known translations are taken out."""


def nearest_targets(
    examples: ParallelExamples,
    source_encoder: SentenceEncoder,
    target_encoder: SentenceEncoder,
    n: int,
    *,
    show_progress_bar: bool = False,
) -> NDArray[np.int32]:
    """Finds the training targets that the candidate filter takes for the most likely translations of each source.

    This is the filter of paper 002, section 2.2, applied to the training set, as its sections 4.3 and 5 propose: the n
    best by cosine, exactly, of all target sentences of the training pairs. Known translations of the source, and what
    differs from one in upper case or punctuation alone, are taken out.

    Returns:
        The numbers of the target sentences (sources, at most n), int32, the nearest first; :data:`NOTHING` where there
        are fewer.
    """
    if source_encoder.dimension != target_encoder.dimension:
        raise InputError(
            f"the encoders have {source_encoder.dimension} and {target_encoder.dimension} components",
            remedy="give two that were trained together, or one for both sides",
        )
    targets = target_encoder.encode(
        examples.target.texts[: examples.target.trained], normalize=True, show_progress_bar=show_progress_bar
    )
    sources = source_encoder.encode(examples.source.texts, normalize=True, show_progress_bar=show_progress_bar)
    for name, vectors in (("source", sources), ("target", targets)):
        if not vectors.any():
            raise InputError(
                f"no word of the {name} side is in the encoder's vocabulary", remedy="swap the encoders, or retrain"
            )
    wanted = min(n + _SPARE, len(targets))
    result = np.full((len(sources), min(n, wanted)), NOTHING, np.int32)
    for block, rows, _ in candidate_blocks(sources, targets, wanted, show_progress_bar=show_progress_bar):
        is_parallel = examples.are_parallel(np.arange(block.start, block.stop)[:, None], rows)
        # Stable: what stays keeps its order.
        order = is_parallel.argsort(axis=1, kind="stable")[:, : result.shape[1]]
        result[block] = np.take_along_axis(np.where(is_parallel, NOTHING, rows), order, axis=1)
    return result
