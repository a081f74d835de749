"""Distillation: trains an encoder of this package to imitate other sentence encoders, the teachers.

The input is teachers and plain text, the output an encoder with similar cosines. Start with the command in `run`:
`texts` reads the text, `teacher_vectors` stores the teachers' vectors, `trainer` trains the student with the
`objective`, and `char_ngrams` adds character n-grams to the tokens during training.
"""

from __future__ import annotations

from ...registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "char_ngrams": ["CharNgramEmbeddings"],
        "objective": ["DistillationObjective", "DistillationTexts"],
        "run": ["distill"],
        "teacher_vectors": ["TeacherVectors", "UnitVectors"],
        "texts": ["Texts", "encode_texts", "read_texts"],
        "trainer": ["DistillationTrainer", "DistillationTrainingArguments"],
    },
)
