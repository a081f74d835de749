"""The command `demo`: serves a page in the browser, on this machine only, or writes it as a Space of the Hub.

A Space is public, so its page reads uploads but no folders of its machine.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Artefact
from ..artefacts.cards import template_path
from ..artefacts.files import atomic_write_text
from ..artefacts.hub_models import BUILTIN
from ..errors import UsageError
from ..messages import log
from ..registry import BUILTINS
from ..settings import recipe, setting
from ..training.devices import DeviceSettings
from . import data_tab, neighbours_tab, similarity_tab, translation_tab
from .model_catalogue import ModelCatalogue

if TYPE_CHECKING:
    import gradio

HOST, TITLE = "127.0.0.1", "hf_paraphrase"
_UPLOADS = (3_600, 86_400)
"""Deletes uploads older than a day every hour, and all uploads when the page is closed."""
_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)+")
_APP = '''"""The page of hf_paraphrase on published models."""

from hf_paraphrase.demo.run import serve_space

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


@dataclass(kw_only=True)
class DemoSettings(DeviceSettings):
    """Open a page to try models and look at data in a browser, on this machine alone.

    The tabs show the similarity of sentences, neighbours in a corpus, paraphrases, back-translations and measures of
    pairs. The page loads nothing from the internet and sends no data.
    """

    models: list[str] = setting(
        "model folders, or folders that contain models at any depth: sentence encoders and translation models",
        [BUILTIN],
        path=True,
    )
    model_source_lang: str | None = setting("source language: its code in multilingual translation models", None)
    model_target_lang: str | None = setting("target language: its code in multilingual translation models", None)
    port: int = setting(
        "the port on 127.0.0.1; 0 chooses a free one", 7860, at_least=0, at_most=65_535, excludes="output"
    )
    output: str | None = setting(
        "write the folder of a Space for `push` instead of opening the page; --models are then builtin or models "
        "on the Hub, namespace/name",
        None,
    )
    overwrite: bool = setting("replace an existing folder of a Space", False, only_with="output")


@recipe(DemoSettings)
def launch_demo(settings: DemoSettings) -> Path | None:
    """Open the demo and serve it until it is interrupted, or write the folder of a Space."""
    if settings.output is not None:
        folder = write_space(settings)
        log(f"Space saved to {folder}. Send it with: hf-paraphrase push --path {folder} --repo-id namespace/name")
        return folder
    with serve_page(settings) as url:
        log(f"the page is at {url} (stop with Ctrl-C)")
        with suppress(KeyboardInterrupt):
            Event().wait()
        log("the page is closed")
    return None


def import_gradio() -> gradio:
    """Import gradio; the error names the extra that installs it."""
    try:
        return import_module("gradio")
    except ImportError as error:
        raise UsageError("the page needs the package gradio", remedy="pip install 'hf-paraphrase[demo]'") from error


def build_page(catalogue: ModelCatalogue, *, shared: bool = False) -> gradio.Blocks:
    """Build the page; each tab computes its example when it is first opened."""
    gr = import_gradio()
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
    themes = import_gradio().themes
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


@contextmanager
def serve_page(settings: DemoSettings) -> Iterator[str]:
    """Serve the page while the block runs."""
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


def write_space(settings: DemoSettings) -> Path:
    """Write the folder of a Space: the program, this package and its requirements, and the card."""
    from huggingface_hub import SpaceCardData

    output, models = str(settings.output), settings.models
    for name in models:
        if name not in BUILTINS and (os.path.lexists(name) or not _REPOSITORY.fullmatch(name)):
            remedy = f"give namespace/name or {' or '.join(BUILTINS)}; push a local folder first"
            raise UsageError(f"--models {name} is not a model on the Hub", remedy=remedy)
    try:
        # The library itself, which takes seconds, is not needed.
        version = metadata.version("gradio")
    except metadata.PackageNotFoundError:
        version = import_gradio().__version__
    head = SpaceCardData(
        title=TITLE,
        sdk="gradio",
        sdk_version=version,
        python_version="3.11",
        app_file="app.py",
        license="apache-2.0",
        models=[name for name in models if name not in BUILTINS] or None,
    )
    with Artefact(output, command="demo", settings=settings) as artefact:
        staging = artefact.staging
        # This version may be on no package index.
        package = staging / "hf_paraphrase"
        shutil.copytree(Path(__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        for kind, name in (("model_cards", "rnn_search"), ("dataset_cards", "filtered")):
            shutil.copytree(template_path(kind, name).parent, package / "artefacts" / kind, dirs_exist_ok=True)
        atomic_write_text(staging / "requirements.txt", _list_requirements())
        atomic_write_text(staging / "app.py", _APP.format(models=list(models)))
        card = _CARD.format(head=head.to_yaml(), title=TITLE, models=", ".join(f"`{name}`" for name in models))
        atomic_write_text(staging / "README.md", card)
        artefact.finish()
    return Path(output)


def serve_space(models: Sequence[str]) -> None:
    """Serve the page of a Space at the host and port of its environment, by default 127.0.0.1:7860."""
    launch(build_page(ModelCatalogue(models), shared=True))


def _list_requirements() -> str:
    """List the dependencies of the page from the metadata of this package."""
    from packaging.requirements import Requirement

    declared = map(Requirement, metadata.requires("hf-paraphrase") or [])
    lines = [
        str(requirement).partition(";")[0]
        for requirement in declared
        if requirement.marker is None or requirement.marker.evaluate({"extra": "demo"})
    ]
    return "".join(f"{line}\n" for line in lines)
