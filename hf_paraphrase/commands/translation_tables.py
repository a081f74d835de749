"""The table of a translation model's scores, in its own card and in those of what it translated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..evaluation.tables import format_table


def translation_table(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Lays out what `evaluate-nmt --update-card` measured of a model, a row for each bitext and beam width.

    Args:
        evaluations: As in a model's `provenance.json`; those of other commands, and what cannot be read, are passed
            over.

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
