"""The recipe of the verb `distill`: teachers and plain text in, a sentence encoder out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...artefacts.provenance import languages_read
from ...artefacts.remote_paths import to_path
from ...data.sentences import naming
from ...errors import UsageError
from ...messages import log
from ...settings import flag, recipe
from ...tokenization.token_ids import id_counts
from ...training.run import TrainingRun
from ..kinds import DROPOUTS, encoder_kind, option_names
from ..sentence_encoder import SentenceEncoder
from ..train import described_size, dev_evaluator, finished_encoder, scratch_folder, show_line, write_encoder
from .settings import ObjectiveSettings, StudentSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ...tokenization.token_ids import TokenIds
    from ...training.word_vectors import Coverage
    from ..encoder_vocabulary import EncoderVocabulary
    from .letters import Letters
    from .local_table import DistillationTexts
    from .texts import Texts
    from .trainer import DistillationTrainer

_VECTORS = "teachers"


@recipe(StudentSettings)
def distill(settings: StudentSettings) -> SentenceEncoder:
    """Distils a sentence encoder from teachers on plain text and writes its folder, with card and record.

    The `results` of the encoder, as in `provenance.json`, say how it was scored.
    """
    with TrainingRun(settings, command="distill", inputs=settings.inputs(), of_the_result=["teacher_vectors"]) as run:
        if not run.is_finished:
            _distill(settings, run)
    return finished_encoder(settings.output)


def _distill(settings: StudentSettings, run: TrainingRun) -> None:
    from ...training.devices import is_bf16
    from .local_table import DistillationTexts
    from .teacher_vectors import TeacherVectors, teacher_vectors
    from .texts import encode_texts
    from .trainer import DistillationTrainer, DistillationTrainingArguments

    # All that can be refused is, before the teachers are asked, which may take hours.
    evaluator = dev_evaluator(settings.dev_data)
    device = settings.computing_device
    bf16 = is_bf16(settings.teacher_precision, device)
    teachers = [
        SentenceEncoder.from_pretrained(folder, device=device, dtype="bfloat16" if bf16 else None)
        for folder in settings.teacher
    ]
    scratch = scratch_folder(run.folder)
    texts = _texts(settings, scratch)
    dimension = sum(teacher.dimension for teacher in teachers)
    if (settings.hidden_size, settings.initial_vectors, settings.initial_model) == (None, None, None):
        # The record of the run has what was given.
        settings = replace(settings, hidden_size=-(-dimension // _parts(settings)))
    vocabulary, model = _vocabulary(settings, texts)
    encoded = encode_texts(texts, vocabulary.tokenizer, scratch=scratch)
    coverage: Coverage | None = None
    if model is None:
        model, coverage = _new_student(settings, vocabulary, encoded)
    letters = _letters(settings, model, vocabulary) if settings.letters else None
    _check_sizes(settings, model)
    described = described_size(model, coverage)
    log(f"{settings.model_type}: {len(texts):,} texts, {described}, teachers' vectors of {dimension}")
    numbers = None
    if settings.language_exponent != 1:
        numbers = texts.balanced(settings.language_exponent, settings.seed)
        log(f"{len(numbers):,} texts an epoch, those of smaller languages repeated")
    kept = run.begin() / _VECTORS if settings.teacher_vectors is None else Path(settings.teacher_vectors)
    targets = TeacherVectors(
        [
            teacher_vectors(kept, path, teacher, texts, bf16=bf16, show_progress_bar=True)
            for path, teacher in zip(settings.teacher, teachers, strict=True)
        ]
    )
    del teachers
    arguments = run.arguments(
        DistillationTrainingArguments,
        **{name: getattr(settings, name) for name in option_names(ObjectiveSettings)},
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        bf16=settings.precision == "bf16",
    )
    data = DistillationTexts(encoded, targets, numbers)
    trainer = DistillationTrainer(
        model, arguments, data, vocabulary.tokenizer, evaluator=evaluator, letters=letters, report=show_line
    )
    run.train(trainer)
    _write(settings, run, trainer, texts, data, coverage)


def _texts(settings: StudentSettings, scratch: Path) -> Texts:
    from ..initial_vectors import read_word_list
    from .texts import corpora_of, described, open_bitexts, read_texts

    texts = read_texts(
        corpora_of(settings.text, settings.columns),
        bitexts=open_bitexts(settings.bitext, settings.teacher_lang),
        teacher_lang=settings.teacher_lang,
        words=[] if settings.word_list is None else read_word_list(settings.word_list),
        max_characters=settings.max_characters,
        held_out=settings.decontaminator("text"),
        scratch=scratch,
    )
    log(f"{len(texts):,} texts; left out: {described(texts.left_out)}")
    if len(texts.names) > 1:
        log(", ".join(f"{name} {count:,}" for name, count in texts.by_language().items()))
    return texts


def _vocabulary(settings: StudentSettings, texts: Texts) -> tuple[EncoderVocabulary, PreTrainedModel | None]:
    """Makes the tokens of a new student, or opens the encoder to continue from."""
    from ..encoder_vocabulary import initial_encoder, new_vocabulary

    if settings.initial_model is not None:
        dropouts = {name: getattr(settings, name) for name in DROPOUTS}
        encoder, vocabulary = initial_encoder(settings.initial_model, dropouts)
        return vocabulary, encoder.model
    with naming([*settings.text, *settings.bitext][0]):
        return new_vocabulary(settings, partial(iter, texts)), None


def _new_student(
    settings: StudentSettings, vocabulary: EncoderVocabulary, encoded: TokenIds
) -> tuple[PreTrainedModel, Coverage | None]:
    import torch

    from ..encoder_vocabulary import untrained_model

    model, coverage = untrained_model(settings, vocabulary, partial(id_counts, encoded.ids), seed=settings.seed)
    if settings.letters and coverage is None:
        # What a word has of its own comes from the text alone, so that a word without text is its letters.
        with torch.no_grad():
            model.get_parameter("embeddings")[: vocabulary.sizes[0]] = 0.0
    return model, coverage


def _letters(settings: StudentSettings, model: PreTrainedModel, vocabulary: EncoderVocabulary) -> Letters:
    from .letters import Letters, spellings

    # Of several tokenizers that of the words is the first.
    words = getattr(vocabulary.tokenizer, "parts", [vocabulary.tokenizer])[0]
    shape = model.get_parameter("embeddings").shape
    return Letters(spellings(words), *shape, buckets=settings.ngram_buckets, seed=settings.seed)


def _parts(settings: StudentSettings) -> int:
    """Returns how many vectors of the hidden size stand side by side in an embedding."""
    kind = encoder_kind(settings.model_type)
    return 2 if kind.words and kind.trigrams else 1


def _check_sizes(settings: StudentSettings, model: PreTrainedModel) -> None:
    """Refuses what asks for more components than there are."""
    size = model.config.hidden_size
    for name, wanted in (
        ("matryoshka", max(settings.matryoshka, default=0)),
        ("principal_components", settings.principal_components or 0),
    ):
        if wanted > size:
            raise UsageError(
                f"{flag(name)} {wanted} is more than the {size} components of the embeddings", remedy="give fewer"
            )


def _write(
    settings: StudentSettings,
    run: TrainingRun,
    trainer: DistillationTrainer,
    texts: Texts,
    data: DistillationTexts,
    coverage: Coverage | None,
) -> None:
    from ..dev_scores import DEV_SCORE, scores_of
    from .objectives import turn_to_principal_axes
    from .texts import described

    names = [Path(teacher).resolve().name for teacher in settings.teacher]
    sizes = [vectors.dimension for vectors in data.targets.teachers]
    by_language = texts.by_language() if settings.bitext else None
    results: dict[str, Any] = {
        "texts": len(texts),
        "texts_by_language": by_language,
        "left_out": dict(texts.left_out),
        "contamination": texts.contamination,
        "teachers": dict(zip(names, sizes, strict=True)),
    }
    if settings.principal_components is not None:
        model: Any = trainer.model
        turn_to_principal_axes(model, data.texts, settings.principal_components, seed=settings.seed)
        if trainer.evaluator is not None:
            turned = SentenceEncoder(model, trainer.tokenizer)
            results["dev_finished"] = scores_of(trainer.evaluator, turned)[DEV_SCORE]
    folders = [item for item in settings.text if Path(item).is_dir()]
    found = {item for folder in folders for item in languages_read(folder, english=True)}
    languages = sorted(texts.names if settings.bitext else found)
    words = encoder_kind(settings.model_type).words and settings.tokenizer is None
    card = {
        "languages": languages or (["en"] if words and settings.split_contractions else []),
        "teacher_names": ", ".join(names),
        "text_names": ", ".join(to_path(item).name for item in (*settings.text, *settings.bitext)),
        "by_language": by_language,
        "left_out": described(texts.left_out),
        "initial": _described_start(settings, coverage),
    }
    write_encoder(settings, run, trainer, coverage, template="distilled_encoder", results=results, card=card)


def _described_start(settings: StudentSettings, coverage: Coverage | None) -> str:
    """Describes for the card what the student started from."""
    from ..encoder_vocabulary import name_on_card

    if settings.initial_model is not None:
        return f"those of {name_on_card(settings.initial_model)}, with all its other weights"
    if settings.initial_vectors is not None:
        return f"{to_path(settings.initial_vectors).name} ({coverage})"
    return "random"
