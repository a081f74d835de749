"""The recipe of the verb `train-nmt`: a bitext in, the folder of an RNNsearch translation model out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.card_heads import Measurement
from ..artefacts.files import quiet_transformers
from ..artefacts.remote_paths import to_path
from ..errors import InputError
from ..messages import log
from ..settings import recipe
from ..training.run import TrainingRun
from .train_settings import TranslationTrainingSettings

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from .batching import TokenizedBitext
    from .bitext import BitextSides
    from .trainer import TranslationTrainer, TranslationTrainingArguments


@recipe(TranslationTrainingSettings)
def train_translation(settings: TranslationTrainingSettings) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Trains an RNNsearch model on bitext (paper 000, section 3), with the weights of the best dev BLEU at the end.

    The reference clips the gradient of the **sum** over a batch to 1, which cuts nearly every step to the same length;
    here it is that of the mean. Adadelta and Adam hardly depend on the scale of the gradient, but the two are not the
    same setting.

    Returns:
        The model, opened from its folder, and its tokenizer.
    """
    inputs = [*settings.bitext, *([settings.initial_model] if settings.initial_model is not None else [])]
    with TrainingRun(settings, command="train-nmt", inputs=inputs) as run:
        if not run.is_finished:
            _train(settings, run)
    log(f"translation model: {settings.output}")
    log(f"load it: AutoModelForSeq2SeqLM.from_pretrained({settings.output!r}) after `import hf_paraphrase`")

    from .loading import load_translation_model

    return load_translation_model(settings.output)


def _train(settings: TranslationTrainingSettings, run: TrainingRun) -> None:
    import pyarrow as pa

    from .bitext import languages_of, read_bitext, trainable_rows

    dev_table = read_bitext(settings.bitext[0], settings.dev_split).slice(0, settings.max_dev_pairs)
    folders = {folder: read_bitext(folder, "train") for folder in dict.fromkeys(settings.bitext)}
    languages = languages_of(folders)
    opened = None if settings.initial_model is None else _initial_model(settings, settings.initial_model, languages)

    from transformers import set_seed

    from ..artefacts.weights import check_finite
    from .batching import tokenize_bitext
    from .loading import count_cut
    from .trainer import ALL_WORDS

    table = pa.concat_tables([folders[folder] for folder in settings.bitext])
    sources, targets, left_out = trainable_rows(table, max_words=settings.max_words)
    dev = trainable_rows(dev_table, max_words=ALL_WORDS)
    log(f"{len(sources):,} training pairs ({left_out:,} empty or too long), {len(dev.sources):,} dev pairs")
    set_seed(settings.seed)
    model, tokenizer = opened or _new_model(settings, sources, targets, languages)
    bitext = tokenize_bitext(tokenizer, sources, targets, max_units=settings.max_units)
    if too_long := len(sources) - len(bitext):
        log(f"{too_long:,} pairs have too many units and are left out")
    count_cut(model, tokenizer, dev.sources)
    log(f"RNNsearch {languages[0]}→{languages[1]}: {model.num_parameters():,} parameters, {len(tokenizer):,} units")
    log_history, arguments, warmup_steps = _train_in_stages(settings, run, model, tokenizer, bitext, dev)
    check_finite(model)
    if run.writes:
        counts = {"training_pairs": len(bitext), "pairs_left_out": left_out + too_long, "bf16": arguments.bf16}
        used = {"learning_rate": settings.peak_learning_rate, "warmup_steps": warmup_steps}
        _write(settings, run, model, tokenizer, counts, used, log_history)


