"""The command `train-encoder`: trains a sentence encoder on paraphrase pairs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.fsspec_path import to_path
from ..artefacts.hub_models import model_folder
from ..artefacts.provenance import inherited_metadata, languages_read, read_provenance
from ..data.sentences import naming
from ..messages import log
from ..registry import ENCODERS, LOSSES
from ..settings import recipe
from ..training.run import TrainingRun
from .architectures import list_option_names
from .train_settings import EncoderSettings, LossSettings, VocabularySettings

if TYPE_CHECKING:
    from ..data.pair_rows import PairSource
    from ..training.word_vectors import Coverage
    from .encoded_pairs import EncodedPairs
    from .sentence_encoder import SentenceEncoder
    from .trainer import EncoderTrainer, Evaluator


@recipe(EncoderSettings)
def train_encoder(settings: EncoderSettings) -> SentenceEncoder:
    """Train a sentence encoder on pairs (Wieting et al. 2017, section 4.2) and write its folder, with card and record.

    Pairs and dev data may be a `Dataset`, and encoders a :class:`~.sentence_encoder.SentenceEncoder`, instead of a
    folder or name. The `results` of the encoder, as in `provenance.json`, contain its dev scores.
    """
    start = (settings.initial_model, settings.tokenizer, settings.word_list, settings.initial_vectors)
    given = (settings.pairs, settings.hard_negatives, *start, settings.dev_data)
    inputs = [source for source in given if source is not None]
    with TrainingRun(settings, command="train-encoder", inputs=inputs) as run:
        if not run.is_finished:
            _train(settings, run)
    return open_finished_encoder(settings.output)


def open_finished_encoder(output: str) -> SentenceEncoder:
    """Open a trained encoder, with the `results` of its record."""
    from .sentence_encoder import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(output)
    encoder.results = read_provenance(Path(output)).get("results", {})
    return encoder


def make_dev_evaluator(dev_data: str | None) -> Evaluator | None:
    """Return the function that scores an encoder on a dev set."""
    if dev_data is None:
        log("no --dev-data: the last epoch will be kept")
        return None
    from .dev_sets.scorer import dev_scorer

    score = dev_scorer(Path(dev_data))
    return lambda encoder: score(encoder.encode)


def make_trainer_arguments(settings: EncoderSettings) -> dict[str, Any]:
    """Return the arguments of the Trainer: the loss, batches, learning rate and intervals."""
    is_warm = settings.lr_scheduler == "constant" and settings.warmup > 0
    arguments = {
        **{name: getattr(settings, name) for name in list_option_names(LossSettings)},
        "num_train_epochs": settings.epochs or 0.0,
        "per_device_train_batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate or 0.0,
        "max_grad_norm": settings.max_grad_norm,
        "gradient_accumulation_steps": settings.gradient_accumulation_steps,
        "bf16": settings.precision == "bf16",
        "lr_scheduler_type": "constant_with_warmup" if is_warm else settings.lr_scheduler,
        "warmup_steps": settings.warmup,
        "weight_decay": settings.weight_decay,
    }
    if settings.logging_steps is not None:
        arguments |= {"logging_strategy": "steps", "logging_steps": settings.logging_steps}
    if (steps := settings.eval_steps) is not None:
        arguments |= {"eval_strategy": "steps", "save_strategy": "steps", "eval_steps": steps, "save_steps": steps}
    return arguments


def _train(settings: EncoderSettings, run: TrainingRun) -> None:
    import numpy as np
    from transformers import EarlyStoppingCallback

    from .encoder_vocabulary import prepare_encoder, stream_sentences
    from .trainer import EncoderTrainer, EncoderTrainingArguments

    evaluator = make_dev_evaluator(settings.dev_data)
    sample: dict[str, Any] = {"max_pairs": settings.max_pairs, "seed": settings.seed}
    with naming(settings.pairs):
        encoder, pairs, coverage = prepare_encoder(
            settings,
            partial(stream_sentences, settings.pairs, **sample),
            partial(_encode_pairs, settings),
        )
    log(f"{settings.model_type}: {len(pairs)} pairs, {describe_size(encoder.model, coverage)}")
    # If all pairs have the sentences of the first pair, no sentence can be a negative.
    if pairs.labels is None and pairs.negatives is None and np.isin(pairs.keys, pairs.keys[:2]).all():
        what = "a single pair has" if len(pairs) == 1 else f"all {len(pairs)} pairs are the same and have"
        log(f"{what} no negatives: nothing will be learned")
    callbacks, stopping = [], {}
    if settings.patience is not None:
        callbacks = [EarlyStoppingCallback(settings.patience)]
        # Early stopping depends on the scores before a resume.
        stopping = {"restore_callback_states_from_checkpoint": True}
    arguments = run.arguments(EncoderTrainingArguments, **make_trainer_arguments(settings), **stopping)
    trainer = EncoderTrainer(encoder, arguments, pairs, evaluator=evaluator, callbacks=callbacks, report=show_line)
    run.train(trainer)
    if run.writes:
        _write(settings, run, trainer, pairs, coverage)


def _encode_pairs(settings: EncoderSettings, tokenizer: Any) -> EncodedPairs:
    """Tokenize the pairs with a tokenizer, or as an encoder does."""
    from .encoded_pairs import encode_pairs
    from .losses import LABELS, loss_requires
    from .negatives import mine_hard_negatives

    sample: dict[str, Any] = {"max_pairs": settings.max_pairs, "seed": settings.seed}
    source: PairSource = settings.pairs
    if settings.hard_negatives is not None:
        source = mine_hard_negatives(settings.pairs, settings.hard_negatives, **sample)
    labelled = loss_requires(LOSSES[settings.loss], LABELS)
    labels: dict[str, Any] = {"labelled": labelled, "positive_label": settings.positive_label}
    pairs = encode_pairs(source, tokenizer, **labels, scratch=find_scratch_folder(settings.output), **sample)
    if pairs.dropped:
        log(f"{pairs.dropped} pairs with an empty sentence left out")
    if pairs.not_paraphrases:
        log(f"{pairs.not_paraphrases} pairs labelled 0 (no paraphrases) left out")
    return pairs


def find_scratch_folder(output: str | Path) -> Path:
    """Return the nearest existing folder above an output, whose disk has space for large files."""
    return next(folder for folder in Path(output).absolute().parents if folder.is_dir())


def show_line(text: str) -> None:
    """Show a line above a progress bar."""
    from tqdm.auto import tqdm

    tqdm.write(text, file=sys.stderr)


def describe_size(model: Any, coverage: Coverage | None) -> str:
    """Describe the vectors of an encoder, and the coverage of its initial vectors."""
    described = f"{model.config.vocab_size:,} token vectors of {_count_components(model)} components"
    return described if coverage is None else f"{described}; {coverage}"


def _write(
    settings: EncoderSettings,
    run: TrainingRun,
    trainer: EncoderTrainer,
    pairs: EncodedPairs,
    coverage: Coverage | None,
) -> None:
    from ..data.pair_rows import PairRows
    from .losses import describe_loss
    from .model_folder import find_card_name

    bitext = "source" in PairRows(settings.pairs).sides
    results = {
        "pairs": len(pairs),
        "pairs_dropped": pairs.dropped,
        "pairs_not_paraphrases": pairs.not_paraphrases,
    }
    start = settings.initial_vectors
    card = {
        "languages": _find_languages(settings, bitext),
        "bitext": bitext,
        "pairs_name": to_path(settings.pairs).name,
        "epochs": f"{trainer.args.num_train_epochs:g}",
        "initial_vectors": "random" if start is None else f"{to_path(start).name} ({coverage})",
        "initial_model": None if settings.initial_model is None else find_card_name(settings.initial_model),
        "optimizer": "Adam over the rows of a batch" if trainer.sparse_gradients else "Adam",
        **describe_loss(trainer.loss),
    }
    write_encoder(settings, run, trainer, coverage, template="encoder", results=results, card=card)


def _find_languages(settings: EncoderSettings, bitext: bool) -> list[str]:
    """Return the languages of the pairs, or else the languages of the initial model."""
    if settings.initial_model is None:
        return languages_read(settings.pairs, english=settings.split_contractions and not bitext)
    before = inherited_metadata(model_folder(settings.initial_model, any_type=True))["language"]
    return languages_read(settings.pairs, english=before == ["en"] and not bitext) or before


def write_encoder(
    settings: Any,
    run: TrainingRun,
    trainer: EncoderTrainer,
    coverage: Coverage | None,
    *,
    template: str,
    results: Mapping[str, Any],
    card: Mapping[str, Any],
) -> None:
    """Write a trained encoder with its card and record, and log its score and how to open it."""
    from .model_folder import collect_card_values, count_sizes, describe_dev_score, inherit_card_values

    model, scores, kept = trainer.model, trainer.scores(), trainer.best_scores()
    untrained = next((entry["dev_mean"] for entry in scores if entry["step"] == 0), None)
    results = {
        "dev_untrained": untrained,
        "dev_best": None if kept is None else kept["dev_mean"],
        "best_epoch": None if kept is None else kept["epoch"],
        "steps": trainer.state.global_step,
        "dev_scores": scores,
        "coverage": None if coverage is None else dataclasses.asdict(coverage),
        **count_sizes(model),
        **results,
    }
    card = {
        "skip_unknown": False,
        **collect_card_values(model, Path(settings.output).name),
        **inherit_card_values(settings.license, settings.initial_model, settings.initial_vectors),
        "kind": settings.model_type if settings.model_type in ENCODERS else "transformer",
        "token_size": _count_components(model),
        "kept_step": None if kept is None else kept["step"],
        **card,
    }
    record = settings.record()
    if settings.initial_model is not None:
        # The options come from the initial model; the settings of its tokenizer are unknown.
        names = [name for name in ("hidden_size", *settings.kind.options) if hasattr(model.config, name)]
        record |= dict.fromkeys(list_option_names(VocabularySettings))
        record |= {name: getattr(model.config, name) for name in names}
    trainer.write_model(run.folder)
    measured = describe_dev_score(settings.dev_data, results.get("dev_finished", results["dev_best"]), scores)
    run.write(results=results, template=template, card=card, measurements=[measured], settings=record)
    if kept is not None:
        log(f"kept: epoch {kept['epoch']:g} with a dev score of {kept['dev_mean']:.2f}")
    log(f"encoder saved to {settings.output}. Use it with:")
    log(f"  hf-paraphrase encode --model {settings.output} --input FILE --output FILE.npy")
    log(f"  SentenceEncoder.from_pretrained({settings.output!r})  # from hf_paraphrase import SentenceEncoder")


def _count_components(model: Any) -> int:
    embeddings: Any = getattr(model, "embeddings", None)
    return int(model.config.hidden_size if not hasattr(embeddings, "size") else embeddings.size(1))
