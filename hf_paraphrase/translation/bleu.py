"""Corpus BLEU and chrF, by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TranslationScore:
    """Corpus scores with the signatures that make them comparable.

    Attributes:
        bleu: BLEU in percent.
        chrf: chrF2 in percent.
        bleu_signature: sacrebleu's signature of the BLEU.
        chrf_signature: sacrebleu's signature of the chrF.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = True) -> TranslationScore:
    """Scores translations against one reference each.

    Args:
        hypotheses: Detokenised translations.
        references: Detokenised references, as many.
        lowercase: Whether case is ignored (sacrebleu's `-lc`).
    """
    from sacrebleu.metrics import BLEU, CHRF

    bleu, chrf = BLEU(lowercase=lowercase), CHRF(lowercase=lowercase)
    bleu_score = bleu.corpus_score(list(hypotheses), [list(references)]).score
    chrf_score = chrf.corpus_score(list(hypotheses), [list(references)]).score
    return TranslationScore(bleu_score, chrf_score, str(bleu.get_signature()), str(chrf.get_signature()))
