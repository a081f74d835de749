"""Trains sentence encoders with the Trainer of transformers."""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import EvalPrediction, PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback, set_seed

from ..artefacts.cards import Card, write_card
from ..artefacts.provenance import fingerprint, write_provenance
from ..data.pair_rows import PairRows, PairSource, require_label
from ..errors import InputError, UsageError
from ..messages import log
from ..registry import ENCODERS, LOSSES
from ..training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from ..training.sparse_gradients import RowAdam, SparseGradientTrainer
from ..vectors.similarity import unit_rows
from .architectures import DROPOUTS, list_option_names
from .backends.padded_batches import evaluation_mode
from .backends.pooled_transformer import PooledTransformer
from .backends.torch_module import TorchModule
from .encoded_pairs import EncodedPairs, PairCollator, encode_pairs
from .encoder_vocabulary import as_trainable_encoder, make_untrained_encoder
from .losses import LABELS, MatryoshkaLoss, list_loss_options, loss_requires
from .model_folder import collect_card_values, count_sizes, describe_source
from .objective import Objective, PairObjective
from .sentence_encoder import SentenceEncoder
from .train_settings import LossSettings

if TYPE_CHECKING:
    from datasets import Dataset

DEV_SCORE = "dev_mean"
"""The score that chooses the weights, unless `metric_for_best_model` names another."""
Evaluator = Callable[[SentenceEncoder], Mapping[str, float] | float]
"""Scores an encoder: scores by name, or one number."""
TrainableModel: TypeAlias = SentenceEncoder | PreTrainedModel | str | Path
Metrics = Callable[[EvalPrediction], Mapping[str, float]]
"""Computes scores from cosines (`predictions`) and labels or scores (`label_ids`)."""
_CHECKPOINT = re.compile(r"checkpoint-\d+")
_LOGGER = logging.getLogger(__name__)


@dataclass
class EncoderTrainingArguments(LossSettings, EpochTrainingArguments):
    """`TrainingArguments` with the settings of the loss; defaults as in Wieting et al. (2017), section 5.2.

    A batch is `per_device_train_batch_size` pairs per process. Negatives come from the batches of all processes, or
    from a mega-batch of `mega_batch_size` such batches. The learning rate is constant, and gradients are not clipped.
    """

    per_device_train_batch_size: int = 100
    learning_rate: float = 1e-3
    save_total_limit: int | None = 2
    # The filter would wait for the GPU in every step.
    logging_nan_inf_filter: bool = False
    ddp_find_unused_parameters: bool | None = False

    def __post_init__(self) -> None:
        LossSettings(**{name: getattr(self, name) for name in list_option_names(LossSettings)}).check()
        super().__post_init__()


