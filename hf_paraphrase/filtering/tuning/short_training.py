"""Encoder training for many short runs: the pairs are tokenised once, the best weights stay in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from ...encoders.dev_scores import DEV_SCORE, Evaluator
from ...encoders.encoded_pairs import EncodedPairs
from ...encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from ...tokenization.token_lookup import ids_of, lookup_for


class PairPool:
    """All pairs of a data set, tokenised once.

    Args:
        sentences1: The first sentence of every row.
        sentences2: The second sentence of every row.
        tokenizer: The encoder's tokenizer.
        are_paraphrases: Which rows may be trained on (rows,); None for all.
    """

    def __init__(
        self,
        sentences1: Sequence[str],
        sentences2: Sequence[str],
        tokenizer: PreTrainedTokenizerBase,
        are_paraphrases: NDArray[np.bool_] | None = None,
    ) -> None:
        backend = tokenizer.backend_tokenizer
        lookup = lookup_for(backend)
        self._rows: list[list[NDArray[np.int32]]] = []
        self._keys: list[NDArray[np.int64]] = []
        for side in (sentences1, sentences2):
            token_ids = ids_of(backend, side, lookup)
            rows = np.split(token_ids.ids.astype(np.int32), token_ids.offsets[1:-1]) if len(side) else []
            digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in rows)
            self._rows.append(rows)
            self._keys.append(np.frombuffer(digests, np.int64))
        self._empty = np.array([not (len(first) and len(second)) for first, second in zip(*self._rows, strict=True)])
        self._paraphrases = np.ones(len(self._empty), bool) if are_paraphrases is None else are_paraphrases

    def subset(self, rows: NDArray[np.int64]) -> EncodedPairs:
        """Returns the pairs of some rows, as `encode_pairs` gives them for a folder of those rows.

        Args:
            rows: The numbers of the rows, in the order of the pairs. Those with a side without tokens, and those that
                are not paraphrases, are left out and counted.
        """
        paraphrases = rows[self._paraphrases[rows]]
        usable = paraphrases[~self._empty[paraphrases]]
        pieces = [side[row] for row in usable for side in self._rows]
        offsets = np.zeros(len(pieces) + 1, np.int64)
        np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
        keys = np.stack([side[usable] for side in self._keys], axis=1).reshape(-1)
        return EncodedPairs(
            np.concatenate(pieces) if pieces else np.empty(0, np.int32),
            offsets,
            keys,
            None,
            dropped=len(paraphrases) - len(usable),
            not_paraphrases=len(rows) - len(paraphrases),
        )


class TuningTrainer(EncoderTrainer):
    """Trains as :class:`~...encoders.trainer.EncoderTrainer` does, to the same weights, without checkpoints."""

    def __init__(
        self,
        model: PreTrainedModel,
        args: EncoderTrainingArguments,
        pairs: EncodedPairs,
        tokenizer: PreTrainedTokenizerFast,
        *,
        evaluator: Evaluator,
        report: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(model, args, pairs, tokenizer, evaluator=evaluator, report=report)
        self._best: tuple[float, dict[str, Tensor]] | None = None

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Scores the model on the dev set and keeps its weights if they are the best so far."""
        metrics = super().evaluate(*args, **kwargs)
        score = metrics[f"eval_{DEV_SCORE}"]
        if self.state.global_step > 0 and (self._best is None or score > self._best[0]):
            self._best = score, {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        return metrics

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; the weights of the best score are in the model afterwards."""
        result = super().train(**kwargs)
        if self._best is not None:
            self.model.load_state_dict(self._best[1])
        return result
