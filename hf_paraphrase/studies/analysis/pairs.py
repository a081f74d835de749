"""The command `analyze pairs`: reports how back-translations differ from references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.fsspec_path import to_path
from ...artefacts.hub_models import model_folder
from ...artefacts.provenance import inherited_metadata
from ...classification.references import is_seen, read_seen
from ...data.folder import DataFolder
from ...data.sentences import lines_of_file
from ...errors import InputError
from ...filtering.filter_pipeline import choose_lowest
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ...text.ngrams import TokenSpans
from ...training.verdicts import Interval
from ..report import ReportSettings, report
from .ngram_statistics import (
    ORDERS,
    PAPER,
    REPLICATES,
    average_idf,
    contrast_ngrams,
    count_ngrams,
    document_frequencies,
    rank_correlations,
)

_SIDES = ("references", "translations")
_FEWEST = 30


@dataclass(kw_only=True)
class PairAnalysisSettings(ReportSettings):
    """Report how translations differ from references: tables 9 to 11 of Wieting et al. 2017.

    One translation of each reference is drawn at random. With a classifier the report shows the cues it relies on.
    """

    pairs: str = setting("data folder: sentence1 the reference, sentence2 the translation", path=True, dataset=True)
    classifier: str | None = setting("reference classifier folder, for tables 10 and 11", None, path=True)
    unseen_only: bool = setting("leave out references that the classifier has seen", False, only_with="classifier")
    idf_text: str | None = setting(
        "text for document frequencies, one document per line [default: the references]", None, path=True
    )
    examples: int = setting("number of pairs to show of each kind", 10, at_least=1)
    split: str = setting("the split to read", "train")
    seed: int = seed_setting("random seed")


@dataclass
class PairSample:
    """References, each with one of its translations; `drawn` is true if any reference had several."""

    references: list[str]
    translations: list[str]
    rows: int
    drawn: bool


@recipe(PairAnalysisSettings)
def analyze_pairs(settings: PairAnalysisSettings) -> dict[str, Any]:
    """Report how translations differ from references: tables 9 to 11 of Wieting et al. 2017.

    Returns:
        The numbers of the report.
    """
    folder = Path(settings.pairs)
    inputs = [settings.pairs, settings.classifier, settings.idf_text]
    with report("pairs", settings, inputs, card="analysis") as output:
        scorer = None
        if settings.classifier is not None:
            from ...classification.classifier import ReferenceScorer

            scorer = ReferenceScorer.from_pretrained(settings.classifier, device=settings.device)
        sample, seen = _sample(settings, folder)
        sides = dict(zip(_SIDES, (sample.references, sample.translations), strict=True))
        ngrams = {name: [count_ngrams(texts, order) for order in ORDERS] for name, texts in sides.items()}
        contrasts = contrast_ngrams(*ngrams.values(), seed=settings.seed)
        probabilities = {} if scorer is None else {name: scorer.probabilities(texts) for name, texts in sides.items()}
        idf = _document_frequencies(settings, sample.references)
        correlations: dict[str, dict[str, Interval]] = {}
        for name, scores in probabilities.items():
            repetition = [occurrences.repetition for occurrences in ngrams[name]]
            lengths = TokenSpans([text.lower() for text in sides[name]]).counts.astype(float)
            properties = [*repetition, average_idf(sides[name], *idf), lengths]
            correlations[name] = rank_correlations(scores, dict(zip(PAPER, properties, strict=True)))
        numbers = {
            "references": len(sample.references),
            "rows": sample.rows,
            "drawn": sample.drawn,
            "seen_by_the_classifier": seen,
            "mean_reference_probability": {name: float(np.mean(values)) for name, values in probabilities.items()},
            "table_9": [{**row, "difference": asdict(row["difference"])} for row in contrasts],
            "table_10": {
                side: {name: asdict(row) for name, row in intervals.items()}
                for side, intervals in correlations.items()
            },
        }
        tables = [_contrast_table(contrasts)]
        values = {
            **numbers,
            **inherited_metadata(folder),
            "source": folder.resolve().name,
            "contrast_table": tables[0],
            "classifier": None if settings.classifier is None else to_path(settings.classifier).resolve().name,
            "idf_source": to_path(settings.idf_text).name if settings.idf_text else "the references themselves",
            "bootstrap": REPLICATES,
            "seed": settings.seed,
        }
        if probabilities:
            tables.append(_correlation_table(correlations))
            human, machine = probabilities.values()
            values["correlation_table"] = tables[1]
            values["examples"] = {
                name: ranked_examples(sample, ranking, (human, machine), settings.examples)
                for name, ranking in (("machine", human - machine), ("human", machine))
            }
        output.finish(numbers, values, "\n".join(tables))
    return numbers


def _sample(settings: PairAnalysisSettings, folder: Path) -> tuple[PairSample, int]:
    """Draw one translation of each reference (equal id and text); also count references seen by the classifier."""
    opened = DataFolder(folder)
    names = opened.require("sentence1", "sentence2", split=settings.split).names
    columns = [name for name in ("id", "sentence1", "sentence2") if name in names]
    rows = opened.table(settings.split, columns).to_pydict()
    first, second = rows["sentence1"], rows["sentence2"]
    filled = [bool((one or "").strip() and (two or "").strip()) for one, two in zip(first, second, strict=True)]
    usable = np.flatnonzero(filled)
    references = np.array([hash(pair) for pair in zip(rows.get("id", first), first, strict=True)], np.int64)
    ranks = np.argsort(np.random.default_rng(settings.seed).permutation(len(usable)))
    chosen = usable[choose_lowest(references[usable], ranks)] if len(usable) else usable
    drawn, seen = len(usable) > len(chosen), np.zeros(len(chosen), bool)
    if settings.classifier is not None:
        seen = is_seen([first[row] for row in chosen], read_seen(model_folder(settings.classifier)))
    if settings.unseen_only:
        chosen, seen = chosen[~seen], seen[:0]
    if len(chosen) < _FEWEST:
        remedy = f"give {_FEWEST} or more"
        if settings.unseen_only:
            remedy += ", or leave --unseen-only out: the classifier has seen the others"
        raise InputError(f"{len(chosen)} references are left to analyse", path=folder, remedy=remedy)
    kept = [[side[row] for row in chosen] for side in (first, second)]
    return PairSample(kept[0], kept[1], len(filled), drawn), int(seen.sum())


def _document_frequencies(settings: PairAnalysisSettings, references: list[str]) -> tuple[Mapping[str, int], int]:
    if settings.idf_text is None:
        return document_frequencies(references), len(references)
    counts: Counter[str] = Counter()
    documents = 0
    for texts in lines_of_file(Path(settings.idf_text)):
        documents += len(texts)
        counts.update(document_frequencies(texts))
    if not counts:
        raise InputError("the file contains no text", path=settings.idf_text, remedy="give one document per line")
    return counts, documents


def ranked_examples(
    sample: PairSample,
    ranking: NDArray[np.float64],
    probabilities: tuple[NDArray[np.float64], NDArray[np.float64]],
    count: int,
) -> list[dict[str, Any]]:
    """Return the `count` pairs with the highest `ranking` (pairs,) and distinct translations, earlier pairs first.

    `probabilities` are P(reference) of the references and of the translations (pairs,).
    """
    examples: dict[str, dict[str, Any]] = {}
    for row in np.argsort(-ranking, kind="stable"):
        reference, translation = sample.references[row], sample.translations[row]
        key = translation.casefold()
        if len(examples) == count:
            break
        if key not in examples and key != reference.casefold():
            examples[key] = {
                # Sentences are shown as they are, and must not be taken for Markdown.
                "reference": plain_markdown(reference),
                "translation": plain_markdown(translation),
                "reference_number": float(probabilities[0][row]),
                "translation_number": float(probabilities[1][row]),
            }
    return list(examples.values())


def _contrast_table(contrasts: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            contrast["name"],
            *(f"{contrast[side]:.2f} {contrast['unit']}" for side in ("reference", "translation")),
            contrast["difference"].text(2),
            "+" if contrast["expected"] > 0 else "-",
            contrast["verdict"],
        ]
        for contrast in contrasts
    ]
    header = ["", "references", "translations", "difference [95 %]", "sign in the paper", "the paper's finding"]
    return format_table(header, rows)


def _correlation_table(correlations: Mapping[str, Mapping[str, Interval]]) -> str:
    header = ["Spearman × 100 of P(reference) with", *correlations, "paper", "the paper's finding (translations)"]
    rows = []
    for name, rho in PAPER.items():
        verdict = correlations["translations"][name].verdict("above" if rho > 0 else "below")
        rows.append([name, *(intervals[name].text() for intervals in correlations.values()), f"{rho:+.1f}", verdict])
    return format_table(header, rows)
