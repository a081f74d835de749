"""Pictures of HTML that gradio has no component for: notes, heat maps and coloured words.

Every text of others is escaped here. Colours are laid over the background of the page with an opacity that tells the
value, so that they look the same on a light and a dark page.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..messages import printable, shown_line

_POSITIVE, _NEGATIVE = "46,120,190", "200,90,50"
BAR_COLOURS = {"kept": f"rgb({_POSITIVE})", "left out": "#b8b8b8"}
"""The colours of the parts of a histogram."""
_FAINTEST = 0.04
_WHITE_ABOVE = 0.62


def escaped(text: str) -> str:
    """Escapes a text for a page, also what turns the direction of writing."""
    return html.escape(printable(text))


def number(value: float, digits: int = 3) -> str:
    """Writes a number with a true minus sign, and none before a zero."""
    shown = f"{value:.{digits}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", "−")


def note(text: str, *, error: bool = False) -> str:
    """Draws a line of words in a frame."""
    kind, role = ("error", "alert") if error else ("said", "status")
    return f'<p class="hfp-note hfp-{kind}" role="{role}">{escaped(shown_line(text, 600))}</p>'


def heat_map(names: Sequence[str], values: NDArray[np.floating], *, links: str) -> str:
    """Draws numbers from -1 to 1 (n, n) for n names; the background shows their size.

    A cell off the diagonal is a link to `#LINKS-ROW-COLUMN`, the smaller number first.
    """
    head = "".join(f'<th scope="col" title="{escaped(name)}"><span>{escaped(name)}</span></th>' for name in names)
    body = []
    for row, name in enumerate(names):
        cells = []
        for column in range(len(names)):
            value = float(values[row, column])
            shown = number(value, 2)
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
    """Draws the words of a sentence, each on a background that shows its share of the cosine, which is below it."""
    drawn = []
    for word, value in zip(words, values.tolist(), strict=True):
        strength = value / largest if largest > 0 else 0.0
        drawn.append(
            f'<span class="hfp-word" style="{_background(strength)}" title="{escaped(word)}: {number(value)}">'
            f"{escaped(word)}<small>{number(value)}</small></span>"
        )
    return f'<div class="hfp-words">{"".join(drawn)}</div>'


def _background(value: float) -> str:
    """Returns the colour for a number from -1 to 1."""
    strength = min(1.0, abs(value))
    opacity = _FAINTEST + (0.92 - _FAINTEST) * strength**1.3
    colour = "color:#fff" if opacity > _WHITE_ABOVE else "color:inherit"
    return f"background:rgba({_POSITIVE if value >= 0 else _NEGATIVE},{opacity:.2f});{colour}"
