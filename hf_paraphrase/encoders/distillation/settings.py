"""The settings of `distill`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ...data.decontamination import DecontaminationSettings
from ...data.languages import check_language
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import UsageError
from ...settings import Settings, is_given, setting
from ...training.run import TrainingRunSettings
from ..kinds import encoder_kind, option_names
from ..train_settings import NewEncoderSettings, VocabularySettings
from .letters import BUCKETS
from .texts import COLUMNS


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
        "folders of the sentence encoders to learn from: of sentence-transformers or transformers, or of our own; "
        "several stand side by side",
        path=True,
    )
    text: list[str] = setting(
        f"text files, one sentence a line, {PLAIN_OR_COMPRESSED}, and data folders (split train); a text counts once",
        [],
        path=True,
        dataset=True,
    )
    bitext: list[str] = setting(
        "bitext folders, of each of which the teachers know one side: both that side and its translation learn the "
        "vector of that side, so that the student has the teachers' vectors in other languages",
        [],
        path=True,
        dataset=True,
    )
    teacher_lang: str = setting("the language that the teachers of bitext know", "en", only_with="bitext")
    language_exponent: float = setting(
        "balance the languages of bitext: texts of smaller ones are repeated until n texts of a language count as "
        "many as n to this power, in proportion to the largest; 1 leaves them as they are",
        1.0,
        at_least=0,
        at_most=1,
        only_with="bitext",
    )
    teacher_vectors: str | None = setting(
        "folder in which the teachers' vectors are kept for other runs too; what it has is not computed again "
        "[default: kept until this run is done]",
        None,
        written=True,
    )
    teacher_precision: str = setting(
        "arithmetic of the teachers: fp32, bf16, or auto: bf16 where the machine multiplies it in hardware",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )
    columns: list[str] = setting(
        f"columns of the data folders to read, those of them that a folder has [default: {', '.join(COLUMNS)}]",
        [],
        only_with="text",
    )
    max_characters: int = setting("texts of more characters are left out", 1000, at_least=1)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if not self.teacher or not (self.text or self.bitext):
            remedy = "give --teacher DIR… and --text FILE… or --bitext DIR…"
            raise UsageError("distill: no teacher or no text", remedy=remedy)
        check_language(self.teacher_lang, "--teacher-lang")
        names = [Path(teacher).resolve().name for teacher in self.teacher]
        if len(set(names)) < len(names):
            raise UsageError("two teachers have one name", remedy="rename the folder of one of them")


@dataclass(kw_only=True)
class LetterSettings(NewEncoderSettings):
    """What the student is, and whether its words see their letters."""

    GROUP: ClassVar[str] = "model"

    letters: bool = setting(
        "let the vector of a word be a sum of its own and of those of its character n-grams while it is trained; the "
        "finished encoder has one vector a word, also for words that the text lacks",
        False,
    )
    ngram_buckets: int = setting("vectors that the n-grams share by hashing", BUCKETS, at_least=1, only_with="letters")
    tokenizer: str | None = setting(
        "folder of a fast tokenizer to use (train-tokenizer makes them) instead of one over the words of the text",
        None,
        excludes=("vocabulary_size", "min_frequency", "lower_case", "split_contractions", "treebank_words"),
        path=True,
    )
    word_list: str | None = setting(
        "file of more words, one a line (of a file of vectors or counts, the words): each is a "
        "text of its own, with the teachers' vectors of the word, and enters the vocabulary where a new one is made",
        None,
        path=True,
    )
    initial_model: str | None = setting(
        "a sentence encoder to continue from, a folder that train-encoder or distill made, or namespace/name of one "
        "on the Hub, or builtin, the one that is installed with this package: its tokenizer and weights are taken, "
        "and with them its type and sizes",
        None,
        excludes=tuple({*option_names(VocabularySettings), "hidden_size"} - {"word_list"}),
        path=True,
    )
    hidden_size: int | None = setting(
        "components of word vectors and embeddings, of word-trigram those of each half [default: as the initial "
        "vectors, else so many that the embeddings have as many as the teachers' vectors]",
        None,
        at_least=1,
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.letters and not encoder_kind(self.model_type).words:
            raise UsageError(f"--letters is for words, and --model-type {self.model_type} has none")


@dataclass(kw_only=True)
class StudentSettings(LetterSettings, ObjectiveSettings, TeacherSettings, TrainingRunSettings):
    """Distil a sentence encoder: train one of ours on plain text to do like larger ones (the teachers)."""

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
    )

    def check(self) -> None:
        """Checks that the settings fit together."""
        super().check()
        if self.principal_components is not None and self.model_type not in ("avg", "trigram"):
            raise UsageError(
                f"--principal-components is for averages, not for --model-type {self.model_type}",
                remedy="leave it out, or train avg or trigram",
            )
        if self.matryoshka and is_given(self, "hidden_size") and max(self.matryoshka) > (self.hidden_size or 0) * 2:
            raise UsageError(f"--matryoshka {max(self.matryoshka)} is more than the components of an embedding")

    def inputs(self) -> list[str]:
        """Lists the files and folders that the result depends on, the text first."""
        start = (self.initial_model, self.tokenizer, self.word_list, self.initial_vectors)
        others = [item for item in (*start, self.dev_data) if item is not None]
        return [*self.text, *self.bitext, *self.teacher, *others, *self.decontaminate]
