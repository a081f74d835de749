"""What the words of two sentences add to their cosine.

An encoder of this package gives token vectors whose mean is the sentence embedding: u = Σ_t a_t / n. The cosine of u
and v is therefore a sum over the words of one side, and over pairs of words of both:

    cos(u, v) = Σ_t (a_t / n)·v / (|u| |v|) = Σ_s Σ_t (a_s / n)·(b_t / m) / (|u| |v|)

A token may be a piece of a word, or a window of characters over several. Its vector is shared out among the characters
it stands for, and those of a word add up; so the words' shares add up to the cosine, whatever the tokens are.
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
"""What stands for tokens of no word, such as marks of the beginning and the end."""
_ROUNDING = 1e-3


@dataclass(frozen=True)
class WordVectors:
    """The words of a sentence, perhaps :data:`OTHER` last, and what each adds to its embedding (words, dim)."""

    words: list[str]
    vectors: NDArray[np.float64]

    @property
    def embedding(self) -> NDArray[np.float64]:
        """The sentence embedding (dim,)."""
        return self.vectors.sum(0)


def word_vectors(encoder: SentenceEncoder, text: str) -> WordVectors:
    """Computes what each word adds to the embedding of a sentence."""
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
    """Computes what each pair of words adds to the cosine of two sentences (words of first, words of second).

    All add up to the cosine, each row to the share of a word of the first, each column to that of one of the second;
    zero where a sentence embeds to zeros.
    """
    norm = float(np.linalg.norm(first.embedding) * np.linalg.norm(second.embedding))
    return first.vectors @ second.vectors.T / norm if norm > 0 else np.zeros((len(first.words), len(second.words)))


def _token_spans(encoder: SentenceEncoder, text: str) -> list[tuple[int, int]]:
    """Finds the characters that each token stands for; those of several tokenizers one after the other."""
    backend: Any = encoder.tokenizer.backend_tokenizer
    parts = getattr(backend, "parts", [backend])
    return [span for part in parts for span in part.encode(text, add_special_tokens=True).offsets]


def _shared_out(spans: list[tuple[int, int]], words: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Computes the share of each token that is each word's (words + 1, tokens); the last row is that of no word."""
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
