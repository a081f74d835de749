"""`train-supervised`: an encoder and labelled sentences to a classifier or scorer, trained end to end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_unfinished, staging_path
from ..artefacts.origins import languages_read
from ..artefacts.provenance import write_provenance
from ..errors import ModelError, UsageError
from ..messages import is_main_process, say
from ..settings import setting, settings_of
from ..training.checkpointed_run import (
    CHECKPOINTS,
    checkpointed_output,
    end_at_once,
    find_checkpoint,
    job_of,
    train_from,
)
from .arguments import parse
from .prepare_reports import check_license
from .supervised_tables import score_table

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ..studies.supervised.compact_vocabulary import CompactVocabulary
    from ..studies.supervised.sentence_classification import ClassifierInputs
    from ..studies.supervised.tasks import SupervisedData
    from ..studies.supervised.trainer import SupervisedTrainer

_TASKS = ("classification", "entailment", "similarity", "regression")


@dataclass
class Arguments:
    """Trains a head on an encoder, and the encoder with it, on classes or scores (paper 001, "Supervised Learning").

    The encoder is held close to its own parameters by --lambda-w and --lambda-c; with both 0 it is fine-tuned freely,
    with --freeze-encoder not at all, and --from-scratch starts from random parameters of the same architecture. The
    data has sentence1 and perhaps sentence2 (or text), and a column of classes or scores. The epoch is chosen on the
    dev part, by accuracy or Pearson's r.
    """

    model: str = setting("the folder of the pretrained encoder, of any type")
    data: str = setting("data folder, e.g. of prepare sick, transfer or stsbenchmark")
    output: str = setting("the model folder to make")
    task: str = setting(
        "classification (of sentences or pairs), entailment (classes of pairs), similarity (scores of pairs as a "
        "distribution over the whole numbers of a scale) or regression (scores, by squared error)",
        "classification",
        choices=list(_TASKS),
    )
    target_column: str | None = setting(
        "the column of classes or scores [default: label; entailment or label; score]", None
    )
    train_split: str = setting("the split to train on; a configuration's is called e.g. mr.train", "train")
    dev_split: str | None = setting(
        "the split to choose the epoch on [default: validation or dev if there and not the test split, else a share "
        "of the training split]",
        None,
    )
    test_split: str | None = setting("a split to report on; it chooses nothing", None)
    dev_share: float = setting("share of the training split to draw where there is no dev split", 0.1)
    test_share: float = setting("share of the training split to draw as test part; 0 for none", 0.0)
    split_seed: int = setting("seed of these draws, apart from --seed", 0)
    lowest_score: int = setting("the low end of the scale, for similarity", 1)
    highest_score: int = setting("the high end of the scale, for similarity", 5)
    from_scratch: bool = setting("start from random parameters instead of the encoder's", False)
    initial_vectors: str | None = setting(
        "with --from-scratch, word vectors to start from: GloVe or word2vec text, or a model folder", None
    )
    freeze_encoder: bool = setting("train the head alone", False)
    lambda_w: float = setting("weight of half the squared distance of the word vectors from their start", 0.0)
    lambda_c: float = setting("weight of half that of the encoder's other parameters", 0.0)
    lambda_head: float = setting("weight of half the squared norm of the head's matrices", 0.0)
    head_hidden_size: int = setting("units of the hidden layer for pairs", 50)
    ordered: bool = setting("let the head for pairs see which sentence is the first", False)
    dropout: float = setting("probability to drop a component of the sentence vector or a hidden unit", 0.0)
    epochs: int = setting("passes over the training part", 10)
    batch_size: int = setting("rows in a batch on each process", 25)
    learning_rate: float = setting("learning rate of Adam, constant", 1e-3)
    max_grad_norm: float = setting("clip the gradient's norm to this; 0 does not clip", 0.0)
    seed: int = setting("seed of the initial parameters, the order and dropout", 0)
    report_to: str = setting("where the Trainer logs to, e.g. tensorboard; none for nowhere", "none")
    license: str | None = setting(
        "the licence of the model for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]", None
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue a run that was interrupted, with the same result", False)


def main(argv: Sequence[str]) -> None:
    """Runs `train-supervised`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For missing or malformed data, an empty class, or a score off the scale.
        ModelError: If the encoder is none, or damaged.
        OutputError: If the output is in the way, or the unfinished run had other settings.
    """
    arguments = parse(Arguments, "train-supervised", argv)
    check(arguments)
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    if is_main_process():
        # Before the long work, because the staging folder itself refuses only after it.
        check_unfinished(output, overwrite=arguments.overwrite, resume=arguments.resume)
    settings = settings_of(arguments)
    if end_at_once(output, settings, lambda: job_of(settings, _sources(arguments))):
        return
    data = _data(arguments)
    model, tokenizer, coverage = _model(arguments, data)
    inputs = _inputs(data, tokenizer)

    from ..studies.supervised.compact_vocabulary import CompactVocabulary

    vocabulary = CompactVocabulary.of_inputs(model, list(inputs.values()))
    small = vocabulary.compacted(model)
    inputs = {part: vocabulary.inputs(item) for part, item in inputs.items()}
    if arguments.freeze_encoder:
        small.encoder.requires_grad_(False)
    if not is_main_process():
        _train(arguments, small, inputs, staging_path(output))
        return
    with checkpointed_output(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        trainer = _train(arguments, small, inputs, staging)
        vocabulary.restore(trainer.model, model)
        results = _write(arguments, data, trainer, model, tokenizer, inputs, vocabulary, coverage, staging)
    say(score_table({part: results[part] for part in ("test", "dev") if part in results}).rstrip())
    say(f"the model lies in {arguments.output}; apply it with")
    say(f"  hf-paraphrase predict --model {arguments.output} --data DIR --split SPLIT --output FILE.tsv")


def check(arguments: Arguments) -> None:
    """Refuses arguments that do not fit.

    Raises:
        UsageError: For a value out of range, and for one that another argument excludes.
    """
    check_license(arguments.license)
    for name in ("head_hidden_size", "epochs", "batch_size", "learning_rate"):
        if not getattr(arguments, name) > 0:
            raise UsageError(f"--{name.replace('_', '-')} must be above 0, not {getattr(arguments, name)}")
    for name in ("lambda_w", "lambda_c", "lambda_head", "max_grad_norm", "seed", "split_seed"):
        if not getattr(arguments, name) >= 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be negative, not {getattr(arguments, name)}")
    if not 0 <= arguments.dropout < 1:
        raise UsageError("--dropout must be at least 0 and below 1")
    if not 0 < arguments.dev_share < 1 or not 0 <= arguments.test_share < 1:
        raise UsageError("--dev-share and --test-share are shares of the training split, below 1")
    if arguments.dev_share + arguments.test_share >= 1:
        raise UsageError("--dev-share and --test-share leave nothing to train on")
    if arguments.test_split is not None and arguments.test_share:
        raise UsageError("give either --test-split or --test-share")
    named = [name for name in (arguments.train_split, arguments.dev_split, arguments.test_split) if name is not None]
    if len(set(named)) < len(named):
        raise UsageError("--train-split, --dev-split and --test-split must be different")
    if not arguments.highest_score > arguments.lowest_score:
        raise UsageError("--highest-score must be above --lowest-score")
    if arguments.initial_vectors is not None and not arguments.from_scratch:
        raise UsageError("--initial-vectors belongs to --from-scratch", remedy="the encoder has word vectors already")
    if arguments.freeze_encoder and (arguments.from_scratch or arguments.lambda_w or arguments.lambda_c):
        raise UsageError("--freeze-encoder excludes --from-scratch, --lambda-w and --lambda-c")
    if arguments.from_scratch and (arguments.lambda_c or (arguments.lambda_w and arguments.initial_vectors is None)):
        raise UsageError(
            "with --from-scratch there is nothing pretrained to stay close to",
            remedy="leave --lambda-c out, and --lambda-w unless --initial-vectors is given",
        )


def _data(arguments: Arguments) -> SupervisedData:
    from ..artefacts.card_heads import class_names
    from ..studies.supervised.tasks import TASKS, SplitRequest, read_supervised, target_column

    splits = SplitRequest(
        arguments.train_split,
        arguments.dev_split,
        arguments.test_split,
        arguments.dev_share,
        arguments.test_share,
        arguments.split_seed,
    )
    task = TASKS[arguments.task]
    column = target_column(arguments.data, arguments.train_split, task, arguments.target_column)
    data = read_supervised(
        arguments.data,
        task,
        splits,
        column=column,
        names=class_names(arguments.data, column, arguments.train_split),
        scale=(arguments.lowest_score, arguments.highest_score),
    )
    parts = ", ".join(f"{part} {len(rows):,} ({data.names[part]})" for part, rows in data.parts.items())
    say(f"{'pairs' if data.pairs else 'sentences'}: {parts}; targets in the column {data.column}")
    if data.left_out:
        say(f"{data.left_out:,} training rows left out: they are rows of the other parts too")
    for part, counts in data.counts().items():
        absent = [name for name, count in counts.items() if not count]
        if absent:
            say(f"the {part} part has no row of the class {', '.join(absent)}: it counts for the others alone")
    return data


def _model(arguments: Arguments, data: SupervisedData) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Any]:
    """Makes the classifier with the encoder's parameters, or random ones."""
    import numpy as np
    from transformers import set_seed

    from ..encoders.sentence_encoder import SentenceEncoder
    from ..models.configuration_sentence_classifier import SentenceClassifierConfig
    from ..models.modeling_sentence_classifier import SentenceClassifier
    from ..studies.supervised.tasks import TASKS, TRAIN

    opened = SentenceEncoder.from_pretrained(arguments.model)
    encoder: Any = opened.model
    if not hasattr(encoder, "embeddings"):
        raise ModelError(
            "an exported model cannot be trained", path=arguments.model, remedy="give the folder that it was made of"
        )
    coverage = None
    if arguments.from_scratch:
        set_seed(arguments.seed)
        encoder = type(encoder)(encoder.config)
        if arguments.initial_vectors is not None:
            coverage = _fill_vectors(arguments, encoder, opened, data.parts[TRAIN])
    objective = TASKS[arguments.task].objective
    scores = np.array(data.parts[TRAIN].targets if objective == "regression" else [0.0, 1.0], np.float64)
    labels = {"id2label": dict(enumerate(data.classes))} if data.classes else {}
    config = SentenceClassifierConfig(
        encoder.config.to_diff_dict(),
        pairs=data.pairs,
        objective=objective,
        head_hidden_size=arguments.head_hidden_size,
        ordered=arguments.ordered,
        lowest_score=arguments.lowest_score,
        highest_score=arguments.highest_score,
        score_mean=float(scores.mean()) if objective == "regression" else 0.0,
        score_deviation=float(scores.std()) if objective == "regression" else 1.0,
        dropout=arguments.dropout,
        **labels,
    )
    set_seed(arguments.seed)
    model = SentenceClassifier(config)
    model.encoder.load_state_dict(encoder.state_dict())
    return model, opened.tokenizer, coverage


