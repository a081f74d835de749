"""The Neighbours tab: the sentences of a corpus that are nearest to a query, by several encoders."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from ..data.sample import sample_bitext
from ..data.sentences import SentenceCorpus
from ..errors import InputError, UsageError
from ..inputs import temporary_folder
from ..searching.index import Neighbour, SearchIndex, build_index
from .answers import (
    WITH_MODELS,
    choose_source,
    escape,
    read_sentence,
    render_note,
    report_errors,
    shorten_upload_path,
    show_example,
)
from .model_catalogue import KNOWN_LANGUAGES, ModelCatalogue

if TYPE_CHECKING:
    import gradio

MOST_ENCODERS = 3
_EXAMPLE = "Could you give me a hand?"
MOST_SENTENCES = 1_000_000
"""Maximum number of sentences of a corpus."""
_BLOCK = 8_192
"""Sentences between two updates of the progress bar."""
SAMPLE = "the English sentences of the built-in sample"


def add_tab(gr: gradio, tab: gradio.Tab, catalogue: ModelCatalogue, *, shared: bool) -> None:
    """Put the components on the tab."""
    corpus = gr.State(None, delete_callback=lambda opened: opened and opened.close())
    with gr.Row():
        with gr.Column():
            upload = gr.File(label="Corpus: a text file, one sentence per line", height=150, elem_id="neighbours-file")
            path = gr.Textbox(
                label="Or a text file or data folder on this machine",
                placeholder="if neither is given: sentences of the built-in sample",
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
                info=KNOWN_LANGUAGES,
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
    gradio_progress = gr.Progress(track_tqdm=True)
    hidden = [gr.update(visible=False), gr.skip(), gr.skip()]

    @report_errors([gr.skip(), *hidden * MOST_ENCODERS])
    def on_search(
        old: UserCorpus | None,
        file: str | None,
        typed_path: str,
        names: list[str],
        text: str,
        k: int,
        progress: Any = gradio_progress,
    ) -> tuple[Any, ...]:
        sentence, encoders = read_sentence(text, "the query"), names[:MOST_ENCODERS]
        if not encoders:
            raise UsageError("no encoder is chosen", remedy="choose one")
        source = choose_source(file, "" if shared else typed_path)
        with shorten_upload_path(source if file else None):
            opened = old if old is not None and old.source == source else UserCorpus(catalogue, source)

        updates: list[Any] = []
        for name in encoders:
            rows = [
                [round(neighbour.score, 3), neighbour.sentence]
                for neighbour in opened.search(sentence, name, k=int(k))
            ]
            unknown = "" if rows else render_note("the encoder's vocabulary contains no word of the query")
            updates += [gr.update(visible=True), f"<h3>{escape(name)}</h3>{unknown}", rows]
        if old is not None and opened is not old:
            old.close()
        more = ", the first of a longer corpus" if opened.is_cut else ""
        status = render_note(f"{opened.name}: {len(opened.sentences):,} sentences{more}")
        return status, opened, *updates, *hidden * (MOST_ENCODERS - len(encoders))

    inputs, outputs = [corpus, upload, path, models, query, count], [status, corpus, *slots]
    gr.on([search.click, query.submit], on_search, inputs, outputs, **WITH_MODELS)
    show_example(gr, tab, on_search, inputs, outputs)


class UserCorpus:
    """A corpus of one user, by default the sample; closing it deletes its indexes."""

    def __init__(self, catalogue: ModelCatalogue, source: Path | None = None) -> None:
        self._catalogue, self.source = catalogue, source
        self.name = SAMPLE if source is None else source.name
        if source is None:
            self.sentences: list[str | None] = [pair.english for pairs in sample_bitext().values() for pair in pairs]
        else:
            texts = chain.from_iterable(SentenceCorpus(source).blocks())
            self.sentences = list(islice(texts, MOST_SENTENCES + 1))
        self.is_cut = len(self.sentences) > MOST_SENTENCES
        del self.sentences[MOST_SENTENCES:]
        if not any(map(str.strip, filter(None, self.sentences))):
            raise InputError("the corpus contains no sentences", path=source, remedy="give one sentence per line")
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(temporary_folder())
        self._indexes: dict[str, SearchIndex] = {}

    def close(self) -> None:
        """Remove the indexes."""
        self._stack.close()

    def search(self, query: str, model: str, *, k: int) -> list[Neighbour]:
        """Find the sentences that are nearest to a query."""
        if model not in self._indexes:
            encoder = self._catalogue.encoder(model)
            folder = self._folder / str(len(self._indexes))
            folder.mkdir(exist_ok=True)
            starts = tqdm(range(0, len(self.sentences), _BLOCK), desc=f"{model} reads the sentences", unit=" blocks")
            build_index(encoder, (self.sentences[start : start + _BLOCK] for start in starts), folder)
            self._indexes[model] = SearchIndex(folder, encoder)
        return next(self._indexes[model].search(query, k))
