"""The tab of neighbours: a corpus, a query, and its nearest sentences under several encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .answers import answered, sentence_of, show_example, source_of
from .corpora import MOST_SENTENCES, UserCorpus
from .model_catalogue import ModelCatalogue
from .pictures import escaped, note

if TYPE_CHECKING:
    import gradio

MOST_ENCODERS = 3
_EXAMPLE = "Could you give me a hand?"


def add_tab(gr: gradio, tab: gradio.Tab, catalogue: ModelCatalogue, *, shared: bool) -> None:
    """Puts the components on the tab."""
    corpus = gr.State(None, delete_callback=lambda opened: opened and opened.close())
    with gr.Row():
        with gr.Column():
            upload = gr.File(label="Corpus: a text file, a sentence a line", height=150, elem_id="neighbours-file")
            path = gr.Textbox(
                label="Or a text file or data folder on this machine",
                placeholder="without either: sentences of the built-in sample",
                visible=not shared,
                elem_id="neighbours-path",
            )
        with gr.Column():
            models = gr.Dropdown(
                catalogue.encoders,
                value=catalogue.encoders[:1],
                multiselect=True,
                max_choices=MOST_ENCODERS,
                label=f"Encoders, up to {MOST_ENCODERS}",
                elem_id="neighbours-models",
            )
    with gr.Row():
        query = gr.Textbox(_EXAMPLE, label="Query", scale=4, elem_id="neighbours-query")
        count = gr.Slider(1, 50, 10, step=1, label="Neighbours", scale=2)
        search = gr.Button("Search", variant="primary", scale=1, elem_id="neighbours-go")
    status = gr.HTML(elem_id="neighbours-status")
    slots: list[Any] = []
    with gr.Row(elem_id="neighbours-result"):
        for _ in range(MOST_ENCODERS):
            with gr.Column(visible=False, min_width=300) as column:
                heading = gr.HTML()
                listed = gr.Dataframe(
                    headers=["cosine", "sentence"], datatype=["number", "str"], column_widths=["22%", "78%"], wrap=True
                )
            slots += [column, heading, listed]
    gradio_progress = gr.Progress()
    hidden = [gr.update(visible=False), gr.skip(), gr.skip()]

    @answered([gr.skip()] * (1 + len(slots)))
    def on_search(
        old: UserCorpus | None,
        file: str | None,
        place: str,
        names: list[str],
        text: str,
        k: int,
        progress: Any = gradio_progress,
    ) -> tuple[Any, ...]:
        sentence, encoders = sentence_of(text, "the query"), chosen(names)
        source = source_of(file, "" if shared else place)
        opened = old if old is not None and old.source == source else UserCorpus(catalogue, source)

        def report(share: float, what: str) -> None:
            progress(share, desc=what)

        updates: list[Any] = []
        for name in encoders:
            neighbours, seconds = opened.search(sentence, name, k=int(k), progress=report)
            rows = [[round(item.score, 3), item.sentence] for item in neighbours]
            unknown = "" if rows else note("none of the words of the query is in the encoder's vocabulary")
            updates += [gr.update(visible=True), f"<h3>{escaped(name)}</h3><p>{seconds * 1000:.1f} ms</p>{unknown}"]
            updates.append(rows)
        if old is not None and opened is not old:
            old.close()
        return status_of(opened), opened, *updates, *hidden * (MOST_ENCODERS - len(encoders))

    inputs, outputs = [corpus, upload, path, models, query, count], [status, corpus, *slots]
    gr.on([search.click, query.submit], on_search, inputs, outputs, api_visibility="private")
    show_example(gr, tab, on_search, inputs, outputs)


def chosen(names: Sequence[str] | None) -> list[str]:
    """Returns the encoders that were chosen."""
    if not names:
        raise UsageError("no encoder is chosen", remedy="choose one")
    return list(names)[:MOST_ENCODERS]


def status_of(corpus: UserCorpus) -> str:
    """Describes what was read."""
    more = f"; it has more than {MOST_SENTENCES:,}, the others are left out" if corpus.cut else ""
    return note(f"{corpus.name}: {len(corpus.sentences):,} sentences{more}")