def _fill_vectors(arguments: Arguments, encoder: Any, opened: Any, train: Any) -> Any:
    """Writes initial vectors into an encoder with random ones; returns how many of the words have one."""
    import numpy as np
    import torch

    from ..encoders.initial_vectors import check_coverage, read_initial_vectors, words_of_tokens
    from ..studies.supervised.sentence_classification import tokenize
    from ..training.word_vectors import initial_embeddings

    if encoder.config.model_type == "concatenation":
        raise UsageError("--initial-vectors do not fit an encoder of several vocabularies", remedy="leave it out")
    source = str(arguments.initial_vectors)
    words = words_of_tokens(opened.tokenizer)
    size = encoder.embeddings.shape[1]
    vectors = read_initial_vectors(source, [word for word in words if word is not None], first=0)
    if vectors.matrix.shape[1] != size:
        raise UsageError(
            f"the initial vectors have {vectors.matrix.shape[1]} components, the encoder's word vectors {size}",
            path=source,
        )
    sides = tokenize(opened.tokenizer, train.first, train.second)
    ids = np.concatenate([side.ids for side in (sides.first, sides.second) if side is not None])
    matrix, coverage = initial_embeddings(
        opened.tokenizer.convert_ids_to_tokens(range(len(words))),
        vectors,
        dimension=size,
        pad_id=opened.tokenizer.pad_token_id,
        unknown_id=opened.tokenizer.unk_token_id,
        counts=np.bincount(ids, minlength=len(words)),
        seed=arguments.seed,
        texts=words,
    )
    check_coverage(coverage, source)
    with torch.no_grad():
        encoder.embeddings[: len(matrix)].copy_(torch.from_numpy(matrix))
    say(f"initial vectors: {coverage}")
    return coverage


