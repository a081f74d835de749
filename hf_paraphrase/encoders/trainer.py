"""Trains sentence encoders on pairs, on the Trainer of transformers and so on Accelerate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import EvalPrediction, PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from ..data.pair_rows import PairSource
from ..errors import InputError, UsageError
from ..training.batches import EpochBatches
from ..training.row_adam import RowAdam
from .augmentation import Augmentation
from .batch_loss import BatchLossTrainer
from .collator import PairCollator
from .dev_scores import Evaluator, similarity_scores
from .encoded_pairs import EncodedPairs, encode_pairs
from .kinds import check_own_class
from .losses import LABELS, NEGATIVES, asks_for, described_loss, new_loss
from .mega_batches import MegaBatchSchedule, load_mega_batch
from .model_folder import read_loss, write_checkpoint
from .padded_batches import forward_options
from .scored_trainer import OwnGradients
from .sentence_encoder import SentenceEncoder
from .training_arguments import EncoderTrainingArguments
from .untrained import untrained_encoder

if TYPE_CHECKING:
    from datasets import Dataset


class EncoderTrainer(BatchLossTrainer):
    """Trains an encoder on paraphrase pairs (paper 000, section 4.2; mega-batches as in Wieting and Gimpel 2018).

    Every step encodes the 2B sentences of a batch once, chooses the negatives by the cosines between the embeddings
    without dropout, and follows the gradient of the loss.

    With a `mega_batch_size` M above 1, M mini-batches are pooled, their sentences, scrambled as the updates will see
    them, are encoded once without gradient and dropout, every sentence gets its negative from the whole pool, and M
    steps follow in which these negatives stay as they are; a step encodes its pairs and their negatives with the
    weights it finds, and the gradient flows through both. A pool ends with the epoch. Where it holds one mini-batch
    the step is the one described first.

    With several processes the batch is the joint one of all processes, and so are the negatives: loss and gradient
    are those of one process with a batch as large, save that dropout draws other masks.

    The model is scored before training and at every checkpoint (each epoch's end and the fractions of it that were
    asked for); the weights of the best one are in the model when :meth:`train` returns. The untrained state is scored
    but cannot win. Without a score the last state is kept.

    Training, its order and all draws depend on the seed alone, and checkpoints are resumed exactly: a run that
    was killed and is continued with `train(resume_from_checkpoint=...)` ends with the same weights as an undisturbed
    one. A checkpoint inside a mega-batch holds its negatives, because the weights that chose them are gone.

    The word vectors of our models get sparse gradients, until :meth:`train` returns, and `RowAdam`, whose cost does
    not grow with the vocabulary; several processes exchange the rows of the joint batch. With `dense_optimizer`, with
    `lambda_w` above 0 (which moves all rows anyway) and with `torch_compile`, which knows no sparse gradients, it is
    `torch.optim.Adam` over the whole table; with another `optim` or `weight_decay` it is the Trainer's optimizer.

    :meth:`save_model` and :meth:`push_to_hub` write a whole model folder, which opens like one of `train-encoder`. The
    first writes a card where there is none: what the trainer knows and what whoever publishes the model should add;
    the second writes the card of every `Trainer`.

    Args:
        model: An encoder, also of a class of the user (see :mod:`.kinds`), or the name of one of
            :data:`~hf_paraphrase.registry.ENCODERS` that takes words, which is then made.
        args: The settings.
        train_dataset: Pairs, with the columns `sentence1` and `sentence2`, and `label` where the loss asks for labels:
            a `datasets.Dataset` or `IterableDataset`, a list of dictionaries or the name of a data folder, which is
            tokenised once; or what :func:`~.encoded_pairs.encode_pairs` made of one.
        processing_class: A fast tokenizer; with the name of an encoder None makes one over the words of the pairs.
        loss: Any module, see :func:`~.losses.asks_for`; None for the one that `args` names. What weights it has are
            trained with the model, in one process, and do not become part of it.
        evaluator: Called with a :class:`~.sentence_encoder.SentenceEncoder`; returns scores by name, or one number.
        eval_dataset: Pairs with a column `label` or `score` for `compute_metrics`.
        compute_metrics: Called with the cosines of the pairs of `eval_dataset` as predictions (pairs,) and their
            labels or scores (pairs,); returns scores by name, which join those of the evaluator.
        callbacks: Further callbacks, e.g. transformers' `EarlyStoppingCallback`.
        optimizers: An optimizer and a schedule of the user. Word vectors then get dense gradients, unless it is
            `RowAdam` or `torch.optim.SparseAdam`.
        report: Called with a line of text at every score.
        augmentation: Further pairs and a further term of the loss.
    """

    def __init__(
        self,
        model: PreTrainedModel | str,
        args: EncoderTrainingArguments,
        train_dataset: EncodedPairs | PairSource,
        processing_class: PreTrainedTokenizerBase | None = None,
        loss: nn.Module | None = None,
        evaluator: Evaluator | None = None,
        *,
        eval_dataset: Dataset | Sequence[Mapping[str, Any]] | None = None,
        compute_metrics: Callable[[EvalPrediction], Mapping[str, float]] | None = None,
        callbacks: list[TrainerCallback] | None = None,
        optimizers: tuple[torch.optim.Optimizer | None, Any] = (None, None),
        report: Callable[[str], None] | None = None,
        augmentation: Augmentation | None = None,
    ) -> None:
        if (eval_dataset is None) != (compute_metrics is None):
            raise UsageError(
                "compute_metrics and eval_dataset are for each other", remedy="give both, or an evaluator"
            )
        self.loss = new_loss(args.loss, margin=args.margin) if loss is None else loss
        if not asks_for(self.loss, NEGATIVES) and args.mega_batch_size > 1:
            raise UsageError("the loss searches no negatives: mega_batch_size must be 1", remedy="leave it out")
        if isinstance(model, str):
            model, processing_class = untrained_encoder(model, train_dataset, processing_class, seed=args.seed)
        if processing_class is None:
            raise UsageError("a model comes with its tokenizer", remedy="give it as processing_class")
        check_own_class(model)
        pairs = train_dataset
        if not isinstance(pairs, EncodedPairs):
            pairs = encode_pairs(pairs, processing_class, labelled=asks_for(self.loss, LABELS))
        if asks_for(self.loss, LABELS) and pairs.labels is None:
            raise InputError("the loss asks for labels, and the pairs have none", remedy="give labelled pairs")
        self.collator = PairCollator(
            pairs,
            pad_token_id=processing_class.pad_token_id,
            scramble=args.scramble,
            seed=args.seed,
            augmentation=augmentation,
        )
        super().__init__(
            model,
            args,
            self.collator,
            EpochBatches(self.collator.size, args.per_device_train_batch_size, args.seed, args.world_size),
            processing_class,
            evaluator=evaluator,
            compute_metrics=compute_metrics,
            callbacks=callbacks,
            optimizers=optimizers,
            report=report,
        )
        self.eval_dataset = eval_dataset
        if any(True for _ in self.loss.parameters()):
            if args.world_size > 1:
                raise UsageError("a loss with weights trains in one process", remedy="start one process")
            self.add_callback(OwnGradients(self.loss))
        self.loss.to(args.device)
        self.sparse_gradients = (
            hasattr(model, "sparse_gradients")
            and isinstance(optimizers[0], type(None) | RowAdam | torch.optim.SparseAdam)
            and not (args.dense_optimizer or args.lambda_w > 0 or args.torch_compile or args.names_optimizer)
        )
        if args.relative_steps and not self.sparse_gradients:
            raise UsageError(
                "relative steps are for rows of a table of word vectors, without torch_compile",
                remedy="leave them out, or train an encoder of words",
            )
        if hasattr(model, "sparse_gradients"):
            model.sparse_gradients = self.sparse_gradients
        self.forward_options = forward_options(model)
        self.schedule = MegaBatchSchedule(self.batches.joint_batches, args.mega_batch_size, args.mega_batch_anneal)
        if args.lambda_w > 0:
            self.initial_embeddings = model.get_parameter("embeddings").detach().clone()

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Makes Adam, over rows where gradients are sparse, or the optimizer that the arguments name."""
        if self.optimizer is not None:
            return self.optimizer
        if self.args.names_optimizer:
            self.optimizer = super().create_optimizer(model)
            if own_weights := [item for item in self.loss.parameters() if item.requires_grad]:
                self.optimizer.add_param_group({"params": own_weights})
        else:
            parameters = [*(model or self.model).parameters(), *self.loss.parameters()]
            own: dict[str, Any] = {"relative": self.args.relative_steps} if self.sparse_gradients else {}
            self.optimizer = (RowAdam if self.sparse_gradients else torch.optim.Adam)(
                [item for item in parameters if item.requires_grad],
                lr=self.args.learning_rate,
                betas=(self.args.adam_beta1, self.args.adam_beta2),
                eps=self.args.adam_epsilon,
                **own,
            )
        return self.optimizer

    def _measured(self, encoder: SentenceEncoder, eval_dataset: Any) -> dict[str, float]:
        scores: dict[str, float] = {}
        pairs = self.eval_dataset if eval_dataset is None else eval_dataset
        if self.compute_metrics is not None and pairs is not None:
            scores |= similarity_scores(encoder, pairs, self.compute_metrics)
        return scores | super()._measured(encoder, eval_dataset)

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; the model is scored first unless a checkpoint, which holds that score already, is continued.

        With no epochs to train, scoring is all.
        """
        try:
            if hasattr(self.model, "sparse_gradients"):
                self.model.sparse_gradients = self.sparse_gradients
            # Its place may come again, with other weights; a checkpoint brings its own.
            self.mega_batch = None
            return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)
        finally:
            # Other optimizers, with which the model may be trained on, take no sparse gradients.
            if hasattr(self.model, "sparse_gradients"):
                self.model.sparse_gradients = False

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        if not self.args.should_save:
            return
        folder = Path(output_dir or self.args.output_dir)
        if write_checkpoint(folder, self.model, self.loss, state_dict):
            return
        names = ("negatives", "negatives_from", "scramble", "mega_batch_size")
        card = {name: getattr(self.args, name) for name in names} | described_loss(self.loss)
        if type(self).compute_loss is not EncoderTrainer.compute_loss:
            # A trainer of the user may follow another gradient than that of its loss module.
            card |= {"loss": f"as {type(self).__name__}.compute_loss computes it", "margin": None}
            card |= {"loss_source": None, "searches_negatives": False}
        self._write_saved(folder, state_dict, "pairs", **card)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        read_loss(Path(resume_from_checkpoint), self.loss)
        self.mega_batch = load_mega_batch(Path(resume_from_checkpoint), self.batches, self.collator)

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        if self.args.should_save and self.mega_batch is not None:
            # Before all else, because the state file, which says that a checkpoint is complete, comes last.
            folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
            folder.mkdir(parents=True, exist_ok=True)
            self.mega_batch.save(folder)
        super()._save_checkpoint(model, trial)
