# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import distill

from .char_ngrams import CharNgramEmbeddings
from .objective import DistillationObjective, DistillationTexts
from .teacher_vectors import TeacherVectors, UnitVectors
from .texts import Texts, encode_texts, read_texts
from .trainer import DistillationTrainer, DistillationTrainingArguments

__all__ = [
    "CharNgramEmbeddings",
    "DistillationObjective",
    "DistillationTexts",
    "DistillationTrainer",
    "DistillationTrainingArguments",
    "TeacherVectors",
    "Texts",
    "UnitVectors",
    "distill",
    "encode_texts",
    "read_texts",
]
