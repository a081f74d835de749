"""The tab of neighbours: a corpus, a query, its nearest sentences under several encoders, and a map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .answers import answered
from .corpora import MOST_SENTENCES, Found, Progress, UserCorpus
from .model_catalogue import ModelCatalogue
from .pictures import escaped, note, table
from .typed_texts import sentence_of

if TYPE_CHECKING:
    import gradio

MOST_ENCODERS = 3
_EXAMPLE = "Could you give me a hand?"


def add_tab(gr: gradio, catalogue: ModelCatalogue, *, shared: bool) -> None:
    """Puts the tab's components on the page."""
    corpus = gr.State(None, delete_callback=_close)
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
            read = gr.Button("Read the corpus", elem_id="neighbours-read")
            status = gr.HTML(elem_id="neighbours-status")
    with gr.Row():
        query = gr.Textbox(_EXAMPLE, label="Query", scale=4, elem_id="neighbours-query")
        count = gr.Slider(1, 50, 10, step=1, label="Neighbours", scale=2)
        search = gr.Button("Search", variant="primary", scale=1, elem_id="neighbours-go")
    result = gr.HTML(elem_id="neighbours-result")

    gradio_progress = gr.Progress()

    def open_corpus(file: str | None, place: str, names: list[str], progress: Progress) -> tuple[UserCorpus, str]:
        opened = UserCorpus(catalogue, source_of(file, "" if shared else place))
        try:
            for name in chosen(names):
                opened.read(name, progress)
        except BaseException:
            opened.close()
            raise
        return opened, status_of(opened)

    @answered((gr.skip(), ""))
    def on_read(
        old: UserCorpus | None, file: str | None, place: str, names: list[str], progress: Any = gradio_progress
    ) -> tuple[str, UserCorpus, str]:
        opened, summary = open_corpus(file, place, names, _shown(progress))
        _close(old)
        return summary, opened, ""

    @answered((gr.skip(), gr.skip()))
    def on_search(
        opened: UserCorpus | None,
        file: str | None,
        place: str,
        names: list[str],
        text: str,
        k: int,
        progress: Any = gradio_progress,
    ) -> tuple[str, Any, Any]:
        sentence = sentence_of(text, "the query")
        summary: Any = gr.skip()
        if opened is None:
            opened, summary = open_corpus(file, place, names, _shown(progress))
        results = {name: opened.search(sentence, name, k=int(k), progress=_shown(progress)) for name in chosen(names)}
        return shown(results), opened, summary

    gr.on(
        [read.click],
        on_read,
        [corpus, upload, path, models],
        [status, corpus, result],
        api_visibility="private",
    )
    gr.on(
        [search.click, query.submit],
        on_search,
        [corpus, upload, path, models, query, count],
        [result, corpus, status],
        api_visibility="private",
    )


def source_of(file: str | None, place: str) -> Path | None:
    """Returns what a user gave: an upload, or a place on this machine; None for neither."""
    place = (place or "").strip()
    if file and place:
        raise UsageError("there is an upload and a path", remedy="remove one of them")
    return Path(file) if file else Path(place).expanduser() if place else None


def chosen(names: Sequence[str] | None) -> list[str]:
    """Returns the encoders that were chosen."""
    if not names:
        raise UsageError("no encoder is chosen", remedy="choose one")
    if len(names) > MOST_ENCODERS:
        raise UsageError(f"{len(names)} encoders are chosen", remedy=f"at most {MOST_ENCODERS}")
    return list(names)


def status_of(corpus: UserCorpus) -> str:
    """Describes what was read."""
    more = f"; it has more than {MOST_SENTENCES:,}, the others are left out" if corpus.cut else ""
    return note(f"{corpus.name}: {corpus.count:,} sentences{more}")


def shown(results: dict[str, Found]) -> str:
    """Draws what encoders found, side by side."""
    columns = []
    for name, item in results.items():
        exact = "" if item.recall is None else f", {item.recall:.0%} of the true neighbours are found"
        rows = [(f"{neighbour.score:.3f}".replace("-", "−"), neighbour.sentence) for neighbour in item.neighbours]
        listed = (
            table(["cosine", "sentence"], rows)
            if rows
            else note("none of the words of the query is in the encoder's vocabulary")
        )
        columns.append(
            f"<section><h3>{escaped(name)}</h3><p>{item.seconds * 1000:.1f} ms{exact}</p>{listed}{item.picture}"
            "</section>"
        )
    return f'<div class="hfp-side">{"".join(columns)}</div>'


def _shown(progress: Any) -> Progress:
    def tell(share: float, text: str) -> None:
        progress(share, desc=text)

    return tell


def _close(corpus: UserCorpus | None) -> None:
    if corpus is not None:
        corpus.close()
