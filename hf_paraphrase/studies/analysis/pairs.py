"""The recipe of the verb `analyze pairs`: back-translated pairs in, how they differ from references out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.hub_models import model_folder
from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder
from ...data.text_files import LineErrors, read_lines
from ...errors import InputError, UsageError
from ...evaluation.figures import COLOURS, new_figure, save_figure
from ...evaluation.verdicts import Interval
from ...filtering.filter_steps import check_pairs
from ...filtering.reference_classifier.references import is_seen, read_seen
from ...filtering.row_choice import choose_one_per_reference
from ...filtering.tokens import TokenSpans
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ..report import ReportSettings, report
from .ngram_statistics import (
    ORDERS,
    PAPER,
    average_idf,
    contrast_ngrams,
    count_ngrams,
    document_frequencies,
    rank_correlations,
)

_SIDES = ("references", "translations")
_PROBABILITY, _SEEN = "reference_probability", "classifier_seen"
_BINS = ((0, 10), (10, 20), (20, 30), (30, 100))
"""The ranges of table 5 in tokens, the lower end excluded."""
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


@dataclass
class PairSample:
    """References, each with one translation of its list.

    Attributes:
        pairs: The columns sentence1 and sentence2, and of :data:`_PROBABILITY` and :data:`_SEEN` those that there are.
        rows: How many rows the pairs have.
        available: How many references they have.
    """

    pairs: pa.Table
    rows: int
    available: int

    def texts(self) -> tuple[list[str], list[str]]:
        """Returns the references and the translations."""
        return self.pairs["sentence1"].to_pylist(), self.pairs["sentence2"].to_pylist()

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """Returns a column of numbers, NaN for null (pairs,); None if it is not there."""
        if name not in self.pairs.column_names:
            return None
        return np.array(self.pairs[name].to_pylist(), np.float64)


@recipe(PairAnalysisSettings)
def analyze_pairs(settings: PairAnalysisSettings) -> dict[str, Any]:
    """Reports how translations differ from references: tables 9 to 11 and the lengths of paper 000.

    Returns:
        The numbers of the report.
    """
    folder = Path(settings.pairs)
    columns = DataFolder(folder).schema(settings.split).names
    if settings.unseen_only and settings.classifier is None and _SEEN not in columns:
        raise UsageError(
            f"analyze: --unseen-only needs --classifier, as the pairs have no column {_SEEN}",
            remedy="give it, or score the pairs with --classifier",
        )
    inputs = [settings.pairs, settings.classifier, settings.idf_text]
    with report("pairs", settings, inputs, card="analysis") as output:
        sample, seen, probabilities = _sample(settings, folder)
        sides = sample.texts()
        lengths = [TokenSpans([text.lower() for text in texts]).counts for texts in sides]
        ngrams = [[count_ngrams(texts, order) for order in ORDERS] for texts in sides]
        contrasts = contrast_ngrams(*ngrams, replicates=settings.bootstrap, seed=settings.seed)
        idf = _document_frequencies(settings, sides[0])
        correlations: dict[str, dict[str, Interval]] = {}
        for name, texts, found, size, scores in zip(_SIDES, sides, ngrams, lengths, probabilities, strict=True):
            if scores is not None:
                properties = [found[0].repetition, found[1].repetition, average_idf(texts, *idf), size.astype(float)]
                correlations[name] = rank_correlations(scores, dict(zip(PAPER, properties, strict=True)))
        human, machine = probabilities
        if machine is None:
            human, repeated = (100 * side[0].repetition for side in ngrams)
            rankings, shown = {"repetition": repeated - human}, repeated
        else:
            rankings = {"machine": -machine if human is None else human - machine, "human": machine}
            shown = machine
        _plot(
            probabilities if correlations else lengths,
            output.picture("reference_probability" if correlations else "lengths"),
        )
        means = [None if item is None else float(np.nanmean(item)) for item in probabilities]
        described = dict(zip(_SIDES, map(length_statistics, lengths), strict=True))
        numbers = {
            "references": len(sample.pairs),
            "rows": sample.rows,
            "references_available": sample.available,
            "seen_by_the_classifier": seen,
            "mean_reference_probability": dict(zip(_SIDES, means, strict=True)),
            "table_9": [{**item, "difference": asdict(item["difference"])} for item in contrasts],
            "table_10": {
                side: {name: asdict(item) for name, item in items.items()} for side, items in correlations.items()
            },
            "lengths": described,
        }
        tables = [_contrast_table(contrasts), _correlation_table(correlations)]
        values = {
            **inherited_metadata(folder),
            "source": folder.resolve().name,
            "pairs": len(sample.pairs),
            "rows": sample.rows,
            "available": sample.available,
            "contrast_table": tables[0],
            "length_table": _length_table(described),
            "correlation_table": tables[1],
            "examples": {
                name: ranked_examples(sides, ranking, (human, shown), settings.examples)
                for name, ranking in rankings.items()
            },
            "has_probabilities": machine is not None,
            "means": means,
            "classifier": None if settings.classifier is None else to_path(settings.classifier).resolve().name,
            "seen": seen,
            "idf_source": "the references themselves"
            if settings.idf_text is None
            else to_path(settings.idf_text).name,
            "bootstrap": settings.bootstrap,
            "seed": settings.seed,
        }
        output.finish(numbers, values, "\n".join(tables if correlations else tables[:1]))
    return numbers


def _sample(settings: PairAnalysisSettings, folder: Path) -> tuple[PairSample, int, list[NDArray[np.float64] | None]]:
    """Draws the pairs; returns how many references the classifier has seen, and P(reference) of both sides."""
    scorer = None
    if settings.classifier is not None:
        from ...filtering.reference_classifier.reference_classification import ReferenceScorer

        scorer = ReferenceScorer.from_pretrained(settings.classifier, device=settings.device)
    sample = draw_pairs(folder, split=settings.split, limit=settings.references, seed=settings.seed)
    marks = sample.numbers(_SEEN)
    seen = np.zeros(len(sample.pairs), bool) if marks is None else marks == 1
    if settings.classifier is not None:
        seen = is_seen(sample.texts()[0], read_seen(model_folder(settings.classifier)))
    if settings.unseen_only:
        sample.pairs, seen = sample.pairs.filter(pa.array(~seen)), seen[:0]
    if len(sample.pairs) < _FEWEST:
        remedy = f"give {_FEWEST} or more"
        if settings.unseen_only:
            remedy += ", or leave --unseen-only out: the classifier has seen the others"
        raise InputError(f"{len(sample.pairs)} references are left to analyse", path=folder, remedy=remedy)
    if scorer is None:
        return sample, int(seen.sum()), [None, sample.numbers(_PROBABILITY)]
    return sample, int(seen.sum()), [scorer.probabilities(texts) for texts in sample.texts()]


def draw_pairs(folder: Path, *, split: str = "train", limit: int | None = None, seed: int = 0) -> PairSample:
    """Draws one translation of each reference, and of many references some.

    A reference is an id with its text, or a text alone where there are no ids. Pairs with an empty side are left out.
    """
    opened = DataFolder(folder)
    schema = opened.schema(split)
    check_pairs(schema, str(folder))
    references: list[int] = []
    filled: list[bool] = []
    columns = [name for name in ("id", "sentence1", "sentence2") if name in schema.names]
    for batch in opened.batches(split, columns):
        first, second = batch.column("sentence1").to_pylist(), batch.column("sentence2").to_pylist()
        ids = batch.column("id").to_pylist() if "id" in columns else [None] * len(first)
        references += [hash(pair) for pair in zip(ids, first, strict=True)]
        filled += [bool((one or "").strip() and (two or "").strip()) for one, two in zip(first, second, strict=True)]
    usable = np.flatnonzero(filled)
    if not len(usable):
        raise InputError("there is no pair with two sentences", path=folder, remedy="give pairs of sentences")
    chosen = usable[choose_one_per_reference(np.array(references, np.int64)[usable], "random", seed=seed)]
    available = len(chosen)
    if limit is not None and limit < available:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, limit, replace=False))
    wanted = ["sentence1", "sentence2", *(name for name in (_PROBABILITY, _SEEN) if name in schema.names)]
    parts, start = [], 0
    for batch in opened.batches(split, wanted):
        inside = chosen[(chosen >= start) & (chosen < start + batch.num_rows)] - start
        parts.append(batch.take(pa.array(inside)))
        start += batch.num_rows
    return PairSample(pa.Table.from_batches(parts), len(filled), available)


def _document_frequencies(settings: PairAnalysisSettings, references: list[str]) -> tuple[Mapping[str, int], int]:
    if settings.idf_text is None:
        return document_frequencies(references), len(references)
    counts: Counter[str] = Counter()
    documents = 0
    for block in read_lines(Path(settings.idf_text), LineErrors()):
        texts = block.to_pylist()
        documents += len(texts)
        counts.update(document_frequencies(texts))
    if not counts:
        raise InputError("the file contains no text", path=settings.idf_text, remedy="give one document a line")
    return counts, documents


def length_statistics(lengths: NDArray[np.int64]) -> dict[str, Any]:
    """Describes lengths in tokens (sentences,); `shares` are those of the sentences in each range, in %."""
    return {
        "mean": float(lengths.mean()),
        "deviation": float(lengths.std(ddof=1)),
        "median": float(np.median(lengths)),
        "longest": int(lengths.max()),
        "shares": [100.0 * float(((lengths > low) & (lengths <= high)).mean()) for low, high in _BINS],
    }


def ranked_examples(
    sides: tuple[list[str], list[str]],
    ranking: NDArray[np.float64],
    numbers: tuple[NDArray[np.float64] | None, NDArray[np.float64]],
    count: int,
) -> list[dict[str, Any]]:
    """Takes the pairs with the highest ranking (pairs,), NaN last, the earlier of equals, each translation once.

    `numbers` is what to show of the references and of the translations (pairs,), e.g. their P(reference).
    """
    examples: dict[str, dict[str, Any]] = {}
    for row in np.argsort(-np.where(np.isnan(ranking), -np.inf, ranking), kind="stable"):
        reference, translation = sides[0][row], sides[1][row]
        key = translation.casefold()
        if len(examples) == count:
            break
        if key not in examples and key != reference.casefold():
            examples[key] = {
                # Sentences are shown as they are, and must not be taken for Markdown.
                "reference": plain_markdown(reference),
                "translation": plain_markdown(translation),
                "reference_number": None if numbers[0] is None else float(numbers[0][row]),
                "translation_number": float(numbers[1][row]),
            }
    return list(examples.values())


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


def _contrast_table(contrasts: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            item["name"],
            *(f"{item[side]:.2f} {item['unit']}" for side in ("reference", "translation")),
            item["difference"].text(2),
            "+" if item["expected"] > 0 else "-",
            item["verdict"],
        ]
        for item in contrasts
    ]
    return format_table(
        ["", "references", "translations", "difference [95 %]", "sign in the paper", "the paper's finding"], rows
    )


def _length_table(lengths: Mapping[str, Mapping[str, Any]]) -> str:
    header = ["", "mean", "standard deviation", "median", "longest"]
    header += [f"{low} < n <= {high} (%)" for low, high in _BINS]
    rows = [
        [name, f"{item['mean']:.1f}", f"{item['deviation']:.1f}", f"{item['median']:g}", str(item["longest"])]
        + [f"{share:.1f}" for share in item["shares"]]
        for name, item in lengths.items()
    ]
    return format_table(header, rows)


def _correlation_table(correlations: Mapping[str, Mapping[str, Interval]]) -> str:
    header = ["Spearman × 100 of P(reference) with", *correlations]
    rows = [[name, *(items[name].text() for items in correlations.values())] for name in PAPER]
    if "translations" in correlations:
        header += ["paper", "the paper's finding (translations)"]
        for row in rows:
            rho = PAPER[row[0]]
            row += [f"{rho:+.1f}", correlations["translations"][row[0]].verdict("above" if rho > 0 else "below")]
    return format_table(header, rows)
