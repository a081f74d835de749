"""Corpus BLEU and chrF, by sacrebleu, and the table of them in cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..tables import format_table


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = True) -> dict[str, Any]:
    """Scores detokenised translations against one reference each; `lowercase` ignores case (sacrebleu's `-lc`).

    Returns:
        `bleu` and `chrf` (chrF2) in percent, with the signatures that make them comparable.
    """
    from sacrebleu.metrics import BLEU, CHRF

    metrics = {"bleu": BLEU(lowercase=lowercase), "chrf": CHRF(lowercase=lowercase)}
    scores = {name: item.corpus_score(list(hypotheses), [list(references)]).score for name, item in metrics.items()}
    return scores | {f"{name}_signature": str(item.get_signature()) for name, item in metrics.items()}


def translation_table(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Formats what `evaluate-nmt --update-card` measured of a model, a row for each bitext and beam width.

    Returns:
        Markdown: the table and the signatures of the scores; empty if nothing was measured.
    """
    rows = []
    signatures: dict[str, int] = {}
    for _, item in sorted(evaluations.items()):
        if not isinstance(item, Mapping) or item.get("kind") != "evaluate-nmt":
            continue
        try:
            for score in item["scores"]:
                row = [f"{item['bitext']}, {item['split']}", f"{score['sentences']:,}", str(score["num_beams"])]
                row += [f"{score['bleu']:.2f}", f"{score['chrf']:.2f}"]
                signed = f"BLEU: `{score['bleu_signature']}`; chrF2: `{score['chrf_signature']}`"
                rows.append([*row, str(signatures.setdefault(signed, len(signatures) + 1))])
        except (KeyError, TypeError, ValueError):
            continue
    if not rows:
        return ""
    header = ["bitext", "sentences", "beam", "BLEU", "chrF2", "signature"]
    if len(signatures) == 1:
        header, rows = header[:-1], [row[:-1] for row in rows]
        return f"{format_table(header, rows)}\n{next(iter(signatures))}."
    numbered = "; ".join(f"{number}: {text}" for text, number in signatures.items())
    return f"{format_table(header, rows)}\nSignatures: {numbered}."
