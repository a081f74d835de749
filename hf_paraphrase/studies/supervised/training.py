"""The recipe of the verb `train-supervised`: an encoder and labelled sentences in, a classifier or scorer out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...artefacts.card_heads import class_names
from ...artefacts.files import quiet_transformers
from ...artefacts.provenance import languages_read
from ...artefacts.remote_paths import to_path
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import ModelError, UsageError
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...tokenization.word_level import save_tokenizer
from ...training.run import TrainingRun, TrainingRunSettings
from .scores import score_measurements, score_table
from .tasks import TASKS, TRAIN, SplitRequest, class_numbers, read_supervised, target_column

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from .compact_vocabulary import CompactVocabulary
    from .sentence_classification import ClassifierInputs, SentenceJudge
    from .tasks import SupervisedData
    from .trainer import SupervisedTrainer

_TASKS = ("classification", "entailment", "similarity", "regression")
_LONGEST_SCALE = 1_000
"""Numbers of a scale; the head has an output for each."""


@dataclass(kw_only=True)
class SupervisedSettings(TrainingRunSettings):
    """Trains a head on an encoder, and the encoder with it, on classes or scores (paper 001, "Supervised Learning").

    The encoder is held close to its own parameters by --lambda-w and --lambda-c; with both 0 it is fine-tuned freely,
    with --freeze-encoder not at all, and --from-scratch starts from random parameters of the same architecture. The
    data has sentence1 and perhaps sentence2 (or text), and a column of classes or scores. The epoch is chosen on the
    dev part, by accuracy or Pearson's r.
    """

    model: str = setting("the folder of the pretrained encoder, of any type", path=True)
    data: str = setting("data folder, e.g. of prepare sick, transfer or stsbenchmark", path=True)
    task: str = setting(
        "classification (of sentences or pairs), entailment (classes of pairs), similarity (scores of pairs as a "
        "distribution over the whole numbers of a scale) or regression (scores, by squared error)",
        "classification",
        choices=_TASKS,
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
    test_split: str | None = setting("a split to report on; it chooses nothing", None, excludes="test_share")
    dev_share: float = setting(
        "share of the training split to draw where there is no dev split", 0.1, above=0, below=1
    )
    test_share: float = setting(
        "share of the training split to draw as test part; 0 for none", 0.0, at_least=0, below=1
    )
    split_seed: int = seed_setting("seed of these draws, apart from --seed")
    lowest_score: int = setting("the low end of the scale, for similarity", 1, at_least=-1_000_000, at_most=1_000_000)
    highest_score: int = setting(
        "the high end of the scale, for similarity", 5, at_least=-1_000_000, at_most=1_000_000
    )
    from_scratch: bool = setting("start from random parameters instead of the encoder's", False)
    initial_vectors: str | None = setting(
        "with --from-scratch, word vectors to start from: GloVe or word2vec text, or a model folder",
        None,
        only_with="from_scratch",
        path=True,
    )
    freeze_encoder: bool = setting("train the head alone", False, excludes=("from_scratch", "lambda_w", "lambda_c"))
    lambda_w: float = setting(
        "weight of half the squared distance of the word vectors from their start", 0.0, at_least=0
    )
    lambda_c: float = setting("weight of half that of the encoder's other parameters", 0.0, at_least=0)
    lambda_head: float = setting("weight of half the squared norm of the head's matrices", 0.0, at_least=0)
    head_hidden_size: int = setting("units of the hidden layer for pairs", 50, above=0)
    ordered: bool = setting("let the head for pairs see which sentence is the first", False)
    dropout: float = setting(
        "probability to drop a component of the sentence vector or a hidden unit", 0.0, at_least=0, below=1
    )
    epochs: int = setting("passes over the training part", 10, above=0)
    batch_size: int = setting("rows in a batch on each process", 25, above=0)
    learning_rate: float = setting("learning rate of Adam, constant", 1e-3, above=0)
    max_grad_norm: float = setting("clip the gradient's norm to this; 0 does not clip", 0.0, at_least=0)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.dev_share + self.test_share >= 1:
            raise UsageError("--dev-share and --test-share leave nothing to train on")
        named = [name for name in (self.train_split, self.dev_split, self.test_split) if name is not None]
        if len(set(named)) < len(named):
            raise UsageError("--train-split, --dev-split and --test-split must be different")
        if not self.highest_score > self.lowest_score:
            raise UsageError("--highest-score must be above --lowest-score")
        if self.highest_score - self.lowest_score >= _LONGEST_SCALE:
            raise UsageError(
                f"--lowest-score and --highest-score are a scale of more than {_LONGEST_SCALE:,} numbers",
                remedy="for scores of any size take --task regression, without these flags",
            )
        if self.from_scratch and (self.lambda_c or (self.lambda_w and self.initial_vectors is None)):
            raise UsageError(
                "with --from-scratch there is nothing pretrained to stay close to",
                remedy="leave --lambda-c out, and --lambda-w unless --initial-vectors is given",
            )


@recipe(SupervisedSettings)
def train_supervised(settings: SupervisedSettings) -> SentenceJudge:
    """Trains a head on an encoder, and the encoder with it, on classes or scores (paper 001, "Supervised Learning").

    Returns:
        What was trained, with its tokenizer.
    """
    vectors = [] if settings.initial_vectors is None else [settings.initial_vectors]
    with TrainingRun(settings, command="train-supervised", inputs=[settings.model, settings.data, *vectors]) as run:
        if not run.is_finished:
            _train(settings, run)
    from .sentence_classification import SentenceJudge

    return SentenceJudge.from_pretrained(settings.output)


def _train(settings: SupervisedSettings, run: TrainingRun) -> None:
    from .compact_vocabulary import CompactVocabulary

    data = _data(settings)
    model, tokenizer, coverage = _model(settings, data)
    inputs = _inputs(data, tokenizer)
    vocabulary = CompactVocabulary.of_inputs(model, list(inputs.values()))
    small = vocabulary.compacted(model)
    inputs = {part: vocabulary.inputs(item) for part, item in inputs.items()}
    if settings.freeze_encoder:
        small.encoder.requires_grad_(False)
    trainer = _trainer(settings, small, inputs, run)
    run.train(trainer)
    if not run.writes:
        return
    vocabulary.restore(trainer.model, model)
    results = _results(data, trainer, model, inputs, vocabulary, coverage)
    _write(settings, data, model, tokenizer, results, run)
    log(score_table({part: results[part] for part in ("test", "dev") if part in results}).rstrip())
    log(f"model saved to {settings.output}. Use it with:")
    log(f"  hf-paraphrase predict --model {settings.output} --data DIR --split SPLIT --output FILE.tsv")


def _data(settings: SupervisedSettings) -> SupervisedData:
    splits = SplitRequest(
        settings.train_split,
        settings.dev_split,
        settings.test_split,
        settings.dev_share,
        settings.test_share,
        settings.split_seed,
    )
    task = TASKS[settings.task]
    column = target_column(settings.data, settings.train_split, task, settings.target_column)
    data = read_supervised(
        settings.data,
        task,
        splits,
        column=column,
        names=class_names(settings.data, column, settings.train_split),
        scale=(settings.lowest_score, settings.highest_score),
    )
    parts = ", ".join(f"{part} {len(rows):,} ({data.names[part]})" for part, rows in data.parts.items())
    log(f"{'pairs' if data.pairs else 'sentences'}: {parts}; targets in the column {data.column}")
    if data.left_out:
        log(f"{data.left_out:,} training rows left out: they are rows of the other parts too")
    for part, counts in data.counts().items():
        absent = [name for name, count in counts.items() if not count]
        if absent:
            log(f"the {part} part has no row of the class {', '.join(absent)}: it counts for the others alone")
    return data


def _model(settings: SupervisedSettings, data: SupervisedData) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Any]:
    """Makes the classifier with the encoder's parameters, or random ones."""
    from transformers import set_seed

    from ...models.configuration_sentence_classifier import SentenceClassifierConfig
    from ...models.modeling_sentence_classifier import SentenceClassifier

    opened = SentenceEncoder.from_pretrained(settings.model)
    encoder: Any = opened.model
    if not hasattr(encoder, "embeddings"):
        raise ModelError(
            "an exported model cannot be trained", path=settings.model, remedy="give the folder that it was made of"
        )
    coverage = None
    if settings.from_scratch:
        set_seed(settings.seed)
        encoder = type(encoder)(encoder.config)
        if settings.initial_vectors is not None:
            coverage = _fill_vectors(settings, encoder, opened, data.parts[TRAIN])
    objective = TASKS[settings.task].objective
    scores = np.array(data.parts[TRAIN].targets if objective == "regression" else [0.0, 1.0], np.float64)
    outputs: dict[str, Any] = {"id2label": dict(enumerate(data.classes))} if data.classes else {}
    if objective == "distribution":
        outputs |= {"lowest_score": settings.lowest_score, "highest_score": settings.highest_score}
    config = SentenceClassifierConfig(
        encoder.config.to_diff_dict(),
        pairs=data.pairs,
        objective=objective,
        head_hidden_size=settings.head_hidden_size,
        ordered=settings.ordered,
        score_mean=float(scores.mean()) if objective == "regression" else 0.0,
        score_deviation=float(scores.std()) if objective == "regression" else 1.0,
        dropout=settings.dropout,
        **outputs,
    )
    set_seed(settings.seed)
    model = SentenceClassifier(config)
    model.encoder.load_state_dict(encoder.state_dict())
    return model, opened.tokenizer, coverage


