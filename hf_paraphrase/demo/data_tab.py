"""The Data tab: histograms of measures, sliders for ranges, and the `filter` command that keeps the same pairs."""

from __future__ import annotations

import math
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ..data.folder import DataFolder, write_split
from ..data.sample import sample_paraphrases
from ..data.schema import is_number
from ..errors import InputError, UsageError
from ..filtering.measures import read_numeric
from ..filtering.measuring import add_columns, list_columns_to_read, list_measurable_columns
from ..filtering.selections import check_columns, parse_selection
from .answers import choose_source, escape, render_note, report_errors, round_cell, shorten_upload_path, show_example

if TYPE_CHECKING:
    import gradio

_LABELLED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("label", pa.int64())])
_NEEDS_A_FOLDER = "YOUR_FOLDER"
MOST_MEASURES = 6
"""Maximum number of measures on the page."""
USUAL = ("length", "overlap_1", "bleu", "cost", "similarity", "score")
"""The measures shown first, if the folder has them or they can be computed."""
_SENTENCES = ("sentence1", "sentence2")
_LONGEST, _EXAMPLES = 300, 5
_MOST_TEXTS = 200_000
"""Maximum number of pairs in memory for examples."""
_BARS, _STEPS = 25, 100
"""Approximate number of bars and slider positions of a measure."""
_NAME = re.compile(r"[^\W\d]\w*", re.ASCII)
"""A column name that `filter --keep` accepts."""


def add_tab(gr: gradio, tab: gradio.Tab, *, shared: bool) -> None:
    """Put the components on the tab."""
    state = gr.State(None)
    with gr.Row():
        with gr.Column():
            path = gr.Textbox(
                label="A data folder of pairs on this machine",
                placeholder="if neither is given: labelled pairs of the built-in sample",
                visible=not shared,
                elem_id="data-path",
            )
            kind, label = [".parquet"], "A Parquet file of pairs"
            upload = gr.File(label=label, file_types=kind, height=150, elem_id="data-file")
        with gr.Column():
            split = gr.Textbox("train", label="Split", elem_id="data-split")
            label = f"Measures, up to {MOST_MEASURES}; the usual ones if empty"
            names = gr.Dropdown(
                [], value=[], multiselect=True, max_choices=MOST_MEASURES, label=label, elem_id="data-measures"
            )
            button = gr.Button("Read the pairs", variant="primary", elem_id="data-go")
    status = gr.HTML(elem_id="data-status")
    columns, charts, ends = [], [], []
    with gr.Row(elem_id="data-ranges"):
        for number in range(MOST_MEASURES):
            with gr.Column(visible=False, min_width=300) as column:
                columns.append(column)
                charts.append(gr.HTML())
                ends.append(gr.Slider(0, 1, 0, label="from", elem_id=f"data-low-{number}"))
                ends.append(gr.Slider(0, 1, 1, label="to", elem_id=f"data-high-{number}"))
    result = gr.HTML(elem_id="data-result")
    tables = [gr.Dataframe(visible=False, wrap=True, interactive=False, label=name) for name in ("Kept", "Left out")]
    gradio_progress = gr.Progress(track_tqdm=True)
    outputs = [result, *charts, *tables]

    def updates_of(pairs: PairMeasures, ranges: dict[str, tuple[float, float]]) -> list[Any]:
        kept, comparisons = pairs.select(ranges)
        updates: list[Any] = [render_result(pairs, kept, comparisons)]
        updates += [measure.render(kept) for measure in pairs.measures.values()]
        updates += [gr.skip()] * (MOST_MEASURES - len(pairs.measures))
        headers = ["sentence1", "sentence2", *pairs.measures]
        for part in (kept, ~kept):
            examples = pairs.list_examples(part)
            updates.append(gr.Dataframe(value=examples, headers=headers, visible=bool(examples)))
        return updates

    inputs, read_outputs = [upload, path, split, names], [status, state, names, *columns, *ends, *outputs]
    hidden = gr.update(visible=False)
    nothing = [None, gr.skip(), *[hidden] * len(columns), *[gr.skip()] * len(ends), *[""] * (1 + len(charts))]

    @report_errors([*nothing, hidden, hidden])
    def on_read(
        file: str | None, folder: str, part: str, chosen: list[str], progress: Any = gradio_progress
    ) -> tuple[Any, ...]:
        pairs, available, summary = open_data(file, "" if shared else folder, part, chosen)
        sliders: list[Any] = []
        for measure in pairs.measures.values():
            bounds = {"minimum": measure.low, "maximum": measure.high, "step": 10.0**-measure.digits}
            sliders.append(gr.update(**bounds, value=measure.low, label=f"{measure.name} from"))
            sliders.append(gr.update(**bounds, value=measure.high, label=f"{measure.name} to"))
        sliders += [gr.skip()] * (len(ends) - len(sliders))
        visible = [gr.update(visible=number < len(pairs.measures)) for number in range(MOST_MEASURES)]
        picked = gr.update(choices=available, value=list(pairs.measures))
        return render_note(summary), pairs, picked, *visible, *sliders, *updates_of(pairs, {})

    @report_errors([gr.skip()] * (len(outputs) - 1))
    def on_move(pairs: PairMeasures | None, *values: float) -> list[Any]:
        if pairs is None:
            return [gr.skip()] * len(outputs)
        ranges = zip(pairs.measures, zip(values[::2], values[1::2], strict=True), strict=False)
        return updates_of(pairs, dict(ranges))

    gr.on([button.click, path.submit], on_read, inputs, read_outputs, api_visibility="private")
    show_example(gr, tab, on_read, inputs, read_outputs)
    gr.on(
        [end.input for end in ends],
        on_move,
        [state, *ends],
        outputs,
        show_progress="hidden",
        trigger_mode="always_last",
        api_visibility="private",
    )