class EncoderTrainer(SparseGradientTrainer, EpochTrainer):
    """Trains a sentence encoder on pairs (Wieting et al. 2017, section 4.2), or on another objective.

    A step chooses for each sentence of a batch the nearest unrelated sentence, without dropout, and follows the
    gradient of the loss. With a `mega_batch_size` M above 1, the negatives of M mini-batches are chosen together. The
    batch is the joint batch of all processes.

    The model is scored before training and at every checkpoint; after :meth:`train` it has the weights of the best
    checkpoint, or of the last step without a score. A checkpoint is resumed exactly, except that a mega-batch chooses
    its negatives again. The word vectors of our models get sparse gradients, and `RowAdam`, whose cost does not grow
    with the vocabulary. With `dense_optimizer`, `lambda_w` or `torch_compile` the optimizer is `torch.optim.Adam` over
    the whole table, and with another `optim` or `weight_decay` the Trainer's optimizer.

    Args:
        model: The encoder: a :class:`~.sentence_encoder.SentenceEncoder`, a model of this package, a transformer (mean
            of its token vectors), a model of the user's class (see :mod:`.architectures`), the folder or Hub name of
            such a model or of a model of sentence-transformers, or a name in
            :data:`~hf_paraphrase.registry.ENCODERS`, which makes a new model.
        train_dataset: Pairs, see :class:`~..data.pair_rows.PairRows`, or the result of
            :func:`~.encoded_pairs.encode_pairs`.
        processing_class: A fast tokenizer; None for the tokenizer of the encoder, or for a tokenizer over the words of
            the pairs.
        loss: Any module, see :func:`~.losses.loss_requires`; None for the loss that `args` names.
        eval_dataset: Pairs with a column `label` or `score`, which are scored by average precision or by correlation;
            or several such data sets by name.
        compute_metrics: Computes more scores from an `EvalPrediction` of the cosines and labels of `eval_dataset`.
        optimizers: Word vectors get dense gradients with an optimizer of the user, unless it is `RowAdam` or
            `torch.optim.SparseAdam`.
        objective: Replaces the loss of pairs and `train_dataset`.
        model_init: Makes the model anew for each :meth:`train`, perhaps from a trial of `hyperparameter_search`. It
            returns whatever `model` accepts, always with the same tokenizer.
        data_collator: Refused, because a batch of pairs has more than padded rows; see `Objective.collate`.

    Attributes:
        encoder: The encoder that is trained.
        training_objective: The objective, which makes the batches and computes the loss.
    """

    uses_workers = True
    args: Any
    eval_dataset: Any

    def __init__(
        self,
        model: TrainableModel | None = None,
        args: EncoderTrainingArguments | None = None,
        train_dataset: EncodedPairs | PairSource | None = None,
        processing_class: PreTrainedTokenizerBase | None = None,
        loss: nn.Module | None = None,
        evaluator: Evaluator | None = None,
        *,
        eval_dataset: Dataset | Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
        callbacks: list[TrainerCallback] | None = None,
        optimizers: tuple[torch.optim.Optimizer | None, Any] = (None, None),
        report: Callable[[str], None] | None = None,
        objective: Objective | None = None,
        compute_metrics: Metrics | None = None,
        model_init: Callable[..., TrainableModel] | None = None,
        data_collator: Any = None,
    ) -> None:
        _check_sources(model, model_init, objective, optimizers, data_collator)
        self.pair_metrics = compute_metrics
        self.args = args = EncoderTrainingArguments("tmp_trainer") if args is None else copy.copy(args)
        self.criterion = str(args.metric_for_best_model or DEV_SCORE).removeprefix("eval_")
        self._pairs, self._given_loss, self._tokenizer = train_dataset, loss, processing_class
        self.model_init = model_init
        if model_init is None:
            self._open_encoder(cast(TrainableModel, model))
        else:
            set_seed(args.seed)
            self.call_model_init()
        self.training_objective = objective = objective or self._pair_objective()
        self.evaluator = evaluator
        super().__init__(
            self.encoder.model,
            args,
            objective.batches,
            objective.collate,
            # The Trainer requires a data set to call `evaluate`, which does not use it.
            dev_size=None if evaluator is None and eval_dataset is None else 0,
            report=report,
            callbacks=callbacks,
            optimizers=optimizers,
        )
        self.eval_dataset, self.model_init = eval_dataset, model_init
        if any(True for _ in objective.parameters()):
            if args.world_size > 1:
                raise UsageError("a loss with weights can only be trained in one process", remedy="start one process")
            self.add_callback(_AfterUpdate(self))
        self._settle_objective()

    def _open_encoder(self, model: TrainableModel) -> None:
        """Open the encoder to train; `model` has any type that the constructor accepts."""
        if isinstance(model, str) and model in ENCODERS:
            pairs = [] if self._pairs is None else self._pairs
            model, self._tokenizer = make_untrained_encoder(model, pairs, self._tokenizer, seed=self.args.seed)
        self.encoder = as_trainable_encoder(model, self._tokenizer)
        self.forward_options = cast(TorchModule, self.encoder.backend).forward_options(self.encoder.choose_prompt())

    def _pair_objective(self) -> PairObjective:
        """Make the objective of the pairs with a loss in its initial state; the first call encodes the pairs."""
        args, encoder, pairs = self.args, self.encoder, self._pairs
        if not isinstance(args, EncoderTrainingArguments):
            what = f"args is {type(args).__name__}, which has no settings of the loss"
            raise UsageError(what, remedy="give EncoderTrainingArguments, which takes the same arguments and more")
        if pairs is None:
            raise UsageError("there are no pairs to train on", remedy="give them as train_dataset, or an objective")
        if isinstance(encoder.model, PooledTransformer) and (args.scramble or args.lambda_w):
            raise UsageError("scramble and lambda_w are for encoders with word vectors", remedy="leave them out")
        loss = copy.deepcopy(self._given_loss) if self.model_init is not None else self._given_loss
        if loss is None:
            given = {"margin": args.margin, "scale": args.scale}
            names = list_loss_options(LOSSES[args.loss])
            loss = LOSSES[args.loss](**{name: given[name] for name in names if given.get(name) is not None})
        if args.matryoshka and not isinstance(loss, MatryoshkaLoss):
            loss = MatryoshkaLoss(loss, args.matryoshka)
        if not isinstance(pairs, EncodedPairs):
            self._pairs = pairs = encode_pairs(pairs, encoder, labelled=loss_requires(loss, LABELS))
        pad_token_id = encoder.tokenizer.pad_token_id
        collator = PairCollator(pairs, pad_token_id=pad_token_id, scramble=args.scramble, seed=args.seed)
        return PairObjective(collator, loss, args, encoder.model.embeddings if args.lambda_w > 0 else None)

    def _settle_objective(self) -> None:
        """Move the objective to the device, and choose between sparse and dense gradients."""
        args = self.args
        self.training_objective.to(args.device)
        if isinstance(self.training_objective, PairObjective):
            self.sparse_gradients = (
                hasattr(self.model, "sparse_gradients")
                and isinstance(self.optimizer, type(None) | RowAdam | torch.optim.SparseAdam)
                and not (args.dense_optimizer or args.lambda_w > 0 or args.torch_compile or args.names_optimizer)
            )
            self._set_sparse_gradients(self.sparse_gradients)

    def call_model_init(self, trial: Any = None) -> nn.Module:
        """Make the encoder of a training by `model_init`."""
        previous = getattr(self, "encoder", None)
        self._open_encoder(super().call_model_init(trial))
        if previous is not None and previous.tokenizer.get_vocab() != self.encoder.tokenizer.get_vocab():
            what = "model_init returned a model with another tokenizer than before"
            raise UsageError(what, remedy="make a trainer for each tokenizer")
        return self.encoder.model

    def _hp_search_setup(self, trial: Any) -> None:
        """Apply the arguments of a trial, and make the objective again for its new model."""
        super()._hp_search_setup(trial)
        if self.model_init is not None:
            self.training_objective = self._pair_objective()
            self.set_batches(self.training_objective.batches, self.training_objective.collate)
            self._settle_objective()

    @property
    def loss(self) -> nn.Module:
        """The loss of pairs, or the objective that replaces it."""
        return getattr(self.training_objective, "loss", self.training_objective)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the encoder."""
        return self.encoder.tokenizer

    @contextmanager
    def trained_encoder(self) -> Iterator[SentenceEncoder]:
        """Yield the encoder in the state to be scored."""
        yield self.encoder

    # ----- steps

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Compute the mean loss of a batch, and with `return_outputs` its embeddings."""
        loss, vectors = self.training_objective.compute(self, model, inputs)
        return (loss, vectors) if return_outputs else loss

    def embed(self, model: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
        """Compute the embeddings (sentences, dim) of padded sentences (sentences, length)."""
        device = self.args.device
        output = model(input_ids=ids.to(device), attention_mask=mask.to(device), **self.forward_options)
        vectors: Tensor = output.pooler_output
        return vectors

    @torch.no_grad()
    def vectors_without_dropout(self, model: nn.Module, ids: Tensor, mask: Tensor, vectors: Tensor) -> Tensor:
        """Compute embeddings again without dropout if the model has any, else return `vectors`."""
        drops = any(getattr(self.model.config, name, 0.0) for name in DROPOUTS)
        drops = drops or any(isinstance(module, nn.Dropout) and module.p > 0 for module in self.model.modules())
        if not model.training or not drops:
            return vectors.detach()
        bare = self.accelerator.unwrap_model(model)
        with evaluation_mode(bare):
            return self.embed(bare, ids, mask)

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Make Adam, over rows if gradients are sparse, or the optimizer that the arguments name."""
        is_given, own_weights = self.optimizer is not None, list(self.training_objective.parameters())
        optimizer = super().create_optimizer(model)
        if own_weights and not is_given:
            optimizer.add_param_group({"params": own_weights})
        return optimizer

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Score the model unless a checkpoint is resumed, and train it for the epochs, if any."""
        if self.args.num_train_epochs == 0:
            return self.evaluate() if self.is_scored else {}
        self.args.eval_on_start = self.is_scored and not resume_from_checkpoint
        try:
            self._set_sparse_gradients(self.sparse_gradients)
            self.training_objective.begin()
            result = super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)
        finally:
            # The user may go on with an optimizer that does not support sparse gradients.
            self._set_sparse_gradients(False)
        best, first = self.best_scores(), self.scores()[:1]
        if best is not None and first[0]["step"] == 0:
            before, after = first[0][self.criterion], best[self.criterion]
            if before == after or (after < before) == (self.args.greater_is_better is not False):
                log(
                    f"warning: training did not improve the initial weights: {self.criterion} was {before:.2f} "
                    f"before and is {after:.2f} at best. Try another learning rate, or more or different pairs.",
                    warning=True,
                )
        return result

    def _set_sparse_gradients(self, are_sparse: bool) -> None:
        if hasattr(self.model, "sparse_gradients"):
            self.model.sparse_gradients = are_sparse

    # ----- scores

    def evaluate(
        self, eval_dataset: Any = None, ignore_keys: list[str] | None = None, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """Score the model and report the result; without an evaluator and pairs return no scores."""
        pairs = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(pairs, str) and isinstance(self.eval_dataset, Mapping) and pairs in self.eval_dataset:
            pairs = self.eval_dataset[pairs]
        scores: dict[str, float] = {}
        with evaluation_mode(self.model), self.trained_encoder() as encoder:
            if pairs is not None:
                scores |= score_cosines(encoder, pairs, self.pair_metrics)
            if self.evaluator is not None:
                scores |= score_encoder(self.evaluator, encoder)
        if not scores:
            return {}
        if self.criterion not in scores and eval_dataset is None:
            what = f"the weights are chosen by `{self.criterion}`, but the scores are {', '.join(scores)}"
            raise UsageError(what, remedy="name one of them as metric_for_best_model")
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in scores.items()}
        what = f"epoch {self.state.epoch or 0.0:g}" if self.state.global_step else "untrained"
        main = scores.get(self.criterion, next(iter(scores.values())))
        return self.report_scores(metrics, f"{what}: dev score {main:.2f}")

    def scores(self) -> list[dict[str, float]]:
        """List the scores of each evaluation: `epoch` (0 = untrained), `step` and the scores by name."""
        entries = [{"step": 0, **entry, "epoch": entry.get("epoch") or 0.0} for entry in super().scores()]
        # After a resume a step may be scored again.
        by_step = {entry["step"]: entry for entry in entries}
        return [by_step[step] for step in sorted(by_step)]

    # ----- folders

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Tensor] | None = None) -> None:
        """Write the weights of a checkpoint; for any other folder the model, with a card unless it has one."""
        if not self.args.should_save:
            return
        folder = Path(output_dir or self.args.output_dir)
        if _CHECKPOINT.fullmatch(folder.name):
            folder.mkdir(parents=True, exist_ok=True)
            weights = self.model.state_dict() if state_dict is None else state_dict
            # Copies, because tied weights, as in a T5, share their memory.
            tensors = {name: value.clone(memory_format=torch.contiguous_format) for name, value in weights.items()}
            save_file(tensors, folder / "model.safetensors")
            return
        self.write_model(folder, state_dict)
        if (folder / "README.md").exists():
            _LOGGER.warning("%s: card and record are not changed; remove the card to write both again", folder)
            return
        base = self.encoder.folder
        write_provenance(
            folder,
            command=f"{type(self).__name__}.save_model (from Python)",
            # The path of the run is private, and `push_to_hub` of the Trainer would publish it.
            settings={key: value for key, value in self.args.to_dict().items() if key != "output_dir"},
            results={**count_sizes(self.model), "updates": self.state.global_step, "dev_scores": self.scores()},
            inputs={} if base is None else {str(base): fingerprint(base)},
        )
        values = {
            **collect_card_values(self.model, folder.resolve().name),
            **describe_source(base),
            "is_trained": True,
        }
        write_card(folder, Card("saved_encoder", values, "model_cards"))

    def write_model(self, folder: Path, weights: dict[str, Tensor] | None = None) -> None:
        """Write the encoder so that `AutoModel`, sentence-transformers and this package open it."""
        cast(TorchModule, self.encoder.backend).save(folder, self.encoder.options, weights)

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: nn.Module | None = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        self.training_objective.load(Path(resume_from_checkpoint))

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        if self.args.should_save:
            # First, because the state file, which marks a checkpoint as complete, must be written last.
            folder = Path(self._get_output_dir(trial)) / f"checkpoint-{self.state.global_step}"
            folder.mkdir(parents=True, exist_ok=True)
            self.training_objective.save(folder)
        super()._save_checkpoint(model, trial)


