"""Score pairs of sentences in two languages with a classifier of parallel sentences (Grégoire & Langlais 2017)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import check_model_type, load_tokenizer, load_weights
from ..encoders.backends.padded_batches import embed_in_padded_batches, evaluation_mode, show_progress
from ..models.registry import model_class
from ..tokenization.fast_tokenize import list_of_texts, word_ids
from ..tokenization.ragged_ids import TokenIds

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

MODEL_TYPE = "parallel_bigru"
SOURCE_TOKENIZER = "source_tokenizer"
TARGET_TOKENIZER = "target_tokenizer"
"""The subfolders of a classifier's folder with its tokenizers."""
_PAIRS_AT_A_TIME = 8192


class ParallelClassifier:
    """A classifier of parallel sentences with the tokenizers of both languages.

    It accepts raw text: the tokenizers lower-case it and treat digits as in training.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        source_tokenizer: PreTrainedTokenizerFast,
        target_tokenizer: PreTrainedTokenizerFast,
    ) -> None:
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str | None = None, revision: str | None = None
    ) -> ParallelClassifier:
        """Open the folder of a classifier, or a classifier of the Hub."""
        folder = Path(model_folder(folder, revision=revision))
        verb = "hf-paraphrase train-parallel-classifier"
        check_model_type(folder, (MODEL_TYPE,), kind="classifier of parallel sentences", verb=verb)
        model = load_weights(folder, model_class(MODEL_TYPE))
        source = load_tokenizer(folder / SOURCE_TOKENIZER, model.config.source_vocab_size)
        target = load_tokenizer(folder / TARGET_TOKENIZER, model.config.target_vocab_size)
        return cls(model.to(device or "cpu"), source, target)

    def encode_source(self, texts: str | Sequence[str], *, show_progress_bar: bool = False) -> NDArray[np.float32]:
        """Compute the vectors of source sentences, float32 (texts, dim); zero for a text without words."""
        ids = word_ids(self.source_tokenizer, list_of_texts(texts))
        return encode_sentences(self.model, self.model.encode_source, ids, show_progress_bar=show_progress_bar)

    def encode_target(self, texts: str | Sequence[str], *, show_progress_bar: bool = False) -> NDArray[np.float32]:
        """Compute the vectors of target sentences, float32 (texts, dim); zero for a text without words."""
        ids = word_ids(self.target_tokenizer, list_of_texts(texts))
        return encode_sentences(self.model, self.model.encode_target, ids, show_progress_bar=show_progress_bar)

    def score(self, source_vectors: NDArray[np.float32], target_vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Score pairs of sentence vectors, row by row; see :func:`score_pairs`."""
        return score_pairs(self.model, source_vectors, target_vectors)

    def probabilities(self, sources: str | Sequence[str], targets: str | Sequence[str]) -> NDArray[np.float64]:
        """Compute the probability that the two texts of each pair are parallel, float64 (pairs,)."""
        logits = self.score(self.encode_source(sources), self.encode_target(targets))
        return np.asarray(expit(logits.astype(np.float64)))


def encode_sentences(
    model: PreTrainedModel,
    encode: Callable[[Tensor, Tensor], Tensor],
    ids: TokenIds,
    *,
    show_progress_bar: bool = False,
) -> NDArray[np.float32]:
    """Compute the vectors of tokenized sentences in batches of similar length."""
    vectors = np.zeros((len(ids.lengths), 2 * model.config.hidden_size), np.float32)
    with evaluation_mode(model):
        steps = embed_in_padded_batches(
            encode,
            ids,
            vectors.__setitem__,
            batch_size=256,
            pad_token_id=model.config.pad_token_id,
            device=model.device,
        )
        for _ in show_progress(steps, len(vectors)) if show_progress_bar else steps:
            pass
    return vectors


def score_pairs(
    model: PreTrainedModel, source_vectors: NDArray[np.float32], target_vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Compute the logits of pairs of sentence vectors (pairs, dim), float32 (pairs,).

    Their sigmoid is the probability that the sentences are parallel.
    """
    import torch

    logits = np.empty(len(source_vectors), np.float32)
    with torch.inference_mode():
        for start in range(0, len(logits), _PAIRS_AT_A_TIME):
            rows = slice(start, start + _PAIRS_AT_A_TIME)
            sides = (torch.from_numpy(side[rows]).to(model.device) for side in (source_vectors, target_vectors))
            logits[rows] = model.score(*sides).float().cpu().numpy()
    return logits