def _inputs(data: SupervisedData, tokenizer: PreTrainedTokenizerBase) -> dict[str, ClassifierInputs]:
    import numpy as np

    from ..studies.supervised.sentence_classification import tokenize
    from ..studies.supervised.tasks import class_numbers

    numbers = {name: place for place, name in enumerate(data.classes)}
    found = {}
    for part, rows in data.parts.items():
        found[part] = tokenize(tokenizer, rows.first, rows.second)
        found[part].targets = class_numbers(rows, numbers) if data.classes else np.array(rows.targets, np.float32)
    return found


def _train(
    arguments: Arguments, model: PreTrainedModel, inputs: dict[str, ClassifierInputs], staging: Path
) -> SupervisedTrainer:
    import torch
    from tqdm.auto import tqdm

    from ..studies.supervised.trainer import SupervisedTrainer, SupervisedTrainingArguments

    training_arguments = SupervisedTrainingArguments(
        output_dir=str(staging / CHECKPOINTS),
        num_train_epochs=float(arguments.epochs),
        per_device_train_batch_size=arguments.batch_size,
        learning_rate=arguments.learning_rate,
        max_grad_norm=arguments.max_grad_norm,
        lambda_w=arguments.lambda_w,
        lambda_c=arguments.lambda_c,
        lambda_head=arguments.lambda_head,
        seed=arguments.seed,
        report_to=arguments.report_to,
        use_cpu=not torch.accelerator.is_available(),
    )
    checkpoint = find_checkpoint(staging, settings_of(arguments), _sources(arguments))
    trainer = SupervisedTrainer(
        model,
        training_arguments,
        inputs["train"],
        inputs["dev"],
        report=lambda text: tqdm.write(text, file=sys.stderr),
    )
    train_from(trainer, checkpoint)
    return trainer


