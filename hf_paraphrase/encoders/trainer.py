"""Trains sentence encoders with the margin loss, on the Trainer of transformers and so on Accelerate."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PreTrainedTokenizerFast, Trainer

from ..errors import InputError
from ..training.batches import EpochBatches, PairItems
from ..training.callbacks import EpochMarks, keep_standard_output
from ..training.model_folder import save_folder
from ..training.processes import gather_rows, joint_sides, mean_over_processes, num_processes, process_index
from ..training.row_adam import RowAdam
from .collator import PairCollator
from .encoded_pairs import EncodedPairs
from .losses import LOSSES, ContrastiveLoss, MarginLoss, compositional_penalty, compositionality_loss, drift_penalty
from .mega_batches import MegaBatch, MegaBatchSchedule, load_mega_batch, pooled_sentences
from .negative_search import search_negatives
from .negatives import NONE, choose_negatives
from .saved_card import write_saved_card
from .sentence_encoder import SentenceEncoder
from .training_arguments import EncoderTrainingArguments

if TYPE_CHECKING:
    from ..studies.expansion.training_expansions import Expansions

DEV_SCORE = "dev_mean"
"""The key of the criterion by which the epoch is chosen."""
DROPOUTS = ("dropout", "word_dropout", "variational_dropout")
"""The settings of encoders' configurations that make training mode random."""
Scorer = Callable[[Callable[[list[str]], np.ndarray]], dict[str, float]]
"""Gets an encode function, texts to vectors (texts, dim), and returns scores, :data:`DEV_SCORE` among them."""


