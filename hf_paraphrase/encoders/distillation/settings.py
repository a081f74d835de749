"""The settings of `distill`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...data.decontamination import DecontaminationSettings
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import UsageError
from ...registry import ENCODERS
from ...settings import Settings, setting
from ...text.languages import check_language, primary_language
from ...training.run import TrainingRunSettings
from ..train_settings import NewEncoderSettings, VocabularySettings

_LANGUAGES = "several languages"
_TEXT = "teachers and text"


@dataclass(kw_only=True)
class ObjectiveSettings(Settings):
    """The loss of a student and the learning rate of its network."""

    GROUP: ClassVar[str] = "loss"

    cosine_weight: float = setting(
        "weight of 1 - cos(student, teachers); if their sizes differ, a projection with orthonormal columns, which "
        "changes no cosine and is discarded, is trained with the student",
        1.0,
        at_least=0,
    )
    ranking_weight: float = setting(
        "weight of the ranking loss, the cross-entropy of finding a text's target among all targets of the batch by "
        "cosine / 0.05",
        0.0,
        at_least=0,
    )
    matryoshka: list[int] = setting(
        "also train the first N components alone, so that vectors can be cut to them, e.g. 32 64 128", [], at_least=1
    )
    network_learning_rate: float = setting(
        "learning rate of all parameters except tables: recurrent layers, the projection", 1e-3, above=0
    )
    dense_optimizer: bool = setting(
        "update the whole tables in every step, as Adam does, and not only the tokens of the batch: slower, and "
        "better in few epochs, because the vectors of rare tokens keep moving after their batch",
        False,
    )

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if self.cosine_weight == self.ranking_weight == 0:
            raise UsageError("all weights of the loss are 0", remedy="give one a weight, e.g. --cosine-weight 1")


@dataclass(kw_only=True)
class TeacherSettings(DecontaminationSettings):
    """The teachers and the text."""

    teacher: list[str] = setting(
        "folders of the sentence encoders to learn from, for text in --teacher-lang: of sentence-transformers, "
        "transformers or this package; the vectors of several are concatenated",
        [],
        path=True,
    )
    multilingual_teacher: list[str] = setting(
        "teachers for several languages: the student learns their vector of the text itself",
        [],
        path=True,
        group=_LANGUAGES,
    )
    multilingual_teacher_langs: list[str] = setting(
        "languages that --multilingual-teacher supports, --teacher-lang among them; for bitext in other languages the "
        "student learns their vector of the translation [default: all languages]",
        [],
        only_with="multilingual_teacher",
        group=_LANGUAGES,
    )
    teacher_weights: list[float] = setting(
        "weight of each teacher in the cosines that the student learns, in the order of --teacher and then "
        "--multilingual-teacher [default: equal weights]",
        [],
        at_least=0,
        group=_TEXT,
    )
    trust_remote_code: bool = setting(
        "run the Python code that the folder of a teacher contains; read the code first", False, group=_TEXT
    )
    text: list[str] = setting(
        f"text files in --teacher-lang, one sentence per line, {PLAIN_OR_COMPRESSED}, and data folders (split "
        "train); repeated texts count once",
        [],
        path=True,
        dataset=True,
    )
    multilingual_text: list[str] = setting(
        "text files and data folders in other languages, for the multilingual teachers only",
        [],
        only_with="multilingual_teacher",
        path=True,
        dataset=True,
        group=_LANGUAGES,
    )
    bitext: list[str] = setting(
        "bitext folders with one column in --teacher-lang: for both texts of a pair the student learns the "
        "teachers' vector of the text in that language",
        [],
        path=True,
        dataset=True,
    )
    teacher_lang: str = setting("the language of the teachers that --teacher names", "en", group=_LANGUAGES)
    center_teachers: bool = setting(
        "subtract from the vectors of each teacher their mean over the texts: for teachers whose cosines are all "
        "high, such as multilingual-e5 (0.7 to 1)",
        False,
        group=_LANGUAGES,
    )
    language_exponent: float = setting(
        "balance the languages of bitext: texts of smaller languages are repeated so that n texts count in "
        "proportion to n to this power; 1 does not repeat",
        1.0,
        at_least=0,
        at_most=1,
        only_with="bitext",
        group=_LANGUAGES,
    )
    teacher_vectors: str | None = setting(
        "folder that keeps the teachers' vectors for other runs; existing ones are not computed again [default: kept "
        "until the end of this run]",
        None,
        written=True,
        group=_TEXT,
    )
    teacher_precision: str = setting(
        "precision of the teachers: fp32, bf16, or auto (bf16 if the hardware supports it)",
        "auto",
        choices=["auto", "bf16", "fp32"],
        group=_TEXT,
    )
    columns: list[str] = setting("text columns [default: sentence, text, sentence1, sentence2]", [], group=_TEXT)
    max_characters: int = setting("leave out texts of more characters than this", 1000, at_least=1, group=_TEXT)

    @property
    def teachers(self) -> list[str]:
        """All teachers, the multilingual ones last."""
        return [*self.teacher, *self.multilingual_teacher]

    def supports(self, language: str) -> bool:
        """Return whether the multilingual teachers support a language."""
        supported = self.multilingual_teacher_langs
        return not supported or primary_language(language) in map(primary_language, supported)

    @property
    def texts(self) -> list[str]:
        """All files and folders of text."""
        return [*self.text, *self.multilingual_text, *self.bitext]

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if not self.teachers or not self.texts or (self.teacher and not (self.text or self.bitext)):
            remedy = "give --teacher DIR… and --text FILE… or --bitext DIR…"
            raise UsageError("distill: no teacher or no text", remedy=remedy)
        if self.columns and not (self.text or self.multilingual_text):
            raise UsageError("--columns is for --text and --multilingual-text", remedy="leave it out")
        check_language(self.teacher_lang, "--teacher-lang")
        for code in self.multilingual_teacher_langs:
            check_language(code, "--multilingual-teacher-langs")
        if self.multilingual_teacher_langs and not self.supports(self.teacher_lang):
            problem = f"--multilingual-teacher-langs lacks {self.teacher_lang}, the language of --teacher-lang"
            raise UsageError(problem, remedy="add it, or choose another --teacher-lang")
        if self.teacher_weights and len(self.teacher_weights) != len(self.teachers):
            counts = f"{len(self.teacher_weights)} weights for {len(self.teachers)} teachers"
            raise UsageError(f"--teacher-weights: {counts}", remedy="give one weight per teacher")
        if self.teacher_weights and not sum(self.teacher_weights):
            raise UsageError(
                "--teacher-weights: all weights are 0", remedy="give at least one teacher a weight above 0"
            )
        names = [Path(teacher).resolve().name for teacher in self.teachers]
        if len(set(names)) < len(names):
            raise UsageError("two teachers have the same name", remedy="rename the folder of one of them")


@dataclass(kw_only=True)
class StudentSettings(NewEncoderSettings, ObjectiveSettings, TeacherSettings, TrainingRunSettings):
    """Distil a sentence encoder: train a small one on plain text to imitate larger ones (the teachers)."""

    letters: bool = setting(
        "in training, add the vectors of its character n-grams to the vector of each token; the finished encoder has "
        "one vector per token, also for tokens that are not in the text",
        False,
        group=VocabularySettings.GROUP,
    )
    ngram_buckets: int = setting(
        "number of vectors that the n-grams share by hashing",
        100_000,
        at_least=1,
        only_with="letters",
        group=VocabularySettings.GROUP,
    )
    hidden_size: int | None = setting(
        "components of word vectors and embeddings, for word-trigram of each half [default: as the initial vectors, "
        "or such that the embeddings are as large as the teachers' vectors]",
        None,
        at_least=1,
    )
    principal_components: int | None = setting(
        "for averages: rotate the finished table to the principal axes of the embeddings of the text, which changes "
        "no cosine and allows truncation, and keep the first N; 0 or no value keeps all",
        None,
        at_least=0,
        alone=0,
        group=NewEncoderSettings.GROUP,
    )
    epochs: float = setting("passes over the text", 6.0, at_least=0)
    batch_size: int = setting("texts per batch", 1024, at_least=2)
    learning_rate: float = setting(
        "learning rate of Adam for tables of vectors, decaying linearly to zero", 1e-2, above=0
    )

    def check(self) -> None:
        """Check that the settings fit together."""
        super().check()
        if self.model_type not in ENCODERS:
            what = f"a model of type {self.model_type} cannot be a student: it has no table of token vectors"
            raise UsageError(
                what, path=self.initial_model, remedy="continue from an encoder of this package, or from none"
            )
        if self.letters and not self.kind.words:
            raise UsageError(f"--letters: --model-type {self.model_type} has no words", remedy="leave it out")
        if self.principal_components is not None and self.model_type not in ("avg", "trigram"):
            what = f"--principal-components is for averages, not for --model-type {self.model_type}"
            raise UsageError(what, remedy="leave it out, or train avg or trigram")

    def inputs(self) -> list[str]:
        """List the files and folders that the result depends on, the text first."""
        start = (self.initial_model, self.tokenizer, self.word_list, self.initial_vectors, self.dev_data)
        paths = [path for path in start if path is not None]
        return [*self.texts, *self.teachers, *paths, *self.decontaminate]
