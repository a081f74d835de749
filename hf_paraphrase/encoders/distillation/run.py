"""The recipe of the verb `distill`: teachers and plain text in, a sentence encoder out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...artefacts.provenance import languages_read
from ...artefacts.remote_paths import to_path
from ...data.sentences import naming
from ...errors import UsageError
from ...messages import log
from ...settings import flag, recipe
from ...tokenization.token_ids import id_counts
from ...training.run import TrainingRun
from ..kinds import encoder_kind
from ..sentence_encoder import SentenceEncoder
from ..train import dev_evaluator, report_encoder
from .settings import ObjectiveSettings, StudentSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

    from ...tokenization.token_ids import TokenIds
    from ...training.word_vectors import Coverage
    from ..encoder_vocabulary import EncoderVocabulary
    from ..sentence_encoder import SentenceEncoder
    from .letters import Letters
    from .teacher_vectors import TeacherVectors
    from .texts import Texts
    from .trainer import DistillationTrainer

_VECTORS = "teachers"
_CUTS = (32, 64, 128, 256)
"""The numbers of components at which a table of principal components is scored."""


@recipe(StudentSettings)
def distill(settings: StudentSettings) -> SentenceEncoder:
    """Distils a sentence encoder from teachers on plain text and writes its folder, with card and record.

    The `results` of the encoder, as in `provenance.json`, say how it was scored.
    """
    from ...artefacts.provenance import read_provenance

    with TrainingRun(settings, command="distill", inputs=settings.inputs(), of_the_result=["teacher_vectors"]) as run:
        if not run.is_finished:
            _Distillation(settings, run).make()
    encoder = SentenceEncoder.from_pretrained(settings.output)
    encoder.results = read_provenance(Path(settings.output)).get("results", {})
    return encoder


class _Distillation:
    """The parts of one run: text, teachers' vectors, vocabulary, student, training, folder."""

    def __init__(self, settings: StudentSettings, run: TrainingRun) -> None:
        self.settings = settings
        self.run = run
        self.scratch = next(folder for folder in run.folder.absolute().parents if folder.is_dir())
        self.coverage: Coverage | None = None

    def make(self) -> None:
        """Trains and writes."""
        from tqdm.auto import tqdm

        from ...training.devices import is_bf16
        from .local_table import DistillationTexts
        from .teacher_vectors import check_teachers
        from .trainer import DistillationTrainer, DistillationTrainingArguments

        # All that can be refused is, before the teachers are asked, which may take hours.
        settings = self.settings
        evaluator = dev_evaluator(settings.dev_data)
        device = settings.computing_device
        bf16 = is_bf16(settings.teacher_precision, device)
        check_teachers(settings.teacher, settings.teacher_vectors, bf16=bf16)
        teachers = [
            SentenceEncoder.from_pretrained(folder, device=device, dtype="bfloat16" if bf16 else None)
            for folder in settings.teacher
        ]
        texts = self._texts()
        dimension = sum(teacher.dimension for teacher in teachers)
        if (settings.hidden_size, settings.initial_vectors, settings.initial_model) == (None, None, None):
            # The record of the run has what was given.
            settings = self.settings = replace(settings, hidden_size=-(-dimension // _parts(settings)))
        model, vocabulary, encoded = self._student(texts)
        letters = self._letters(model, vocabulary) if settings.letters else None
        _check_sizes(settings, model)
        log(
            f"{settings.model_type}: {len(texts):,} texts, {model.config.vocab_size:,} token vectors of "
            f"{_token_size(model)} components, teachers' vectors of {dimension}"
            f"{'' if self.coverage is None else f'; {self.coverage}'}"
        )
        kept = self.run.begin()
        targets = self._targets(teachers, texts, kept, bf16)
        del teachers
        trainer = DistillationTrainer(
            model,
            self.run.arguments(DistillationTrainingArguments, **_trainer_settings(settings)),
            DistillationTexts(encoded, targets, self._order(texts)),
            vocabulary.tokenizer,
            evaluator=evaluator,
            letters=letters,
            report=lambda text: tqdm.write(text, file=sys.stderr),
        )
        self.run.train(trainer)
        self._write(trainer, texts, encoded, targets)

    def _order(self, texts: Texts) -> NDArray[np.int64] | None:
        settings = self.settings
        if settings.language_exponent == 1:
            return None
        numbers = texts.balanced(settings.language_exponent, settings.seed)
        log(f"{len(numbers):,} texts an epoch, those of smaller languages repeated")
        return numbers

    def _texts(self) -> Texts:
        from ..initial_vectors import read_word_list
        from .bitext import open_bitexts
        from .texts import corpora_of, described, read_texts

        settings = self.settings
        texts = read_texts(
            corpora_of(settings.text, settings.columns),
            bitexts=open_bitexts(settings.bitext, settings.teacher_lang),
            teacher_lang=settings.teacher_lang,
            words=[] if settings.word_list is None else read_word_list(settings.word_list),
            max_characters=settings.max_characters,
            held_out=settings.decontaminator("text"),
            scratch=self.scratch,
        )
        log(f"{len(texts):,} texts; left out: {described(texts.left_out)}")
        if len(texts.names) > 1:
            log(", ".join(f"{name} {count:,}" for name, count in texts.by_language().items()))
        return texts

    def _targets(self, teachers: Sequence[SentenceEncoder], texts: Texts, kept: Path, bf16: bool) -> TeacherVectors:
        from .teacher_vectors import TeacherVectors, teacher_vectors

        settings = self.settings
        known = np.unique(texts.taught_by)
        rows = np.searchsorted(known, texts.taught_by)
        folder = kept / _VECTORS if settings.teacher_vectors is None else Path(settings.teacher_vectors)
        vectors = [
            teacher_vectors(folder, path, teacher, texts.subset(known), bf16=bf16, show_progress_bar=True)
            for path, teacher in zip(settings.teacher, teachers, strict=True)
        ]
        return TeacherVectors(
            [replace(teacher, rows=teacher.rows[rows]) for teacher in vectors], settings.teacher_weights
        )

    def _vocabulary(self, texts: Texts) -> EncoderVocabulary:
        from ..encoder_vocabulary import new_vocabulary

        with naming([*self.settings.text, *self.settings.bitext][0]):
            return new_vocabulary(self.settings, partial(iter, texts))

    def _student(self, texts: Texts) -> tuple[PreTrainedModel, EncoderVocabulary, TokenIds]:
        """Makes the student, or opens the one to continue from; returns it, its tokens, and the text in them."""
        import torch

        from ..encoder_vocabulary import initial_encoder, untrained_model
        from ..kinds import DROPOUTS
        from .texts import encode_texts

        settings = self.settings
        if settings.initial_model is not None:
            dropouts = {name: getattr(settings, name) for name in DROPOUTS}
            encoder, vocabulary = initial_encoder(settings.initial_model, dropouts)
            model: PreTrainedModel = encoder.model
            return model, vocabulary, encode_texts(texts, vocabulary.tokenizer, scratch=self.scratch)
        vocabulary = self._vocabulary(texts)
        size = settings.hidden_size
        if vocabulary.vectors is not None:
            size = vocabulary.vectors.matrix.shape[1]
        assert size is not None
        encoded = encode_texts(texts, vocabulary.tokenizer, scratch=self.scratch)
        model, self.coverage = untrained_model(
            settings, vocabulary, partial(id_counts, encoded.ids), seed=settings.seed
        )
        if settings.letters and self.coverage is None:
            # What a word has of its own comes from the text alone, so that a word without text is its letters.
            with torch.no_grad():
                model.get_parameter("embeddings")[: vocabulary.sizes[0]] = 0.0
        return model, vocabulary, encoded

    def _letters(self, model: PreTrainedModel, vocabulary: EncoderVocabulary) -> Letters:
        from .letters import Letters, spellings

        settings = self.settings
        # Of several tokenizers that of the words is the first.
        words = getattr(vocabulary.tokenizer, "parts", [vocabulary.tokenizer])[0]
        return Letters(
            spellings(words),
            *model.get_parameter("embeddings").shape,
            buckets=settings.ngram_buckets,
            seed=settings.seed,
        )

    def _write(self, trainer: DistillationTrainer, texts: Texts, encoded: TokenIds, targets: TeacherVectors) -> None:
        from ..encoder_vocabulary import name_on_card
        from ..model_folder import (
            card_values,
            dev_measurement,
            dev_results,
            inherited_by_card,
            sizes_of,
            write_model_files,
        )
        from .objectives import turn_to_principal_axes
        from .texts import described

        settings, model = self.settings, cast(Any, trainer.model)
        scores, best = trainer.scores(), trainer.best_scores()
        if settings.principal_components is not None:
            turn_to_principal_axes(model, encoded, settings.principal_components, seed=settings.seed)
        by_components = _scores_by_components(trainer, settings)
        names = [Path(teacher).resolve().name for teacher in settings.teacher]
        results = {
            "texts": len(texts),
            "texts_by_language": texts.by_language() if settings.bitext else None,
            "left_out": dict(texts.left_out),
            "contamination": texts.contamination,
            "teachers": dict(zip(names, (vectors.dimension for vectors in targets.teachers), strict=True)),
            "coverage": None if self.coverage is None else vars(self.coverage),
            **dev_results(trainer),
            "dev_by_components": by_components,
            **sizes_of(model),
        }
        folders = [item for item in settings.text if Path(item).is_dir()]
        found = {item for folder in folders for item in languages_read(folder, english=True)}
        languages = sorted(texts.names if settings.bitext else found)
        words = encoder_kind(settings.model_type).words and settings.tokenizer is None
        start = "random"
        if settings.initial_vectors is not None:
            start = f"{to_path(settings.initial_vectors).name} ({self.coverage})"
        if settings.initial_model is not None:
            start = f"those of {name_on_card(settings.initial_model)}, with all its other weights"
        card = {
            **card_values(model, Path(settings.output).name),
            **inherited_by_card(settings.license, settings.initial_model, settings.initial_vectors),
            "kind": settings.model_type,
            "token_size": _token_size(model),
            "languages": languages or (["en"] if words and settings.split_contractions else []),
            "teacher_names": ", ".join(names),
            "text_names": ", ".join(to_path(item).name for item in (*settings.text, *settings.bitext)),
            "by_language": texts.by_language() if settings.bitext else None,
            "left_out": described(texts.left_out),
            "initial": start,
            "scores": scores,
            "kept_step": None if best is None else best["step"],
        }
        write_model_files(self.run.folder, model, trainer.tokenizer)
        finished = by_components.get(model.config.hidden_size, results["dev_best"])
        measured = dev_measurement(settings.dev_data, finished, scores)
        self.run.write(results=results, template="distilled_encoder", card=card, measurements=[measured])
        report_encoder(settings.output, settings.model_type, scores, best)
        for size, score in by_components.items():
            log(f"{f'cut to {size}':>12}  {score:6.2f}")


def _parts(settings: StudentSettings) -> int:
    """Returns how many vectors of the hidden size stand side by side in an embedding."""
    kind = encoder_kind(settings.model_type)
    return 2 if kind.words and kind.trigrams else 1


def _token_size(model: PreTrainedModel) -> int:
    return int(model.get_parameter("embeddings").shape[1])


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


def _trainer_settings(settings: StudentSettings) -> dict[str, Any]:
    """Returns the settings in the form the Trainer takes."""
    return {
        **{field.name: getattr(settings, field.name) for field in fields(ObjectiveSettings)},
        "num_train_epochs": settings.epochs,
        "per_device_train_batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate,
        "bf16": settings.precision == "bf16",
    }


def _scores_by_components(trainer: DistillationTrainer, settings: StudentSettings) -> dict[int, float]:
    """Scores the finished encoder with its first so many components, and with all where its table was changed."""
    from ...evaluation.dev import dev_scorer
    from ..dev_scores import DEV_SCORE

    size = trainer.model.config.hidden_size
    sizes = {*settings.matryoshka, *([] if settings.principal_components is None else [*_CUTS, size])}
    if settings.dev_data is None or not sizes:
        return {}
    score = dev_scorer(Path(settings.dev_data))
    encoder = SentenceEncoder(cast(Any, trainer.model), cast(Any, trainer.tokenizer))
    wanted = sorted(item for item in sizes if item <= size)

    def cut(size: int, texts: Sequence[str]) -> NDArray[np.float32]:
        return encoder.encode(texts)[:, :size]

    return {item: score(partial(cut, item))[DEV_SCORE] for item in wanted}
