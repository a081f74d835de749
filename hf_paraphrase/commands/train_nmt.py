"""`train-nmt`: trains an RNNsearch translation model on a bitext."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_same_job, check_unfinished, staging_path
from ..artefacts.measurements import Measurement
from ..artefacts.provenance import fingerprint, write_provenance
from ..data.parquet import read_schema, read_table, split_names
from ..errors import InputError, UsageError
from ..messages import is_main_process, say
from ..settings import setting, settings_of
from ..training.checkpointed_run import CHECKPOINTS, checkpointed_output, end_at_once, shared_by
from .arguments import parse
from .prepare_reports import check_license
from .train_nmt_model import check_initial_model, initial_model, new_model, taken_over

_POSITIVE = (
    "vocab_size",
    "hidden_size",
    "embedding_size",
    "epochs",
    "batch_size",
    "gradient_accumulation_steps",
    "learning_rate",
    "evaluations",
    "max_words",
    "max_units",
    "max_dev_pairs",
    "freeze_embeddings_learning_rate",
)
_RECORD = f"{CHECKPOINTS}/job.json"
_FREE_ON_RESUME = {"bitext", "output", "overwrite", "resume", "report_to", "license"}


@dataclasses.dataclass
class Arguments:
    """Train an RNNsearch model (GRU encoder-decoder with attention, paper 000 §3) from source to target language."""

    bitext: list[str] = setting(
        "data folders with the columns source and target, from `prepare bitext`; several are mixed, one that is named "
        "twice counts twice, and the dev set is that of the first"
    )
    output: str = setting("folder for the finished model; it appears whole at the end")
    initial_model: str | None = setting(
        "a translation model to go on from: its weights and its tokenizer are taken, and with them vocabulary, casing "
        "and sizes, whatever the flags say",
        None,
    )
    vocab_size: int = setting(
        "number of BPE units, joint or of each side", 8_000, names=["--vocabulary-size", "--vocab-size"]
    )
    joint_vocabulary: bool = setting(
        "learn one set of BPE units for both sides, or one for each (which needs --no-share-embeddings)", True
    )
    lowercase: bool = setting("lower-case both sides", True, names=["--lower-case", "--lowercase"])
    hidden_size: int = setting("size of the GRU states (paper: 1000)", 512)
    embedding_size: int = setting("size of the word embeddings (paper: 620)", 320)
    dropout: float = setting("dropout rate on embeddings, annotations and readout (paper: 0)", 0.3)
    word_dropout: float = setting("share of whole word embeddings left out while training (paper: 0)", 0.0)
    bpe_dropout: float = setting(
        "share of the BPE merges left out at random, so that every epoch cuts words anew (Provilkov et al. 2020, who "
        "take 0.1; paper: 0)",
        0.0,
    )
    label_smoothing: float = setting("probability mass spread over the vocabulary in the loss (paper: 0)", 0.1)
    initialization: str = setting(
        "initial weights: the paper's small normal ones (reference), or Glorot's, which learn faster",
        "xavier",
        choices=["reference", "xavier"],
    )
    share_embeddings: bool = setting("one matrix for source, target and output embeddings (paper: false)", True)
    epochs: float = setting("passes over the training pairs", 20.0)
    batch_size: int = setting("sentence pairs per mini-batch and process", 80)
    gradient_accumulation_steps: int = setting("mini-batches per update", 1)
    optimizer: str = setting(
        "Adam with warm-up and cosine decay, or the paper's Adadelta (ρ 0.95, ε 1e-6) with a constant rate; the loss "
        "is the mean over target units and its gradient's norm is clipped to 1",
        "adam",
        choices=["adam", "adadelta"],
    )
    learning_rate: float | None = setting(
        "peak learning rate of Adam, or constant factor of Adadelta's steps; 0.001 and 1 if not given", None
    )
    warmup_steps: int = setting("steps of linear warm-up before the cosine decay to zero (Adam)", 400)
    freeze_embeddings_epochs: float = setting(
        "epochs of a second stage in which both embeddings and the output layer are frozen; kept if dev BLEU rises",
        0.0,
    )
    freeze_embeddings_learning_rate: float | None = setting(
        "learning rate of that stage; a tenth of the first one's for Adam and the same for Adadelta if not given", None
    )
    average_checkpoints: int = setting(
        "measure the mean of the weights of the last so many checkpoints as well, and keep it if it is the best", 0
    )
    evaluations: int = setting("how often to measure dev BLEU (greedy) and write a checkpoint", 20)
    max_words: int = setting("pairs with a longer side are left out, in words", 80)
    max_units: int | None = setting("pairs with a longer side are left out, in BPE units (paper: 50)", None)
    dev_split: str = setting("split for choosing the checkpoint", "validation")
    max_dev_pairs: int = setting("dev pairs used during training", 1_000)
    precision: str = setting(
        "arithmetic of the matrix products: auto takes bf16 where the hardware has it",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )
    seed: int = setting("seed of initialisation, order and dropout", 0)
    report_to: str = setting("logging integration, e.g. tensorboard or wandb", "none")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]", None
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)
    resume: bool = setting("continue the unfinished run for this output", False)


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    arguments = parse(Arguments, "train-nmt", argv)
    _check(arguments)
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    if is_main_process():
        # Another run may be about to move what is looked at here.
        check_unfinished(output, overwrite=arguments.overwrite, resume=arguments.resume)
    if end_at_once(output, settings_of(arguments), lambda: _job(arguments), record=_RECORD):
        return
    if not is_main_process():
        train(arguments, staging_path(output))
        return
    with checkpointed_output(
        arguments.output, overwrite=arguments.overwrite, resume=arguments.resume, record=_RECORD
    ) as staging:
        train(arguments, staging)
    say(f"translation model: {arguments.output}")
    say(f"load it: AutoModelForSeq2SeqLM.from_pretrained({arguments.output!r}) after `import hf_paraphrase`")


def _check(arguments: Arguments) -> None:
    check_license(arguments.license)
    for name in _POSITIVE:
        if getattr(arguments, name) is not None and not getattr(arguments, name) > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, not {getattr(arguments, name)}")
    if arguments.hidden_size % 2:
        raise UsageError(f"--hidden-size {arguments.hidden_size} must be even: the readout is halved by maxout")
    if arguments.warmup_steps < 0:
        raise UsageError(f"--warmup-steps must not be below 0, but is {arguments.warmup_steps}")
    for name in ("freeze_embeddings_epochs", "average_checkpoints"):
        if not getattr(arguments, name) >= 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be below 0, but is {getattr(arguments, name)}")
    if arguments.freeze_embeddings_learning_rate is not None and not arguments.freeze_embeddings_epochs:
        raise UsageError(
            "--freeze-embeddings-learning-rate is that of a second stage, which has no epochs",
            remedy="give --freeze-embeddings-epochs as well",
        )
    if not arguments.joint_vocabulary and arguments.share_embeddings:
        raise UsageError(
            "sides with units of their own cannot share embeddings", remedy="give --no-share-embeddings as well"
        )
    for name in ("dropout", "word_dropout", "bpe_dropout", "label_smoothing"):
        if not 0 <= getattr(arguments, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be from 0 to below 1, not {getattr(arguments, name)}")
    if arguments.report_to != "none":
        from transformers.integrations import get_available_reporting_integrations

        available = get_available_reporting_integrations()
        if arguments.report_to not in available:
            raise UsageError(
                f"--report-to {arguments.report_to} is not installed",
                remedy=f"here there {'is' if len(available) == 1 else 'are'} {', '.join(['none', *available])}",
            )


def _job(arguments: Arguments) -> dict[str, Any]:
    """Returns what must be the same for a run to be continued."""
    settings = {name: value for name, value in settings_of(arguments).items() if name not in _FREE_ON_RESUME}
    inputs: dict[str, Any] = {"bitext": [fingerprint(folder) for folder in arguments.bitext]}
    if arguments.initial_model is not None:
        inputs["initial_model"] = fingerprint(arguments.initial_model)
    return {**settings, **inputs, **shared_by()}


def _read(folder: str, split: str) -> pa.Table:
    """Reads a split of a bitext.

    Raises:
        InputError: If the folder, the split or a column is missing.
    """
    splits = split_names(folder)
    if not {"source", "target"} <= set(read_schema(folder, splits[0]).names):
        raise InputError(
            "no bitext: it lacks the columns source and target",
            path=folder,
            remedy="give a folder that hf-paraphrase prepare bitext made",
        )
    if split not in splits:
        remedy = "it needs a split `train`"
        if split != "train":
            remedy = "prepare bitext --validation-size N makes one, or name another with --dev-split"
        raise InputError(f"no split `{split}`", path=folder, remedy=remedy)
    return read_table(folder, split, ["source", "target", "source_lang", "target_lang"])


def _languages(folders: dict[str, pa.Table]) -> tuple[str, str]:
    """Returns the languages of the sides, which must be those of all folders.

    Raises:
        InputError: If a folder has no training pairs, or other languages than the first.
    """
    found: dict[str, tuple[str, str]] = {}
    for folder, table in folders.items():
        if not table.num_rows:
            raise InputError("no training pairs", path=folder)
        found[folder] = (table["source_lang"][0].as_py(), table["target_lang"][0].as_py())
    first = next(iter(found.values()))
    for folder, languages in found.items():
        if languages != first:
            raise InputError(
                f"this bitext is {'→'.join(languages)}, the first one {'→'.join(first)}",
                path=folder,
                remedy="mix bitext of the same two languages",
            )
    return first


def train(arguments: Arguments, folder: Path) -> None:
    """Trains a model into `folder`, whose subfolder `checkpoints` is the caller's to remove.

    Several processes share the mini-batches; the first one alone writes.

    Raises:
        InputError: If the bitext lacks columns or splits, or nothing in it can be trained on.
        OutputError: If the run to be continued had other settings.
    """
    dev_table = _read(arguments.bitext[0], arguments.dev_split).slice(0, arguments.max_dev_pairs)
    folders = {folder: _read(folder, "train") for folder in dict.fromkeys(arguments.bitext)}
    languages = _languages(folders)
    if arguments.initial_model is not None:
        check_initial_model(arguments.initial_model, languages)
    train_table = pa.concat_tables([folders[folder] for folder in arguments.bitext])

    import torch
    from transformers import set_seed

    from ..translation.batching import tokenize_bitext
    from ..translation.loading import check_finite
    from ..translation.memory import keep_freed_memory
    from ..translation.preprocessing import trainable_rows
    from ..translation.trainer import (
        LEARNING_RATES,
        bf16_is_fast,
        train_translation_model,
        train_with_frozen_embeddings,
    )

    sources, targets, left_out = trainable_rows(train_table, max_words=arguments.max_words)
    dev_sources, dev_references, _ = trainable_rows(dev_table, max_words=10_000)
    checkpoints = folder / CHECKPOINTS
    if is_main_process():
        check_same_job(folder / _RECORD, _job(arguments))
    say(f"{len(sources):,} training pairs ({left_out:,} empty or too long), {len(dev_sources):,} dev pairs")
    set_seed(arguments.seed)
    keep_freed_memory()
    if arguments.initial_model is None:
        model, tokenizer = new_model(arguments, sources, targets, languages)
    else:
        model, tokenizer = initial_model(arguments.initial_model, arguments)
    config = model.config
    bitext = tokenize_bitext(
        tokenizer,
        sources,
        targets,
        max_units=arguments.max_units,
        bpe_dropout=arguments.bpe_dropout,
        seed=arguments.seed,
    )
    if len(bitext) < len(sources):
        say(f"{len(sources) - len(bitext):,} pairs have more than {arguments.max_units} units and are left out")
        left_out += len(sources) - len(bitext)
    say(f"RNNsearch {languages[0]}→{languages[1]}: {model.num_parameters():,} parameters, {len(tokenizer):,} units")
    bf16 = arguments.precision == "bf16" or (arguments.precision == "auto" and bf16_is_fast())
    common: dict[str, Any] = {
        "batch_size": arguments.batch_size,
        "optimizer": arguments.optimizer,
        "evaluations": arguments.evaluations,
        "warmup_steps": arguments.warmup_steps,
        "seed": arguments.seed,
        "bf16": bf16,
        "gradient_accumulation_steps": arguments.gradient_accumulation_steps,
        "resume": arguments.resume,
        "averaged": arguments.average_checkpoints,
        "report_to": arguments.report_to,
    }
    dev = (dev_sources, dev_references)
    learning_rate = arguments.learning_rate or LEARNING_RATES[arguments.optimizer]
    # The Trainer prints its log to standard output, which is for data.
    with contextlib.redirect_stdout(sys.stderr):
        log = train_translation_model(
            model,
            tokenizer,
            bitext,
            dev,
            checkpoints,
            epochs=arguments.epochs,
            learning_rate=learning_rate,
            **common,
        )
        if arguments.freeze_embeddings_epochs:
            say("second stage: embeddings and output layer frozen")
            rate = arguments.freeze_embeddings_learning_rate
            log += train_with_frozen_embeddings(
                model,
                tokenizer,
                bitext,
                dev,
                checkpoints / "frozen_embeddings",
                first_log=log,
                epochs=arguments.freeze_embeddings_epochs,
                learning_rate=rate or (learning_rate if arguments.optimizer == "adadelta" else learning_rate / 10),
                **common,
            )
    check_finite(model)
    if not is_main_process():
        return
    bleus = [(entry["eval_bleu"], entry["epoch"]) for entry in log if "eval_bleu" in entry]
    # Of equal ones the Trainer keeps the first.
    best_bleu, best_epoch = max(bleus, key=lambda item: item[0])
    # One entry a stage; a stage that was resumed counts from there.
    runtimes = {entry.get("frozen_embeddings", 0): entry["train_runtime"] for entry in log if "train_runtime" in entry}
    seconds = sum(runtimes.values())
    say(f"best dev BLEU (greedy) {best_bleu:.2f} at epoch {best_epoch:.2f}; {seconds / 60:.1f} minutes")

    model.generation_config.update(num_beams=5, max_length=256, length_penalty=1.0, early_stopping=False)
    model.to(torch.float32).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    results: dict[str, Any] = {
        "dev_bleu": best_bleu,
        "best_epoch": best_epoch,
        "training_pairs": len(bitext),
        "pairs_left_out": left_out,
        "train_seconds": seconds,
        "bf16": bf16,
        "log": log,
    }
    settings = {name: value for name, value in settings_of(arguments).items() if name not in {"resume", "overwrite"}}
    settings["learning_rate"] = learning_rate
    inputs = list(dict.fromkeys(arguments.bitext))
    if arguments.initial_model is not None:
        settings.update(taken_over(config, tokenizer))
        inputs.append(arguments.initial_model)
    write_provenance(folder, command="train-nmt", settings=settings, inputs=inputs, results=results)
    names = " + ".join(Path(folder).name for folder in arguments.bitext)
    values = {
        "config": config,
        "settings": {
            **settings,
            "bitext": names,
            "initial_model": Path(arguments.initial_model).name if arguments.initial_model else None,
        },
        "results": results,
        "name": Path(arguments.output).name,
    }
    measured = Measurement(
        task="translation",
        dataset=arguments.bitext[0],
        split=arguments.dev_split,
        metric="sacrebleu",
        value=results["dev_bleu"],
        name="BLEU (greedy, case-insensitive; it chose the checkpoint)",
        task_name="Translation",
    )
    write_card(folder, "model_cards", "rnn_search", values, [measured])
