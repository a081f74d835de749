"""BLEU, chrF2 and TER of translations by sacrebleu, with the conventions of the target language."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..messages import log
from ..tables import format_table
from ..text.languages import language_tag, primary_language

TOKENIZERS = ["13a", "zh", "ja-mecab", "ko-mecab", "char", "intl", "flores101", "flores200", "spm", "none"]
"""The tokenizers of sacrebleu that a user may choose."""
METRICS = {"bleu": "BLEU", "chrf": "chrF2", "ter": "TER"}
"""The keys of the scores, and their names in tables."""
_NO_SPACES = ("th", "lo", "km", "my", "bo", "dz")
"""Languages without spaces between words and without a tokenizer of sacrebleu."""
_CHINESE = ("zh", "cmn", "yue", "wuu", "lzh", "nan", "hak", "gan", "hsn", "cdo")
_MECAB = {"ja": ("ja-mecab", "MeCab"), "ko": ("ko-mecab", "mecab_ko")}
"""The tokenizers that need a package, and the module of the package."""


def bleu_tokenizer(language: str | None) -> str:
    """Return sacrebleu's tokenizer for a target language; `char` if its package is missing."""
    primary = primary_language(language or "und")
    if primary in _MECAB:
        name, module = _MECAB[primary]
        return name if importlib.util.find_spec(module) else "char"
    if primary in _NO_SPACES:
        return "char"
    return "zh" if primary in _CHINESE else "13a"


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    target_lang: str | None = None,
    tokenizer: str | None = None,
    lowercase: bool = False,
    metrics: Sequence[str] = tuple(METRICS),
) -> dict[str, Any]:
    """Score detokenized translations against one reference each.

    Args:
        hypotheses: The translations.
        references: Their references.
        target_lang: The language of both, which determines the tokenizer of BLEU.
        tokenizer: The name of another tokenizer of sacrebleu.
        lowercase: Whether BLEU and chrF ignore case (sacrebleu's `-lc`); TER always does, as in sacrebleu.
        metrics: The metrics to compute, of `bleu`, `chrf` and `ter`.

    Returns:
        Each metric in percent, and its signature of sacrebleu (`bleu_signature`, ...).

    Raises:
        UsageError: sacrebleu cannot load the tokenizer.

    Example:
        >>> round(corpus_scores(["the cat sat on a mat"], ["the cat sat on a mat"], target_lang="en")["bleu"])
        100
    """
    from sacrebleu.metrics import BLEU, CHRF, TER

    name = tokenizer or bleu_tokenizer(target_lang)
    # A sentence without spaces would be one word.
    has_no_spaces = tokenizer is None and name != "13a"
    scores: dict[str, Any] = {}
    for key in metrics:
        metric: Any
        if key == "bleu":
            metric = _load_bleu(BLEU, name, lowercase)
        elif key == "chrf":
            metric = CHRF(lowercase=lowercase)
        else:
            metric = TER(normalized=has_no_spaces, asian_support=has_no_spaces)
        scores[key] = float(metric.corpus_score(list(hypotheses), [list(references)]).score)
        scores[f"{key}_signature"] = str(metric.get_signature())
    return scores


def check_target_language(language: str | None) -> None:
    """Warn of a target language without a registered code, for which BLEU uses sacrebleu's default tokenizer."""
    if language and language != "und" and language_tag(language) is None:
        problem = f"the target language `{language[:40]}` is not a language code: BLEU uses the tokenizer 13a"
        log(f"{problem}; --bleu-tokenizer chooses another", warning=True)


def translation_table(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the results of `evaluate-nmt --update-card` for a model, a row per bitext and beam width."""
    rows = []
    for _, evaluation in sorted(evaluations.items()):
        for score in evaluation["scores"] if evaluation.get("kind") == "evaluate-nmt" else []:
            row = [
                f"{evaluation['bitext']}, {evaluation['split']}",
                f"{score['sentences']:,}",
                str(score["num_beams"]),
            ]
            # Version 0.2 measured no TER.
            measured = [key for key in METRICS if key in score]
            signatures = "; ".join(f"{METRICS[key]}: `{score[f'{key}_signature']}`" for key in measured)
            rows.append([*row, *(f"{score[key]:.2f}" if key in score else "" for key in METRICS), signatures])
    header = ["bitext", "sentences", "beam", *METRICS.values(), "signatures"]
    if len({row[-1] for row in rows}) == 1:
        return f"{format_table(header[:-1], [row[:-1] for row in rows])}\n{rows[0][-1]}."
    return format_table(header, rows) if rows else ""


def _load_bleu(metric: Any, tokenizer: str, lowercase: bool) -> Any:
    """Make the BLEU of sacrebleu. Its tokenizer may need a package or a download."""
    try:
        return metric(tokenize=tokenizer, lowercase=lowercase)
    except (ImportError, RuntimeError, OSError) as error:
        problem = f"sacrebleu cannot load its tokenizer `{tokenizer}`: {' '.join(str(error).split())[:200]}"
        remedy = "install sacrebleu[ja], sacrebleu[ko] or hf-paraphrase[translation], or give --bleu-tokenizer char"
        raise UsageError(problem, remedy=remedy) from error