def _train_in_stages(
    settings: TranslationTrainingSettings,
    run: TrainingRun,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    bitext: TokenizedBitext,
    dev: BitextSides,
) -> tuple[list[dict[str, float]], TranslationTrainingArguments, int]:
    """Trains the model in place; returns the log, and the arguments and the steps of warm-up of the first stage."""
    import torch

    from ..training.devices import is_bf16
    from .trainer import TranslationTrainer, TranslationTrainingArguments

    adadelta = settings.optimizer == "adadelta"
    # A share of all steps; the Trainer would read 1 as every single step.
    interval = min(1 / settings.evaluations, 1 - 1e-9)

    def stage(folder: Path, epochs: float, learning_rate: float) -> TranslationTrainer:
        arguments = run.arguments(
            TranslationTrainingArguments,
            output_dir=str(folder),
            num_train_epochs=epochs,
            per_device_train_batch_size=settings.batch_size,
            gradient_accumulation_steps=settings.gradient_accumulation_steps,
            learning_rate=learning_rate,
            lr_scheduler_type="constant" if adadelta else "cosine",
            warmup_steps=0 if adadelta else settings.warmup_steps,
            bf16=is_bf16(settings.precision, settings.device),
            eval_steps=interval,
            save_steps=interval,
        )
        optimizer = (torch.optim.Adadelta, {"lr": learning_rate, "rho": 0.95, "eps": 1e-6})
        trainer = TranslationTrainer(
            model,
            arguments,
            train_dataset=bitext,
            eval_dataset=dev,
            processing_class=tokenizer,
            optimizer_cls_and_kwargs=optimizer if adadelta else None,
        )
        run.train(trainer)
        return trainer

    first = stage(run.checkpoints, settings.epochs, settings.peak_learning_rate)
    log_history = list(first.state.log_history)
    if settings.freeze_embeddings_epochs:
        log("second stage: embeddings and output layer frozen")
        before = {name: value.detach().clone() for name, value in model.state_dict().items()}
        with _frozen_embeddings(model):
            second = stage(
                run.checkpoints / "frozen_embeddings", settings.freeze_embeddings_epochs, settings.second_learning_rate
            )
        log_history += _kept_if_better(model, before, log_history, second.state.log_history)
    return log_history, first.args, first.args.get_warmup_steps(first.state.max_steps)


@contextmanager
def _frozen_embeddings(model: Any) -> Iterator[None]:
    """Keeps both embedding matrices and the output layer as they are (Jean et al. 2015 §3.3)."""
    frozen = [model.encoder.embeddings, model.decoder.embeddings, model.lm_head]
    parameters = {id(parameter): parameter for module in frozen for parameter in module.parameters()}
    try:
        for parameter in parameters.values():
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in parameters.values():
            parameter.requires_grad_(True)


def _kept_if_better(
    model: PreTrainedModel,
    before: dict[str, Tensor],
    first: Sequence[dict[str, float]],
    second: Sequence[dict[str, float]],
) -> list[dict[str, float]]:
    """Restores the weights of before the second stage unless its dev BLEU is higher; returns its log."""
    best_before, best_now = (
        max((entry["eval_bleu"] for entry in entries if "eval_bleu" in entry), default=-math.inf)
        for entries in (first, second)
    )
    if best_now <= best_before:
        model.load_state_dict(before)
    offsets = {name: max((entry.get(name, 0.0) for entry in first), default=0.0) for name in ("step", "epoch")}
    return [
        {**entry, **{name: entry[name] + offsets[name] for name in offsets if name in entry}, "frozen_embeddings": 1}
        for entry in second
    ]


