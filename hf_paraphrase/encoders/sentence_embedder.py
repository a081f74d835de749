"""The batch function of `encode`: rows with texts in, the same rows with embeddings out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import BUILTIN
from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..training.devices import CPU

if TYPE_CHECKING:
    import pyarrow as pa

    from .sentence_encoder import SentenceEncoder


@dataclass(frozen=True)
class SentenceEmbedder(BatchFunction):
    """Adds the embeddings of columns of texts: `COLUMN_embedding` for each, float32 lists of one length.

    Attributes:
        model: A sentence encoder: what :meth:`~.sentence_encoder.SentenceEncoder.from_pretrained` opens.
        columns: The columns of texts; a missing text embeds to zeros, as an empty one does.
        batch_size: Texts in a padded batch at most.
        truncate_dim: Keep the first N components; all if not given.
        normalize: Divide each embedding by its Euclidean norm.
        device: Where to compute.
        bf16: Compute the products of a network in bfloat16; averages and ONNX models always compute in fp32.
    """

    model: str = BUILTIN
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    batch_size: int = 256
    truncate_dim: int | None = None
    normalize: bool = False
    device: str = CPU
    bf16: bool = False

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The open encoder."""
        from .sentence_encoder import SentenceEncoder

        return SentenceEncoder.from_pretrained(self.model, device=self.device, truncate_dim=self.truncate_dim)

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the rows with their embeddings, and how many texts were `empty`."""
        # `encode` has no rows, and is over sooner than Arrow is imported.
        import pyarrow as pa
        import pyarrow.compute as pc

        from ..data.schema import with_column

        report: Report = {"empty": 0}
        for column in self.columns:
            texts = pc.fill_null(table.column(column), "").to_pylist()
            flat = pa.array(self.vectors(texts).reshape(-1))
            vectors = pa.FixedSizeListArray.from_arrays(flat, self.encoder.dimension)
            table = with_column(table, f"{column}_embedding", vectors)
            report["empty"] += empty_texts(texts)
        progress(table.num_rows)
        return table, report

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embeds texts: float32 (texts, dimension)."""
        with self._arithmetic():
            return self.encoder.encode(texts, batch_size=self.batch_size, normalize=self.normalize)

    def _arithmetic(self) -> AbstractContextManager[object]:
        if not self.bf16:
            # A table of vectors needs no PyTorch.
            return nullcontext()
        import torch

        return torch.autocast(torch.device(self.device).type, torch.bfloat16)


def empty_texts(texts: Sequence[str]) -> int:
    """Counts the texts without a character that is not white space."""
    return sum(not text.strip() for text in texts)
