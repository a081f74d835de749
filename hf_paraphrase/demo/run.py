"""The command `demo`: serves a page in the browser, on this machine alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from ..artefacts.hub_models import BUILTIN
from ..errors import UsageError
from ..messages import log
from ..settings import recipe, setting
from ..training.devices import DeviceSettings
from .model_catalogue import ModelCatalogue
from .page import build_page, launch, write_space

HOST = "127.0.0.1"


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
    model_target_lang: str | None = setting("target language: its code in such a model", None)
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
    """Open the page and serves it until it is interrupted, or writes the folder of a Space."""
    if settings.output is not None:
        folder = write_space(settings.output, settings.models, overwrite=settings.overwrite, record=settings.record())
        log(f"Space saved to {folder}. Send it with: hf-paraphrase push --path {folder} --repo-id namespace/name")
        return folder
    with served_page(settings) as url:
        log(f"the page is at {url} (stop with Ctrl-C)")
        with suppress(KeyboardInterrupt):
            Event().wait()
        log("the page is closed")
    return None


@contextmanager
def served_page(settings: DemoSettings) -> Iterator[str]:
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
