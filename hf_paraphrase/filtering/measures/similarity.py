"""The similarity of the two sides under a sentence encoder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...artefacts.hub_models import BUILTIN
from ...settings import setting
from ...training.devices import check_device, device_setting
from ...training.threads import one_thread
from ..pair_batch import PairBatch
from .base import Measure

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder


@dataclass(frozen=True)
class Similarity(Measure):
    """Computes the cosine of the sentence embeddings of the two sides; 0 where a side embeds to zeros."""

    unit = "−1 to 1"
    for_bitext = True
    needs = "encoder"
    models = ("encoder",)
    columns = ("similarity",)
    encoder: str | None = setting(
        "sentence encoder folder, for similarity; --encoder alone is builtin, the one that is installed with this "
        "package",
        None,
        alone=BUILTIN,
        path=True,
    )
    device: str = device_setting()

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the column (pairs,), float64 from −1 to 1."""
        encoder = self._encoder
        with one_thread():
            vectors = encoder.encode([*batch.texts("sentence1"), *batch.texts("sentence2")], normalize=True)
        first, second = vectors[: batch.num_rows].astype(np.float64), vectors[batch.num_rows :]
        return {"similarity": np.clip(np.einsum("nd,nd->n", first, second), -1.0, 1.0)}

    @cached_property
    def _encoder(self) -> SentenceEncoder:
        from ...encoders.sentence_encoder import SentenceEncoder

        return SentenceEncoder.from_pretrained(str(self.encoder), device=check_device(self.device))
