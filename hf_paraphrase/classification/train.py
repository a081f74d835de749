"""The command `train-supervised`: trains a head on an encoder, and the encoder with it, on labelled sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..artefacts.files import quiet_transformers
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import languages_read
from ..encoders.model_folder import inherit_card_values
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import UsageError
from ..messages import log
from ..settings import recipe
from ..tokenization.word_level import save_tokenizer
from ..training.run import TrainingRun
from .labelled_texts import (
    DEV,
    OBJECTIVES,
    TEST,
    TRAIN,
    LabelledTexts,
    SupervisedData,
    SupervisedSettings,
    read_supervised,
)
from .scores import score_measurements, score_table

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from .classifier import SentenceClassifierModel


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


def _train(settings: SupervisedSettings, run: TrainingRun) -> None:
    from .classifier import tokenize
    from .trainer import ClassifierTrainer, ClassifierTrainingArguments, LabelledExamples, fit_head, measure_classifier

    data = read_supervised(settings)
    parts = ", ".join(f"{part} {len(rows):,} ({data.sources[part]})" for part, rows in data.parts.items())
    pairs = data.parts[TRAIN].second is not None
    log(f"{'pairs' if pairs else 'sentences'}: {parts}; targets in the column {data.column}")
    if data.left_out:
        log(f"{data.left_out:,} training rows left out: the dev or test part has them too")
    targets = {
        part: rows.class_numbers(data.classes) if data.classes else np.array(rows.targets, np.float32)
        for part, rows in data.parts.items()
    }
    model, tokenizer, coverage = _model(settings, data)
    inputs = {part: tokenize(tokenizer, rows.first, rows.second, targets[part]) for part, rows in data.parts.items()}
    if settings.freeze_encoder or not (settings.from_scratch or pairs):
        # Fine-tuning starts from the best head for the pretrained encoder (Kumar et al. 2022).
        fit_head(model, inputs[TRAIN])
    trainer, row_penalty = None, _row_penalty(settings)
    rate = settings.learning_rate or (2e-5 if type(model.encoder).__module__.startswith("transformers.") else 0.001)
    if not settings.freeze_encoder:
        arguments = run.arguments(
            ClassifierTrainingArguments,
            learning_rate=rate,
            row_penalty=row_penalty,
            lambda_w=settings.lambda_w,
            lambda_c=settings.lambda_c,
        )
        examples = LabelledExamples(inputs[TRAIN], inputs[DEV])
        trainer = ClassifierTrainer(model, arguments, examples, report=log)
        run.train(trainer)
    if not run.writes:
        return
    best: Any = None if trainer is None else trainer.best_scores()
    measured = {part: measure_classifier(model, inputs[part]) for part in (TEST, DEV) if part in inputs}
    with quiet_transformers():
        model.eval().save_pretrained(run.folder)
    save_tokenizer(tokenizer, run.folder)
    vectors = "random" if settings.initial_vectors is None else to_path(settings.initial_vectors).name
    table = score_table(measured)
    run.write(
        results={
            **measured,
            "best_epoch": None if best is None else best["epoch"],
            "epochs": [] if trainer is None else trainer.scores(),
            "rows": {part: len(rows) for part, rows in data.parts.items()},
            "training_rows_left_out": data.left_out,
            "coverage": None if coverage is None else vars(coverage),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
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
            "table": table,
            "has_test": TEST in measured,
        },
        measurements=[
            measurement
            for part, scores in measured.items()
            for measurement in score_measurements(scores, settings.data, data.parts[part].split, _note(data, part))
        ],
    )
    log(table.rstrip())
    log(f"model saved to {settings.output}. Use it with:")
    log(f"  hf-paraphrase predict --model {settings.output} --data FILE --output predictions.csv")


def _row_penalty(settings: SupervisedSettings) -> float:
    if settings.row_penalty is None:
        return 0.0 if settings.lambda_w or settings.from_scratch else 0.01
    return settings.row_penalty


def _note(data: SupervisedData, part: str) -> str:
    """Says in the model index what the name of the split does not."""
    drawn = "" if data.sources[part] == data.parts[part].split else f"; {data.sources[part]}"
    return drawn + ("; it chose the epoch" if part == DEV else "")


def _model(settings: SupervisedSettings, data: SupervisedData) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, Any]:
    """Make the classifier with the encoder's parameters, or random ones."""
    from transformers import set_seed

    from ..encoders.backends.pooled_transformer import backbone_for_head
    from ..models.configurations import SentenceClassifierConfig
    from ..models.modeling_sentence_classifier import SentenceClassifier

    opened = SentenceEncoder.from_pretrained(settings.model)
    encoder, sizes = backbone_for_head(opened, settings.model)
    coverage = None
    if settings.from_scratch:
        set_seed(settings.seed)
        encoder = type(encoder)(encoder.config)
        if settings.initial_vectors is not None:
            coverage = _fill_vectors(settings, encoder, opened.tokenizer, data.parts[TRAIN])
    objective = "multi_label" if data.parts[TRAIN].multi_label else OBJECTIVES[settings.task]
    scores = np.array(data.parts[TRAIN].targets if objective == "regression" else [0.0, 1.0], np.float64)
    outputs: dict[str, Any] = {"id2label": dict(enumerate(data.classes))} if data.classes else {}
    if objective == "distribution":
        outputs |= {"lowest_score": settings.lowest_score, "highest_score": settings.highest_score}
    config = SentenceClassifierConfig(
        sentence_encoder={**encoder.config.to_diff_dict(), **sizes},
        pairs=data.parts[TRAIN].second is not None,
        objective=objective,
        score_mean=float(scores.mean()) if objective == "regression" else 0.0,
        score_deviation=float(scores.std()) if objective == "regression" else 1.0,
        **outputs,
    )
    set_seed(settings.seed)
    model = SentenceClassifier(config)
    model.encoder.load_state_dict(encoder.state_dict())
    return model, opened.tokenizer, coverage


def _fill_vectors(
    settings: SupervisedSettings, encoder: Any, tokenizer: PreTrainedTokenizerBase, train: LabelledTexts
) -> Any:
    """Write initial vectors into an encoder with random ones; return how many of the words have one."""
    from ..encoders.initial_vectors import read_initial_vectors
    from ..training.word_vectors import words_of_tokens
    from .classifier import fill_word_vectors

    if encoder.config.model_type == "concatenation" or not hasattr(encoder.embeddings, "shape"):
        raise UsageError("--initial-vectors are for encoders of words of this package", remedy="leave it out")
    words = [word for word in words_of_tokens(tokenizer) if word is not None]
    size = encoder.embeddings.shape[1]
    vectors = read_initial_vectors(str(settings.initial_vectors), words, first=0, dimension=size)
    return fill_word_vectors(encoder, tokenizer, vectors, train.first + (train.second or []), settings.seed)
