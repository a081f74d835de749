"""The recipe of the verb `analyze pairs`: back-translated pairs in, how they differ from references out."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import write_text_whole
from ...artefacts.hub_models import model_folder
from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder
from ...data.text_files import LineErrors, read_lines
from ...errors import InputError, UsageError
from ...evaluation.figures import check_plots
from ...filtering.reference_classifier.seen_references import is_seen, read_seen
from ...filtering.tokens import TokenSpans
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ...training.devices import DeviceSettings
from .ngram_statistics import ORDERS, Contrast, contrast_ngrams, count_ngrams
from .pair_plots import plot_lengths, plot_probabilities, plot_repetition
from .pair_sample import (
    BINS,
    SEEN,
    Example,
    LengthStatistics,
    PairSample,
    draw_pairs,
    ranked_examples,
)
from .rank_correlations import (
    PAPER,
    RankCorrelation,
    average_idf,
    document_frequencies,
    rank_correlations,
)

_FEWEST = 30


@dataclass(kw_only=True)
class PairAnalysisSettings(DeviceSettings):
    """Reports how translations differ from references: tables 9 to 11 and the lengths of paper 000.

    Of each reference one translation is drawn at random. With a classifier, or where the pairs have the column
    reference_probability, the report shows what the classifier relies on.
    """

    pairs: str = setting("the data folder of pairs (sentence1 the reference, sentence2 the translation)", path=True)
    output: str = setting("the folder to make; the report is its README.md")
    classifier: str | None = setting("reference classifier folder, for tables 10 and 11", None, path=True)
    unseen_only: bool = setting(
        "leave out references that the classifier was trained, tuned or tested on (without --classifier: where the "
        "column classifier_seen is 1)",
        False,
    )
    references: int | None = setting("how many references to draw at most; by default all", None, at_least=1)
    idf_text: str | None = setting(
        "text, one document a line, plain or compressed, for document frequencies (the paper took Wikipedia) "
        "[default: the references themselves]",
        None,
        path=True,
    )
    examples: int = setting("how many pairs to show of each kind", 10, at_least=1)
    bootstrap: int = setting("bootstrap replicates for the intervals of table 9", 200, at_least=2)
    split: str = setting("the split to read", "train")
    seed: int = seed_setting("seed of the draws")
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(frozen=True)
class PairAnalysis:
    """How translations differ from references.

    Attributes:
        pairs: How many pairs were compared, one for each reference.
        seen: How many of the references the classifier was trained, tuned or tested on.
        contrasts: Table 9 of paper 000: lengths of the list of n-grams, repetition and entropy of both sides.
        lengths: Those of the references and of the translations.
        correlations: Table 10: for each side that has probabilities, their rank correlations.
        examples: Table 11: pairs by what they show.
        means: The mean P(reference) of the references and of the translations, where there is one.
    """

    pairs: int
    seen: int
    contrasts: list[Contrast]
    lengths: list[LengthStatistics]
    correlations: dict[str, list[RankCorrelation]]
    examples: dict[str, list[Example]]
    means: list[float | None]


@recipe(PairAnalysisSettings)
def analyze_pairs(settings: PairAnalysisSettings) -> PairAnalysis:
    """Reports how translations differ from references: tables 9 to 11 and the lengths of paper 000.

    Returns:
        The numbers of the report.
    """
    folder = Path(settings.pairs)
    if (
        settings.unseen_only
        and settings.classifier is None
        and SEEN not in DataFolder(folder).schema(settings.split).names
    ):
        raise UsageError(
            f"analyze: --unseen-only needs --classifier, as the pairs have no column {SEEN}",
            remedy="give it, or score the pairs with --classifier",
        )
    check_plots()
    inputs = [item for item in (settings.pairs, settings.classifier, settings.idf_text) if item is not None]
    with Artefact(
        settings.output, command="analyze", settings=settings, inputs=inputs, overwrite=settings.overwrite
    ) as artefact:
        return _report(settings, folder, artefact)


def _report(settings: PairAnalysisSettings, folder: Path, artefact: Artefact) -> PairAnalysis:
    scorer = None
    if settings.classifier is not None:
        from ...filtering.reference_classifier.reference_classification import ReferenceScorer

        scorer = ReferenceScorer.from_pretrained(settings.classifier, device=settings.device)
    sample = draw_pairs(folder, split=settings.split, limit=settings.references, seed=settings.seed)
    seen = 0
    seen_references = sample.seen
    if settings.classifier is not None:
        seen_references = is_seen(sample.references, read_seen(model_folder(settings.classifier)))
    if seen_references is not None:
        seen = int(seen_references.sum())
        if settings.unseen_only:
            sample, seen = _take(sample, np.flatnonzero(~seen_references)), 0
    if len(sample) < _FEWEST:
        remedy = f"give {_FEWEST} or more"
        if settings.unseen_only:
            remedy += ", or leave --unseen-only out: the classifier has seen the others"
        raise InputError(f"{len(sample)} references are left to analyse", path=folder, remedy=remedy)
    if sample.rows == sample.available:
        log("every reference has one translation: nothing is drawn")
    probabilities: list[NDArray[np.float64] | None] = [None, sample.probabilities]
    if scorer is not None:
        probabilities = [scorer.probabilities(sample.references), scorer.probabilities(sample.translations)]
    frequencies, documents = _document_frequencies(settings, sample)
    report = _analyse(settings, sample, seen, probabilities, (frequencies, documents), artefact.staging)
    _write(settings, folder, sample, report, artefact)
    log(_contrast_table(report.contrasts).rstrip())
    if report.correlations:
        log(_correlation_table(report.correlations).rstrip())
    log(f"the report is {settings.output}/README.md")
    return report


def _take(sample: PairSample, rows: NDArray[np.int64]) -> PairSample:
    return dataclasses.replace(
        sample,
        references=[sample.references[row] for row in rows],
        translations=[sample.translations[row] for row in rows],
        probabilities=None if sample.probabilities is None else sample.probabilities[rows],
    )


def _document_frequencies(settings: PairAnalysisSettings, sample: PairSample) -> tuple[dict[str, int], int]:
    if settings.idf_text is None:
        return document_frequencies(sample.references), len(sample)
    counts: dict[str, int] = {}
    documents = 0
    for block in read_lines(Path(settings.idf_text), LineErrors()):
        texts = block.to_pylist()
        documents += len(texts)
        for token, count in document_frequencies(texts).items():
            counts[token] = counts.get(token, 0) + count
    if not counts:
        raise InputError("the file contains no text", path=settings.idf_text, remedy="give one document a line")
    return counts, documents


def _analyse(
    settings: PairAnalysisSettings,
    sample: PairSample,
    seen: int,
    probabilities: list[NDArray[np.float64] | None],
    idf: tuple[dict[str, int], int],
    staging: Path,
) -> PairAnalysis:
    sides = (sample.references, sample.translations)
    ngrams = [[count_ngrams(texts, order) for order in ORDERS] for texts in sides]
    lengths = [TokenSpans([text.lower() for text in texts]).counts for texts in sides]
    plots = staging / "plots"
    plot_lengths(lengths[0], lengths[1], plots / "lengths.png")
    repetitions = [side[0].repetition for side in ngrams]
    plot_repetition(repetitions[0], repetitions[1], (lengths[0], lengths[1]), plots / "repetition.png")
    correlations: dict[str, list[RankCorrelation]] = {}
    for name, texts, found, size, values in zip(
        ("references", "translations"), sides, ngrams, lengths, probabilities, strict=True
    ):
        if values is not None:
            properties = {
                "unigram repetition": found[0].repetition,
                "trigram repetition": found[1].repetition,
                "average IDF": average_idf(texts, *idf),
                "length": size.astype(np.float64),
            }
            correlations[name] = rank_correlations(values, properties)
    human, machine = probabilities
    examples: dict[str, list[Example]] = {}
    rank = functools.partial(ranked_examples, *sides, count=settings.examples)
    if machine is not None:
        plot_probabilities(human, machine, plots / "reference_probability.png")
        gap = -machine if human is None else human - machine
        examples["machine"] = rank(ranking=gap, numbers=(human, machine))
        examples["human"] = rank(ranking=machine, numbers=(human, machine))
    else:
        shares = (100 * repetitions[0], 100 * repetitions[1])
        examples["repetition"] = rank(ranking=shares[1] - shares[0], numbers=shares)
    return PairAnalysis(
        pairs=len(sample),
        seen=seen,
        contrasts=contrast_ngrams(*ngrams, replicates=settings.bootstrap, seed=settings.seed),
        lengths=[LengthStatistics.of(size) for size in lengths],
        correlations=correlations,
        examples=examples,
        means=[None if item is None else float(np.nanmean(item)) for item in probabilities],
    )


def _write(
    settings: PairAnalysisSettings, folder: Path, sample: PairSample, report: PairAnalysis, artefact: Artefact
) -> None:
    numbers = {
        "references": len(sample),
        "rows": sample.rows,
        "references_available": sample.available,
        "seen_by_the_classifier": report.seen,
        "mean_reference_probability": dict(zip(("references", "translations"), report.means, strict=True)),
        "table_9": [dataclasses.asdict(item) for item in report.contrasts],
        "table_10": {
            side: {item.measured: dataclasses.asdict(item.found) for item in items}
            for side, items in report.correlations.items()
        },
        "lengths": dict(zip(("references", "translations"), map(dataclasses.asdict, report.lengths), strict=True)),
    }
    write_text_whole(artefact.staging / "analysis.json", json.dumps(numbers, indent=2) + "\n")
    card = Card(
        "analysis",
        {
            **inherited_metadata(folder),
            "source": folder.resolve().name,
            "pairs": len(sample),
            "rows": sample.rows,
            "available": sample.available,
            "contrast_table": _contrast_table(report.contrasts),
            "length_table": _length_table(report.lengths),
            "correlation_table": _correlation_table(report.correlations),
            "examples": {name: [_shown(item) for item in items] for name, items in report.examples.items()},
            "has_probabilities": report.means[1] is not None,
            "means": report.means,
            "classifier": None if settings.classifier is None else to_path(settings.classifier).resolve().name,
            "seen": report.seen,
            "idf_source": "the references themselves"
            if settings.idf_text is None
            else to_path(settings.idf_text).name,
            "bootstrap": settings.bootstrap,
            "seed": settings.seed,
        },
        report=True,
    )
    artefact.finish(results=numbers, card=card)


def _contrast_table(contrasts: Sequence[Contrast]) -> str:
    rows = []
    for item in contrasts:
        numbers = [f"{item.reference:.2f} {item.unit}", f"{item.translation:.2f} {item.unit}"]
        rows.append(
            [item.name, *numbers, item.difference.text(2), f"{'+' if item.expected > 0 else '-'}", item.verdict]
        )
    return format_table(
        ["", "references", "translations", "difference [95 %]", "sign in the paper", "the paper's finding"], rows
    )


def _length_table(lengths: Sequence[LengthStatistics]) -> str:
    header = ["", "mean", "standard deviation", "median", "longest"]
    header += [f"{low} < n <= {high} (%)" for low, high in BINS]
    rows = [
        [name, f"{item.mean:.1f}", f"{item.deviation:.1f}", f"{item.median:g}", str(item.longest)]
        + [f"{share:.1f}" for share in item.shares]
        for name, item in zip(("references", "translations"), lengths, strict=True)
    ]
    return format_table(header, rows)


def _correlation_table(correlations: dict[str, list[RankCorrelation]]) -> str:
    header, rows = ["Spearman × 100 of P(reference) with"], [[name] for name in PAPER]
    for side, items in correlations.items():
        header.append(side)
        for row, item in zip(rows, items, strict=True):
            row.append(item.found.text())
    if "translations" in correlations:
        header += ["paper", "the paper's finding (translations)"]
        for row, item in zip(rows, correlations["translations"], strict=True):
            row += [f"{PAPER[item.measured]:+.1f}", item.verdict]
    return format_table(header, rows)


def _shown(example: Example) -> dict[str, Any]:
    # Sentences are shown as they are, and must not be taken for Markdown.
    return {
        **dataclasses.asdict(example),
        "reference": plain_markdown(example.reference),
        "translation": plain_markdown(example.translation),
    }