def _write(
    arguments: Arguments,
    data: SupervisedData,
    trainer: SupervisedTrainer,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    inputs: dict[str, ClassifierInputs],
    vocabulary: CompactVocabulary,
    coverage: Any,
    staging: Path,
) -> dict[str, Any]:
    from ..studies.supervised.scores import score_measurements
    from ..studies.supervised.tasks import TASKS, TRAIN
    from ..tokenization.word_level import save_tokenizer

    model.eval().save_pretrained(staging)
    save_tokenizer(tokenizer, staging)
    kept = trainer.best_scores()
    assert kept is not None
    measured = {part: vars(trainer.measure(item)) for part, item in inputs.items() if part != TRAIN}
    results: dict[str, Any] = {
        **measured,
        "best_epoch": kept["epoch"],
        "epochs": trainer.scores(),
        "rows": {part: len(rows) for part, rows in data.parts.items()},
        "classes": data.counts(),
        "training_rows_left_out": data.left_out,
        "coverage": None if coverage is None else vars(coverage),
        "tokens_in_use": len(vocabulary.rows),
        "parameters": sum(item.numel() for item in model.parameters()),
    }
    settings = settings_of(arguments)
    write_provenance(
        staging, command="train-supervised", settings=settings, inputs=_sources(arguments), results=results
    )
    vectors = "random" if arguments.initial_vectors is None else Path(arguments.initial_vectors).name
    write_card(
        staging,
        "model_cards",
        "sentence_classifier",
        {
            **settings,
            **results,
            "name": Path(arguments.output).name,
            "languages": languages_read(arguments.data, english=False),
            "encoder_name": Path(arguments.model).resolve().name,
            "encoder_type": model.encoder.config.model_type,
            "data_name": Path(arguments.data).resolve().name,
            "description": TASKS[arguments.task].description,
            "objective": model.config.objective,
            "pairs": data.pairs,
            "parts": data.names,
            "class_names": data.classes,
            "column": data.column,
            "start": f"random, word vectors: {vectors}" if arguments.from_scratch else "the pretrained encoder's",
            "table": score_table({part: results[part] for part in ("test", "dev") if part in results}),
            "has_test": "test" in results,
        },
        [
            *score_measurements(results.get("test", {}), arguments.data, arguments.test_split or "test"),
            *score_measurements(
                results.get("dev", {}), arguments.data, arguments.dev_split or "dev", "; it chose the epoch"
            ),
        ],
    )
    return results


def _sources(arguments: Arguments) -> list[str]:
    vectors = [] if arguments.initial_vectors is None else [arguments.initial_vectors]
    return [arguments.model, arguments.data, *vectors]