def open_data(file: str | None, path: str, split: str, names: Sequence[str]) -> tuple[PairMeasures, list[str], str]:
    """Read the pairs of an upload or a folder on this machine; by default the labelled pairs of the sample."""
    source = choose_source(file, path)
    title = "the labelled pairs of the built-in sample" if source is None else source.name if file else path.strip()
    called = title if source is not None and not file else _NEEDS_A_FOLDER
    with (
        tempfile.TemporaryDirectory(prefix="hf-paraphrase-pairs-") as work,
        shorten_upload_path(source if file else None),
    ):
        folder = DataFolder(source or _write_sample(Path(work)))
        part = split.strip() or "train"
        if part == "train" and part not in folder.splits:
            part = folder.splits[0]
        available = list_measures(folder, part)
        usual = [name for name in USUAL if name in available] or available[:MOST_MEASURES]
        chosen = list(names)[:MOST_MEASURES] if names and set(names) <= set(available) else usual
        pairs = read_measures(folder, part, chosen, label=called)
    text = f"{title}, split {part}: {pairs.count:,} pairs"
    if called == _NEEDS_A_FOLDER:
        text += f"; in the command, replace {_NEEDS_A_FOLDER} by a data folder of them"
    return pairs, available, text


def render_result(pairs: PairMeasures, kept: NDArray[np.bool_], comparisons: Sequence[str]) -> str:
    """Return the HTML with the number of kept pairs and the command that keeps them."""
    num_kept = int(kept.sum())
    count = f"<h3>{num_kept:,} of {pairs.count:,} pairs are kept ({num_kept / pairs.count:.1%})</h3>"
    if not num_kept:
        return count + render_note("no pair is kept, so filter would report an error", error=True)
    return f'{count}<code class="hfp-command">{escape(pairs.format_command(comparisons))}</code>'


def _write_sample(work: Path) -> Path:
    """Write the labelled pairs of the built-in sample as a data folder."""
    for split, pairs in sample_paraphrases().items():
        rows = {name: [getattr(pair, name) for pair in pairs] for name in _LABELLED.names}
        write_split(work, split, [pa.table(rows, schema=_LABELLED)], _LABELLED)
    return work