def _write(
    settings: TranslationTrainingSettings,
    run: TrainingRun,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    counts: dict[str, Any],
    used: dict[str, Any],
    log_history: list[dict[str, float]],
) -> None:
    """Writes the model with its record, in which the settings `used` stand as they were used, and its card."""
    import torch

    from ..training.callbacks import log_of_steps

    bleus = [(entry["eval_bleu"], entry["epoch"]) for entry in log_history if "eval_bleu" in entry]
    # Of equal ones the Trainer keeps the first.
    best_bleu, best_epoch = max(bleus, key=lambda item: item[0])
    # One entry a stage; a stage that was resumed counts from there.
    runtimes = {
        entry.get("frozen_embeddings", 0): entry["train_runtime"] for entry in log_history if "train_runtime" in entry
    }
    seconds = sum(runtimes.values())
    log(f"best dev BLEU (greedy) {best_bleu:.2f} at epoch {best_epoch:.2f}; {seconds / 60:.1f} minutes")
    config, generation = model.config, model.generation_config
    assert generation is not None
    generation.update(num_beams=5, max_length=256, length_penalty=1.0, early_stopping=False)
    with quiet_transformers():
        model.to(dtype=torch.float32).save_pretrained(run.folder)
        tokenizer.save_pretrained(run.folder)
    results = {"dev_bleu": best_bleu, "best_epoch": best_epoch, **counts, "train_seconds": seconds}
    results["log"] = log_of_steps(log_history)
    recorded = settings.record() | used
    initial = settings.initial_model
    if initial is not None:
        # What the run has from the model that it continued from.
        names = ("hidden_size", "embedding_size", "initialization", "share_embeddings", "lowercase", "vocab_size")
        recorded |= {name: getattr(config, name) for name in names}
        recorded["joint_vocabulary"] = not hasattr(tokenizer, "source_tokenizer")
    bitexts = " + ".join(to_path(folder).name for folder in settings.bitext)
    shown = {**recorded, "bitext": bitexts, "initial_model": to_path(initial).name if initial else None}
    measured = Measurement(
        task="translation",
        dataset=settings.bitext[0],
        split=settings.dev_split,
        metric="sacrebleu",
        value=best_bleu,
        name="BLEU (greedy, case-insensitive; it chose the checkpoint)",
        task_name="Translation",
    )
    run.write(
        results=results,
        template="rnn_search",
        card={"config": config, "settings": shown, "results": results},
        measurements=[measured],
        settings=recorded,
    )


def _new_model(
    settings: TranslationTrainingSettings, sources: Sequence[str], targets: Sequence[str], languages: tuple[str, str]
) -> tuple[Any, Any]:
    """Learns the units of a bitext and makes a model of random weights for them."""
    from ..models.configuration_rnn_search import RnnSearchConfig
    from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
    from ..tokenization.subword import train_bpe_tokenizer, train_separate_bpe_tokenizer

    tokenizer: Any
    if settings.joint_vocabulary:
        tokenizer = train_bpe_tokenizer([*sources, *targets], settings.vocab_size, lowercase=settings.lowercase)
    else:
        tokenizer = train_separate_bpe_tokenizer(sources, targets, settings.vocab_size, lowercase=settings.lowercase)
    config = RnnSearchConfig(
        vocab_size=len(tokenizer),
        source_vocab_size=None if settings.joint_vocabulary else tokenizer.source_vocab_size,
        hidden_size=settings.hidden_size,
        embedding_size=settings.embedding_size,
        dropout=settings.dropout,
        word_dropout=settings.word_dropout,
        label_smoothing=settings.label_smoothing,
        initialization=settings.initialization,
        share_embeddings=settings.share_embeddings,
        tie_word_embeddings=settings.share_embeddings,
        lowercase=settings.lowercase,
        source_lang=languages[0],
        target_lang=languages[1],
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
    )
    return RnnSearchForConditionalGeneration(config), tokenizer


def _initial_model(settings: TranslationTrainingSettings, folder: str, languages: tuple[str, str]) -> tuple[Any, Any]:
    """Opens the model to continue from, with the dropouts and the label smoothing of this run."""
    from ..artefacts.model_loading import check_model_type, load_model_folder
    from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration

    check_model_type(folder, ["rnn_search"], kind="translation model", verb="train-nmt")
    changed = {name: getattr(settings, name) for name in ("dropout", "word_dropout", "label_smoothing")}
    model, tokenizer = load_model_folder(folder, RnnSearchForConditionalGeneration, **changed)
    if (model.config.source_lang, model.config.target_lang) != languages:
        raise InputError(
            f"this model translates {model.config.source_lang}→{model.config.target_lang}, the bitext is "
            f"{'→'.join(languages)}",
            path=folder,
            remedy="give a model of the same two languages",
        )
    return model, tokenizer
