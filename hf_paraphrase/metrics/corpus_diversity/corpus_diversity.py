"""How varied the sentences of a corpus are, and how alike the two sides of its pairs, as an `evaluate` metric."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any

import datasets
import evaluate

_DESCRIPTION = """\
Describes a corpus of sentences, e.g. translations, by the entropy of its n-grams, the share of distinct ones, \
and how much words and trigrams repeat within a sentence; and, if the sentences have references, by how much \
of a sentence is copied from its reference and how far the n-grams of the two overlap. High entropy, little \
repetition and little overlap make pairs from which a sentence encoder learns.\
"""
_INPUTS = """\
Args:
    predictions: the sentences.
    references: optionally the reference of each sentence.
Returns:
    sentences, tokens: how many there are; tokens are lower-cased words and punctuation marks.
    mean_length: tokens a sentence.
    entropy_1, entropy_2, entropy_3: of the distribution of n-grams, in bits.
    distinct_1, distinct_2, distinct_3: distinct n-grams divided by all n-grams of the corpus.
    repetition_1: share of the words of three characters or more that occurred before in their sentence.
    repetition_3: share of the trigrams of tokens that occurred before in their sentence.
    reference_...: with references, all of these of the references.
    copy_rate: with references, mean share of a sentence's tokens that also occur in its reference.
    overlap_1, overlap_2, overlap_3: with references, mean share of the n-grams of the shorter side that the other has.
    identical: with references, share of the pairs whose sides are the same but for case and spacing.
Examples:
    >>> metric = evaluate.load("path/to/corpus_diversity")
    >>> metric.compute(predictions=["the the cat"], references=["the cat"])["overlap_1"]
    1.0
"""
_CITATION = """\
@inproceedings{wieting2017learning,
  title = {Learning Paraphrastic Sentence Embeddings from Back-Translated Bitext},
  author = {Wieting, John and Mallinson, Jonathan and Gimpel, Kevin},
  booktitle = {EMNLP},
  year = {2017}
}
"""
_ORDERS = (1, 2, 3)
_SHORTEST_WORD = 3
_WORD = r"[\w\u0300-\u036f]"
_NOT = f"n't(?!{_WORD})"
# The endings of English contractions are tokens, and every mark is one.
_TOKEN = re.compile(rf"{_NOT}|'(?:s|d|m|re|ve|ll)(?!{_WORD})|{_WORD}+?(?={_NOT})|{_WORD}+|[^\w\s]")


class CorpusDiversity(evaluate.Metric):
    """N-gram entropy, distinct-n and repetition of sentences; copying and overlap between them and references."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
            reference_urls=["https://aclanthology.org/D17-1026/"],
        )

    def compute(
        self,
        *,
        predictions: Sequence[str] | None = None,
        references: Sequence[str] | None = None,
        **options: Any,
    ) -> dict[str, float] | None:
        """Computes the measures of sentences, and of pairs where there are references; after `add_batch` of both."""
        if predictions is not None and references is None:
            # `evaluate` wants a text for every input.
            references, options = [""] * len(predictions), {**options, "paired": False}
        return super().compute(predictions=predictions, references=references, **options)

    def _compute(
        self, predictions: Sequence[str | None], references: Sequence[str | None], paired: bool = True
    ) -> dict[str, float]:
        if not len(predictions):
            raise ValueError("predictions is empty: give one sentence or more")
        sentences = _tokens("predictions", predictions)
        result = _side(sentences)
        if paired:
            others = _tokens("references", references)
            result |= {f"reference_{name}": value for name, value in _side(others).items()}
            result |= _pairs(sentences, others)
            same = (
                " ".join(str(one).lower().split()) == " ".join(str(two).lower().split())
                for one, two in zip(predictions, references, strict=True)
            )
            result["identical"] = fmean(map(float, same))
        return result


def _tokens(name: str, texts: Sequence[str | None]) -> list[list[str]]:
    for place, text in enumerate(texts):
        if text is None:
            raise ValueError(f"{name}[{place}] is missing: every sentence needs a text")
    tokens = [_TOKEN.findall(text.lower().replace("\u2019", "'")) for text in texts if text is not None]
    if not any(tokens):
        raise ValueError(f"{name} has no sentence with a token in it")
    return tokens


def _ngrams(tokens: list[str], order: int) -> list[tuple[str, ...]]:
    return list(zip(*(tokens[start:] for start in range(order)), strict=False))


def _side(sentences: list[list[str]]) -> dict[str, float]:
    """Computes the figures of one side of the corpus."""
    figures: dict[str, float] = {"sentences": len(sentences), "tokens": sum(map(len, sentences))}
    figures["mean_length"] = figures["tokens"] / len(sentences)
    for order in _ORDERS:
        counts = Counter(gram for tokens in sentences for gram in _ngrams(tokens, order))
        total = counts.total()
        weighted = sum(count * math.log2(count) for count in counts.values())
        figures[f"entropy_{order}"] = math.log2(total) - weighted / total if total else 0.0
        figures[f"distinct_{order}"] = len(counts) / total if total else 0.0
    figures["repetition_1"] = _repetition(
        [[word for word in item if len(word) >= _SHORTEST_WORD] for item in sentences]
    )
    figures["repetition_3"] = _repetition([_ngrams(tokens, 3) for tokens in sentences])
    return figures


def _repetition(items: Sequence[Sequence[Any]]) -> float:
    total = sum(map(len, items))
    return sum(len(item) - len(set(item)) for item in items) / total if total else 0.0


def _pairs(sentences: list[list[str]], references: list[list[str]]) -> dict[str, float]:
    """Computes copying, NaN-free because a sentence without tokens is left out of it, and overlap."""
    copied = [
        sum(token in there for token in tokens) / len(tokens)
        for tokens, there in zip(sentences, map(set, references), strict=True)
        if tokens
    ]
    figures = {"copy_rate": fmean(copied)}
    for order in _ORDERS:
        figures[f"overlap_{order}"] = fmean(
            _overlap(_ngrams(one, order), _ngrams(two, order)) for one, two in zip(sentences, references, strict=True)
        )
    return figures


def _overlap(sentence: list[Any], reference: list[Any]) -> float:
    # Of equally long sides the reference counts as the shorter, as in the measures of the corpus.
    shorter, longer = (reference, set(sentence)) if len(reference) <= len(sentence) else (sentence, set(reference))
    return sum(gram in longer for gram in shorter) / len(shorter) if shorter else 0.0