def _fill_vectors(settings: SupervisedSettings, encoder: Any, opened: Any, train: Any) -> Any:
    """Writes initial vectors into an encoder with random ones; returns how many of the words have one."""
    import torch

    from ...encoders.initial_vectors import check_coverage, read_initial_vectors, words_of_tokens
    from ...training.word_vectors import initial_embeddings
    from .sentence_classification import tokenize

    if encoder.config.model_type == "concatenation":
        raise UsageError("--initial-vectors do not fit an encoder of several vocabularies", remedy="leave it out")
    source = str(settings.initial_vectors)
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
        seed=settings.seed,
        texts=words,
    )
    check_coverage(coverage, source)
    with torch.no_grad():
        encoder.embeddings[: len(matrix)].copy_(torch.from_numpy(matrix))
    log(f"initial vectors: {coverage}")
    return coverage


def _inputs(data: SupervisedData, tokenizer: PreTrainedTokenizerBase) -> dict[str, ClassifierInputs]:

    from .sentence_classification import tokenize

    numbers = {name: place for place, name in enumerate(data.classes)}
    paths = {}
    for part, rows in data.parts.items():
        paths[part] = tokenize(tokenizer, rows.first, rows.second)
        paths[part].targets = class_numbers(rows, numbers) if data.classes else np.array(rows.targets, np.float32)
    return paths


