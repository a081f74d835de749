"""The page as a Space of the Hub: a folder that `push` sends, whose page opens models that are published there.

Everyone can use a Space. So its page reads no folder of the machine that it runs on, and writes into none: texts and
data come as uploads, and what is kept is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Artefact
from ..artefacts.files import write_text_whole
from ..artefacts.hub_models import BUILTIN
from ..errors import UsageError
from .model_catalogue import ModelCatalogue
from .page import TITLE, build_page, launch_options, require_gradio

_APP = '''"""The page of hf_paraphrase on published models."""

from hf_paraphrase.demo.space import serve_space

if __name__ == "__main__":
    serve_space({models})
'''
_CARD = """---
{head}
---

# {title}

A page on {models}: similarity of sentences and the words that carry it, neighbours in a corpus, back-translation with
its n-best list, and pairs with the measures by which they are filtered. An upload is kept while the page is open.

Run it on your own machine:

```bash
pip install "hf-paraphrase[demo]"
hf-paraphrase demo --models {names}
```
"""


def check_published(models: Sequence[str]) -> None:
    """Checks that a Space can name models: `builtin`, or repositories of the Hub."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    for name in models:
        if name != BUILTIN and os.path.lexists(name):
            raise UsageError(
                f"--models {name} is a folder of this machine, which a Space does not have",
                remedy="push it first, and give namespace/name",
            )
        try:
            validate_repo_id("/".join(name.split("/")[:2]))
        except HFValidationError:
            problem = True
        else:
            problem = "/" not in name and name != BUILTIN
        if problem:
            raise UsageError(f"--models {name} names no model of the Hub", remedy=f"namespace/name, or {BUILTIN}")


def write_space(output: str, models: Sequence[str], *, overwrite: bool, record: Mapping[str, Any]) -> Path:
    """Writes the folder of a Space: app.py, requirements.txt, README.md and provenance.json."""
    from huggingface_hub import SpaceCardData

    from .. import __version__

    check_published(models)
    try:
        version = metadata.version("gradio")
    except metadata.PackageNotFoundError:
        require_gradio()
        raise
    head: dict[str, Any] = {
        "title": TITLE,
        "emoji": "🔁",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": "gradio",
        "sdk_version": version,
        "python_version": "3.11",
        "app_file": "app.py",
        "license": "apache-2.0",
        "models": [name for name in models if name != BUILTIN],
    }
    shown = ", ".join("the encoder that is built in" if name == BUILTIN else f"`{name}`" for name in models)
    with Artefact(output, command="demo", settings=record, overwrite=overwrite) as artefact:
        staging = artefact.staging
        write_text_whole(staging / "app.py", _APP.format(models=list(models)))
        write_text_whole(staging / "requirements.txt", f"hf-paraphrase[demo]=={__version__}\n")
        filled = {name: value for name, value in head.items() if value != []}
        card = _CARD.format(head=SpaceCardData(**filled).to_yaml(), title=TITLE, models=shown, names=" ".join(models))
        write_text_whole(staging / "README.md", card)
        artefact.finish()
    return Path(output)


def serve_space(models: Sequence[str]) -> None:
    """Serves the page where the Space says, until it is stopped; called by the `app.py` of a Space."""
    gr = require_gradio()
    page = build_page(ModelCatalogue(models), shared=True)
    # Host and port are those that the Space sets; on another machine 127.0.0.1 and 7860.
    page.queue(default_concurrency_limit=4, api_open=False).launch(**launch_options(gr))
