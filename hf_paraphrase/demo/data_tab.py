"""The tab of data: measures of pairs as histograms, ranges that move, and the command that keeps the same pairs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.folder import DataFolder, write_split
from ..data.sample import sample_paraphrases
from ..errors import HfParaphraseError
from .answers import answered, show_example, source_of
from .pair_measures import MOST_MEASURES, USUAL, PairMeasures, available_measures, read_measures
from .pictures import BAR_COLOURS, escaped, note

if TYPE_CHECKING:
    import gradio

_LONGEST, _EXAMPLES = 300, 5
_JUDGED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("label", pa.int64())])
_NEEDS_A_FOLDER = "YOUR_FOLDER"


def add_tab(gr: gradio, tab: gradio.Tab, *, shared: bool) -> None:
    """Puts the components on the tab."""
    state = gr.State(None)
    with gr.Row():
        with gr.Column():
            path = gr.Textbox(
                label="A data folder of pairs on this machine",
                placeholder="without either: judged pairs of the built-in sample",
                visible=not shared,
                elem_id="data-path",
            )
            upload = gr.File(label="A Parquet file of pairs", height=150, elem_id="data-file")
        with gr.Column():
            split = gr.Textbox("train", label="Split", elem_id="data-split")
            label = f"Measures, up to {MOST_MEASURES}; none: the usual ones"
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
                charts.append(
                    gr.BarPlot(x="value", y="pairs", color="part", color_map=BAR_COLOURS, color_title=" ", height=200)
                )
                ends.append(gr.Slider(0, 1, 0, label="from", elem_id=f"data-low-{number}"))
                ends.append(gr.Slider(0, 1, 1, label="to", elem_id=f"data-high-{number}"))
    result = gr.HTML(elem_id="data-result")
    tables = [gr.Dataframe(visible=False, wrap=True, interactive=False, label=name) for name in ("Kept", "Left out")]
    gradio_progress = gr.Progress()
    outputs = [result, *charts, *tables]

    def updates_of(pairs: PairMeasures, ranges: dict[str, tuple[float, float]]) -> list[Any]:
        kept, comparisons = pairs.cut(ranges)
        updates: list[Any] = [shown(pairs, kept, comparisons)]
        for measure in pairs.measures.values():
            updates.append(gr.BarPlot(value=measure.histogram(kept), x_bin=measure.width, x_title=measure.name))
        updates += [gr.skip()] * (MOST_MEASURES - len(pairs.measures))
        headers = ["sentence1", "sentence2", *pairs.measures]
        for part in (kept, ~kept):
            examples = examples_of(pairs, part)
            updates.append(gr.Dataframe(value=examples, headers=headers, visible=bool(examples)))
        return updates

    inputs, read_outputs = [upload, path, split, names], [status, state, names, *columns, *ends, *outputs]

    @answered([gr.skip()] * (len(read_outputs) - 1))
    def on_read(
        file: str | None, place: str, part: str, chosen: list[str], progress: Any = gradio_progress
    ) -> tuple[Any, ...]:
        pairs, available, summary = open_data(file, "" if shared else place, part, chosen, progress)
        sliders: list[Any] = []
        for measure in pairs.measures.values():
            bounds = {"minimum": measure.low, "maximum": measure.high, "step": 10.0**-measure.digits}
            sliders.append(gr.update(**bounds, value=measure.low, label=f"{measure.name} from"))
            sliders.append(gr.update(**bounds, value=measure.high, label=f"{measure.name} to"))
        sliders += [gr.skip()] * (len(ends) - len(sliders))
        visible = [gr.update(visible=number < len(pairs.measures)) for number in range(MOST_MEASURES)]
        picked = gr.update(choices=available, value=list(pairs.measures))
        return note(summary), pairs, picked, *visible, *sliders, *updates_of(pairs, {})

    @answered([gr.skip()] * (len(outputs) - 1))
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


def open_data(
    file: str | None, place: str, split: str, names: Sequence[str], progress: Any
) -> tuple[PairMeasures, list[str], str]:
    """Reads pairs from what a user gave: an upload, a place on this machine, or the judged pairs of the sample."""
    source = source_of(file, place)
    title = "the judged pairs of the built-in sample" if source is None else source.name if file else place.strip()
    called = title if source is not None and not file else _NEEDS_A_FOLDER
    with tempfile.TemporaryDirectory(prefix="hf-paraphrase-pairs-") as work:
        try:
            folder = DataFolder(source or _sample(Path(work)))
            part = split.strip() or "train"
            if part == "train" and part not in folder.splits:
                part = folder.splits[0]
            available = available_measures(folder, part)
            total, done = folder.count(part), 0

            def report(rows: int) -> None:
                nonlocal done
                done += rows
                progress(done / max(1, total), desc=f"{done:,} of {total:,} pairs measured")

            usual = [name for name in USUAL if name in available] or available[:MOST_MEASURES]
            chosen = list(names)[:MOST_MEASURES] if names and set(names) <= set(available) else usual
            pairs = read_measures(folder, part, chosen, place=called, progress=report)
        except HfParaphraseError as error:
            # The path of an upload means nothing to its sender.
            if file and error.path == file:
                error.path = title
            raise
    text = f"{title}, split {part}: {pairs.count:,} pairs"
    if called == _NEEDS_A_FOLDER:
        text += f"; in the command {_NEEDS_A_FOLDER} stands for a data folder of them"
    return pairs, available, text


def shown(pairs: PairMeasures, kept: NDArray[np.bool_], comparisons: Sequence[str]) -> str:
    """Draws how many pairs ranges keep, and the command that keeps the same."""
    number = int(kept.sum())
    count = f"<h3>{number:,} of {pairs.count:,} pairs are kept ({number / pairs.count:.1%})</h3>"
    if not number:
        return count + note("nothing is kept: filter would refuse that", error=True)
    return f'{count}<code class="hfp-command">{escaped(pairs.command(comparisons))}</code>'


def examples_of(pairs: PairMeasures, part: NDArray[np.bool_]) -> list[list[Any]]:
    """Returns the first pairs of a part of all (pairs,) with their measures, as rows for a table on the page."""
    examples = []
    for row in np.flatnonzero(part[: pairs.texts.num_rows])[:_EXAMPLES].tolist():
        texts = [str(pairs.texts.column(name)[row].as_py() or "")[:_LONGEST] for name in ("sentence1", "sentence2")]
        values = [float(measure.values[row]) for measure in pairs.measures.values()]
        examples.append([*texts, *(None if value != value else round(value, 3) for value in values)])
    return examples


def _sample(work: Path) -> Path:
    """Writes the judged pairs of the built-in sample as a data folder."""
    for split, pairs in sample_paraphrases().items():
        rows = {name: [getattr(pair, name) for pair in pairs] for name in _JUDGED.names}
        write_split(work, split, [pa.table(rows, schema=_JUDGED)], _JUDGED)
    return work
