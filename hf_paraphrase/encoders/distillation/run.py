"""The command `distill`: make a sentence encoder from teachers and plain text."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...artefacts.fsspec_path import to_path
from ...artefacts.provenance import inherited_metadata, languages_read
from ...artefacts.weights import TABLE
from ...data.sentences import SentenceCorpus, naming
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe
from ...training.run import TrainingRun
from ..architectures import list_option_names
from ..sentence_encoder import SentenceEncoder
from ..train import (
    describe_size,
    find_scratch_folder,
    make_dev_evaluator,
    open_finished_encoder,
    show_line,
    write_encoder,
)
from .settings import ObjectiveSettings, StudentSettings

if TYPE_CHECKING:
    from ...tokenization.ragged_ids import TokenIds
    from ...training.word_vectors import Coverage
    from .char_ngrams import CharNgramEmbeddings
    from .texts import Texts
    from .trainer import DistillationTrainer

_VECTORS = "teachers"
_MOST_UNKNOWN = 0.1
"""The fraction of unknown tokens in a language above which a log line reports it."""


@recipe(StudentSettings)
def distill(settings: StudentSettings) -> SentenceEncoder:
    """Distil a sentence encoder from teachers on plain text and write its folder, with card and provenance.

    The `results` of the encoder are the dev scores, as in `provenance.json`.
    """
    with TrainingRun(settings, command="distill", inputs=settings.inputs(), of_the_result=["teacher_vectors"]) as run:
        if not run.is_finished:
            _distill(settings, run)
    return open_finished_encoder(settings.output)


def _distill(settings: StudentSettings, run: TrainingRun) -> None:
    from ...training.devices import is_bf16
    from .objective import DistillationTexts
    from .teacher_vectors import TeacherVectors, log_unsupported_languages, teacher_vectors
    from .trainer import DistillationTrainer, DistillationTrainingArguments

    # Everything that can fail is checked before the teachers encode, which may take hours.
    evaluator = make_dev_evaluator(settings.dev_data)
    device = settings.computing_device
    bf16 = is_bf16(settings.teacher_precision, device)
    teachers = [
        SentenceEncoder.from_pretrained(
            folder,
            device=device,
            dtype="bfloat16" if bf16 else None,
            trust_remote_code=settings.trust_remote_code,
        )
        for folder in settings.teachers
    ]
    texts = _texts(settings, run)
    dimension = sum(teacher.dimension for teacher in teachers)
    student, encoded, coverage, letters = _student(settings, run, texts, dimension)
    size = student.model.config.hidden_size
    if (wanted := max([*settings.matryoshka, settings.principal_components or 0], default=0)) > size:
        remedy = "give fewer to --matryoshka or --principal-components"
        raise UsageError(f"{wanted} is more than the {size} components of the embeddings", remedy=remedy)
    described = describe_size(student.model, coverage)
    log(f"{settings.model_type}: {len(texts):,} texts, {described}, teachers' vectors of {dimension}")
    for name, fraction in texts.measure_fractions(student.tokenizer.unk_token_id, encoded).items():
        if fraction > _MOST_UNKNOWN:
            log(f"{fraction:.0%} of the tokens in {name} are unknown: train the tokenizer with text in {name}, too")
    text_ids = None
    if settings.language_exponent != 1:
        text_ids = texts.balance_languages(settings.language_exponent, settings.seed)
        log(f"{len(text_ids):,} texts per epoch, with texts of smaller languages repeated")
    kept = run.begin() / _VECTORS if settings.teacher_vectors is None else Path(settings.teacher_vectors)
    multilingual_target_ids = texts.multilingual_target_ids(settings.supports)
    vectors = []
    for path, teacher in zip(settings.teachers, teachers, strict=True):
        target_ids = multilingual_target_ids if path in settings.multilingual_teacher else texts.target_text_ids
        center = settings.center_teachers
        vectors.append(
            teacher_vectors(kept, path, teacher, texts, bf16=bf16, target_text_ids=target_ids, center=center)
        )
        log_unsupported_languages(path, vectors[-1], texts)
    del teachers
    arguments = run.arguments(
        DistillationTrainingArguments,
        **{name: getattr(settings, name) for name in list_option_names(ObjectiveSettings)},
        bf16=settings.precision == "bf16",
    )
    data = DistillationTexts(encoded, TeacherVectors(vectors, settings.teacher_weights), text_ids)
    trainer = DistillationTrainer(
        student.model, arguments, data, student.tokenizer, evaluator, letters=letters, report=show_line
    )
    run.train(trainer)
    _write(settings, run, trainer, texts, coverage)


def _texts(settings: StudentSettings, run: TrainingRun) -> Texts:
    from ..initial_vectors import read_word_list
    from .texts import describe_left_out, open_bitexts, read_texts

    def corpora(sources: list[str]) -> list[SentenceCorpus]:
        return [SentenceCorpus(path, settings.columns if path.is_dir() else ()) for path in map(to_path, sources)]

    texts = read_texts(
        corpora(settings.text),
        bitexts=open_bitexts(settings.bitext, settings.teacher_lang),
        multilingual=corpora(settings.multilingual_text) if settings.multilingual_teacher else None,
        supports=settings.supports,
        teacher_lang=settings.teacher_lang,
        words=[] if settings.word_list is None else read_word_list(settings.word_list),
        max_characters=settings.max_characters,
        held_out=settings.decontaminator("text"),
        scratch=find_scratch_folder(run.folder),
    )
    log(f"{len(texts):,} texts; left out: {describe_left_out(texts.left_out)}")
    if settings.teacher and not (texts.target_text_ids >= 0).any():
        raise InputError(
            "no text in a language that --teacher supports is left", path=settings.texts[0], remedy="give more --text"
        )
    if len(texts.names) > 1:
        log(", ".join(f"{name} {count:,}" for name, count in texts.count_by_language().items()))
    return texts


def _student(
    settings: StudentSettings, run: TrainingRun, texts: Texts, dimension: int
) -> tuple[SentenceEncoder, TokenIds, Coverage | None, CharNgramEmbeddings | None]:
    """Make the student, or open the encoder to continue from, and tokenize the texts."""
    import torch

    from ..encoder_vocabulary import prepare_encoder
    from .char_ngrams import CharNgramEmbeddings, spell_tokens
    from .texts import encode_texts

    if settings.initial_model is None and settings.hidden_size is None and settings.initial_vectors is None:
        # A word-trigram embedding concatenates two vectors. The provenance records the given settings.
        parts = 2 if settings.kind.words and settings.kind.trigrams else 1
        settings = replace(settings, hidden_size=-(-dimension // parts))
    encode = partial(encode_texts, texts, scratch=find_scratch_folder(run.folder))
    with naming(settings.texts[0]):
        encoder, encoded, coverage = prepare_encoder(settings, partial(iter, texts), encode)
    letters = None
    if settings.letters:
        spelt, embeddings = spell_tokens(encoder.tokenizer), encoder.model.get_parameter(TABLE)
        if settings.initial_model is None and coverage is None:
            # The own vector of a token starts at zero, so that a token without text is the sum of its n-grams.
            with torch.no_grad():
                embeddings[: len(spelt)] = 0.0
        letters = CharNgramEmbeddings(spelt, *embeddings.shape, buckets=settings.ngram_buckets, seed=settings.seed)
    return encoder, encoded, coverage, letters


def _write(
    settings: StudentSettings, run: TrainingRun, trainer: DistillationTrainer, texts: Texts, coverage: Coverage | None
) -> None:
    from ..model_folder import find_card_name
    from ..trainer import DEV_SCORE, score_encoder
    from .objective import turn_to_principal_axes
    from .texts import OTHER, describe_left_out

    names = [Path(teacher).resolve().name for teacher in settings.teachers]
    by_language = texts.count_by_language() if len(texts.names) > 1 else None
    data = trainer.training_objective.data
    results: dict[str, Any] = {
        "texts": len(texts),
        "texts_by_language": by_language,
        "left_out": dict(texts.left_out),
        "contamination": texts.contamination,
        "teachers": dict(zip(names, data.targets.sizes, strict=True)),
    }
    if settings.principal_components is not None:
        turn_to_principal_axes(trainer.encoder, data.texts, settings.principal_components, seed=settings.seed)
        if trainer.evaluator is not None:
            results["dev_finished"] = score_encoder(trainer.evaluator, trainer.encoder)[DEV_SCORE]
    initial = "random"
    if settings.initial_model is not None:
        initial = f"those of {find_card_name(settings.initial_model)}, with all its other weights"
    elif settings.initial_vectors is not None:
        initial = f"{to_path(settings.initial_vectors).name} ({coverage})"
    folders = [path for path in (*settings.text, *settings.multilingual_text) if Path(path).is_dir()]
    languages = {code for folder in folders for code in languages_read(folder, english=folder in settings.text)}
    if settings.bitext:
        # ISO 639-2 calls text that mixes languages `mul`.
        languages |= {*texts.names} - {OTHER, "mul"}
    described = {code for teacher in settings.teacher for code in inherited_metadata(teacher)["language"]}
    if settings.text and (settings.teacher_lang != "en" or "en" in described):
        languages |= {settings.teacher_lang}
    words = settings.kind.words and settings.tokenizer is None and not settings.multilingual_text
    card = {
        "languages": sorted(languages) or (["en"] if words and settings.split_contractions else []),
        "teacher_names": ", ".join(names),
        "bitext": bool(settings.bitext),
        "centered": settings.center_teachers,
        "text_names": ", ".join(to_path(path).name for path in settings.texts),
        "by_language": by_language,
        "left_out": describe_left_out(texts.left_out),
        "initial": initial,
    }
    write_encoder(settings, run, trainer, coverage, template="distilled_encoder", results=results, card=card)