@dataclass(frozen=True)
class MeasureValues:
    """The values of one measure for all pairs (pairs,), NaN where a value is missing.

    The slider is from `low` to `high` with `digits` decimals; this full range keeps all values. `width` is the width
    of a histogram bar.
    """

    name: str
    values: NDArray[np.float64]
    low: float
    high: float
    digits: int
    width: float

    @classmethod
    def from_values(cls, name: str, values: NDArray[np.float64]) -> MeasureValues:
        """Compute the range and the bar width of values."""
        drawn = values[np.isfinite(values)]
        least, greatest = (float(drawn.min()), float(drawn.max())) if drawn.size else (0.0, 0.0)
        span = greatest - least
        if span < 1e-9 * max(1.0, abs(least), abs(greatest)):
            span = 1.0
        width = span / _BARS
        if (drawn == np.round(drawn)).all():
            return cls(name, values, least, least + span, 0, float(math.ceil(width)))
        digits = max(0, math.ceil(math.log10(_STEPS / span)))
        return cls(name, values, round(least, digits), round(least + span, digits), digits, width)

    def count_bars(self, kept: NDArray[np.bool_]) -> tuple[float, NDArray[np.int64], NDArray[np.int64]]:
        """Return the start of the first bar, and the numbers of kept pairs and of all pairs per bar (bars,)."""
        is_finite = np.isfinite(self.values)
        bars = np.floor(self.values[is_finite] / self.width).astype(np.int64)
        first = int(bars.min()) if bars.size else 0
        counts = np.bincount(bars - first)
        return first * self.width, np.bincount((bars - first)[kept[is_finite]], minlength=len(counts)), counts

    def render(self, kept: NDArray[np.bool_]) -> str:
        """Return the HTML of the histogram, with the kept part of each bar in colour."""
        start, inside, counts = self.count_bars(kept)
        peak = int(counts.max(initial=1))
        bars = "".join(
            f'<span title="from {start + bar * self.width:g}: {count:,} pairs, {part:,} kept" '
            f'style="height:{100 * count / peak:.1f}%"><b style="height:{100 * part / max(count, 1):.1f}%"></b></span>'
            for bar, (part, count) in enumerate(zip(inside.tolist(), counts.tolist(), strict=True))
        )
        ends = f"<span>{self.low:g}</span><span>at most {peak:,} pairs per bar</span><span>{self.high:g}</span>"
        return f'<h4>{escape(self.name)}</h4><div class="hfp-bars">{bars}</div><div class="hfp-ends">{ends}</div>'

    def format_comparison(self, low: float, high: float) -> str | None:
        """Return a range as a condition of `filter --keep`; None for the full range, which keeps missing values."""
        if low > high:
            raise UsageError(f"the range of {self.name} begins at {low:g} and ends at {high:g}", remedy="swap them")
        first, last = (np.format_float_positional(round(end, self.digits), trim="-") for end in (low, high))
        above, below = low > self.low, high < self.high
        if above and below:
            return f"{first}<={self.name}<={last}"
        return f"{self.name}>={first}" if above else f"{self.name}<={last}" if below else None


@dataclass(frozen=True)
class PairMeasures:
    """Pairs of a split with measures; `texts` has the sentences of the first pairs, `name` is the folder as typed."""

    name: str
    split: str
    count: int
    measures: dict[str, MeasureValues]
    texts: pa.Table

    def select(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[NDArray[np.bool_], list[str]]:
        """Return which pairs the ranges keep (pairs,), and the ranges as conditions of `filter --keep`."""
        kept = np.ones(self.count, bool)
        comparisons = []
        for name, ends in ranges.items():
            measure = self.measures[name]
            if (text := measure.format_comparison(*ends)) is not None:
                comparisons.append(text)
                kept &= parse_selection(text).mask(measure.values)
        return kept, comparisons

    def list_examples(self, part: NDArray[np.bool_]) -> list[list[Any]]:
        """Return the first selected pairs with their measures as table rows."""
        rows = []
        for row in np.flatnonzero(part[: self.texts.num_rows])[:_EXAMPLES].tolist():
            texts = [str(self.texts.column(name)[row].as_py() or "")[:_LONGEST] for name in _SENTENCES]
            rows.append([*texts, *(round_cell(float(measure.values[row])) for measure in self.measures.values())])
        return rows

    def format_command(self, comparisons: Sequence[str]) -> str:
        """Return the `filter` command with these conditions."""
        words = ["hf-paraphrase", "filter", "--pairs", self.name]
        words += ["--split", self.split] if self.split != "train" else []
        words += ["--keep", *comparisons] if comparisons else []
        return shlex.join([*words, "--output", "filtered"])


def list_measures(folder: DataFolder, split: str) -> list[str]:
    """List numeric columns and computable measures, the usual ones first."""
    schema = folder.require(*_SENTENCES, split=split)
    numbers = [field.name for field in schema if is_number(field.type)]
    names = [*filter(_NAME.fullmatch, numbers), *list_measurable_columns(schema.names)]
    return list(dict.fromkeys([*(name for name in USUAL if name in names), *names]))


def read_measures(folder: DataFolder, split: str, names: Sequence[str], *, label: str | None = None) -> PairMeasures:
    """Read the pairs of a split and compute missing measures."""
    schema = folder.require(*_SENTENCES, split=split)
    check_columns(names, schema, "the page")
    wanted = {*_SENTENCES, *list_columns_to_read(names, schema.names)}
    values: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
    texts, count = [], 0
    for batch in tqdm(folder.batches(split, [name for name in schema.names if name in wanted]), desc="measure"):
        table = add_columns(pa.Table.from_batches([batch]), names)
        for name in names:
            values[name].append(read_numeric(table, name))
        if count < _MOST_TEXTS:
            texts.append(table.select(list(_SENTENCES)).slice(0, _MOST_TEXTS - count))
        count += table.num_rows
    if not count:
        raise InputError(f"split `{split}` has no pairs", path=folder.path, remedy="choose another split")
    measures = {name: MeasureValues.from_values(name, np.concatenate(parts)) for name, parts in values.items()}
    return PairMeasures(label or str(folder.path), split, count, measures, pa.concat_tables(texts))
