"""The Similarity tab: a heat map of cosines, and the contribution of each word to them.

An encoder of this package computes token vectors whose mean is the sentence embedding: u = Σ_t a_t / n. The cosine of
u and v is therefore a sum over the words of one sentence, and over the word pairs of both:

    cos(u, v) = Σ_t (a_t / n)·v / (|u| |v|) = Σ_s Σ_t (a_s / n)·(b_t / m) / (|u| |v|)

A token may be a subword, or a window of characters over several words. Its vector is divided evenly among its
characters, and the parts of a word are summed. So the contributions add up to the cosine for every tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..encoders.search_embedder import SearchEmbedder
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import ModelError
from ..text.words import word_spans
from .answers import MOST_CHARACTERS, MOST_SENTENCES, WITH_MODELS, escape, read_sentences, render_note, report_errors
from .model_catalogue import KNOWN_LANGUAGES, ModelCatalogue

if TYPE_CHECKING:
    import gradio

EXAMPLE = """The doctor bought a new car.
A physician purchased an automobile.
The weather is lovely today.
It is sunny outside."""
OTHER = "(other)"
"""Label of tokens outside words, such as begin and end tokens."""
_ROUNDING = 1e-3
_SHOWN_AT_ONCE = 6
_BEST_WORD_PAIRS = 4
_POSITIVE, _NEGATIVE = "46,120,190", "200,90,50"
"""Colours for light and dark pages; the opacity shows the value."""
_FAINTEST = 0.04
_WHITE_ABOVE = 0.62


def add_tab(gr: gradio, page: gradio.Blocks, catalogue: ModelCatalogue) -> None:
    """Put the components on the tab; the example is compared when the page opens."""
    with gr.Row():
        with gr.Column(scale=3):
            # A browser stops answering while a text box grows to thousands of pasted lines.
            text = gr.Textbox(
                EXAMPLE,
                lines=5,
                max_lines=MOST_SENTENCES,
                max_length=MOST_CHARACTERS,
                label="Sentences, one per line",
                info=f"At most {MOST_SENTENCES} sentences and {MOST_CHARACTERS:,} characters; longer text is cut.",
                elem_id="similarity-text",
            )
        with gr.Column(scale=1):
            model = gr.Dropdown(
                catalogue.encoders,
                value=catalogue.encoders[0],
                label="Encoder",
                info=KNOWN_LANGUAGES,
                elem_id="similarity-model",
            )
            button = gr.Button("Compare", variant="primary", elem_id="similarity-go")
    result = gr.HTML(elem_id="similarity-result")

    @report_errors()
    def compare(name: str, typed: str) -> str:
        return compare_sentences(catalogue, name, typed)

    gr.on([page.load, button.click, model.change], compare, [model, text], result, **WITH_MODELS)


@dataclass(frozen=True)
class WordVectors:
    """The words of a sentence, and their contributions to its embedding (words, dim); :data:`OTHER` may be last."""

    words: list[str]
    vectors: NDArray[np.float64]

    @property
    def embedding(self) -> NDArray[np.float64]:
        """The sentence embedding (dim,)."""
        return self.vectors.sum(0)


def compare_sentences(catalogue: ModelCatalogue, name: str, typed: str) -> str:
    """Return the HTML of a comparison of the typed sentences."""
    sentences = read_sentences(typed)
    words: list[WordVectors] = []
    reason = ""
    encoder = catalogue.encoder(name)
    cosines = encoder.similarity(sentences, sentences)
    nonzero = [bool(vector.any()) for vector in SearchEmbedder(encoder).embed(sentences)]
    try:
        words = [compute_word_vectors(encoder, sentence) for sentence in sentences]
    except ModelError as error:
        reason = str(error)
    pictures = [render_heat_map(sentences, cosines)]
    unknown = [f"“{sentence}”" for sentence, has_words in zip(sentences, nonzero, strict=True) if not has_words]
    if unknown:
        pictures.append(
            render_note(
                f"no word of {', '.join(unknown)} is in the encoder's vocabulary: cosines with it are meaningless"
            )
        )
    pictures.append(render_pairs(sentences, cosines, words) if words else render_note(reason))
    return "".join(pictures)


def render_pairs(sentences: Sequence[str], cosines: NDArray[np.float32], words: Sequence[WordVectors]) -> str:
    """Return the HTML with the contributions of words to the cosine of each pair, most similar pairs first."""
    pairs = sorted(combinations(range(len(sentences)), 2), key=lambda pair: -float(cosines[pair]))
    drawn = []
    all_shares = [compute_word_shares(words[first], words[second]) for first, second in pairs]
    # All pairs share one scale, so that dissimilar ones stay pale.
    largest = max(float(np.abs(shares.sum(side)).max(initial=0.0)) for shares in all_shares for side in (0, 1))
    for (first, second), shares in zip(pairs, all_shares, strict=True):
        sides = (shares.sum(1), shares.sum(0))
        lines = [
            render_words(words[index].words, side, largest=largest)
            for index, side in zip((first, second), sides, strict=True)
        ]
        best = _render_best_pairs(words[first].words, words[second].words, shares)
        drawn.append(
            f'<section class="hfp-pair" id="pair-{first}-{second}"><h4>{cosines[first, second]:.3f}</h4>'
            f"<div>{''.join(lines)}{best}</div></section>"
        )
    more = drawn[_SHOWN_AT_ONCE:]
    hidden = f"<details><summary>{len(more)} more pairs</summary>{''.join(more)}</details>" if more else ""
    return (
        "<h3>What carries each score</h3><p>A cosine is the sum of what the words of either sentence add to it: blue "
        f"raises it, orange lowers it.</p>{''.join(drawn[:_SHOWN_AT_ONCE])}{hidden}"
    )


def _render_best_pairs(first: Sequence[str], second: Sequence[str], shares: NDArray[np.float64]) -> str:
    """Return the HTML with the word pairs of the largest contributions."""
    order = np.argsort(-shares, axis=None)[:_BEST_WORD_PAIRS]
    named = [
        f"{escape(first[row])} ~ {escape(second[column])} {shares[row, column]:.3f}"
        for row, column in zip(*np.unravel_index(order, shares.shape), strict=True)
        if shares[row, column] > 0
    ]
    return f'<p class="hfp-best">Most of it: {" · ".join(named)}</p>' if named else ""


def render_heat_map(names: Sequence[str], values: NDArray[np.floating]) -> str:
    """Return the HTML of a heat map of values from -1 to 1 (n, n).

    Cells off the diagonal link to `#pair-ROW-COLUMN`, the smaller index first.
    """
    head = "".join(f'<th scope="col" title="{escape(name)}"><span>{escape(name)}</span></th>' for name in names)
    body = []
    for row, name in enumerate(names):
        cells = []
        for column in range(len(names)):
            value = float(values[row, column])
            shown = f"{value:.2f}"
            if row != column:
                shown = f'<a href="#pair-{min(row, column)}-{max(row, column)}">{shown}</a>'
            cells.append(f'<td style="{_style(value)}">{shown}</td>')
        label = f'<th scope="row" title="{escape(name)}"><span>{escape(name)}</span></th>'
        body.append(f"<tr>{label}{''.join(cells)}</tr>")
    return (
        '<div class="hfp-scroll"><table class="hfp-heat"><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def render_words(words: Sequence[str], values: NDArray[np.floating], *, largest: float) -> str:
    """Return the HTML of words coloured by their contributions to the cosine."""
    drawn = []
    for word, value in zip(words, values.tolist(), strict=True):
        strength = value / largest if largest > 0 else 0.0
        drawn.append(
            f'<span class="hfp-word" style="{_style(strength)}" title="{escape(word)}: {value:.3f}">'
            f"{escape(word)}<small>{value:.3f}</small></span>"
        )
    return f'<div class="hfp-words">{"".join(drawn)}</div>'


def _style(value: float) -> str:
    """Return the style of a value from -1 to 1."""
    strength = min(1.0, abs(value))
    opacity = _FAINTEST + (0.92 - _FAINTEST) * strength**1.3
    colour = "color:#fff" if opacity > _WHITE_ABOVE else "color:inherit"
    return f"background:rgba({_POSITIVE if value >= 0 else _NEGATIVE},{opacity:.2f});{colour}"


def compute_word_vectors(encoder: SentenceEncoder, text: str) -> WordVectors:
    """Compute the contribution of each word to the embedding of a sentence."""
    import torch

    words = word_spans(text)
    names = [text[start:end] for start, end in words]
    spans = _token_spans(encoder, text)
    ids = encoder.token_ids(text).ids.tolist()
    if len(spans) != len(ids) or not isinstance(encoder.model, torch.nn.Module):
        raise _no_words_error()
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
        raise _no_words_error()
    values = tokens[0].cpu().double().numpy()
    pooled = output.pooler_output[0].cpu().double().numpy()
    if np.abs(values.mean(0) - pooled).max() > _ROUNDING * max(1.0, float(np.abs(pooled).max())):
        raise _no_words_error()
    vectors = _split_tokens(spans, words) @ (values / len(ids))
    if vectors[-1].any():
        return WordVectors([*names, OTHER], vectors)
    return WordVectors(names, vectors[:-1])


def compute_word_shares(first: WordVectors, second: WordVectors) -> NDArray[np.float64]:
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


def _split_tokens(spans: list[tuple[int, int]], words: list[tuple[int, int]]) -> NDArray[np.float64]:
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


def _no_words_error() -> ModelError:
    return ModelError(
        "this model does not show what a word adds to the embedding",
        remedy="choose one with mean pooling, not exported",
    )
