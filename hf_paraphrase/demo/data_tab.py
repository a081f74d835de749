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

_JUDGED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("label", pa.int64())])
_NEEDS_A_FOLDER = "YOUR_FOLDER"


def add_tab(gr: gradio, tab: gradio.Tab, *, shared: bool) -> None:
    """Puts the components on the tab."""
    state, readings = gr.State(None), gr.State(0)
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
    gradio_progress = gr.Progress()
    inputs, outputs = [upload, path, split, names, readings], [status, state, names, readings]

    @answered([gr.skip()] * (len(outputs) - 1))
    def on_read(
        file: str | None, place: str, part: str, chosen: list[str], number: int, progress: Any = gradio_progress
    ) -> tuple[Any, ...]:
        pairs, available, summary = open_data(file, "" if shared else place, part, chosen, progress)
        return note(summary), pairs, gr.update(choices=available, value=list(pairs.measures)), number + 1

    gr.on([button.click, path.submit], on_read, inputs, outputs, api_visibility="private")
    show_example(gr, tab, on_read, inputs, outputs)

    @gr.render(inputs=[state], triggers=[readings.change])
    def show(pairs: PairMeasures) -> None:
        charts: list[Any] = []
        ends: list[Any] = []
        everything = np.ones(pairs.count, bool)
        with gr.Row(elem_id="data-ranges"):
            for number, measure in enumerate(pairs.measures.values()):
                with gr.Column(min_width=300):
                    bars = {"x": "value", "y": "pairs", "color": "part", "x_title": measure.name}
                    looks: dict[str, Any] = {"color_map": BAR_COLOURS, "color_title": " ", "height": 200}
                    chart = gr.BarPlot(measure.histogram(everything), **bars, **looks, x_bin=measure.width)
                    charts.append(chart)
                    for name, end, value in (("low", "from", measure.low), ("high", "to", measure.high)):
                        ends.append(
                            gr.Slider(
                                measure.low,
                                measure.high,
                                value,
                                step=10.0**-measure.digits,
                                label=f"{measure.name} {end}",
                                elem_id=f"data-{name}-{number}",
                            )
                        )
        result = gr.HTML(shown(pairs, everything, []), elem_id="data-result")
        headers = ["sentence1", "sentence2", *pairs.measures]
        tables = [
            gr.Dataframe(pairs.examples(part), headers=headers, wrap=True, interactive=False, label=name)
            for name, part in (("Kept", everything), ("Left out", ~everything))
        ]

        @answered([gr.skip()] * (len(charts) + len(tables)))
        def on_move(*values: float) -> list[Any]:
            ranges = zip(pairs.measures, zip(values[::2], values[1::2], strict=True), strict=True)
            kept, comparisons = pairs.cut(dict(ranges))
            drawn = [measure.histogram(kept) for measure in pairs.measures.values()]
            return [shown(pairs, kept, comparisons), *drawn, pairs.examples(kept), pairs.examples(~kept)]

        gr.on(
            [end.input for end in ends],
            on_move,
            ends,
            [result, *charts, *tables],
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


def _sample(work: Path) -> Path:
    """Writes the judged pairs of the built-in sample as a data folder."""
    for split, pairs in sample_paraphrases().items():
        rows = {name: [getattr(pair, name) for pair in pairs] for name in _JUDGED.names}
        write_split(work, split, [pa.table(rows, schema=_JUDGED)], _JUDGED)
    return work
