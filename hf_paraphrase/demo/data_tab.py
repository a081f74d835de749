"""The tab of data: measures of pairs as histograms, ranges that move, and the command that keeps the same pairs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..data.folder import DataFolder, write_split
from ..data.parquet_files import open_shard
from ..data.sample import sample_paraphrases
from ..errors import HfParaphraseError, InputError
from .answers import answered
from .charts import histogram
from .neighbours_tab import source_of
from .pair_measures import MOST_MEASURES, USUAL, Cut, PairMeasures, available_measures, read_measures
from .pictures import escaped, note, table

if TYPE_CHECKING:
    import gradio

_LONGEST = 300
_JUDGED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("label", pa.int64())])
_NEEDS_A_FOLDER = "YOUR_FOLDER"


@dataclass(frozen=True)
class OpenData:
    """Pairs that a user looks at."""

    pairs: PairMeasures
    summary: str


def add_tab(gr: gradio, *, shared: bool) -> None:
    """Puts the tab's components on the page."""
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
            names = gr.Dropdown(
                [],
                value=[],
                multiselect=True,
                max_choices=MOST_MEASURES,
                label=f"Measures, up to {MOST_MEASURES}; none: the usual ones",
                elem_id="data-measures",
            )
            button = gr.Button("Read the pairs", variant="primary", elem_id="data-go")
    status = gr.HTML(elem_id="data-status")
    slots: list[tuple[Any, Any, Any, Any]] = []
    with gr.Row(elem_id="data-ranges"):
        for number in range(MOST_MEASURES):
            with gr.Column(visible=False, min_width=300) as column:
                chart = gr.HTML(elem_id=f"data-chart-{number}")
                low = gr.Slider(0, 1, 0, label="from", elem_id=f"data-low-{number}")
                high = gr.Slider(0, 1, 1, label="to", elem_id=f"data-high-{number}")
            slots.append((column, chart, low, high))
    result = gr.HTML(elem_id="data-result")
    charts = [chart for _, chart, _, _ in slots]
    ends = [end for _, _, low, high in slots for end in (low, high)]
    everything = [component for slot in slots for component in slot]
    gradio_progress = gr.Progress()
    unchanged = gr.skip()

    @answered((unchanged, unchanged, *[gr.update(visible=False), "", unchanged, unchanged] * MOST_MEASURES, ""))
    def on_read(
        file: str | None, place: str, part: str, chosen: list[str], progress: Any = gradio_progress
    ) -> tuple[Any, ...]:
        opened, available = open_data(file, "" if shared else place, part, chosen, progress)
        pairs = opened.pairs
        updates: list[Any] = []
        for number in range(MOST_MEASURES):
            measure = list(pairs.measures.values())[number] if number < len(pairs.measures) else None
            if measure is None:
                updates += [gr.update(visible=False), "", gr.skip(), gr.skip()]
                continue
            bounds = {"minimum": measure.low, "maximum": measure.high, "step": measure.step}
            picture = histogram(measure.counts(), measure.edges, measure.counts(), measure.name)
            updates += [
                gr.update(visible=True),
                picture,
                gr.update(**bounds, value=measure.low, label=f"{measure.name} from"),
                gr.update(**bounds, value=measure.high, label=f"{measure.name} to"),
            ]
        picked = gr.update(choices=available, value=list(pairs.measures))
        return opened.summary, opened, picked, *updates, shown(pairs, pairs.cut({}))

    @answered((unchanged,) * MOST_MEASURES)
    def on_move(opened: OpenData | None, *values: float) -> tuple[Any, ...]:
        if opened is None:
            return ("", *[gr.skip()] * MOST_MEASURES)
        pairs = opened.pairs
        given = zip(pairs.measures, zip(values[::2], values[1::2], strict=True), strict=False)
        cut = pairs.cut(dict(given))
        drawn = [
            histogram(item.counts(), item.edges, item.counts(cut.kept), item.name) for item in pairs.measures.values()
        ]
        return (shown(pairs, cut), *drawn, *[""] * (MOST_MEASURES - len(drawn)))

    gr.on(
        [button.click, path.submit],
        on_read,
        [upload, path, split, names],
        [status, state, names, *everything, result],
        api_visibility="private",
    )
    gr.on(
        [end.input for end in ends],
        on_move,
        [state, *ends],
        [result, *charts],
        show_progress="hidden",
        trigger_mode="always_last",
        api_visibility="private",
    )


