"""Builds and launches the page, and writes it as a Space of the Hub.

A Space is public, so its page reads uploads but no folders of its machine.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Artefact
from ..artefacts.cards import template_path
from ..artefacts.files import atomic_write_text
from ..errors import UsageError
from ..registry import BUILTINS
from . import data_tab, neighbours_tab, similarity_tab, translation_tab
from .model_catalogue import ModelCatalogue

if TYPE_CHECKING:
    import gradio

TITLE = "hf_paraphrase"
_UPLOADS = (3_600, 86_400)
"""Deletes uploads older than a day every hour, and all uploads when the page is closed."""
_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)+")
_APP = '''"""The page of hf_paraphrase on published models."""

from hf_paraphrase.demo.page import serve_space

if __name__ == "__main__":
    serve_space({models})
'''
_CARD = """---
{head}
---

# {title}

A page on {models}: similarity of sentences and the words that carry it, neighbours in a corpus, paraphrases by a round
trip of translation, back-translation with its n-best list, and pairs with the measures by which they are filtered. An
upload is kept while the page is open.

The folder contains the package. Run the page on your own machine:

```bash
pip install -r requirements.txt
python app.py
```
"""


def require_gradio() -> gradio:
    """Import gradio."""
    try:
        return import_module("gradio")
    except ImportError as error:
        raise UsageError("the page needs the package gradio", remedy="pip install 'hf-paraphrase[demo]'") from error


def build_page(catalogue: ModelCatalogue, *, shared: bool = False) -> gradio.Blocks:
    """Build the page; each tab computes its example when it is first opened."""
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
    """Launch the page without requests to other machines."""
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


def write_space(output: str, models: Sequence[str], *, overwrite: bool, record: Mapping[str, Any]) -> Path:
    """Write the folder of a Space: the program, this package and its requirements, and the card."""
    from huggingface_hub import SpaceCardData

    for name in models:
        if name not in BUILTINS and (os.path.lexists(name) or not _REPOSITORY.fullmatch(name)):
            remedy = f"give namespace/name or {' or '.join(BUILTINS)}; push a local folder first"
            raise UsageError(f"--models {name} is not a model on the Hub", remedy=remedy)
    try:
        # The library itself, which takes seconds, is not needed.
        version = metadata.version("gradio")
    except metadata.PackageNotFoundError:
        version = require_gradio().__version__
    head = SpaceCardData(
        title=TITLE,
        sdk="gradio",
        sdk_version=version,
        python_version="3.11",
        app_file="app.py",
        license="apache-2.0",
        models=[name for name in models if name not in BUILTINS] or None,
    )
    with Artefact(output, command="demo", settings=record, overwrite=overwrite) as artefact:
        staging = artefact.staging
        # This version may be on no package index.
        package = staging / "hf_paraphrase"
        shutil.copytree(Path(__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        for kind, name in (("model_cards", "rnn_search"), ("dataset_cards", "filtered")):
            shutil.copytree(template_path(kind, name).parent, package / "artefacts" / kind, dirs_exist_ok=True)
        atomic_write_text(staging / "requirements.txt", _requirements())
        atomic_write_text(staging / "app.py", _APP.format(models=list(models)))
        card = _CARD.format(head=head.to_yaml(), title=TITLE, models=", ".join(f"`{name}`" for name in models))
        atomic_write_text(staging / "README.md", card)
        artefact.finish()
    return Path(output)


def serve_space(models: Sequence[str]) -> None:
    """Serve the page of a Space at the host and port of its environment, by default 127.0.0.1:7860."""
    launch(build_page(ModelCatalogue(models), shared=True))


def _requirements() -> str:
    """List the dependencies of the page from the metadata of this package."""
    from packaging.requirements import Requirement

    declared = map(Requirement, metadata.requires("hf-paraphrase") or [])
    lines = [
        str(requirement).partition(";")[0]
        for requirement in declared
        if requirement.marker is None or requirement.marker.evaluate({"extra": "demo"})
    ]
    return "".join(f"{line}\n" for line in lines)
