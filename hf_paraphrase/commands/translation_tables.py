"""The table of a translation model's scores, in its own card and in those of what it translated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..evaluation.tables import format_table


def translation_table(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Lays out what `evaluate-nmt --update-card` measured of a model, a row for each bitext and beam width.

    Args:
        evaluations: As in a model's `provenance.json`; those of other commands are passed over.

    Returns:
        Markdown: the table and the signatures of the scores; empty if nothing was measured.
    """
    measured = [item for _, item in sorted(evaluations.items()) if item.get("kind") == "evaluate-nmt"]
    rows = [
        [
            f"{item['bitext']}, {item['split']}",
            f"{score['sentences']:,}",
            str(score["num_beams"]),
            f"{score['bleu']:.2f}",
            f"{score['chrf']:.2f}",
        ]
        for item in measured
        for score in item["scores"]
    ]
    if not rows:
        return ""
    signatures = dict.fromkeys(
        f"{name}: `{score[key]}`"
        for name, key in (("BLEU", "bleu_signature"), ("chrF2", "chrf_signature"))
        for item in measured
        for score in item["scores"]
    )
    return f"{format_table(['bitext', 'sentences', 'beam', 'BLEU', 'chrF2'], rows)}\n{'; '.join(signatures)}."