def open_data(
    file: str | None, place: str, split: str, names: Sequence[str], progress: Any
) -> tuple[OpenData, list[str]]:
    """Reads pairs from what a user gave.

    Returns:
        The pairs, and the measures that they have or could have.
    """
    source = source_of(file, place)
    title = "the judged pairs of the built-in sample" if source is None else source.name if file else place.strip()
    with tempfile.TemporaryDirectory(prefix="hf-paraphrase-pairs-") as work, _called(title, Path(work)):
        if source is None:
            folder, called = _sample(Path(work)), _NEEDS_A_FOLDER
        elif file:
            folder, called = _uploaded(source, Path(work)), _NEEDS_A_FOLDER
        else:
            folder, called = DataFolder(source), title
        part = split.strip() or "train"
        if part == "train" and part not in folder.splits:
            part = folder.splits[0]
        available = available_measures(folder, part)
        usual = [name for name in USUAL if name in available] or available
        total, done = folder.count(part), 0

        def report(rows: int) -> None:
            nonlocal done
            done += rows
            progress(done / max(1, total), desc=f"{done:,} of {total:,} pairs measured")

        chosen = list(names) if names and set(names) <= set(available) else usual[:MOST_MEASURES]
        pairs = read_measures(folder, part, chosen, place=called, progress=report)
    text = f"{title}, split {part}: {pairs.count:,} pairs"
    if called == _NEEDS_A_FOLDER:
        text += f"; in the command {_NEEDS_A_FOLDER} stands for a data folder of them"
    return OpenData(pairs, note(text)), available


def shown(pairs: PairMeasures, cut: Cut) -> str:
    """Draws what ranges keep, the command that keeps the same, and pairs next to the borders."""
    kept = int(cut.kept.sum())
    parts = [f'<h3 class="hfp-count">{kept:,} of {pairs.count:,} pairs are kept ({kept / pairs.count:.1%})</h3>']
    if kept:
        parts.append(f'<code class="hfp-command">{escaped(pairs.command(cut.comparisons))}</code>')
    else:
        parts.append(note("nothing is kept: filter would refuse that", error=True))
    if cut.comparisons:
        titles = ("Just inside", "Just outside")
        lists = [
            f"<section><h3>{title}</h3>{_examples(pairs, rows.tolist())}</section>"
            for title, rows in zip(titles, cut.nearest, strict=True)
        ]
        parts.append(f'<div class="hfp-side">{"".join(lists)}</div>')
    return "".join(parts)


def _examples(pairs: PairMeasures, rows: Sequence[int]) -> str:
    if not rows:
        return note("none")
    lines = []
    for row in rows:
        texts = [str(pairs.texts.column(name)[row].as_py() or "")[:_LONGEST] for name in ("sentence1", "sentence2")]
        lines.append([*texts, *(measure.shown(row) for measure in pairs.measures.values())])
    return f'<div class="hfp-scroll">{table(["sentence1", "sentence2", *pairs.measures], lines)}</div>'


@contextmanager
def _called(name: str, work: Path) -> Iterator[None]:
    """Replaces the path of a temporary folder in errors by the name that the user knows."""
    try:
        yield
    except HfParaphraseError as error:
        if error.path is not None and Path(error.path).is_relative_to(work):
            error.path = name
        raise


def _sample(work: Path) -> DataFolder:
    """Writes the judged pairs of the built-in sample as a data folder."""
    for split, pairs in sample_paraphrases().items():
        rows = {name: [getattr(pair, name) for pair in pairs] for name in _JUDGED.names}
        write_split(work, split, [pa.table(rows, schema=_JUDGED)], _JUDGED)
    return DataFolder(work)


def _uploaded(file: Path, work: Path) -> DataFolder:
    """Puts an uploaded Parquet file into a data folder."""
    try:
        with open_shard(file):
            pass
    except InputError as error:
        raise InputError(error.message, path=file.name, remedy="upload a Parquet file of pairs") from error
    (work / "data").mkdir()
    shutil.copyfile(file, work / "data" / "train-00000-of-00001.parquet")
    return DataFolder(work)
