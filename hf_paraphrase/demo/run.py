"""The recipe of the verb `demo`: a page in the browser, on this machine alone, whose tabs are put together here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ..artefacts.hub_models import BUILTIN
from ..errors import UsageError
from ..messages import log
from ..settings import recipe, setting
from ..training.devices import DeviceSettings
from . import data_tab, neighbours_tab, similarity_tab, translation_tab
from .model_catalogue import ModelCatalogue

if TYPE_CHECKING:
    import gradio

HOST = "127.0.0.1"
"""The page is for this machine alone."""
TITLE = "hf_paraphrase"
_UPLOADS = (3_600, 86_400)
"""Every hour uploads older than a day are deleted; all of them when the page is closed."""


@dataclass(kw_only=True)
class DemoSettings(DeviceSettings):
    """Open a page to try models and look at data in a browser, on this machine alone.

    Similarity of sentences and the words that carry it, neighbours in a corpus, paraphrases by a round trip of
    translation, back-translation with its n-best list, and pairs with the measures by which they are filtered. Nothing
    is fetched from elsewhere and nothing is reported.
    """

    models: list[str] = setting(
        "model folders, or folders that hold some at any depth: sentence encoders and translation models",
        [BUILTIN],
        path=True,
    )
    model_source_lang: str | None = setting(
        "language to translate from, by the code of translation models that know several", None
    )
    model_target_lang: str | None = setting("language to translate into, likewise", None)
    port: int = setting(
        "the port on 127.0.0.1; 0 takes a free one", 7860, at_least=0, at_most=65_535, excludes="output"
    )
    output: str | None = setting(
        "open no page, but write the folder of a Space with it, which push sends; --models are then models of the "
        "Hub, namespace/name, or builtin",
        None,
    )
    overwrite: bool = setting("replace an existing folder of a Space", False, only_with="output")


@recipe(DemoSettings)
def launch_demo(settings: DemoSettings) -> Path | None:
    """Opens the page and serves it until it is interrupted, or writes the folder of a Space."""
    if settings.output is not None:
        from .space import write_space

        folder = write_space(settings.output, settings.models, overwrite=settings.overwrite, record=settings.record())
        log(f"Space saved to {folder}. Send it with: hf-paraphrase push --path {folder} --repo-id namespace/name")
        return folder
    with served_page(settings) as url:
        log(f"the page is at {url} (Ctrl-C ends it)")
        with suppress(KeyboardInterrupt):
            _wait()
        log("the page is closed")
    return None


@contextmanager
def served_page(settings: DemoSettings) -> Iterator[str]:
    """Serves the page while the block runs."""
    languages = {"source_lang": settings.model_source_lang, "target_lang": settings.model_target_lang}
    page = build_page(ModelCatalogue(settings.models, device=settings.device, languages=languages))
    try:
        _, url, _ = launch(page, server_name=HOST, server_port=settings.port or None, prevent_thread_lock=True)
    except OSError as error:
        raise UsageError(f"port {settings.port} cannot be used", remedy="give another --port, or 0") from error
    try:
        yield url.rstrip("/")
    finally:
        page.close(verbose=False)


def require_gradio() -> gradio:
    """Imports gradio."""
    try:
        return import_module("gradio")
    except ImportError as error:
        raise UsageError("the page needs the package gradio", remedy="pip install 'hf-paraphrase[demo]'") from error


def build_page(catalogue: ModelCatalogue, *, shared: bool = False) -> gradio.Blocks:
    """Puts the tabs together; each computes its example when it is first opened."""
    gr = require_gradio()
    with gr.Blocks(title=TITLE, analytics_enabled=False, delete_cache=_UPLOADS) as page:
        gr.Markdown(f"# {TITLE}\nParaphrases, sentence embeddings, and the data they come from.")
        with gr.Tabs():
            with gr.Tab("Similarity", id="similarity"):
                similarity_tab.add_tab(gr, page, catalogue)
            with gr.Tab("Neighbours", id="neighbours") as tab:
                neighbours_tab.add_tab(gr, tab, catalogue, shared=shared)
            with gr.Tab("Paraphrase", id="paraphrase") as tab:
                translation_tab.add_paraphrase_tab(gr, tab, catalogue)
            with gr.Tab("Back-translation", id="translation") as tab:
                translation_tab.add_translation_tab(gr, tab, catalogue)
            with gr.Tab("Data", id="data") as tab:
                data_tab.add_tab(gr, tab, shared=shared)
    return page


def launch(page: gradio.Blocks, **options: Any) -> tuple[Any, str, str]:
    """Launches the page so that it asks no other machine for anything."""
    themes = require_gradio().themes
    fonts = {"font": ["system-ui", "sans-serif"], "font_mono": ["ui-monospace", "monospace"]}
    launched: tuple[Any, str, str] = page.queue(default_concurrency_limit=4, api_open=False).launch(
        theme=themes.Base(primary_hue="blue", neutral_hue="slate", **fonts),
        css=Path(__file__).with_name("page.css").read_text(encoding="utf-8"),
        footer_links=[],
        share=False,
        ssr_mode=False,
        enable_monitoring=False,
        quiet=True,
        **options,
    )
    return launched


def _wait() -> None:
    """Waits for an interruption."""
    Event().wait()