class EncoderTrainer(Trainer):
    """Trains an encoder on paraphrase pairs (paper 000, section 4.2; mega-batches as in Wieting and Gimpel 2018).

    Every step encodes the 2B sentences of a batch once, chooses the negatives by the cosines between the embeddings
    without dropout, and follows the gradient of the margin loss.

    With a `mega_batch_size` M above 1, M mini-batches are pooled, their sentences, scrambled as the updates will see
    them, are encoded once without gradient and dropout, every sentence gets its negative from the whole pool, and M
    steps follow in which these negatives stay as they are; a step encodes its pairs and their negatives with the
    weights it finds, and the gradient flows through both. A pool ends with the epoch. Where it holds one mini-batch
    the step is the one described first.

    With several processes the batch is the joint one of all processes, and so are the negatives: loss and gradient
    are those of one process with a batch as large, save that dropout draws other masks.

    The dev set is scored before training and at every
    mark (each epoch's end and the fractions of it that were asked for); the weights of the best mark are in the model
    when :meth:`train` returns. The untrained state is scored but cannot win. Without a scorer the last state is kept.

    Training, its order and all draws depend on the seed alone, and a checkpoint is written at every mark: a run that
    was killed and is continued with `train(resume_from_checkpoint=...)` ends with the same weights as an undisturbed
    one. A checkpoint inside a mega-batch holds its negatives, because the weights that chose them are gone.

    On one process the word vectors get sparse gradients, until :meth:`train` returns, and `RowAdam`,
    whose cost does not grow with the vocabulary. With `dense_optimizer`, with `lambda_w` above 0 (which moves all rows
    anyway) and with several processes it is `torch.optim.Adam` over the whole table.

    :meth:`save_model` and :meth:`push_to_hub` write a whole model folder, which opens like one of `train-encoder`. The
    first writes a card where there is none: what the trainer knows and what whoever publishes the model should add;
    the second writes the card of every `Trainer`.

    Args:
        model: An encoder with a parameter `embeddings` and the switch `sparse_gradients`, e.g. `AvgModel`.
        args: The settings.
        pairs: The pairs.
        tokenizer: The tokenizer with which the pairs were encoded.
        scorer: Scores the model on the dev set; None to keep the last state.
        report: Called with a line of text at every score.
        expansions: Expansions of the sentences: those that join are trained on as further pairs, and with an
            `expansion_weight` above 0 all draw their sentences' embeddings towards theirs.
    """

    loss_is_scaled_for_ga = False
    optimizer: Any
    control: Any

    def __init__(
        self,
        model: PreTrainedModel,
        args: EncoderTrainingArguments,
        pairs: EncodedPairs,
        tokenizer: PreTrainedTokenizerFast,
        scorer: Scorer | None = None,
        report: Callable[[str], None] | None = None,
        expansions: Expansions | None = None,
    ) -> None:
        if scorer is not None:
            args.metric_for_best_model = f"eval_{DEV_SCORE}"
            args.greater_is_better = True
            args.load_best_model_at_end = True
        self.loss = LOSSES[args.loss](args.margin)
        if self.loss.needs_labels and pairs.labels is None:
            raise ValueError(f"the loss `{args.loss}` needs labelled pairs")
        self.scorer = scorer
        self.report = report
        self.tokenizer = tokenizer
        self.collator = PairCollator(
            pairs,
            pad_token_id=tokenizer.pad_token_id or 0,
            scramble=args.scramble,
            seed=args.seed,
            expansions=expansions,
            with_expanded=args.expansion_weight > 0,
        )
        size = self.collator.size
        self.batches = EpochBatches(size, args.per_device_train_batch_size, args.seed, args.world_size)
        super().__init__(model=model, args=args, data_collator=self.collator, train_dataset=PairItems(size))
        self.sparse_gradients = not (args.dense_optimizer or args.lambda_w > 0 or args.world_size > 1)
        model.sparse_gradients = self.sparse_gradients
        self.schedule = MegaBatchSchedule(self.batches.joint_batches, args.mega_batch_size, args.mega_batch_anneal)
        self.mega_batch: MegaBatch | None = None
        self.initial_embeddings: Tensor | None = None
        if args.lambda_w > 0:
            self.initial_embeddings = model.get_parameter("embeddings").detach().clone()
        keep_standard_output(self)
        self.marks = EpochMarks(self.batches, args, args.evaluations_per_epoch, scorer is not None)
        self.add_callback(self.marks)

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Returns the batches of this process; see :class:`~.training.batches.EpochBatches`."""
        loader: DataLoader[Any] = DataLoader(
            self.train_dataset,
            batch_sampler=self.batches,
            collate_fn=self.data_collator,
            num_workers=self.args.dataloader_num_workers,
            pin_memory=self.args.dataloader_pin_memory and torch.cuda.is_available(),
            persistent_workers=self.args.dataloader_persistent_workers,
        )
        self.accelerator.even_batches = False
        return self.accelerator.prepare(loader)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Makes Adam, over rows where gradients are sparse."""
        if self.optimizer is None:
            parameters = [item for item in (model or self.model).parameters() if item.requires_grad]
            kind = RowAdam if self.sparse_gradients else torch.optim.Adam
            self.optimizer = kind(
                parameters,
                lr=self.args.learning_rate,
                betas=(self.args.adam_beta1, self.args.adam_beta2),
                eps=self.args.adam_epsilon,
            )
        return self.optimizer

    def get_batch_samples(
        self, epoch_iterator: Iterator[dict[str, Any]], num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, Any]], Tensor | int | None]:
        """Takes the batches of one update and notes the `place` of each: the epoch and its number in the epoch."""
        samples, items = super().get_batch_samples(epoch_iterator, num_batches, device)
        epoch, update = divmod(self.state.global_step, self.marks.steps)
        for number, sample in enumerate(samples, update * self.args.gradient_accumulation_steps):
            sample["place"] = (epoch, number)
        return samples, items

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Computes the loss of one batch: paper 000, equations 2 to 5.

        With several processes all return the loss of the joint batch, and the mean of their gradients is its gradient.

        Args:
            model: The encoder, possibly wrapped.
            inputs: A batch of :class:`~.collator.PairCollator`, with its `place` (epoch, number) in the epoch. A batch
                without a place is no part of a mega-batch: its negatives come from itself.
            return_outputs: Also return the sentence embeddings (2 * pairs, dim) of this process.
            num_items_in_batch: Unused: the loss is a mean over the pairs of a batch.
        """
        place: tuple[int, int] | None = inputs.get("place")
        start, end = (0, 1) if place is None else self.schedule.bounds(*place)
        if self.loss.needs_labels:
            loss, vectors = self._loss_of_labels(model, inputs)
        elif place is None or end - start == 1:
            loss, vectors = self._loss_in_batch(model, inputs)
        else:
            loss, vectors = self._loss_in_mega_batch(model, *place, start, end)
        if self.args.expansion_weight > 0:
            loss = loss + self.args.expansion_weight * self._loss_of_expansions(model, inputs, vectors)
        if self.args.lambda_c > 0:
            compositional = [item for name, item in self.model.named_parameters() if name != "embeddings"]
            loss = loss + compositional_penalty(compositional, self.args.lambda_c)
        if self.initial_embeddings is not None:
            embeddings = self.model.get_parameter("embeddings")
            self.initial_embeddings = self.initial_embeddings.to(embeddings.device)
            loss = loss + drift_penalty(embeddings, self.initial_embeddings, self.args.lambda_w)
        return (loss, vectors) if return_outputs else loss

    def _loss_in_batch(self, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Computes the margin loss with negatives from the joint batch, and the embeddings of this process."""
        tokens = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        vectors = model(**tokens, return_token_vectors=False).pooler_output
        clean, keys, joint = self._vectors_without_dropout(model, tokens, vectors), inputs["keys"], vectors
        if num_processes() > 1:
            pairs = len(keys) // 2
            if "place" in inputs:
                begin, end = self.batches.share(inputs["place"][1], process_index())
                pairs = end - begin
            joint, clean, keys = (joint_sides(item, pairs) for item in (vectors, clean, keys))
        generator = torch.Generator().manual_seed((self.args.seed << 32) + self.state.global_step)
        chosen = choose_negatives(
            clean,
            keys,
            negatives=self.args.negatives,
            negatives_from=self.args.negatives_from,
            generator=generator,
        )
        assert isinstance(self.loss, MarginLoss)
        return self.loss(joint, chosen), vectors

    def _loss_of_labels(self, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Computes the contrastive loss of the labelled pairs of a batch, and their embeddings."""
        assert isinstance(self.loss, ContrastiveLoss)
        tokens = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        vectors = model(**tokens, return_token_vectors=False).pooler_output
        loss: Tensor = self.loss(vectors, inputs["labels"])
        if "place" not in inputs or num_processes() == 1:
            return loss, vectors
        return self._shared_out(loss, inputs["place"][1]), vectors

    def _loss_of_expansions(self, model: nn.Module, inputs: dict[str, Any], vectors: Tensor) -> Tensor:
        """Computes the compositionality loss of the sentences of a batch, whose embeddings are `vectors`."""
        loss = 0.0 * vectors.sum()
        if "expanded_rows" in inputs:
            ids, mask = inputs["expanded_input_ids"], inputs["expanded_attention_mask"]
            expanded = model(ids, mask, return_token_vectors=False).pooler_output
            loss = compositionality_loss(vectors, expanded, inputs["expanded_rows"])
        if "place" not in inputs or num_processes() == 1:
            return loss
        return self._shared_out(loss, inputs["place"][1])

    def _shared_out(self, loss: Tensor, number: int) -> Tensor:
        """Turns the mean over this process's part of a joint batch into that over the whole.

        The gradients that the processes average, each weighted by the size of its part, are those of the joint loss.

        Args:
            loss: The mean over the own part, which may hold a pair that does not count.
            number: The number of the joint batch in the epoch.
        """
        begin, stop = self.batches.share(number, process_index())
        first, last = self.batches.joint(number)
        loss = loss * (num_processes() * (stop - begin) / (last - first))
        if num_processes() > 1:
            loss = loss + (mean_over_processes(loss) - loss.detach())
        return loss

    def _loss_in_mega_batch(
        self, model: nn.Module, epoch: int, number: int, start: int, end: int
    ) -> tuple[Tensor, Tensor]:
        """Computes the margin loss of a mini-batch with negatives from its mega-batch, and its embeddings."""
        pool = self.mega_batch
        if pool is None or (pool.epoch, pool.start, pool.end) != (epoch, start, end):
            if number != start:
                raise InputError(
                    f"the checkpoint lacks the negatives of mini-batches {start} to {end}, which were running",
                    path=self.args.output_dir,
                    remedy="resume with the settings of the interrupted run, or start afresh",
                )
            pool = self.mega_batch = self._pool(model, epoch, start, end)
        begin, stop = self.batches.share(number, process_index())
        ids, mask, chosen = pool.part(begin, max(stop, begin + 1), self.collator.pad_token_id)
        if begin == stop:
            chosen = torch.full_like(chosen, NONE)
        device = self.args.device
        vectors = model(ids.to(device), mask.to(device), return_token_vectors=False).pooler_output
        assert isinstance(self.loss, MarginLoss)
        loss = self._shared_out(self.loss(vectors, chosen.to(device)), number)
        return loss, vectors[: len(chosen)]

    @torch.no_grad()
    def _pool(self, model: nn.Module, epoch: int, start: int, end: int) -> MegaBatch:
        """Encodes the mini-batches from `start` up to `end` and chooses negatives; the processes share the work."""
        processes, process = num_processes(), process_index()
        first, sentences = pooled_sentences(self.batches, self.collator, epoch, start, end)
        size = len(sentences)
        by_length = np.diff(sentences.offsets).argsort(kind="stable")
        own = by_length[process::processes]
        bare = self.accelerator.unwrap_model(model)
        training = bare.training
        bare.eval()
        try:
            parts = []
            for begin in range(0, max(len(own), 1), 2 * self.batches.batch_pairs):
                rows = own[begin : begin + 2 * self.batches.batch_pairs]
                ids, mask = (item.to(self.args.device) for item in sentences.padded(rows, self.collator.pad_token_id))
                parts.append(bare(ids, mask, return_token_vectors=False).pooler_output)
        finally:
            bare.train(training)
        encoded = gather_rows(torch.cat(parts))
        vectors = torch.empty_like(encoded)
        dealt = np.concatenate([by_length[turn::processes] for turn in range(processes)])
        vectors[torch.from_numpy(dealt).to(vectors.device)] = encoded
        seed = (self.args.seed << 32) + epoch * self.batches.joint_batches + start
        chosen = search_negatives(
            vectors,
            torch.from_numpy(sentences.keys).to(vectors.device),
            negatives=self.args.negatives,
            negatives_from=self.args.negatives_from,
            generator=torch.Generator().manual_seed(seed),
            rows=range(size * process // processes, size * (process + 1) // processes),
        )
        return MegaBatch(epoch, start, end, first, sentences, gather_rows(chosen).cpu().numpy())

    @torch.no_grad()
    def _vectors_without_dropout(self, model: nn.Module, tokens: dict[str, Tensor], vectors: Tensor) -> Tensor:
        if not model.training or not any(getattr(self.model.config, name, 0.0) for name in DROPOUTS):
            return vectors.detach()
        bare = self.accelerator.unwrap_model(model)
        bare.eval()
        try:
            return bare(**tokens, return_token_vectors=False).pooler_output
        finally:
            bare.train()

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Scores the model on the dev set and reports the result."""
        if self.scorer is None:
            return {}
        training = self.model.training
        scores = self.scorer(SentenceEncoder(self.model, self.tokenizer).encode)
        self.model.train(training)
        metrics = {f"eval_{name}": float(value) for name, value in scores.items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        if self.report is not None and self.is_world_process_zero():
            epoch = self.state.epoch or 0.0
            what = f"epoch {epoch:g}" if self.state.global_step else "untrained"
            self.report(f"{what}: dev score {scores[DEV_SCORE]:.2f}")
        return metrics

    def scores(self) -> list[dict[str, float]]:
        """Lists the dev scores in the order they were taken: `epoch` (0 = untrained), `step` and the scores."""
        taken: dict[int, dict[str, float]] = {}
        for entry in self.state.log_history:
            if f"eval_{DEV_SCORE}" in entry:
                names = {name.removeprefix("eval_"): value for name, value in entry.items() if name != "step"}
                taken[int(entry["step"])] = {"step": int(entry["step"]), **names, "epoch": entry.get("epoch") or 0.0}
        return [taken[step] for step in sorted(taken)]

    def best_scores(self) -> dict[str, float] | None:
        """Returns the entry of :meth:`scores` whose weights are kept; None if nothing was scored after a step."""
        trained = [entry for entry in self.scores() if entry["step"] > 0]
        return max(trained, key=lambda entry: entry[DEV_SCORE]) if trained else None

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Trains; the dev set is scored first unless a checkpoint, which holds that score already, is continued.

        With no epochs to train, scoring the dev set is all.
        """
        self.model.sparse_gradients = self.sparse_gradients
        try:
            if self.args.num_train_epochs == 0:
                return self.evaluate() if self.scorer is not None else {}
            # Its place may come again, with other weights; a checkpoint brings its own.
            self.mega_batch = None
            self.args.eval_on_start = self.scorer is not None and not resume_from_checkpoint
            return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)
        finally:
            # Other optimizers, with which the model may be trained on, take no sparse gradients.
            self.model.sparse_gradients = False

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        if self.args.should_save:
            folder = Path(output_dir or self.args.output_dir)
            save_folder(folder, self.model, self.tokenizer, state_dict, lambda path: write_saved_card(path, self))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        self.mega_batch = load_mega_batch(Path(resume_from_checkpoint), self.batches, self.collator)

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        if self.args.should_save and self.mega_batch is not None:
            # Before all else, because the state file, which says that a checkpoint is complete, comes last.
            folder = Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"
            folder.mkdir(parents=True, exist_ok=True)
            self.mega_batch.save(folder)
        super()._save_checkpoint(model, trial)
        if self.args.should_save:
            last = f"checkpoint-{self.state.global_step}"
            best = Path(self.state.best_model_checkpoint or last).name
            for path in Path(self.args.output_dir).glob("checkpoint-*"):
                if path.name not in {last, best}:
                    shutil.rmtree(path)

    def _clip_grad_norm(self, model: nn.Module) -> Tensor:
        gradients = [item.grad for item in model.parameters() if item.grad is not None]
        values = [item.coalesce().values() if item.is_sparse else item for item in gradients]
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(item) for item in values]))
        scale = (self.args.max_grad_norm / (norm + 1e-6)).clamp_max(1.0)
        for gradient in gradients:
            gradient.mul_(scale)
        return norm

    def _get_grad_norm(self, model: nn.Module, grad_norm: Tensor | float | None = None) -> Tensor | float | None:
        # The base class would compute a norm over the whole table in every step only to log it.
        return grad_norm
