"""What do encoders find near a sentence? A table and a picture of paper 003, section 4.2.1, over seeds and queries.

    python scripts/studies/neighbours_table.py --encoders wa=DIR,DIR,DIR gran=DIR,DIR,DIR --text FILE --output DIR

The folders of an encoder are those of its seeds, in one order for both. Queries are sentences of the text, half of
them negated; for each its ten nearest other sentences are looked up among a sample of the text, and its cosines with
all of it. Of the first encoder the paper says that its neighbours are "bags of synonyms" and, where the query is
negated, negated sentences, which make a second bump in the distribution of the cosines; of the second that it keeps to
the topic.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.encoders.vectors import normalized
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError
from hf_paraphrase.evaluation.figures import COLOURS, new_figure, plot_label, save_figure
from hf_paraphrase.evaluation.verdicts import difference, spread
from hf_paraphrase.filtering.tokens import tokenize
from hf_paraphrase.tables import format_table

Numbers = NDArray[np.float64]
SEED, REPLICATES, NEAREST = 0, 2000, 10
NEGATIONS = {"not", "never", "no", "nobody", "nothing", "nowhere", "none", "neither", "nor", "cannot"}
FUNCTION_WORDS = 150
"""So many of the most frequent words of the text are no content words."""
BINS = np.linspace(-1, 1, 201)
DEVIATIONS = np.linspace(-8, 8, 161)
"""The same in standard deviations from the mean, comparable between encoders of wide and narrow cosines."""
SMOOTHED, LEAST_RISE = 3.0, 0.02
"""A bump is a peak of the distribution, smoothed over so many bins, that rises above the valleys beside it by this
share of the highest peak."""


class Measure(NamedTuple):
    """What is looked at.

    Attributes:
        first_minus_second: Whether the paper has more of it with the first encoder.
    """

    says: str
    finding: str
    first_minus_second: bool


MEASURES = {
    "shared": Measure("words of the neighbour that the query has (%)", "bags of synonyms share more words", True),
    "topic": Measure("content words of the query that the neighbour has (%)", "the second keeps to the topic", False),
    "negated": Measure("neighbours that are negated too (%)", "negation makes sentences similar", True),
    "apart": Measure("nearness of negated sentences (deviations × 100)", "negation lies to the right", True),
    "bumps": Measure("queries with a second bump (%)", "a second bump of negated sentences", True),
}


def main() -> int:
    """Writes `neighbours.md` and `neighbours.png` into the output folder and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoders", nargs=2, required=True, help="NAME=DIR,DIR… of each, a folder a seed")
    parser.add_argument("--text", type=Path, required=True, help="text file, a sentence a line")
    parser.add_argument("--sentences", type=int, default=100_000, help="so many are looked at (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="half of them negated (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="an existing folder")
    options = parser.parse_args()
    try:
        encoders = dict(_named(item) for item in options.encoders)
        if len(encoders) < 2 or len(set(map(len, encoders.values()))) > 1:
            raise UsageError("--encoders: two names, and as many folders of each, because seeds are compared in pairs")
        sentences, queries = sample(options.text, options.sentences, options.queries)
        words = Words(sentences)
        found, curves = {}, {}
        for name, folders in encoders.items():
            runs = [look(SentenceEncoder.from_pretrained(folder).encode, words, queries) for folder in folders]
            found[name] = {measure: np.stack([run[0][measure] for run in runs]) for measure in MEASURES}
            curves[name] = np.mean([run[1] for run in runs], axis=0)
        (options.output / "neighbours.md").write_text(table(found), encoding="utf-8")
        draw(options.output / "neighbours.png", curves)
    except HfParaphraseError as error:
        print(f"neighbours_table: error: {error}", file=sys.stderr)
        return 2
    return 0


def _named(text: str) -> tuple[str, list[str]]:
    name, _, folders = text.partition("=")
    if not name or not folders:
        raise UsageError(f"--encoders {text}: no name, or no folder", remedy="give NAME=DIR,DIR")
    return name, folders.split(",")


def is_negated(words: Sequence[str]) -> bool:
    """Returns whether a sentence has a word of negation."""
    return any(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in words)


def sample(path: Path, count: int, queries: int) -> tuple[list[str], list[int]]:
    """Draws different sentences, and the places of the queries among them: of five to nine words, half negated."""
    lines = [line for line in dict.fromkeys(path.read_text(encoding="utf-8").split("\n")) if line.strip()]
    sentences = random.Random(SEED).sample(lines, min(count, len(lines)))
    kinds: dict[bool, list[int]] = {True: [], False: []}
    for place, sentence in enumerate(sentences):
        words = [word for word in tokenize(sentence) if word[0].isalnum()]
        if 5 <= len(words) <= 9:
            kinds[is_negated(words)].append(place)
    if min(map(len, kinds.values())) < queries // 2:
        raise InputError(f"fewer than {queries // 2} sentences to ask for", path=path, remedy="fewer --queries")
    return sentences, [place for pair in zip(kinds[True], kinds[False], strict=False) for place in pair][:queries]


class Words:
    """The words of all sentences, punctuation left out.

    Attributes:
        negated: Whether each is negated, (sentences,).
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self.sentences = sentences
        self.sets = [frozenset(word for word in tokenize(text) if word[0].isalnum()) for text in sentences]
        self.negated = np.array([is_negated(tuple(words)) for words in self.sets])
        counts = Counter(word for words in self.sets for word in words)
        self.function = {word for word, _ in counts.most_common(FUNCTION_WORDS)}


def look(
    encode: Callable[[Sequence[str]], NDArray[np.float32]], words: Words, queries: Sequence[int]
) -> tuple[dict[str, Numbers], Numbers]:
    """Measures what one encoder finds.

    Returns:
        Each measure for every query (queries,), NaN where it has none; and the distributions of the cosines of negated
        queries with negated and with other sentences, means over the queries (2, bins).
    """
    vectors = normalized(np.asarray(encode(list(words.sentences)), np.float32))
    found = {name: np.full(len(queries), np.nan) for name in MEASURES}
    curves = []
    for place, query in enumerate(queries):
        cosines = vectors @ vectors[query]
        others = np.arange(len(cosines)) != query
        nearest = np.argsort(np.where(others, -cosines, np.inf), kind="stable")[:NEAREST]
        own = words.sets[query]
        near = [words.sets[number] for number in nearest]
        found["shared"][place] = 100 * np.mean([len(own & other) / max(1, len(other)) for other in near])
        if content := own - words.function:
            found["topic"][place] = 100 * np.mean([len(content & other) / len(content) for other in near])
        if words.negated[query]:
            sides = [cosines[words.negated & others], cosines[~words.negated]]
            found["negated"][place] = 100 * words.negated[nearest].mean()
            found["apart"][place] = 100 * (sides[0].mean() - sides[1].mean()) / cosines[others].std()
            counts = np.stack([np.histogram(side, BINS)[0] for side in sides]) / others.sum()
            centre, deviation = cosines[others].mean(), max(float(cosines[others].std()), 1e-12)
            standard = np.stack([np.histogram((side - centre) / deviation, DEVIATIONS)[0] for side in sides])
            found["bumps"][place] = 100.0 * has_second_bump(standard)
            curves.append(counts)
    return found, np.mean(curves, axis=0)


def has_second_bump(distributions: Numbers) -> bool:
    """Returns whether a distribution has a peak to the right of its highest one that mainly negated sentences make.

    Args:
        distributions: Those of negated sentences and of others, which make it together (2, bins).
    """
    negated, others = gaussian_filter1d(np.asarray(distributions, np.float64), SMOOTHED, mode="constant")
    smooth = negated + others
    peaks, _ = find_peaks(smooth, prominence=LEAST_RISE * smooth.max())
    return bool(((peaks > smooth.argmax()) & (negated > others)[peaks]).any())


def table(found: dict[str, dict[str, Numbers]]) -> str:
    """Formats a row a measure: both encoders over the seeds, and their difference over seeds and queries."""
    first, second = found
    draws = np.random.default_rng(SEED)
    rows = []
    for name, measure in MEASURES.items():
        sides = [found[first][name], found[second][name]]
        has = ~np.isnan(sides[0][0])
        if not has.any():
            rows.append([measure.says, "0", "–", "–", "–", f"{measure.finding}: cannot tell"])
            continue
        sides = [side[:, has] for side in sides]
        counts = draws.multinomial(has.sum(), np.full(has.sum(), 1 / has.sum()), REPLICATES) / has.sum()
        means = [dict(enumerate(side.mean(axis=1).tolist())) for side in sides]
        drawn = [counts @ side.T for side in sides]
        interval = difference(*means, paired=True, pairs=(drawn[0], drawn[1])).interval(len(MEASURES))
        verdict = interval.verdict("above" if measure.first_minus_second else "below")
        levels = [spread(list(mean.values())) for mean in means]
        rows.append([measure.says, str(has.sum()), *levels, interval.text(), f"{measure.finding}: {verdict}"])
    return format_table(["", "queries", first, second, "difference", "the paper's finding"], rows)


def draw(path: Path, curves: dict[str, Numbers]) -> None:
    """Draws for each encoder the distribution of cosines of negated queries, with negated sentences separately."""
    figure, axes = new_figure(9.0, 3.2, columns=len(curves))
    middles = (BINS[1:] + BINS[:-1]) / 2
    for axis, (name, counts) in zip(axes[0], curves.items(), strict=True):
        for side, colour, label in zip(counts, COLOURS, ("negated sentences", "others"), strict=False):
            axis.plot(middles, 100 * side, color=colour, label=label if axis is axes[0, 0] else None)
        axis.set_title(plot_label(name))
        axis.set_xlabel("cosine with a negated query")
    axes[0, 0].set_ylabel("share of all sentences (%)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())
