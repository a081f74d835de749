"""The recipe of the verb `train-nmt`: a bitext in, the folder of an RNNsearch translation model out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..artefacts.card_metadata import Measurement
from ..artefacts.files import quiet_transformers
from ..artefacts.fsspec_path import to_path
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import recipe, setting
from ..training.run import TrainingRun, TrainingRunSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from .bitext import BitextSides
    from .trainer import TokenizedPair, TranslationTrainer


_CHANGEABLE = ("dropout", "label_smoothing")
_FIXED = ("hidden_size", "embedding_size", "initialization", "share_embeddings")
"""Settings of the model's configuration: those that a continued run may change, and those that it takes over."""
_DEV_SPLIT = "validation"
"""The split for choosing the checkpoint."""
_MOST_DEV_WORDS = 10_000
"""Words of the longest dev sentence that is translated."""
LEARNING_RATES = {"adam": 1e-3, "adadelta": 1.0}
"""The optimizers, with their usual learning rates."""


@dataclass(kw_only=True)
class TranslationTrainingSettings(TrainingRunSettings):
    """Train an RNNsearch model (GRU encoder-decoder with attention, paper 000 §3) from source to target language."""

    bitext: list[str] = setting(
        "data folders with the columns source and target, from `prepare bitext`; several are mixed, a folder named "
        "twice counts twice, and the dev set is that of the first",
        path=True,
        dataset=True,
    )
    initial_model: str | None = setting(
        "a translation model to continue from; its units, casing and sizes override the flags", None, path=True
    )
    vocab_size: int = setting(
        "number of BPE units, of both sides together or of each",
        8_000,
        at_least=1,
        at_most=10_000_000,
        formerly="vocabulary_size",
    )
    joint_vocabulary: bool = setting("one set of BPE units for both sides; else --no-share-embeddings is needed", True)
    lower_case: bool = setting(
        "lower-case both sides, also in pairs that are made with the model later",
        False,
        formerly="lowercase",
    )
    hidden_size: int = setting("size of the GRU states (paper: 1000)", 512, at_least=2)
    embedding_size: int = setting("size of the word embeddings (paper: 620)", 320, at_least=1)
    dropout: float = setting("dropout on embeddings, annotations and readout (paper: 0)", 0.3, at_least=0, below=1)
    label_smoothing: float = setting("probability spread over all units (paper: 0)", 0.1, at_least=0, below=1)
    initialization: str = setting(
        "initial weights: reference (the paper's, normal and small) or xavier (Glorot's, which learn faster)",
        "xavier",
        choices=["reference", "xavier"],
    )
    share_embeddings: bool = setting("one matrix for source, target and output embeddings (paper: false)", True)
    epochs: float = setting("passes over the training pairs", 20.0, above=0)
    batch_size: int = setting("sentence pairs per batch and process", 80, at_least=1)
    gradient_accumulation_steps: int = setting("batches per update", 1, at_least=1)
    optimizer: str = setting(
        "Adam with warm-up and cosine decay, or the paper's Adadelta (ρ 0.95, ε 1e-6) with a constant rate",
        "adam",
        choices=list(LEARNING_RATES),
    )
    learning_rate: float | None = setting("peak learning rate [default: 0.001; 1 for Adadelta]", None, above=0)
    warmup_steps: int | None = setting(
        "steps of linear warm-up of Adam [default: 400, or a tenth of the run if that is shorter]", None, at_least=0
    )
    freeze_embeddings: bool = setting(
        "do not train embeddings and output layer (second stage of paper 000)", False, only_with="initial_model"
    )
    evaluations: int = setting("number of dev BLEU scores (greedy) and checkpoints", 20, at_least=1)
    max_words: int = setting("leave out pairs with a side of more words than this", 80, at_least=1)
    max_units: int | None = setting("the same for BPE units (paper: 50)", None, at_least=1)
    max_dev_pairs: int = setting("dev pairs used during training", 1_000, at_least=1)
    precision: str = setting(
        "precision; auto: bf16 if the hardware supports it", "auto", choices=["auto", "bf16", "fp32"]
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        self.learning_rate = self.learning_rate or LEARNING_RATES[self.optimizer]
        if self.hidden_size % 2:
            raise UsageError(f"--hidden-size {self.hidden_size} is odd", remedy="give an even number, for maxout")
        if not self.joint_vocabulary and self.share_embeddings:
            raise UsageError(
                "sides with separate units cannot share embeddings", remedy="give --no-share-embeddings as well"
            )


@recipe(TranslationTrainingSettings)
def train_nmt(settings: TranslationTrainingSettings) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Trains an RNNsearch model on bitext (paper 000, section 3), with the weights of the best dev BLEU at the end.

    The reference clips the gradient of the **sum** over a batch to 1, which cuts nearly every step to the same length;
    here it is that of the mean. Adadelta and Adam hardly depend on the scale of the gradient, but the two are not the
    same setting.

    Returns the model, opened from its folder, and its tokenizer.
    """
    inputs = [*settings.bitext, *([settings.initial_model] if settings.initial_model is not None else [])]
    with TrainingRun(settings, command="train-nmt", inputs=inputs) as run:
        if not run.is_finished:
            _train(settings, run)
    log(f"translation model saved to {settings.output}")
    log(f"Use it with: AutoModelForSeq2SeqLM.from_pretrained({settings.output!r}) after `hf_paraphrase.register()`")

    from .loading import load_translation_model

    return load_translation_model(settings.output)


def _train(settings: TranslationTrainingSettings, run: TrainingRun) -> None:
    import pyarrow as pa

    from .bitext import languages_of, read_bitext, trainable_rows

    dev_table = read_bitext(settings.bitext[0], _DEV_SPLIT).slice(0, settings.max_dev_pairs)
    folders = {folder: read_bitext(folder, "train") for folder in dict.fromkeys(settings.bitext)}
    languages = languages_of(folders)
    initial = None if settings.initial_model is None else _initial_model(settings, settings.initial_model, languages)

    from transformers import set_seed

    from ..artefacts.weights import check_finite
    from .trainer import tokenize_bitext

    table = pa.concat_tables([folders[folder] for folder in settings.bitext])
    sources, targets, left_out = trainable_rows(table, max_words=settings.max_words)
    dev = trainable_rows(dev_table, max_words=_MOST_DEV_WORDS)
    log(f"{len(sources):,} training pairs ({left_out:,} empty or too long), {len(dev.sources):,} dev pairs")
    set_seed(settings.seed)
    model, tokenizer = initial or _new_model(settings, sources, targets, languages)
    bitext = tokenize_bitext(tokenizer, sources, targets, max_units=settings.max_units)
    if too_long := len(sources) - len(bitext):
        log(f"{too_long:,} pairs have too many units and are left out")
    log(f"RNNsearch {languages[0]}→{languages[1]}: {model.num_parameters():,} parameters, {len(tokenizer):,} units")
    trainer = _trainer(settings, run, model, tokenizer, bitext, dev)
    run.train(trainer)
    check_finite(model)
    if run.writes:
        counts = {"training_pairs": len(bitext), "pairs_left_out": left_out + too_long, "bf16": trainer.args.bf16}
        _write(settings, run, trainer, counts)


def _new_model(
    settings: TranslationTrainingSettings, sources: Sequence[str], targets: Sequence[str], languages: tuple[str, str]
) -> tuple[Any, Any]:
    """Learns the units of a bitext and makes a model of random weights for them."""
    from ..models.configuration_rnn_search import RnnSearchConfig
    from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
    from ..tokenization.subword import train_bpe_tokenizer, train_separate_bpe_tokenizer

    tokenizer: Any
    if settings.joint_vocabulary:
        tokenizer = train_bpe_tokenizer([*sources, *targets], settings.vocab_size, lowercase=settings.lower_case)
    else:
        tokenizer = train_separate_bpe_tokenizer(sources, targets, settings.vocab_size, lowercase=settings.lower_case)
    config = RnnSearchConfig(
        vocab_size=len(tokenizer),
        source_vocab_size=None if settings.joint_vocabulary else tokenizer.source_vocab_size,
        tie_word_embeddings=settings.share_embeddings,
        source_lang=languages[0],
        target_lang=languages[1],
        decoder_start_token_id=tokenizer.bos_token_id,
        **{name: getattr(settings, name) for name in (*_CHANGEABLE, *_FIXED)},
        lowercase=settings.lower_case,
        **{f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")},
    )
    return RnnSearchForConditionalGeneration(config), tokenizer


def _initial_model(settings: TranslationTrainingSettings, folder: str, languages: tuple[str, str]) -> tuple[Any, Any]:
    """Opens the model to continue from, with the dropout and the label smoothing of this run."""
    from ..artefacts.model_loading import check_model_type, load_model_folder
    from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration

    check_model_type(folder, ["rnn_search"], kind="translation model", verb="train-nmt")
    changed = {name: getattr(settings, name) for name in _CHANGEABLE}
    model, tokenizer = load_model_folder(folder, RnnSearchForConditionalGeneration, **changed)
    own = (model.config.source_lang, model.config.target_lang)
    if own != languages:
        problem = f"this model translates {own[0]}→{own[1]}, but the bitext is {'→'.join(languages)}"
        raise InputError(problem, path=folder, remedy="give a model of the same two languages")
    return model, tokenizer


def _trainer(
    settings: TranslationTrainingSettings,
    run: TrainingRun,
    model: Any,
    tokenizer: PreTrainedTokenizerFast,
    bitext: list[TokenizedPair],
    dev: BitextSides,
) -> TranslationTrainer:
    import torch
    from transformers import TrainingArguments

    from ..training.devices import is_bf16
    from .trainer import TranslationTrainer

    is_adadelta = settings.optimizer == "adadelta"
    # A share of all steps; the Trainer would read 1 as every single step.
    interval = min(1 / settings.evaluations, 1 - 1e-9)
    arguments = run.arguments(
        TrainingArguments,
        gradient_accumulation_steps=settings.gradient_accumulation_steps,
        lr_scheduler_type="constant" if is_adadelta else "cosine",
        warmup_steps=0 if is_adadelta else settings.warmup_steps or 0,
        optim="adamw_torch_fused",
        max_grad_norm=1.0,
        bf16=is_bf16(settings.precision, settings.device),
        eval_strategy="steps",
        eval_steps=interval,
        save_strategy="steps",
        save_steps=interval,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="bleu",
        greater_is_better=True,
        logging_steps=50,
        remove_unused_columns=False,
        accelerator_config={"even_batches": False},
        ddp_find_unused_parameters=False,
    )
    if settings.freeze_embeddings:  # Jean et al. 2015, section 3.3
        for module in (model.encoder.embeddings, model.decoder.embeddings, model.lm_head):
            module.requires_grad_(False)
    return TranslationTrainer(
        model,
        arguments,
        bitext,
        dev,
        tokenizer,
        usual_warmup=settings.warmup_steps is None and not is_adadelta,
        optimizer_cls_and_kwargs=(torch.optim.Adadelta, {"lr": settings.learning_rate, "rho": 0.95, "eps": 1e-6})
        if is_adadelta
        else None,
    )


def _write(
    settings: TranslationTrainingSettings, run: TrainingRun, trainer: TranslationTrainer, counts: dict[str, Any]
) -> None:
    """Writes the model with its record and its card."""
    import torch

    model: Any = trainer.model
    tokenizer: Any = trainer.processing_class
    history = trainer.state.log_history
    # Of equal ones the Trainer keeps the first.
    best = max((entry for entry in history if "eval_bleu" in entry), key=lambda entry: entry["eval_bleu"])
    # A run that was resumed counts from there.
    seconds = max((entry["train_runtime"] for entry in history if "train_runtime" in entry), default=0.0)
    log(f"best dev BLEU (greedy) {best['eval_bleu']:.2f} at epoch {best['epoch']:.2f}; {seconds / 60:.1f} minutes")
    model.generation_config.update(num_beams=5, max_length=256, length_penalty=1.0, early_stopping=False)
    # What the last call left there differs where a run was resumed after its last evaluation.
    tokenizer.backend_tokenizer.no_truncation()
    with quiet_transformers():
        model.to(dtype=torch.float32).save_pretrained(run.folder)
        tokenizer.save_pretrained(run.folder)
    results = {"dev_bleu": best["eval_bleu"], "best_epoch": best["epoch"], **counts, "train_seconds": seconds}
    recorded = settings.record() | {"warmup_steps": int(trainer.args.warmup_steps)}
    initial = settings.initial_model
    if initial is not None:
        # What the run has from the model that it continued from.
        recorded |= {name: getattr(model.config, name) for name in (*_FIXED, "vocab_size")}
        recorded["lower_case"] = model.config.lowercase
        recorded["joint_vocabulary"] = not hasattr(tokenizer, "source_tokenizer")
    bitexts = " + ".join(to_path(folder).name for folder in settings.bitext)
    shown = {**recorded, "bitext": bitexts, "initial_model": to_path(initial).name if initial else None}
    measured = Measurement(
        task="translation",
        dataset=settings.bitext[0],
        split=_DEV_SPLIT,
        metric="sacrebleu",
        value=best["eval_bleu"],
        name="BLEU (greedy; it chose the checkpoint)",
        task_name="Translation",
    )
    run.write(
        results=results,
        template="rnn_search",
        card={"config": model.config, "settings": shown, "results": results},
        measurements=[measured],
        settings=recorded,
    )
