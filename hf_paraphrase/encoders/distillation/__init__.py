"""Distillation: an encoder of ours learns from the sentence encoders of others.

Teachers and plain text go in, an encoder comes out whose cosines are like those of the teachers. `run` is the recipe:
`texts` reads the text, `teacher_vectors` keeps what the teachers say of it, `trainer` trains the student with the
`objective`, and `letters` lets words see their spelling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .letters import Letters
    from .objective import DistillationObjective, DistillationTexts
    from .run import distill
    from .teacher_vectors import TeacherVectors, UnitVectors
    from .texts import Texts, encode_texts, read_texts
    from .trainer import DistillationTrainer, DistillationTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)
