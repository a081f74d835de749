"""Puts the tabs together, and launches the page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import data_tab, neighbours_tab, similarity_tab, translation_tab
from .model_catalogue import ModelCatalogue

if TYPE_CHECKING:
    import gradio

TITLE = "hf_paraphrase"
_UPLOADS = (3_600, 86_400)
"""Every hour uploads older than a day are deleted; all of them when the page is closed."""


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
