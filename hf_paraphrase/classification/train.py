"""The commands `train-supervised` (any labelled sentences or pairs) and `train-classifier` (references)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.card_metadata import Measurement
from ..artefacts.files import quiet_transformers
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import languages_read
from ..encoders.initial_vectors import read_initial_vectors
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import UsageError
from ..messages import log
from ..settings import recipe, setting
from ..tables import format_table
from ..tokenization.word_level import build_word_level_tokenizer, save_tokenizer, sentence_vocabulary
from ..training.run import TrainingRun, TrainingRunSettings
from ..training.word_vectors import words_of_tokens
from .labelled_texts import (
    DEV,
    OBJECTIVES,
    TEST,
    TRAIN,
    SupervisedData,
    SupervisedSettings,
    read_supervised,
)
from .references import BODIES, FILE_NAME, LABELS, PARTS, Reference, draw_references, list_texts, write_seen
from .scores import format_scores, list_measurements

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast

    from .classifier import ReferenceScorer, SentenceClassifierModel


@recipe(SupervisedSettings)
def train_supervised(settings: SupervisedSettings) -> SentenceClassifierModel:
    """Train a head on an encoder, and the encoder with it, on classes or scores (Gimpel et al.).

    Returns:
        The classifier or scorer, with its tokenizer.
    """
    inputs = list(filter(None, [settings.model, settings.data, settings.initial_vectors]))
    with TrainingRun(settings, command="train-supervised", inputs=inputs) as run:
        if not run.is_finished:
            _train(settings, run)
    from .classifier import SentenceClassifierModel

    return SentenceClassifierModel.from_pretrained(settings.output)


def save_classifier(
    run: TrainingRun, model: PreTrainedModel, tokenizers: Mapping[str, PreTrainedTokenizerBase], trainer: Any
) -> dict[str, Any]:
    """Save a classifier and its tokenizers by their subfolders; return the results that every training records.

    The best epoch is None if no epoch was chosen; the trainer is None if the encoder is frozen.
    """
    with quiet_transformers():
        model.eval().save_pretrained(run.folder)
    for subfolder, tokenizer in tokenizers.items():
        save_tokenizer(tokenizer, run.folder / subfolder)
    best = None if trainer is None else trainer.best_scores()
    return {
        "best_epoch": None if best is None else best["epoch"],
        "epochs": [] if trainer is None else trainer.scores(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def _train(settings: SupervisedSettings, run: TrainingRun) -> None:
    from ..encoders.model_folder import inherit_card_values
    from .classifier import tokenize
    from .trainer import ClassifierTrainer, ClassifierTrainingArguments, Examples, fit_head, measure_classifier

    data = read_supervised(settings)
    parts = ", ".join(f"{part} {len(rows):,} ({data.sources[part]})" for part, rows in data.parts.items())
    pairs = data.parts[TRAIN].second is not None
    log(f"{'pairs' if pairs else 'sentences'}: {parts}; targets in the column {data.column}")
    if data.left_out:
        log(f"{data.left_out:,} training rows left out: the dev or test part has them too")
    model, tokenizer, coverage = _build(settings, data)
    inputs = {}
    for part, rows in data.parts.items():
        targets: NDArray[Any] = rows.class_matrix(data.classes) if data.classes else np.array(rows.targets)
        has_one_class = data.classes and not rows.multi_label
        targets = targets.argmax(1) if has_one_class else targets.astype(np.float32)
        inputs[part] = tokenize(tokenizer, rows.first, rows.second, targets)
    starts_at_optimum = not (settings.from_scratch or pairs)
    schedule = settings.lr_scheduler or ("linear" if starts_at_optimum else "constant")
    if settings.freeze_encoder or starts_at_optimum:
        # Fine-tuning starts from the best head for the pretrained encoder (Kumar et al. 2022).
        fit_head(model, inputs[TRAIN])
    trainer, row_penalty = None, settings.row_penalty
    if row_penalty is None:
        row_penalty = 0.0 if settings.lambda_w or settings.from_scratch else 0.001
    rate = settings.learning_rate or (2e-5 if type(model.encoder).__module__.startswith("transformers.") else 0.001)
    if not settings.freeze_encoder:
        arguments = run.arguments(
            ClassifierTrainingArguments,
            learning_rate=rate,
            lr_scheduler_type=schedule,
            num_train_epochs=settings.epochs or (3 if starts_at_optimum and len(inputs[TRAIN]) >= 1000 else 10),
            row_penalty=row_penalty,
            lambda_w=settings.lambda_w,
            lambda_c=settings.lambda_c,
        )
        trainer = ClassifierTrainer(model, arguments, Examples(inputs[TRAIN], inputs[DEV]), report=log)
        run.train(trainer)
    if not run.writes:
        return
    measured = {part: measure_classifier(model, inputs[part]) for part in (TEST, DEV) if part in inputs}
    vectors = "random" if settings.initial_vectors is None else to_path(settings.initial_vectors).name
    table = format_scores(measured)
    run.write(
        results={
            **measured,
            **save_classifier(run, model, {"": tokenizer}, trainer),
            "rows": {part: len(rows) for part, rows in data.parts.items()},
            "training_rows_left_out": data.left_out,
            "coverage": None if coverage is None else vars(coverage),
        },
        template="sentence_classifier",
        card={
            **inherit_card_values(settings.license, settings.model),
            "languages": languages_read(settings.data, english=False),
            "encoder_name": to_path(settings.model).resolve().name,
            "encoder_type": model.encoder.config.model_type,
            "data_name": to_path(settings.data).resolve().name,
            "objective": model.config.objective,
            "head_hidden_size": model.config.head_hidden_size,
            "pairs": pairs,
            "parts": data.sources,
            "class_names": data.classes,
            "column": data.column,
            "start": f"random, word vectors: {vectors}" if settings.from_scratch else "the pretrained encoder's",
            "row_penalty": row_penalty,
            "learning_rate": rate,
            "lr_scheduler": schedule,
            "table": table,
        },
        measurements=[
            measurement
            for part, scores in measured.items()
            for measurement in list_measurements(scores, settings.data, data.parts[part].split, _describe(data, part))
        ],
    )
    log(table.rstrip())
    log(f"model saved to {settings.output}. Use it with:")
    log(f"  hf-paraphrase predict --model {settings.output} --data FILE --output predictions.csv")


def _describe(data: SupervisedData, part: str) -> str:
    """Describe a part for the model index, which names its split separately."""
    drawn = "" if data.sources[part] == data.parts[part].split else f"; {data.sources[part]}"
    return drawn + ("; it chose the epoch" if part == DEV else "")


def _build(settings: SupervisedSettings, data: SupervisedData) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Any]:
    """Make the classifier with the encoder's parameters, or random ones, and count the words with initial vectors."""
    from transformers import set_seed

    from ..encoders.backends.pooled_transformer import backbone_for_head
    from ..models.configurations import SentenceClassifierConfig
    from ..models.modeling_sentence_classifier import SentenceClassifier
    from .classifier import fill_word_vectors

    opened, train = SentenceEncoder.from_pretrained(settings.model), data.parts[TRAIN]
    encoder, sizes = backbone_for_head(opened, settings.model)
    coverage = None
    if settings.from_scratch:
        set_seed(settings.seed)
        encoder = type(encoder)(encoder.config)
    if settings.initial_vectors is not None:
        if encoder.config.model_type == "concatenation" or not hasattr(encoder.embeddings, "shape"):
            raise UsageError("--initial-vectors are for encoders of words of this package", remedy="leave it out")
        words = [word for word in words_of_tokens(opened.tokenizer) if word is not None]
        vectors = read_initial_vectors(settings.initial_vectors, words, dimension=encoder.embeddings.shape[1])
        texts = train.first + (train.second or [])
        coverage = fill_word_vectors(encoder, opened.tokenizer, vectors, texts, settings.seed)
    objective = "multi_label" if train.multi_label else OBJECTIVES[settings.task]
    outputs: dict[str, Any] = {"id2label": dict(enumerate(data.classes))} if data.classes else {}
    if objective == "distribution":
        outputs = {"lowest_score": settings.lowest_score, "highest_score": settings.highest_score}
    elif objective == "regression":
        outputs = {"score_mean": float(np.mean(train.targets)), "score_deviation": float(np.std(train.targets))}
    config = SentenceClassifierConfig(
        sentence_encoder={**encoder.config.to_diff_dict(), **sizes},
        pairs=train.second is not None,
        objective=objective,
        **outputs,
    )
    set_seed(settings.seed)
    model = SentenceClassifier(config)
    model.encoder.load_state_dict(encoder.state_dict())
    return model, opened.tokenizer, coverage


