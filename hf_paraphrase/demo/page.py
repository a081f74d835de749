"""Puts the tabs together."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import data_tab, neighbours_tab, similarity_tab, translation_tab
from .answers import answered
from .model_catalogue import ModelCatalogue

if TYPE_CHECKING:
    import gradio

TITLE = "hf_paraphrase"
_FOLDER = Path(__file__).parent
_FONTS = ["system-ui", "sans-serif"]
_FIXED_FONTS = ["ui-monospace", "monospace"]


def require_gradio() -> gradio:
    """Imports gradio."""
    try:
        return import_module("gradio")
    except ImportError as error:
        raise UsageError("the page needs the package gradio", remedy="pip install 'hf-paraphrase[demo]'") from error


def build_page(catalogue: ModelCatalogue, *, shared: bool = False) -> gradio.Blocks:
    """Builds the page."""
    gr = require_gradio()
    with gr.Blocks(title=TITLE, analytics_enabled=False) as page:
        gr.Markdown(f"# {TITLE}\nParaphrases, sentence embeddings, and the data they come from.")
        with gr.Tabs():
            with gr.Tab("Similarity", id="similarity"):
                result, text, model = similarity_tab.add_tab(gr, catalogue)
            with gr.Tab("Neighbours", id="neighbours"):
                neighbours_tab.add_tab(gr, catalogue, shared=shared)
            with gr.Tab("Back-translation", id="translation"):
                translation_tab.add_tab(gr, catalogue, shared=shared)
            with gr.Tab("Data", id="data"):
                data_tab.add_tab(gr, shared=shared)
        at_first = answered()(lambda name, typed: similarity_tab.compared(catalogue, name, typed))
        page.load(at_first, [model, text], result, api_visibility="private")
    return page


def launch_options(gr: gradio) -> Mapping[str, Any]:
    """Returns how the page is launched: how it looks, and nothing that asks another machine for anything."""
    return {
        "theme": gr.themes.Base(primary_hue="blue", neutral_hue="slate", font=_FONTS, font_mono=_FIXED_FONTS),
        "css": (_FOLDER / "page.css").read_text(encoding="utf-8"),
        "head": f"<script>{(_FOLDER / 'page.js').read_text(encoding='utf-8')}</script>",
        "footer_links": [],
        "share": False,
        "ssr_mode": False,
        "enable_monitoring": False,
        "quiet": True,
    }
