"""Contributions of words to the cosine of two sentences.

An encoder of this package gives token vectors whose mean is the sentence embedding: u = Σ_t a_t / n. The cosine of u
and v is therefore a sum over the words of one side, and over pairs of words of both:

    cos(u, v) = Σ_t (a_t / n)·v / (|u| |v|) = Σ_s Σ_t (a_s / n)·(b_t / m) / (|u| |v|)

A token may be a subword, or a window of characters over several words. Its vector is divided evenly among its
characters, and the parts of a word are summed. So the contributions add up to the cosine for every tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import ModelError
from ..text.words import word_spans

OTHER = "(other)"
"""Label of tokens outside words, such as begin and end tokens."""
_ROUNDING = 1e-3


@dataclass(frozen=True)
class WordVectors:
    """The words of a sentence, with :data:`OTHER` last if needed, and their parts of its embedding (words, dim)."""

    words: list[str]
    vectors: NDArray[np.float64]

    @property
    def embedding(self) -> NDArray[np.float64]:
        """The sentence embedding (dim,)."""
        return self.vectors.sum(0)


def word_vectors(encoder: SentenceEncoder, text: str) -> WordVectors:
    """Compute the part of each word in the embedding of a sentence."""
    import torch

    words = word_spans(text)
    names = [text[start:end] for start, end in words]
    spans = _token_spans(encoder, text)
    ids = encoder.token_ids(text).ids.tolist()
    if len(spans) != len(ids) or not isinstance(encoder.model, torch.nn.Module):
        raise _without_words()
    if not ids:
        return WordVectors(names, np.zeros((len(names), encoder.dimension)))
    model: Any = encoder.model
    with torch.inference_mode():
        output = model(
            torch.tensor([ids], device=model.device),
            attention_mask=torch.ones(1, len(ids), dtype=torch.bool, device=model.device),
        )
    tokens = getattr(output, "last_hidden_state", None)
    if tokens is None:
        raise _without_words()
    values = tokens[0].cpu().double().numpy()
    pooled = output.pooler_output[0].cpu().double().numpy()
    if np.abs(values.mean(0) - pooled).max() > _ROUNDING * max(1.0, float(np.abs(pooled).max())):
        raise _without_words()
    vectors = _shared_out(spans, words) @ (values / len(ids))
    if vectors[-1].any():
        return WordVectors([*names, OTHER], vectors)
    return WordVectors(names, vectors[:-1])


def word_shares(first: WordVectors, second: WordVectors) -> NDArray[np.float64]:
    """Compute the contributions of word pairs to the cosine of two sentences (words of first, words of second).

    A row sums to the contribution of a word of the first sentence, a column to the contribution of a word of the
    second. All are 0 where an embedding is zero.
    """
    norm = float(np.linalg.norm(first.embedding) * np.linalg.norm(second.embedding))
    return first.vectors @ second.vectors.T / norm if norm > 0 else np.zeros((len(first.words), len(second.words)))


def _token_spans(encoder: SentenceEncoder, text: str) -> list[tuple[int, int]]:
    """Return the span of characters of each token, for all tokenizers of a concatenation in turn."""
    backend: Any = encoder.tokenizer.backend_tokenizer
    parts = getattr(backend, "parts", [backend])
    return [span for part in parts for span in part.encode(text, add_special_tokens=True).offsets]


def _shared_out(spans: list[tuple[int, int]], words: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Compute the fraction of each token in each word (words + 1, tokens); the last row is outside words."""
    shares = np.zeros((len(words) + 1, len(spans)))
    for token, (start, end) in enumerate(spans):
        common = np.array([max(0, min(end, last) - max(start, first)) for first, last in words], float)
        total = common.sum()
        if total > 0:
            shares[:-1, token] = common / total
        else:
            shares[-1, token] = 1.0
    return shares


def _without_words() -> ModelError:
    return ModelError(
        "this model does not show what a word adds to the embedding",
        remedy="choose one with mean pooling, not exported",
    )
