"""The settings of `distill`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...data.decontamination import DecontaminationSettings
from ...data.languages import check_language
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import UsageError
from ...settings import Settings, setting
from ...training.run import TrainingRunSettings
from ..train_settings import NewEncoderSettings, VocabularySettings

_LANGUAGES = "several languages"
_TEXT = "teachers and text"


@dataclass(kw_only=True)
class ObjectiveSettings(Settings):
    """What a student learns from its teachers, and how fast."""

    GROUP: ClassVar[str] = "loss"

    cosine_weight: float = setting(
        "weight of 1 - cos(student, teachers), the mean over texts; where the sizes differ, through a projection with "
        "orthonormal columns, which changes no cosine and is thrown away",
        1.0,
        at_least=0,
    )
    ranking_weight: float = setting(
        "weight of the cross-entropy with which a student finds its own teachers' vector among those of the batch, by "
        "cosines / 0.05; the mean over texts",
        0.0,
        at_least=0,
    )
    matryoshka: list[int] = setting(
        "train the first N components, too, so that vectors can be cut to them: e.g. 32 64 128", [], at_least=1
    )
    network_learning_rate: float = setting(
        "learning rate of what is not a table: recurrent layers, the projection", 1e-3, above=0
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.cosine_weight == self.ranking_weight == 0:
            raise UsageError("all weights of the loss are 0", remedy="give one of them a weight, as --cosine-weight 1")


@dataclass(kw_only=True)
class TeacherSettings(DecontaminationSettings):
    """Which sentence encoders teach, and with which text."""

    teacher: list[str] = setting(
        "folders of the sentence encoders to learn from, which know --teacher-lang: of sentence-transformers or "
        "transformers, or of our own; several stand side by side",
        [],
        path=True,
    )
    multilingual_teacher: list[str] = setting(
        "teachers that know every language: the student learns their vector of every text",
        [],
        path=True,
        group=_LANGUAGES,
    )
    text: list[str] = setting(
        f"text files in --teacher-lang, one sentence a line, {PLAIN_OR_COMPRESSED}, and data folders (split train); a "
        "text counts once",
        [],
        path=True,
        dataset=True,
    )
    multilingual_text: list[str] = setting(
        "text files and data folders in other languages, which only the multilingual teachers read",
        [],
        only_with="multilingual_teacher",
        path=True,
        dataset=True,
        group=_LANGUAGES,
    )
    bitext: list[str] = setting(
        "bitext folders with one side in --teacher-lang: both that side and its translation learn the vector of that "
        "side, so that the student has the teachers' vectors in other languages",
        [],
        path=True,
        dataset=True,
    )
    teacher_lang: str = setting("the language that the teachers of --teacher know", "en", group=_LANGUAGES)
    center_teachers: bool = setting(
        "subtract from the vectors of each teacher their mean over the texts: for a teacher to which all texts are "
        "similar, with cosines as those of multilingual-e5, from 0.7 to 1",
        False,
        group=_LANGUAGES,
    )
    language_exponent: float = setting(
        "balance the languages of bitext: texts of smaller ones are repeated until n texts of a language count as "
        "many as n to this power, in proportion to the largest; 1 leaves them as they are",
        1.0,
        at_least=0,
        at_most=1,
        only_with="bitext",
        group=_LANGUAGES,
    )
    teacher_vectors: str | None = setting(
        "folder in which the teachers' vectors are kept for other runs too; what it has is not computed again "
        "[default: kept until this run is done]",
        None,
        written=True,
        group=_TEXT,
    )
    teacher_precision: str = setting(
        "arithmetic of the teachers: fp32, bf16, or auto: bf16 where the machine multiplies it in hardware",
        "auto",
        choices=["auto", "bf16", "fp32"],
        group=_TEXT,
    )
    columns: list[str] = setting("columns of the data folders to read [default: as search reads]", [], group=_TEXT)
    max_characters: int = setting("texts of more characters are left out", 1000, at_least=1, group=_TEXT)

    @property
    def teachers(self) -> list[str]:
        """All teachers, the multilingual ones last."""
        return [*self.teacher, *self.multilingual_teacher]

    @property
    def texts(self) -> list[str]:
        """All files and folders of text."""
        return [*self.text, *self.multilingual_text, *self.bitext]

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if not self.teachers or not self.texts or (self.teacher and not (self.text or self.bitext)):
            remedy = "give --teacher DIR… and --text FILE… or --bitext DIR…"
            raise UsageError("distill: no teacher or no text", remedy=remedy)
        if self.columns and not (self.text or self.multilingual_text):
            raise UsageError("--columns is for --text and --multilingual-text", remedy="leave it out")
        check_language(self.teacher_lang, "--teacher-lang")
        names = [Path(teacher).resolve().name for teacher in self.teachers]
        if len(set(names)) < len(names):
            raise UsageError("two teachers have one name", remedy="rename the folder of one of them")


@dataclass(kw_only=True)
class StudentSettings(NewEncoderSettings, ObjectiveSettings, TeacherSettings, TrainingRunSettings):
    """Distil a sentence encoder: train one of ours on plain text to imitate larger ones (the teachers)."""

    letters: bool = setting(
        "let the vector of a word be a sum of its own and of those of its character n-grams while it is trained; the "
        "finished encoder has one vector a word, also for words that the text lacks",
        False,
        group=VocabularySettings.GROUP,
    )
    ngram_buckets: int = setting(
        "vectors that the n-grams share by hashing",
        100_000,
        at_least=1,
        only_with="letters",
        group=VocabularySettings.GROUP,
    )
    hidden_size: int | None = setting(
        "components of word vectors and embeddings, of word-trigram those of each half [default: as the initial "
        "vectors, else so many that the embeddings have as many as the teachers' vectors]",
        None,
        at_least=1,
    )
    dev_data: str | None = setting(
        "folder with STS 2016 sets, with a graded data set, or a bitext whose split validation is retrieved, on which "
        "the epoch is chosen; without it the last is",
        None,
        path=True,
        dataset=True,
    )
    principal_components: int | None = setting(
        "for averages: turn the finished table to the principal axes of the embeddings of the text, which changes no "
        "cosine and lets vectors be cut, and keep so many of them; 0 or no value keeps all",
        None,
        at_least=0,
        alone=0,
        group=NewEncoderSettings.GROUP,
    )
    epochs: float = setting("passes over the text", 6.0, at_least=0)
    batch_size: int = setting("texts in a batch", 1024, at_least=2)
    learning_rate: float = setting(
        "learning rate of Adam for tables of vectors, falling to zero in a straight line", 1e-2, above=0
    )
    precision: str = setting(
        "arithmetic of the forward pass, dev scores included: fp32, or bf16 where it is safe; weights and the loss "
        "stay fp32",
        "fp32",
        choices=["fp32", "bf16"],
        group="training",
    )

    def check(self) -> None:
        """Checks that the settings fit together."""
        super().check()
        if self.letters and not self.kind.words:
            raise UsageError(f"--letters is for words, and --model-type {self.model_type} has none")
        if self.principal_components is not None and self.model_type not in ("avg", "trigram"):
            what = f"--principal-components is for averages, not for --model-type {self.model_type}"
            raise UsageError(what, remedy="leave it out, or train avg or trigram")

    def inputs(self) -> list[str]:
        """Lists the files and folders that the result depends on, the text first."""
        start = (self.initial_model, self.tokenizer, self.word_list, self.initial_vectors, self.dev_data)
        given = [item for item in start if item is not None]
        return [*self.texts, *self.teachers, *given, *self.decontaminate]
