"""Puts the tabs together."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import data_tab, neighbours_tab, paraphrase_tab, similarity_tab, translation_tab
from .model_catalogue import ModelCatalogue

if TYPE_CHECKING:
    import gradio

TITLE = "hf_paraphrase"
_FONTS = ["system-ui", "sans-serif"]
_FIXED_FONTS = ["ui-monospace", "monospace"]


def require_gradio() -> gradio:
    """Imports gradio."""
    try:
        return import_module("gradio")
    except ImportError as error:
        raise UsageError("the page needs the package gradio", remedy="pip install 'hf-paraphrase[demo]'") from error


def build_page(catalogue: ModelCatalogue, *, shared: bool = False) -> gradio.Blocks:
    """Builds the page; each tab computes its example when it is first opened."""
    gr = require_gradio()
    with gr.Blocks(title=TITLE, analytics_enabled=False) as page:
        gr.Markdown(f"# {TITLE}\nParaphrases, sentence embeddings, and the data they come from.")
        with gr.Tabs():
            with gr.Tab("Similarity", id="similarity"):
                similarity_tab.add_tab(gr, page, catalogue)
            with gr.Tab("Neighbours", id="neighbours") as tab:
                neighbours_tab.add_tab(gr, tab, catalogue, shared=shared)
            with gr.Tab("Paraphrase", id="paraphrase") as tab:
                paraphrase_tab.add_tab(gr, tab, catalogue)
            with gr.Tab("Back-translation", id="translation") as tab:
                translation_tab.add_tab(gr, tab, catalogue, shared=shared)
            with gr.Tab("Data", id="data") as tab:
                data_tab.add_tab(gr, tab, shared=shared)
    return page


def launch_options(gr: gradio) -> Mapping[str, Any]:
    """Returns how the page is launched: how it looks, and nothing that asks another machine for anything."""
    return {
        "theme": gr.themes.Base(primary_hue="blue", neutral_hue="slate", font=_FONTS, font_mono=_FIXED_FONTS),
        "css": Path(__file__).with_name("page.css").read_text(encoding="utf-8"),
        "footer_links": [],
        "share": False,
        "ssr_mode": False,
        "enable_monitoring": False,
        "quiet": True,
    }