@dataclass(kw_only=True)
class ReferenceClassifierSettings(TrainingRunSettings):
    """Train a classifier that distinguishes references from translations (Wieting et al. 2017, section 5.6.1).

    Each reference (sentence1) is an example of label 1, a translation of its n-best list (sentence2) of label 0. The
    folder lists the references it has seen in references.tsv; `score --classifier` marks their pairs in the
    column classifier_seen, and `filter --keep 'classifier_seen==0'` leaves them out.
    """

    pairs: str = setting(
        "data folder of back-translated pairs, best with an n-best list for each reference", path=True, dataset=True
    )
    body: str = setting("avg (mean of word vectors) or lstm (state after the last word)", "avg", choices=tuple(BODIES))
    negatives: str = setting(
        "which translation of each n-best list an epoch uses: random, or hardest (the translation with the highest "
        "probability of being a reference when the epoch begins)",
        "random",
        choices=("random", "hardest"),
    )
    train_size: int = setting(
        "references to train on; with fewer, all three sizes shrink in proportion", 40_000, at_least=1
    )
    dev_size: int = setting("references to choose the epoch on", 5_000, at_least=1)
    test_size: int = setting("references to report accuracy on", 5_000, at_least=1)
    initial_vectors: str | None = setting("initial word vectors, as for train-encoder", None, path=True)
    embedding_size: int = setting("components of a word vector", 300, at_least=1, excludes="initial_vectors")
    epochs: int = setting("passes over the references", 10, at_least=1)
    batch_size: int = setting("sentences per batch and process", 100, at_least=1)
    learning_rate: float = setting("learning rate of Adam, constant", 1e-3, above=0)
    embedding_penalty: float = setting("weight of half the squared norm of the word vectors", 0.0, at_least=0)


