"""The Similarity tab: a heat map of cosines, and the contribution of each word to them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..encoders.search_embedder import SearchEmbedder
from ..errors import ModelError
from .answers import MOST_CHARACTERS, MOST_SENTENCES, WITH_MODELS, answered, escaped, note, sentences_of
from .model_catalogue import KNOWN_LANGUAGES, ModelCatalogue
from .word_shares import WordVectors, word_shares, word_vectors

if TYPE_CHECKING:
    import gradio

EXAMPLE = """The doctor bought a new car.
A physician purchased an automobile.
The weather is lovely today.
It is sunny outside."""
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

    @answered()
    def compare(name: str, typed: str) -> str:
        return compared(catalogue, name, typed)

    gr.on([page.load, button.click, model.change], compare, [model, text], result, **WITH_MODELS)


def compared(catalogue: ModelCatalogue, name: str, typed: str) -> str:
    """Return the HTML of a comparison of the typed sentences."""
    sentences = sentences_of(typed)
    words: list[WordVectors] = []
    reason = ""
    encoder = catalogue.encoder(name)
    cosines = encoder.similarity(sentences, sentences)
    nonzero = [bool(vector.any()) for vector in SearchEmbedder(encoder).embed(sentences)]
    try:
        words = [word_vectors(encoder, sentence) for sentence in sentences]
    except ModelError as error:
        reason = str(error)
    pictures = [heat_map(sentences, cosines, links="pair")]
    unknown = [f"“{sentence}”" for sentence, has_words in zip(sentences, nonzero, strict=True) if not has_words]
    if unknown:
        pictures.append(
            note(f"no word of {', '.join(unknown)} is in the encoder's vocabulary: cosines with it are meaningless")
        )
    pictures.append(explained(sentences, cosines, words) if words else note(reason))
    return "".join(pictures)


def explained(sentences: Sequence[str], cosines: NDArray[np.float32], words: Sequence[WordVectors]) -> str:
    """Return the HTML with the contributions of words to the cosine of each pair, most similar pairs first."""
    pairs = sorted(combinations(range(len(sentences)), 2), key=lambda pair: -float(cosines[pair]))
    drawn = []
    all_shares = [word_shares(words[first], words[second]) for first, second in pairs]
    # All pairs share one scale, so that dissimilar ones stay pale.
    largest = max(float(np.abs(shares.sum(side)).max(initial=0.0)) for shares in all_shares for side in (0, 1))
    for (first, second), shares in zip(pairs, all_shares, strict=True):
        sides = (shares.sum(1), shares.sum(0))
        lines = [
            coloured_words(words[index].words, side, largest=largest)
            for index, side in zip((first, second), sides, strict=True)
        ]
        drawn.append(
            f'<section class="hfp-pair" id="pair-{first}-{second}"><h4>{cosines[first, second]:.3f}</h4>'
            f"<div>{''.join(lines)}{_best_pairs(words[first].words, words[second].words, shares)}</div></section>"
        )
    more = drawn[_SHOWN_AT_ONCE:]
    hidden = f"<details><summary>{len(more)} more pairs</summary>{''.join(more)}</details>" if more else ""
    return (
        "<h3>What carries each score</h3><p>A cosine is the sum of what the words of either sentence add to it: blue "
        f"raises it, orange lowers it.</p>{''.join(drawn[:_SHOWN_AT_ONCE])}{hidden}"
    )


def _best_pairs(first: Sequence[str], second: Sequence[str], shares: NDArray[np.float64]) -> str:
    """Return the HTML with the word pairs of the largest contributions."""
    order = np.argsort(-shares, axis=None)[:_BEST_WORD_PAIRS]
    named = [
        f"{escaped(first[row])} ~ {escaped(second[column])} {shares[row, column]:.3f}"
        for row, column in zip(*np.unravel_index(order, shares.shape), strict=True)
        if shares[row, column] > 0
    ]
    return f'<p class="hfp-best">Most of it: {" · ".join(named)}</p>' if named else ""


def heat_map(names: Sequence[str], values: NDArray[np.floating], *, links: str) -> str:
    """Return the HTML of a heat map of values from -1 to 1 (n, n).

    Cells off the diagonal link to `#LINKS-ROW-COLUMN`, the smaller index first.
    """
    head = "".join(f'<th scope="col" title="{escaped(name)}"><span>{escaped(name)}</span></th>' for name in names)
    body = []
    for row, name in enumerate(names):
        cells = []
        for column in range(len(names)):
            value = float(values[row, column])
            shown = f"{value:.2f}"
            if row != column:
                shown = f'<a href="#{links}-{min(row, column)}-{max(row, column)}">{shown}</a>'
            cells.append(f'<td style="{_background(value)}">{shown}</td>')
        label = f'<th scope="row" title="{escaped(name)}"><span>{escaped(name)}</span></th>'
        body.append(f"<tr>{label}{''.join(cells)}</tr>")
    return (
        '<div class="hfp-scroll"><table class="hfp-heat"><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def coloured_words(words: Sequence[str], values: NDArray[np.floating], *, largest: float) -> str:
    """Return the HTML of words coloured by their contributions to the cosine."""
    drawn = []
    for word, value in zip(words, values.tolist(), strict=True):
        strength = value / largest if largest > 0 else 0.0
        drawn.append(
            f'<span class="hfp-word" style="{_background(strength)}" title="{escaped(word)}: {value:.3f}">'
            f"{escaped(word)}<small>{value:.3f}</small></span>"
        )
    return f'<div class="hfp-words">{"".join(drawn)}</div>'


def _background(value: float) -> str:
    """Return the style of a value from -1 to 1."""
    strength = min(1.0, abs(value))
    opacity = _FAINTEST + (0.92 - _FAINTEST) * strength**1.3
    colour = "color:#fff" if opacity > _WHITE_ABOVE else "color:inherit"
    return f"background:rgba({_POSITIVE if value >= 0 else _NEGATIVE},{opacity:.2f});{colour}"
