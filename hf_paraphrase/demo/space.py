"""The page as a Space of the Hub: a folder that `push` sends, with this package and a page on published models.

Everyone can use a Space. So its page reads no folder of the machine that it runs on: texts and data are uploaded.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Artefact
from ..artefacts.cards import template_path
from ..artefacts.files import atomic_write_text
from ..errors import UsageError
from ..registry import BUILTINS
from .model_catalogue import ModelCatalogue
from .page import TITLE, build_page, launch, require_gradio

_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)+")
_APP = '''"""The page of hf_paraphrase on published models."""

from hf_paraphrase.demo.space import serve_space

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


def write_space(output: str, models: Sequence[str], *, overwrite: bool, record: Mapping[str, Any]) -> Path:
    """Writes the folder of a Space: the program, this package and its requirements, and the card."""
    from huggingface_hub import SpaceCardData

    for name in models:
        if name not in BUILTINS and (os.path.lexists(name) or not _REPOSITORY.fullmatch(name)):
            remedy = f"give namespace/name, or {' or '.join(BUILTINS)}; a folder is pushed first"
            raise UsageError(f"--models {name} names no model of the Hub", remedy=remedy)
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
        # No package index needs to have this version.
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
    """Serves the page where the Space says, until it is stopped; called by the `app.py` of a Space."""
    # Host and port are those that the Space sets; on another machine 127.0.0.1 and 7860.
    launch(build_page(ModelCatalogue(models), shared=True))


def _requirements() -> str:
    """Lists the libraries that the page needs, as the installed package declares them."""
    from packaging.requirements import Requirement

    declared = map(Requirement, metadata.requires("hf-paraphrase") or [])
    lines = [
        str(requirement).partition(";")[0]
        for requirement in declared
        if requirement.marker is None or requirement.marker.evaluate({"extra": "demo"})
    ]
    return "".join(f"{line}\n" for line in lines)
