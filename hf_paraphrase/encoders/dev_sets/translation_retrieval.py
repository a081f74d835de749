"""Measures how often the nearest sentence in the target language is a translation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...text.normalization import normalize_words_all
from ...vectors.exact_search import find_nearest

_NEIGHBOURS = 4
"""How many neighbours the margin compares with (Artetxe and Schwenk 2019)."""


def translation_retrieval(
    sources: Sequence[str],
    targets: Sequence[str],
    source_vectors: NDArray[np.float32],
    target_vectors: NDArray[np.float32],
) -> dict[str, float]:
    """Search the translation of every sentence, in both directions, by vectors (pairs, dim).

    The nearest sentence counts as right if some pair says that it is a translation; case and punctuation do not
    matter for that. A zero vector, of a sentence without known words, finds nothing and is not found. Of several
    equally near sentences all must be translations. The margin score of x and y is

        cos(x, y) / mean of the cosines of x and of y with their 4 nearest neighbours

    as in equation 1 of Artetxe and Schwenk 2019; LASER calls its errors xsim.

    Returns:
        How often, in per cent, the nearest sentence is a translation: `source_to_target`, `target_to_source` and their
        `mean`; `margin_error`, how often the sentence with the best margin score is no translation, the mean of both
        directions; and the number of `pairs`.
    """
    if not len(sources):
        raise ValueError("there are no pairs")
    keys = []
    for texts in (sources, targets):
        words = normalize_words_all(pa.array(texts)).to_pylist()
        names = [name or text for name, text in zip(words, texts, strict=True)]
        keys.append(np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64))
    width = int(keys[1].max()) + 1
    pair_keys = np.unique(keys[0] * width + keys[1])
    sides = source_vectors, target_vectors
    found = [find_nearest(sides[way], sides[1 - way], _NEIGHBOURS, skip_zero=True) for way in (0, 1)]
    scales = [cosines.mean(axis=1) for _, cosines in found]
    by_cosine: list[float] = []
    with_margin: list[float] = []
    for way, (rows, cosines) in enumerate(found):
        left, right = (keys[0] * width, keys[1]) if way == 0 else (keys[1], keys[0] * width)
        is_translation = np.isin(left[:, None] + right[rows], pair_keys)
        margins = cosines / np.maximum((scales[way][:, None] + scales[1 - way][rows]) / 2, 1e-9)
        for scores, percentages in ((cosines, by_cosine), (margins, with_margin)):
            scores = np.where(rows >= 0, scores, -np.inf)
            is_best = (rows >= 0) & (scores >= scores.max(1, keepdims=True) - 1e-9)
            percentages.append(100.0 * float((is_best.any(1) & (is_translation | ~is_best).all(1)).mean()))
    forth, back = by_cosine
    return {
        "source_to_target": forth,
        "target_to_source": back,
        "mean": (forth + back) / 2,
        "margin_error": 100.0 - sum(with_margin) / 2,
        "pairs": len(sources),
    }
