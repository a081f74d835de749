"""Cards: the README.md of a folder, rendered from a template and results, and updated after later evaluations."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HfParaphraseError, UsageError
from ..messages import log, printable, without_secrets
from ..tables import harmless_markdown, without_tags_and_links
from .card_metadata import CARD, Measurement, read_card, set_results, split_card
from .files import atomic_write_text, locked
from .provenance import PROVENANCE, described, fingerprint, hub_datasets, read_provenance, record_text

if TYPE_CHECKING:
    import jinja2

UNKNOWN_LICENSE = "unknown"
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_NOTHING_KNOWN: dict[str, Any] = {"origins": (), "model_license": None}


@dataclass(frozen=True)
class Card:
    """The template of a card, of `kind` model_cards or dataset_cards, its values, and whether to write a report."""

    template: str
    values: Mapping[str, Any]
    kind: str = "dataset_cards"
    measurements: Sequence[Measurement] = ()
    report: bool = False


def check_license(license: str | None) -> None:
    """Refuse a licence for a card that is not an identifier of the Hub."""
    if license is not None and not _LICENSE.fullmatch(license):
        raise UsageError(f"--license `{license}` is not spelt as on the Hub", remedy="e.g. cc-by-2.0, mit, other")


def template_path(kind: str, name: str) -> Path:
    """Find a card template in an installed package or in a checkout; `kind` is `model_cards` or `dataset_cards`."""
    paths = [folder / kind / f"{name}.md" for folder in (Path(__file__).parent, Path(__file__).parents[2])]
    if not any(map(Path.is_file, paths)):
        raise HfParaphraseError(f"no card template {kind}/{name}.md", remedy="reinstall hf-paraphrase")
    return next(filter(Path.is_file, paths))


def render_card(kind: str, name: str, values: Mapping[str, Any]) -> str:
    """Fill in a template; a missing value is an error.

    Markup in values has no effect. `| markdown` is for Markdown of this package, `| yaml` for the head of the card.
    Where jinja2 is not installed the card has a title only.
    """
    path = template_path(kind, name)
    try:
        environment = _environment(path.parent)
    except ModuleNotFoundError:
        log("the card has only a title: pip install jinja2 for complete cards")
        return f"# {values['name']}\n"
    return environment.get_template(path.name).render(**{**_NOTHING_KNOWN, **values})


@cache
def _environment(folder: Path) -> jinja2.Environment:
    import jinja2

    # The text is Markdown, which HTML escaping would damage.
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


def write_card(folder: str | os.PathLike[str], card: Card) -> Path:
    """Render a card to `README.md` in `folder`, which has its provenance and pictures, and return its path.

    The value `model_license` is used for a model whose record names no licence.
    """
    from huggingface_hub import ModelCard

    from .report import write_report

    path = Path(folder) / CARD
    record = read_provenance(folder)
    inputs = record.get("inputs", [])
    license = card.values.get("model_license") or record.get("settings", {}).get("license")
    values = {"name": path.parent.name, "origins": described(inputs), "model_license": license, **card.values}
    text = render_card(card.kind, card.template, values)
    if card.kind == "model_cards":
        parsed = ModelCard(text)
        parsed.data["license"] = license or UNKNOWN_LICENSE
        if datasets := hub_datasets(inputs):
            parsed.data["datasets"] = datasets
        set_results(parsed, str(values["name"]), card.measurements)
        text = str(parsed)
    elif text.startswith("---\n"):  # a report on data has no head
        text = _data_card(text, hub_datasets(inputs), path.parent)
    text = without_secrets(text).rstrip() + "\n"
    if card.report:
        # Written first, because a folder with a card is complete.
        write_report(folder, text)
    atomic_write_text(path, text)
    return path


def _data_card(text: str, datasets: list[str], folder: Path) -> str:
    from huggingface_hub import DatasetCard

    card = DatasetCard(text)
    card.data["source_datasets"] = datasets or None
    # `datasets` caches the rows of a folder; the digest distinguishes folders of one name.
    if files := sorted(folder.rglob("*.parquet")):
        digest = hashlib.sha256(b"".join(bytes.fromhex(fingerprint(path)) for path in files))
        for configuration in card.data.get("configs", []):
            configuration["description"] = f"SHA-256 over those of the Parquet files: {digest.hexdigest()}"
    return str(card)


class _Markdown(str):
    """Trusted Markdown, which is inserted into a card without escaping."""


def _harmless(value: object) -> object:
    if isinstance(value, (int, float, _Markdown)) or hasattr(value, "__html__"):
        return value
    return harmless_markdown(str(value))


def _yaml(value: object) -> str:
    return _Markdown(json.dumps(printable(" ".join(str(value).split())), ensure_ascii=False))


def bibtex(*keys: str) -> str:
    """Format the BibTeX entries of papers, by their keys in `papers.bib`, as a Markdown code block."""
    papers = _papers()
    for key in keys:
        if key not in papers:
            raise HfParaphraseError(f"no citation `{key}`", remedy=f"one of {', '.join(papers)}")
    return "```bibtex\n" + "\n\n".join(papers[key] for key in dict.fromkeys(keys)) + "\n```"


@cache
def _papers() -> dict[str, str]:
    entries = Path(__file__).with_name("papers.bib").read_text(encoding="utf-8").strip().split("\n\n")
    return {re.split("[{,]", entry, maxsplit=2)[1]: entry for entry in entries}


def check_evaluated_card(folder: str | os.PathLike[str]) -> None:
    """Check before long work that :func:`add_results` will be able to read card and provenance."""
    split_card(read_card(folder), Path(folder) / CARD)
    read_provenance(folder)


def add_results(
    folder: str | os.PathLike[str],
    name: str,
    evaluation: Mapping[str, Any],
    measurements: Sequence[Measurement] = (),
    *,
    section: str,
    text: str,
) -> None:
    """Record an evaluation and update card and report of a model; earlier results on the same data are replaced.

    The Markdown `text` goes before the section "Limits". A card without a head gets this text alone.
    """
    from huggingface_hub import ModelCard

    from .report import write_report

    path = Path(folder) / CARD
    with locked(path, wait=True):
        card = read_card(folder)
        head, _ = split_card(card, path)
        record = read_provenance(folder)
        record["evaluations"] = {**record.get("evaluations", {}), name: dict(evaluation)}
        atomic_write_text(Path(folder) / PROVENANCE, record_text(record))
        card = replace_section(card, section, without_tags_and_links(without_secrets(text)), "## Limits")
        if head:
            with_head = ModelCard(card, ignore_metadata_errors=True)
            set_results(with_head, Path(folder).resolve().name, measurements)
            card = str(with_head)
        write_report(folder, card)
        atomic_write_text(path, card)


def replace_section(card: str, name: str, section: str, before: str) -> str:
    """Insert a section before a heading of a card, or at the end, in exchange for an earlier section of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    block = f"{begin}\n{section.strip()}\n{end}"
    earlier = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if earlier.search(card):
        return earlier.sub(lambda _: block, card, count=1)
    position = f"\n{card}".find(f"\n{before}\n")
    if position < 0:
        return f"{card.rstrip()}\n\n{block}\n"
    return f"{card[:position]}{block}\n\n{card[position:]}"
