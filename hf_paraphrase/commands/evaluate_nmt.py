"""`evaluate-nmt`: BLEU and chrF of a translation model on a bitext."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages import show
from ..translation.evaluate import TranslationEvaluationSettings, evaluate_translation
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    scores = evaluate_translation.run(parse(TranslationEvaluationSettings, "evaluate-nmt", argv)).scores
    for score in scores:
        show(f"beam {score.num_beams:3d}  BLEU {score.bleu:5.2f}  chrF2 {score.chrf:5.2f}\n")
    show(f"BLEU  {scores[-1].bleu_signature}\nchrF2 {scores[-1].chrf_signature}\n")