@recipe(ReferenceClassifierSettings)
def train_classifier(settings: ReferenceClassifierSettings) -> ReferenceScorer:
    """Train a classifier that distinguishes references from translations (Wieting et al. 2017, section 5.6.1)."""
    inputs = [path for path in (settings.pairs, settings.initial_vectors) if path is not None]
    with TrainingRun(settings, command="train-classifier", inputs=inputs) as run:
        if not run.is_finished:
            _train_reference(settings, run)

    from .classifier import ReferenceScorer

    return ReferenceScorer.from_pretrained(settings.output)


def _train_reference(settings: ReferenceClassifierSettings, run: TrainingRun) -> None:
    """Train the classifier, and write it in the process that writes."""
    sizes = (settings.train_size, settings.dev_size, settings.test_size)
    parts = draw_references(settings.pairs, sizes, seed=settings.seed)
    tokenizer, model = _build_reference(settings, parts["train"])

    from .trainer import ClassifierTrainer, ClassifierTrainingArguments, ReferenceExamples, ReferenceLists

    lists = {part: ReferenceLists.encode(parts[part], tokenizer) for part in PARTS}
    examples = ReferenceExamples(lists["train"], lists["dev"], hardest=settings.negatives == "hardest")
    arguments = run.arguments(ClassifierTrainingArguments, embedding_penalty=settings.embedding_penalty)
    trainer = ClassifierTrainer(model, arguments, examples, report=log)
    run.train(trainer)
    if not run.writes:
        return
    write_seen(run.folder, {part: [reference.text for reference in parts[part]] for part in PARTS})
    best: Any = trainer.best_scores()
    columns = ("accuracy", "references", "translations")
    results: dict[str, Any] = {
        "test": lists["test"].test(model, settings.seed),
        "dev": {name: best[name] for name in (*columns, "sentences")},
        **save_classifier(run, model, {"": tokenizer}, trainer),
        "references": {part: len(parts[part]) for part in PARTS},
        "translations": {part: sum(len(reference.translations) for reference in parts[part]) for part in PARTS},
        "vocabulary": model.config.vocab_size,
    }
    rows = [
        [part, *(f"{results[part][name]:.1f}" for name in columns), f"{results[part]['sentences']:.0f}"]
        for part in ("test", "dev")
    ]
    table = format_table(["part", "accuracy (%)", "on references (%)", "on translations (%)", "sentences"], rows)
    run.write(
        results=results,
        template="reference_classifier",
        card={
            "languages": languages_read(settings.pairs, english=True),
            "pairs_name": to_path(settings.pairs).name,
            "vectors_name": to_path(settings.initial_vectors).name if settings.initial_vectors else "random",
            "config": model.config.to_dict(),
            "table": table,
            "seen_file": FILE_NAME,
        },
        measurements=[
            Measurement(
                task="text-classification",
                dataset=settings.pairs,
                split=part,
                metric="accuracy",
                value=results[part]["accuracy"],
                name=f"accuracy (%; as many references as translations{note})",
                task_name="Distinguishing references from translations",
            )
            for part, note in (("test", ""), ("dev", "; it chose the epoch"))
        ],
    )
    log(table.rstrip())
    log(f"classifier saved to {settings.output}. Add its probabilities to pairs with:")
    log(f"  hf-paraphrase score --pairs DIR --classifier {settings.output} --output DIR")


def _build_reference(
    settings: ReferenceClassifierSettings, train: Sequence[Reference]
) -> tuple[PreTrainedTokenizerFast, PreTrainedModel]:
    """Build the tokenizer over the words of the training part, and the classifier with its initial vectors."""
    from transformers import set_seed

    from ..models.configurations import SentenceClassifierConfig
    from ..models.modeling_sentence_classifier import SentenceClassifier
    from .classifier import fill_word_vectors

    texts = list_texts(train)
    # With capitals the classifier may rely on names and on the first words of sentences.
    style: dict[str, Any] = {"lower_case": True, "contractions": True}
    words = sentence_vocabulary(texts, min_frequency=2, max_size=50_000, **style)
    tokenizer = build_word_level_tokenizer(words, **style)
    vectors, size = None, settings.embedding_size
    if settings.initial_vectors is not None:
        vectors = read_initial_vectors(settings.initial_vectors, words, first=0)
        size = vectors.matrix.shape[1]
    set_seed(settings.seed)
    ids = {"pad_token_id": tokenizer.pad_token_id, "unk_token_id": tokenizer.unk_token_id}
    encoder = {**BODIES[settings.body], **ids, "vocab_size": len(tokenizer), "hidden_size": size}
    model = SentenceClassifier(SentenceClassifierConfig(sentence_encoder=encoder, id2label=dict(LABELS)))
    if vectors is not None:
        fill_word_vectors(model.encoder, tokenizer, vectors, texts, settings.seed)
    return tokenizer, model
