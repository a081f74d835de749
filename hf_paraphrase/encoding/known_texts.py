"""Unit embeddings in which a text that the encoder knows nothing of is like nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .sentence_encoder import SentenceEncoder


def embed_known(encoder: SentenceEncoder, texts: Sequence[str], *, batch_size: int = 256) -> NDArray[np.float32]:
    """Embeds texts for a search: unit vectors, and zero for a text without any known token.

    Unknown words share one vector, so that all texts of unknown words only would have cosine 1 with each other and
    stand at the top of every list of paraphrases.

    Args:
        encoder: The encoder.
        texts: The texts.
        batch_size: Texts in a padded batch.

    Returns:
        float32 (texts, dim), each row of length 1 or 0.
    """
    vectors = encoder.encode(list(texts), batch_size=batch_size, normalize=True)
    unknown = encoder.tokenizer.unk_token_id
    if unknown is not None:
        only = {unknown}
        vectors[np.fromiter((only.issuperset(ids) for ids in encoder.tokenize(texts)), bool, len(texts))] = 0
    return vectors
