"""The tab of back-translation: the n-best list of a sentence, the attention, and pairs that are kept."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import UsageError
from .answers import answered, sentence_of, show_example
from .model_catalogue import ModelCatalogue
from .pictures import heat_map, note
from .translations import attention, keep_pairs, nbest_list

if TYPE_CHECKING:
    import gradio

_COLUMNS = {
    "rank": "rank",
    "translation": "sentence2",
    "log-probability": "log_prob",
    "units": "num_tokens",
    "cost": "cost",
    "overlap": "overlap_1",
    "BLEU": "bleu",
}
"""The columns of the list, and where in the pairs their values are."""
_MOST_BEAMS = 50
_EXAMPLES = {"en": ("The dog is sleeping.", ""), "fr": ("Le chien dort.", "The dog is sleeping.")}
NO_MODEL = "there is no translation model among the --models: train-nmt makes one, and quickstart a small one"


def add_tab(gr: gradio, tab: gradio.Tab, catalogue: ModelCatalogue, *, shared: bool) -> None:
    """Puts the components on the tab."""
    if not catalogue.translators:
        gr.HTML(note(NO_MODEL))
        return
    first = catalogue.models[catalogue.translators[0]]
    example, translated = _EXAMPLES.get(str(first.languages[0]), _EXAMPLES["fr"])
    translation = gr.State(None)
    own = gr.State(None, delete_callback=_remove)
    with gr.Row():
        with gr.Column(scale=3):
            source = gr.Textbox(example, label="Sentence to translate", elem_id="translation-source")
            reference = gr.Textbox(
                translated, label="Its reference, for the measures and the pairs", elem_id="translation-reference"
            )
        with gr.Column(scale=1):
            model = gr.Dropdown(catalogue.translators, value=first.name, label="Model", elem_id="translation-model")
            beams = gr.Slider(1, _MOST_BEAMS, 10, step=1, label="Beam width, and translations")
            translate = gr.Button("Translate", variant="primary", elem_id="translation-go")
    status = gr.HTML(elem_id="translation-status")
    nbest = gr.Dataframe(
        headers=list(_COLUMNS),
        datatype=["number", "str", *["number"] * 5],
        wrap=True,
        interactive=False,
        elem_id="translation-nbest",
    )
    wanted = gr.CheckboxGroup([], label="Translations to keep", elem_id="translation-wanted")
    with gr.Row():
        folder = gr.Textbox(
            "kept_pairs",
            label="Data folder for the pairs to keep",
            visible=not shared,
            scale=3,
            elem_id="translation-folder",
        )
        keep = gr.Button("Keep these", scale=1, elem_id="translation-keep")
    kept = gr.HTML(elem_id="translation-kept")
    download = gr.File(label="Kept pairs", visible=shared, interactive=False)
    picture = gr.HTML(elem_id="translation-attention")

    @answered((None, [], gr.update(choices=[], value=[]), "", ""))
    def on_translate(name: str, text: str, given: str, width: float) -> tuple[Any, ...]:
        sentence = sentence_of(text, "the sentence to translate")
        target = sentence_of(given, "the reference") if (given or "").strip() else ""
        with catalogue.translator(name) as (opened, tokenizer):
            table = nbest_list(opened, tokenizer, sentence, target, beams=int(width))
        summary = f"{table.num_rows} translations; click one to see its attention"
        summary += "" if target else "; without a reference there is no overlap or BLEU"
        choices = [(f"{rank}: {text}", rank) for rank, text in enumerate(table.column("sentence2").to_pylist())]
        picture = drawn_attention(catalogue, (name, table), 0)
        wanted = gr.update(choices=choices, value=[0])
        return note(summary), (name, table), shown_rows(table, _COLUMNS.values()), wanted, picture, ""

    def on_select(state: tuple[str, pa.Table] | None, event: Any) -> str:
        return "" if state is None else drawn_attention(catalogue, state, int(event.row_value[0]))

    # The library looks at this to give the event; as text it could not find it.
    on_select.__annotations__ = {"event": gr.SelectData}

    @answered((gr.skip(), None))
    def on_keep(
        state: tuple[str, pa.Table] | None, ranks: list[int], place: str, mine: str | None
    ) -> tuple[str, str | None, str | None]:
        if state is None:
            raise UsageError("there is no translation yet", remedy="translate a sentence first")
        name, table = state
        if not shared and not (place or "").strip():
            raise UsageError("no folder is named for the pairs", remedy="name one")
        mine = mine or (tempfile.mkdtemp(prefix="hf-paraphrase-kept-") if shared else None)
        target = str(Path(mine) / "kept_pairs") if mine else place.strip()
        count = keep_pairs(target, kept_rows(table, ranks), model=name)
        if mine:
            return note(f"{count} pairs are kept"), mine, shutil.make_archive(target, "zip", mine, "kept_pairs")
        return note(f"{target}: {count} pairs"), None, None

    inputs, outputs = [model, source, reference, beams], [status, translation, nbest, wanted, picture, kept]
    gr.on([translate.click, source.submit, reference.submit], on_translate, inputs, outputs, api_visibility="private")
    show_example(gr, tab, on_translate, inputs, outputs)
    nbest.select(answered()(on_select), translation, picture, api_visibility="private")
    keep.click(on_keep, [translation, wanted, folder, own], [kept, own, download], api_visibility="private")


def shown_rows(table: pa.Table, columns: Iterable[str]) -> list[list[str | float | None]]:
    """Returns some columns as rows for a table on the page, numbers with three digits, None for NaN."""
    rows = zip(*(table.column(name).to_pylist() for name in columns), strict=True)
    return [[_shown(value) for value in row] for row in rows]


def _shown(value: str | float | None) -> str | float | None:
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 3)
    return value


def kept_rows(table: pa.Table, ranks: Sequence[int]) -> pa.Table:
    """Takes the translations of some ranks from an n-best list, in the list's order."""
    return table.filter(pa.array([rank in ranks for rank in table.column("rank").to_pylist()], pa.bool_()))


def drawn_attention(catalogue: ModelCatalogue, state: tuple[str, pa.Table], rank: int) -> str:
    """Draws the attention of each unit of a translation."""
    name, table = state
    ranks = table.column("rank").to_pylist()
    if rank not in ranks:
        return ""
    row = table.slice(ranks.index(rank), 1).to_pylist()[0]
    with catalogue.translator(name) as (model, tokenizer):
        weights = attention(model, tokenizer, row["source"], row["sentence2"])
    return (
        f"<h3>Attention of translation {rank}</h3><p>A row is a unit of the translation, a column one of the source; "
        f"a row adds up to 1.</p>{heat_map(weights.target, weights.source, weights.weights)}"
    )


def _remove(folder: str | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