def score_encoder(evaluator: Evaluator, encoder: SentenceEncoder) -> dict[str, float]:
    """Score an encoder by an evaluator; a single number gets the name :data:`DEV_SCORE`."""
    result = evaluator(encoder)
    if not isinstance(result, Mapping):
        result = {DEV_SCORE: result}
    return {str(name).removeprefix("eval_"): float(value) for name, value in result.items()}


def score_cosines(encoder: SentenceEncoder, pairs: Any, compute_metrics: Metrics | None = None) -> dict[str, float]:
    """Score the cosines of pairs against their `label` (average precision × 100) or `score` (Pearson × 100).

    Pairs without a label or score are left out. Named data sets give scores with their name as a prefix, and the mean
    of their main scores.
    """
    from ..vectors.similarity import average_precision, pearson

    if isinstance(pairs, Mapping):
        named = {name: score_cosines(encoder, part, compute_metrics) for name, part in pairs.items()}
        scores = {f"{name}_{score}": value for name, part in named.items() for score, value in part.items()}
        return {DEV_SCORE: float(np.mean([part[DEV_SCORE] for part in named.values()])), **scores}
    rows = PairRows(pairs)
    column = require_label(rows.columns, "the pairs of eval_dataset")
    batches = []
    for _, batch in rows.batches([*rows.sides, column]):
        values = rows.labels.read(batch[column]) if column == rows.label else batch[column]
        batches.append((batch.filter(values.is_valid()), values.drop_null().to_pylist()))
    texts, labels = (rows.texts(batch) for batch, _ in batches), [values for _, values in batches]
    grades = np.array([*chain(*labels)])
    if not len(grades):
        what = f"no pair of eval_dataset has a {column}"
        raise InputError(what, path=rows.path, remedy="give labelled or scored pairs, or leave eval_dataset out")
    first, second = (unit_rows(encoder.encode([*chain(*side)])) for side in zip(*texts, strict=True))
    cosines = (first * second).sum(1)
    measure = average_precision if column == rows.label else pearson
    more = {} if compute_metrics is None else compute_metrics(EvalPrediction(cosines, grades))
    more = {name.removeprefix("eval_"): value for name, value in more.items()}
    return {DEV_SCORE: 100 * float(measure(cosines, grades)), **more}


def _check_sources(model: Any, model_init: Any, objective: Any, optimizers: Any, data_collator: Any) -> None:
    """Refuse arguments of transformers' Trainer that do not fit each other or this trainer."""
    rules = (
        ((model is None) == (model_init is None), "give model or model_init, and not both"),
        (model_init and objective, "an objective cannot be made anew for each model of model_init: give pairs"),
        (model_init and optimizers != (None, None), "optimizers are for a single model: leave model_init out"),
        (data_collator, "data_collator has no use here: the objective makes the batches (Objective.collate)"),
    )
    for is_wrong, message in rules:
        if is_wrong:
            raise UsageError(f"EncoderTrainer: {message}")


class _AfterUpdate(TrainerCallback):
    """Clears the gradients of the objective after each update, and notifies it."""

    def __init__(self, trainer: EncoderTrainer) -> None:
        self.trainer = trainer

    def on_optimizer_step(self, *args: Any, **kwargs: Any) -> None:
        """Clear the gradients and notify the objective."""
        self.trainer.training_objective.zero_grad()
        self.trainer.training_objective.after_update()
