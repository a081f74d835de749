"""Pictures of HTML that gradio has no component for: notes, heat maps and coloured words.

Every text of others is escaped here. Colours are laid over the background of the page with an opacity that tells the
value, so that they look the same on a light and a dark page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..messages import printable, shown_line

_POSITIVE, _NEGATIVE = "46,120,190", "200,90,50"
POINT_COLOURS = {"sentence": "#a8a8a8", "neighbour": f"rgb({_POSITIVE})", "query": f"rgb({_NEGATIVE})"}
"""The colours of the kinds of points on a map."""
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


def heat_map(
    rows: Sequence[str], columns: Sequence[str], values: NDArray[np.floating], *, links: str | None = None
) -> str:
    """Draws a table of numbers whose background shows their size.

    Args:
        rows: What the rows are called.
        columns: What the columns are called.
        values: Numbers (rows, columns) from -1 to 1; of NaN nothing is shown.
        links: What the addresses of the cells begin with, `LINKS-ROW-COLUMN` with the smaller number first, for all
            but those of the diagonal; None for no links.
    """
    head = "".join(f'<th scope="col" title="{escaped(name)}"><span>{escaped(name)}</span></th>' for name in columns)
    body = []
    for row, name in enumerate(rows):
        cells = []
        for column in range(len(columns)):
            value = float(values[row, column])
            shown = "" if math.isnan(value) else number(value, 2)
            if links is not None and row != column:
                shown = f'<a href="#{links}-{min(row, column)}-{max(row, column)}">{shown}</a>'
            cells.append(f'<td style="{_background(value)}">{shown}</td>')
        label = f'<th scope="row" title="{escaped(name)}"><span>{escaped(name)}</span></th>'
        body.append(f"<tr>{label}{''.join(cells)}</tr>")
    return (
        '<div class="hfp-scroll"><table class="hfp-heat"><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def coloured_words(
    words: Sequence[str], values: NDArray[np.floating], *, largest: float, smallest: float = 0.0, unit: str = ""
) -> str:
    """Draws the words of a sentence, each on a background that shows its number, which is below it."""
    drawn = []
    for word, value in zip(words, values.tolist(), strict=True):
        shown = "–" if math.isnan(value) else number(value)
        strength = 0.0 if math.isnan(value) or largest <= smallest else (value - smallest) / (largest - smallest)
        tip = escaped(f"{word}: {shown} {unit}".strip())
        drawn.append(
            f'<span class="hfp-word" style="{_background(strength)}" title="{tip}">'
            f"{escaped(word)}<small>{shown}</small></span>"
        )
    return f'<div class="hfp-words">{"".join(drawn)}</div>'


def _background(value: float) -> str:
    """Returns the colour for a number from -1 to 1."""
    if math.isnan(value):
        return ""
    strength = min(1.0, abs(value))
    opacity = _FAINTEST + (0.92 - _FAINTEST) * strength**1.3
    colour = "color:#fff" if opacity > _WHITE_ABOVE else "color:inherit"
    return f"background:rgba({_POSITIVE if value >= 0 else _NEGATIVE},{opacity:.2f});{colour}"
