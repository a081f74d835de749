"""The recipe of the verb `analyze pairs`: back-translated pairs in, how they differ from references out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.hub_models import model_folder
from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder
from ...data.text_files import LineErrors, read_lines
from ...errors import InputError, UsageError
from ...evaluation.figures import COLOURS, new_figure, save_figure
from ...filtering.reference_classifier.references import is_seen, read_seen
from ...filtering.tokens import TokenSpans
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ..report import ReportSettings, report
from .ngram_statistics import ORDERS, Contrast, contrast_ngrams, count_ngrams
from .pair_sample import BINS, SEEN, PairSample, draw_pairs, length_statistics, ranked_examples
from .rank_correlations import (
    PAPER,
    RankCorrelation,
    average_idf,
    document_frequencies,
    rank_correlations,
)

_SIDES = ("references", "translations")
_FEWEST = 30


@dataclass(kw_only=True)
class PairAnalysisSettings(ReportSettings):
    """Reports how translations differ from references: tables 9 to 11 and the lengths of paper 000.

    Of each reference one translation is drawn at random. With a classifier, or where the pairs have the column
    reference_probability, the report shows what the classifier relies on.
    """

    pairs: str = setting("the data folder of pairs (sentence1 the reference, sentence2 the translation)", path=True)
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


@dataclass(frozen=True)
class PairAnalysis:
    """How translations differ from references.

    Attributes:
        pairs: How many pairs were compared, one for each reference.
        seen: How many of the references the classifier was trained, tuned or tested on.
        contrasts: Table 9 of paper 000: repetition and entropy of n-grams of both sides.
        lengths: Those of the references and of the translations.
        correlations: Table 10: for each side that has probabilities, their rank correlations.
        examples: Table 11: pairs by what they show.
        means: The mean P(reference) of the references and of the translations, where there is one.
    """

    pairs: int
    seen: int
    contrasts: list[Contrast]
    lengths: list[dict[str, Any]]
    correlations: dict[str, list[RankCorrelation]]
    examples: dict[str, list[dict[str, Any]]]
    means: list[float | None]


@recipe(PairAnalysisSettings)
def analyze_pairs(settings: PairAnalysisSettings) -> PairAnalysis:
    """Reports how translations differ from references: tables 9 to 11 and the lengths of paper 000.

    Returns:
        The numbers of the report.
    """
    folder = Path(settings.pairs)
    columns = DataFolder(folder).schema(settings.split).names
    if settings.unseen_only and settings.classifier is None and SEEN not in columns:
        raise UsageError(
            f"analyze: --unseen-only needs --classifier, as the pairs have no column {SEEN}",
            remedy="give it, or score the pairs with --classifier",
        )
    inputs = [settings.pairs, settings.classifier, settings.idf_text]
    with report("pairs", settings, inputs, card="analysis") as output:
        sample, seen, probabilities = _sample(settings, folder)
        lengths = [TokenSpans([text.lower() for text in texts]).counts for texts in _texts(sample)]
        found = _analysed(settings, sample, seen, probabilities, lengths)
        shown: Sequence[NDArray[Any] | None] = probabilities if found.correlations else lengths
        _plot(shown, output.picture("reference_probability" if found.correlations else "lengths"))
        numbers = {
            "references": len(sample),
            "rows": sample.rows,
            "references_available": sample.available,
            "seen_by_the_classifier": seen,
            "mean_reference_probability": dict(zip(_SIDES, found.means, strict=True)),
            "table_9": [asdict(item) for item in found.contrasts],
            "table_10": {
                side: {item.measured: asdict(item.found) for item in items}
                for side, items in found.correlations.items()
            },
            "lengths": dict(zip(_SIDES, found.lengths, strict=True)),
        }
        tables = [_contrast_table(found.contrasts), _correlation_table(found.correlations)]
        # Sentences are shown as they are, and must not be taken for Markdown.
        escaped = {
            kind: [
                {**item, **{side: plain_markdown(item[side]) for side in ("reference", "translation")}}
                for item in items
            ]
            for kind, items in found.examples.items()
        }
        values = {
            **inherited_metadata(folder),
            "source": folder.resolve().name,
            "pairs": len(sample),
            "rows": sample.rows,
            "available": sample.available,
            "contrast_table": tables[0],
            "length_table": _length_table(found.lengths),
            "correlation_table": tables[1],
            "examples": escaped,
            "has_probabilities": found.means[1] is not None,
            "means": found.means,
            "classifier": None if settings.classifier is None else to_path(settings.classifier).resolve().name,
            "seen": seen,
            "idf_source": "the references themselves"
            if settings.idf_text is None
            else to_path(settings.idf_text).name,
            "bootstrap": settings.bootstrap,
            "seed": settings.seed,
        }
        output.finish(numbers, values, "\n".join(tables if found.correlations else tables[:1]))
    return found


def _texts(sample: PairSample) -> tuple[list[str], list[str]]:
    return sample.references, sample.translations


def _sample(settings: PairAnalysisSettings, folder: Path) -> tuple[PairSample, int, list[NDArray[np.float64] | None]]:
    """Draws the pairs; returns how many references the classifier has seen, and P(reference) of both sides."""
    scorer = None
    if settings.classifier is not None:
        from ...filtering.reference_classifier.reference_classification import ReferenceScorer

        scorer = ReferenceScorer.from_pretrained(settings.classifier, device=settings.device)
    sample = draw_pairs(folder, split=settings.split, limit=settings.references, seed=settings.seed)
    if settings.classifier is not None:
        sample.seen = is_seen(sample.references, read_seen(model_folder(settings.classifier)))
    if settings.unseen_only and sample.seen is not None:
        sample = sample.take(np.flatnonzero(~sample.seen))
    if len(sample) < _FEWEST:
        remedy = f"give {_FEWEST} or more"
        if settings.unseen_only:
            remedy += ", or leave --unseen-only out: the classifier has seen the others"
        raise InputError(f"{len(sample)} references are left to analyse", path=folder, remedy=remedy)
    if sample.rows == sample.available:
        log("every reference has one translation: nothing is drawn")
    seen = 0 if sample.seen is None else int(sample.seen.sum())
    if scorer is None:
        return sample, seen, [None, sample.probabilities]
    return sample, seen, [scorer.probabilities(texts) for texts in _texts(sample)]


def _document_frequencies(settings: PairAnalysisSettings, sample: PairSample) -> tuple[Mapping[str, int], int]:
    if settings.idf_text is None:
        return document_frequencies(sample.references), len(sample)
    counts: Counter[str] = Counter()
    documents = 0
    for block in read_lines(Path(settings.idf_text), LineErrors()):
        texts = block.to_pylist()
        documents += len(texts)
        counts.update(document_frequencies(texts))
    if not counts:
        raise InputError("the file contains no text", path=settings.idf_text, remedy="give one document a line")
    return counts, documents


def _analysed(
    settings: PairAnalysisSettings,
    sample: PairSample,
    seen: int,
    probabilities: list[NDArray[np.float64] | None],
    lengths: Sequence[NDArray[np.int64]],
) -> PairAnalysis:
    idf = _document_frequencies(settings, sample)
    ngrams = [[count_ngrams(texts, order) for order in ORDERS] for texts in _texts(sample)]
    correlations: dict[str, list[RankCorrelation]] = {}
    for name, texts, found, size, values in zip(_SIDES, _texts(sample), ngrams, lengths, probabilities, strict=True):
        if values is not None:
            properties = {
                "unigram repetition": found[0].repetition,
                "trigram repetition": found[1].repetition,
                "average IDF": average_idf(texts, *idf),
                "length": size.astype(np.float64),
            }
            correlations[name] = rank_correlations(values, properties)
    human, machine = probabilities
    shown: tuple[NDArray[np.float64] | None, NDArray[np.float64]]
    if machine is None:
        shares = [100 * side[0].repetition for side in ngrams]
        rankings = {"repetition": shares[1] - shares[0]}
        shown = shares[0], shares[1]
    else:
        rankings = {"machine": -machine if human is None else human - machine, "human": machine}
        shown = human, machine
    return PairAnalysis(
        pairs=len(sample),
        seen=seen,
        contrasts=contrast_ngrams(*ngrams, replicates=settings.bootstrap, seed=settings.seed),
        lengths=[length_statistics(size) for size in lengths],
        correlations=correlations,
        examples={
            name: ranked_examples(sample, ranking, shown, settings.examples) for name, ranking in rankings.items()
        },
        means=[None if item is None else float(np.nanmean(item)) for item in probabilities],
    )


def _plot(sides: Sequence[NDArray[Any] | None], path: Path) -> None:
    """Draws histograms of P(reference), or of lengths in tokens up to their 99.5th percentile."""
    present = [None if values is None else values[~np.isnan(values)] for values in sides]
    is_probability = path.stem == "reference_probability"
    end = max(float(np.percentile(values, 99.5)) for values in present if values is not None)
    edges = np.linspace(0, 1, 41) if is_probability else np.arange(0.5, max(5.0, end) + 1, max(1.0, end // 40))
    figure, axes = new_figure(7, 3.8)
    for name, values, colour in zip(_SIDES, present, COLOURS, strict=False):
        if values is not None:
            axes[0, 0].stairs(100 * np.histogram(values, edges)[0] / len(values), edges, label=name, color=colour)
    axes[0, 0].set_xlabel("P(reference)" if is_probability else "tokens")
    axes[0, 0].set_ylabel("sentences (%)")
    axes[0, 0].legend(frameon=False)
    save_figure(figure, path)


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


def _length_table(lengths: Sequence[Mapping[str, Any]]) -> str:
    header = ["", "mean", "standard deviation", "median", "longest"]
    header += [f"{low} < n <= {high} (%)" for low, high in BINS]
    rows = [
        [name, f"{item['mean']:.1f}", f"{item['deviation']:.1f}", f"{item['median']:g}", str(item["longest"])]
        + [f"{share:.1f}" for share in item["shares"]]
        for name, item in zip(_SIDES, lengths, strict=True)
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