def _trainer(
    settings: SupervisedSettings, model: PreTrainedModel, inputs: dict[str, ClassifierInputs], run: TrainingRun
) -> SupervisedTrainer:
    from .trainer import SupervisedTrainer, SupervisedTrainingArguments

    arguments = run.arguments(
        SupervisedTrainingArguments,
        num_train_epochs=float(settings.epochs),
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        max_grad_norm=settings.max_grad_norm,
        lambda_w=settings.lambda_w,
        lambda_c=settings.lambda_c,
        lambda_head=settings.lambda_head,
    )
    return SupervisedTrainer(model, arguments, inputs[TRAIN], inputs["dev"], report=log)


def _results(
    data: SupervisedData,
    trainer: SupervisedTrainer,
    model: PreTrainedModel,
    inputs: dict[str, ClassifierInputs],
    vocabulary: CompactVocabulary,
    coverage: Any,
) -> dict[str, Any]:
    kept = trainer.best_scores()
    assert kept is not None
    measured = {part: vars(trainer.measure(item)) for part, item in inputs.items() if part != TRAIN}
    return {
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


def _write(
    settings: SupervisedSettings,
    data: SupervisedData,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    results: dict[str, Any],
    run: TrainingRun,
) -> None:
    with quiet_transformers():
        model.eval().save_pretrained(run.folder)
    save_tokenizer(tokenizer, run.folder)
    vectors = "random" if settings.initial_vectors is None else to_path(settings.initial_vectors).name
    run.write(
        results=results,
        template="sentence_classifier",
        card={
            "languages": languages_read(settings.data, english=False),
            "encoder_name": to_path(settings.model).resolve().name,
            "encoder_type": model.encoder.config.model_type,
            "data_name": to_path(settings.data).resolve().name,
            "description": TASKS[settings.task].description,
            "objective": model.config.objective,
            "pairs": data.pairs,
            "parts": data.names,
            "class_names": data.classes,
            "column": data.column,
            "start": f"random, word vectors: {vectors}" if settings.from_scratch else "the pretrained encoder's",
            "table": score_table({part: results[part] for part in ("test", "dev") if part in results}),
            "has_test": "test" in results,
        },
        measurements=[
            *score_measurements(results.get("test", {}), settings.data, settings.test_split or "test"),
            *score_measurements(
                results.get("dev", {}), settings.data, settings.dev_split or "dev", "; it chose the epoch"
            ),
        ],
    )
