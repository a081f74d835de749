"""Distillation: an encoder of ours learns from the sentence encoders of others.

Teachers and plain text go in, an encoder comes out whose cosines are like those of the teachers. `run` is the recipe:
`texts` reads the text, `teacher_vectors` keeps what the teachers say of it, `trainer` trains the student with the
`objective`, and `letters` lets words see their spelling.
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
