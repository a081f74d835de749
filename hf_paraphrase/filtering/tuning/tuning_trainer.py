"""Encoder training for many short runs: the best weights stay in memory, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from ...encoders.dev_scores import DEV_SCORE, Evaluator
from ...encoders.encoded_pairs import EncodedPairs
from ...encoders.trainer import EncoderTrainer
from ...encoders.training_arguments import EncoderTrainingArguments


class TuningTrainer(EncoderTrainer):
    """Trains as :class:`~...encoders.trainer.EncoderTrainer` does, to the same weights, without checkpoints.

    Args:
        model: The encoder.
        args: The settings.
        pairs: The pairs.
        tokenizer: The tokenizer with which the pairs were encoded.
        evaluator: Scores the model on the dev set.
        report: Called with a line of text at every score.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        args: EncoderTrainingArguments,
        pairs: EncodedPairs,
        tokenizer: PreTrainedTokenizerFast,
        evaluator: Evaluator,
        report: Callable[[str], None] | None = None,
    ) -> None:
        # Without an evaluator the base class does not ask the Trainer to look for the best checkpoint on disk.
        super().__init__(model, args, pairs, tokenizer, report=report)
        self.evaluator = evaluator
        self.marks.evaluate = True
        self._best: tuple[float, dict[str, Tensor]] | None = None

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Scores the model on the dev set and keeps its weights if they are the best so far."""
        metrics = super().evaluate(*args, **kwargs)
        score = metrics[f"eval_{DEV_SCORE}"]
        if self.state.global_step > 0 and (self._best is None or score > self._best[0]):
            self._best = score, {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        return metrics

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; the weights of the best mark are in the model afterwards."""
        result = super().train(**kwargs)
        if self._best is not None:
            self.model.load_state_dict(self._best[1])
        return result

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        """Writes nothing."""
