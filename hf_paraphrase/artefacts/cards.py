"""Cards: the README.md of a model or data folder, filled in from a template and from what was measured."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HfParaphraseError, UsageError
from ..messages import printable, without_secrets
from ..tables import harmless_markdown
from .card_heads import CARD
from .citations import bibtex
from .measurements import Measurement, set_results
from .origins import described, hub_datasets
from .provenance import fingerprint, read_provenance
from .reports.report import write_report
from .whole_files import write_text_whole

if TYPE_CHECKING:
    import jinja2

UNKNOWN_LICENSE = "unknown"
"""What the Hub calls a licence that nobody stated."""
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_NOTHING_KNOWN: dict[str, Any] = {"origins": (), "model_license": None}


def check_license(license: str | None) -> None:
    """Checks that a licence for a card looks as the Hub spells it.

    Raises:
        UsageError: If it does not.
    """
    if license is not None and not _LICENSE.fullmatch(license):
        raise UsageError(f"--license `{license}` is not spelt as on the Hub", remedy="e.g. cc-by-2.0, mit, other")


def template_path(kind: str, name: str) -> Path:
    """Finds a card template, in an installed package as well as in a checkout.

    Args:
        kind: `model_cards` or `dataset_cards`.
        name: The template's name without `.md`.

    Raises:
        HfParaphraseError: If there is no such template.
    """
    for folder in (Path(__file__).parent / kind, Path(__file__).parents[2] / kind):
        path = folder / f"{name}.md"
        if path.is_file():
            return path
    raise HfParaphraseError(f"no card template {kind}/{name}.md", remedy="reinstall hf-paraphrase")


def render_card(kind: str, name: str, values: Mapping[str, Any]) -> str:
    """Fills a template; a value that the template needs and that is missing is an error, never an empty place.

    Values are text on a line, in which no markup of others does anything; `| markdown` in the template is for what
    this package has laid out, `| yaml` and `| tojson` for the head of the card and for code.
    """
    path = template_path(kind, name)
    return _environment(path.parent).get_template(path.name).render(**{**_NOTHING_KNOWN, **values})


@cache
def _environment(folder: Path) -> jinja2.Environment:
    """Reads the templates of a folder, and keeps those that it has compiled."""
    import jinja2

    # Markdown is the target, so HTML escaping would only damage the text.
    environment = jinja2.Environment(  # noqa: S701
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    environment.filters["yaml"] = _yaml
    environment.filters["markdown"] = _Markdown
    environment.globals["bibtex"] = lambda *keys: _Markdown(bibtex(*keys))
    return environment


def write_card(
    folder: str | os.PathLike[str],
    kind: str,
    name: str,
    values: Mapping[str, Any],
    measurements: Sequence[Measurement] = (),
    *,
    report: bool = False,
) -> Path:
    """Renders a card to `README.md` in `folder` and returns its path.

    What `provenance.json` in the folder knows is added: where the inputs come from (`origins` for the template, and
    data sets of the Hub among them in the head), and in the head of a model's card its licence.

    Args:
        folder: The artefact, with its provenance written.
        kind: `model_cards` or `dataset_cards`.
        name: The template's name without `.md`.
        values: What the template needs; `model_license` among it is for a model whose record does not name one.
        measurements: What was measured when a model was made, for the `model-index` in the head of its card.
        report: Whether the folder gets a report too; pictures that the card names must be in the folder by now.
    """
    path = Path(folder) / CARD
    record = read_provenance(folder)
    inputs = record.get("inputs", [])
    license = values.get("model_license") or record.get("settings", {}).get("license")
    text = render_card(kind, name, {"origins": described(inputs), "model_license": license, **values})
    if kind == "model_cards":
        text = _model_card(
            text, license, hub_datasets(inputs), str(values.get("name", path.parent.name)), measurements
        )
    elif text.startswith("---\n"):  # a report on data has no head
        text = _data_card(text, hub_datasets(inputs), path.parent)
    text = without_secrets(text).rstrip() + "\n"
    if report:
        # First, because a folder with a card is complete.
        write_report(folder, text)
    write_text_whole(path, text)
    return path


def _model_card(
    text: str, license: str | None, datasets: list[str], name: str, measurements: Sequence[Measurement]
) -> str:
    from huggingface_hub import ModelCard

    card = ModelCard(text)
    card.data["license"] = license or UNKNOWN_LICENSE
    if datasets:
        card.data["datasets"] = datasets
    set_results(card, name, measurements)
    return str(card)


def _data_card(text: str, datasets: list[str], folder: Path) -> str:
    """Fills in the head of a data card.

    `datasets` caches what it has opened by the folder's name and the configurations in the head. A digest over the
    Parquet files among these keeps it from returning the rows of another folder of that name, or of an older version.
    """
    from huggingface_hub import DatasetCard

    card = DatasetCard(text)
    card.data["source_datasets"] = datasets or None
    if files := sorted(folder.rglob("*.parquet")):
        digest = hashlib.sha256()
        for path in files:
            digest.update(bytes.fromhex(fingerprint(path)))
        for item in card.data.get("configs", []):
            item["description"] = f"SHA-256 over those of the Parquet files: {digest.hexdigest()}"
    return str(card)


class _Markdown(str):
    """What goes into a card as it is."""

    __slots__ = ()


def _harmless(value: object) -> object:
    """Makes what a template puts out harmless, unless it is known to be so."""
    if isinstance(value, (int, float, _Markdown)) or hasattr(value, "__html__"):
        return value
    return harmless_markdown(str(value))


def _yaml(value: object) -> str:
    """Writes a text for the head of a card: one line in quotes, which JSON and YAML read alike."""
    return _Markdown(json.dumps(printable(" ".join(str(value).split())), ensure_ascii=False))
