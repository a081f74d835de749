"""The tab of similarities: a heat map of cosines, and which words carry each of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..encoders.known_texts import KnownTexts
from ..errors import ModelError
from .answers import answered, sentences_of
from .model_catalogue import ModelCatalogue
from .pictures import coloured_words, escaped, heat_map, note, number
from .word_shares import WordVectors, word_shares, word_vectors

if TYPE_CHECKING:
    import gradio

EXAMPLE = """The doctor bought a new car.
A physician purchased an automobile.
The weather is lovely today.
It is sunny outside."""
_SHOWN_AT_ONCE = 6
_BEST_WORD_PAIRS = 4


def add_tab(gr: gradio, page: gradio.Blocks, catalogue: ModelCatalogue) -> None:
    """Puts the components on the tab; the example is compared when the page opens."""
    with gr.Row():
        with gr.Column(scale=3):
            text = gr.Textbox(EXAMPLE, lines=5, label="Sentences, a line each", elem_id="similarity-text")
        with gr.Column(scale=1):
            model = gr.Dropdown(
                catalogue.encoders,
                value=catalogue.encoders[0],
                label="Encoder",
                elem_id="similarity-model",
            )
            button = gr.Button("Compare", variant="primary", elem_id="similarity-go")
    result = gr.HTML(elem_id="similarity-result")

    @answered()
    def compare(name: str, typed: str) -> str:
        return compared(catalogue, name, typed)

    gr.on([page.load, button.click, model.change], compare, [model, text], result, api_visibility="private")


def compared(catalogue: ModelCatalogue, name: str, typed: str) -> str:
    """Draws what an encoder finds in the sentences that were typed."""
    sentences = sentences_of(typed)
    words: list[WordVectors] = []
    reason = ""
    with catalogue.encoder(name) as encoder:
        cosines = encoder.similarity(sentences, sentences)
        nonzero = [bool(vector.any()) for vector in KnownTexts(encoder).embed(sentences)]
        try:
            words = [word_vectors(encoder, sentence) for sentence in sentences]
        except ModelError as error:
            reason = str(error)
    pictures = [heat_map(sentences, cosines, links="pair")]
    unknown = [f"“{sentence}”" for sentence, found in zip(sentences, nonzero, strict=True) if not found]
    if unknown:
        pictures.append(
            note(f"no word of {', '.join(unknown)} is in the encoder's vocabulary: cosines with it are meaningless")
        )
    pictures.append(explained(sentences, cosines, words) if words else note(reason))
    return "".join(pictures)


def explained(sentences: Sequence[str], cosines: NDArray[np.float32], words: Sequence[WordVectors]) -> str:
    """Draws for each pair of sentences, the most similar first, what their words add to the cosine."""
    pairs = sorted(combinations(range(len(sentences)), 2), key=lambda pair: -float(cosines[pair]))
    drawn = []
    all_shares = [word_shares(words[first], words[second]) for first, second in pairs]
    # One scale for all: a pair with nothing in common stays pale.
    largest = max(float(np.abs(shares.sum(side)).max(initial=0.0)) for shares in all_shares for side in (0, 1))
    for (first, second), shares in zip(pairs, all_shares, strict=True):
        sides = (shares.sum(1), shares.sum(0))
        lines = [
            coloured_words(words[number].words, side, largest=largest)
            for number, side in zip((first, second), sides, strict=True)
        ]
        drawn.append(
            f'<section class="hfp-pair" id="pair-{first}-{second}"><h4>{number(float(cosines[first, second]))}</h4>'
            f"<div>{''.join(lines)}{_best_pairs(words[first].words, words[second].words, shares)}</div></section>"
        )
    more = drawn[_SHOWN_AT_ONCE:]
    hidden = f"<details><summary>{len(more)} more pairs</summary>{''.join(more)}</details>" if more else ""
    return (
        "<h3>What carries each score</h3><p>A cosine is the sum of what the words of either sentence add to it: blue "
        f"raises it, orange lowers it.</p>{''.join(drawn[:_SHOWN_AT_ONCE])}{hidden}"
    )


def _best_pairs(first: Sequence[str], second: Sequence[str], shares: NDArray[np.float64]) -> str:
    """Names the pairs of words that add most."""
    order = np.argsort(-shares, axis=None)[:_BEST_WORD_PAIRS]
    named = [
        f"{escaped(first[row])} ~ {escaped(second[column])} {shares[row, column]:.3f}"
        for row, column in zip(*np.unravel_index(order, shares.shape), strict=True)
        if shares[row, column] > 0
    ]
    return f'<p class="hfp-best">Most of it: {" · ".join(named)}</p>' if named else ""
