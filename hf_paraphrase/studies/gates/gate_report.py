"""The numbers of the gate analysis: means by tag, label, kind of word, word and position, beside the paper's lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, UsageError
from .gates import WordGates, check_gran, word_gates, words_of_texts
from .grouped_means import GroupMean, explained_share, from_own_mean, grouped_means
from .word_labels import DEPENDENCY, TAG, LabelledSentence, kind_of_word

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder

PAPER_HIGH = {
    TAG: ("NNP", "NNPS", "CD", "NNS", "VBG", "NN", "JJ", "UH", "VBN", "JJS"),
    DEPENDENCY: ("number", "nn", "num", "acomp", "appos", "pobj", "vmod", "dobj", "amod", "conj"),
}
"""The top ten of paper 001 ("Analyzing GRAN Gates"): Penn Treebank tags, Stanford dependencies."""
PAPER_LOW = {
    TAG: ("TO", "WDT", "DT", "WP", "IN", "CC", "PRP", "EX", "WRB", "POS"),
    DEPENDENCY: ("possessive", "cop", "det", "auxpass", "prep", "cc", "mark", "aux", "expl", "neg"),
}
"""The bottom ten of paper 001."""
UNIVERSAL_HIGH = ("PROPN", "NOUN", "NUM", "ADJ", "INTJ")
"""The universal parts of speech of the tags in the paper's top ten that have one of their own."""
UNIVERSAL_LOW = ("DET", "ADP", "CCONJ", "SCONJ", "PRON", "PART")
"""Those of the tags in its bottom ten."""
SAME_LABEL = {"compound": "nn", "nummod": "num", "acl": "vmod", "obj": "dobj", "aux:pass": "auxpass"}
"""What later parsers and Universal Dependencies call labels of the paper."""
POSITIONS = 15
"""How many positions from each end of a sentence are distinguished; all beyond are one."""
_BEYOND = f"{POSITIONS + 1}+"


@dataclass(frozen=True)
class PaperComparison:
    """How far a ranking agrees with the two lists of the paper.

    Attributes:
        high: How many groups of the paper's top ten occur often enough here.
        low: How many of its bottom ten do.
        in_order: The share of pairs of one of each, in per cent, in which the first has the higher mean; 50 would be
            chance.
        in_order_by_norm: The same by the mean norm of the gated vectors a_t.
        high_mean: The mean over those of the top ten.
        low_mean: The mean over those of the bottom ten.
    """

    high: int
    low: int
    in_order: float
    in_order_by_norm: float
    high_mean: float
    low_mean: float

    @property
    def verdict(self) -> str:
        """Whether the paper's finding, content words above function words, is there."""
        return "holds" if self.in_order >= 75 else "does not" if self.in_order <= 50 else "cannot tell"


@dataclass(frozen=True)
class GateReport:
    """The contents of the report.

    Attributes:
        labels: For each kind of label the groups, the highest mean first.
        words: Means of the words that are frequent enough, lower-cased.
        adjusted_from_start: Distances from the words' own means by position from the start.
        paper: For each kind of label how it compares with the paper, where any of its labels is there.
        explained: The share of the variance that the word alone explains.
        details: For each kind of label and each of its groups the mean norms of x_t and of a_t, and the mean distance
            of its gates from the mean gate of all words at the same position from the start.
    """

    labels: dict[str, list[GroupMean]]
    kinds: list[GroupMean]
    words: list[GroupMean]
    from_start: list[GroupMean]
    from_end: list[GroupMean]
    adjusted_from_start: list[GroupMean]
    adjusted_from_end: list[GroupMean]
    paper: dict[str, PaperComparison]
    mean: float
    spread: float
    explained: float
    plain_norm: float
    gated_norm: float
    details: dict[str, dict[str, tuple[float, float, float]]]
    unknown: float

    @property
    def tables(self) -> dict[str, list[GroupMean]]:
        """All means by the name of their table."""
        return {
            **self.labels,
            "kinds": self.kinds,
            "words": self.words,
            "positions_from_start": self.from_start,
            "positions_from_end": self.from_end,
            "positions_from_start_adjusted": self.adjusted_from_start,
            "positions_from_end_adjusted": self.adjusted_from_end,
        }


def gate_report(gates: WordGates, *, min_count: int = 20, replicates: int = 200, seed: int = 0) -> GateReport:
    """Computes all means with their intervals."""
    means = partial(grouped_means, replicates=replicates, seed=seed)
    lowered = [word.lower() for word in gates.words]
    counts = Counter(lowered)
    known_words = [word if gates.known[place] else None for place, word in enumerate(lowered)]
    frequent = [word if word is not None and counts[word] >= min_count else None for word in known_words]
    kinds = [kind_of_word(word) for word in gates.words]
    own = from_own_mean(gates.gates, lowered)
    is_present = ~np.isnan(own)
    places = (gates.positions, gates.lengths - 1 - gates.positions)
    raw = [_by_position(means, gates.gates, place, gates.sentences) for place in places]
    adjusted = [
        _by_position(means, own[is_present], place[is_present], gates.sentences[is_present]) for place in places
    ]
    labels = {
        name: _frequent(means, gates, gates.labels[name], min_count)
        for name in sorted(gates.labels, key=lambda name: name != TAG)
    }
    place = np.minimum(gates.positions, POSITIONS)
    at_place = np.bincount(place, weights=gates.gates) / np.bincount(place).clip(1)
    numbers = np.stack([gates.plain_norms, gates.gated_norms, gates.gates - at_place[place]])
    details: dict[str, dict[str, tuple[float, float, float]]] = {}
    for kind, items in gates.labels.items():
        columns = np.array([item if item is not None else "" for item in items])
        details[kind] = {item.name: tuple(numbers[:, columns == item.name].mean(1).tolist()) for item in labels[kind]}
    norms = {kind: {name: item[1] for name, item in items.items()} for kind, items in details.items()}
    compared = {name: compare(name, groups, norms[name]) for name, groups in labels.items()}
    paper = {name: item for name, item in compared.items() if item is not None}
    return GateReport(
        labels=labels,
        kinds=means(gates.gates, kinds, gates.sentences),
        words=means(gates.gates, frequent, gates.sentences),
        from_start=raw[0],
        from_end=raw[1],
        adjusted_from_start=adjusted[0],
        adjusted_from_end=adjusted[1],
        paper=paper,
        mean=float(gates.gates.mean()),
        spread=float(gates.gates.std()),
        explained=explained_share(gates.gates, lowered),
        plain_norm=float(gates.plain_norms.mean()),
        gated_norm=float(gates.gated_norms.mean()),
        details=details,
        unknown=float(1 - gates.known.mean()),
    )


def compare(kind: str, groups: Sequence[GroupMean], norms: Mapping[str, float]) -> PaperComparison | None:
    """Compares a ranking with the paper's lists; None unless at least one label of each list is there."""
    gates = {item.name: item.mean.value for item in groups}
    high, low = _of_lists(kind, gates)
    if not high or not low:
        return None
    return PaperComparison(
        len(high),
        len(low),
        _share_in_order(high, low),
        _share_in_order(*_of_lists(kind, norms)),
        float(np.mean(high)),
        float(np.mean(low)),
    )


def highest_labels(kind: str) -> tuple[str, ...]:
    """Lists the labels that count as those of the paper's top ten."""
    return PAPER_HIGH.get(kind, ()) + (UNIVERSAL_HIGH if kind == TAG else _other_names(PAPER_HIGH.get(kind, ())))


def lowest_labels(kind: str) -> tuple[str, ...]:
    """Lists the labels that count as those of the paper's bottom ten."""
    return PAPER_LOW.get(kind, ()) + (UNIVERSAL_LOW if kind == TAG else _other_names(PAPER_LOW.get(kind, ())))


def _other_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(new for new, old in SAME_LABEL.items() if old in names)


def _of_lists(kind: str, values: Mapping[str, float]) -> tuple[list[float], list[float]]:
    """Picks the values of the labels of the paper's two lists that are there."""
    high, low = (
        [values[name] for name in names if name in values] for names in (highest_labels(kind), lowest_labels(kind))
    )
    return high, low


def _share_in_order(high: Sequence[float], low: Sequence[float]) -> float:
    ordered = [float(one > other) + 0.5 * (one == other) for one in high for other in low]
    return 100 * float(np.mean(ordered))


def _frequent(
    means: Callable[..., list[GroupMean]], gates: WordGates, items: Sequence[str | None], min_count: int
) -> list[GroupMean]:
    counts = Counter(items)
    kept = [item if item is not None and counts[item] >= min_count else None for item in items]
    return means(gates.gates, kept, gates.sentences)


def _by_position(
    means: Callable[..., list[GroupMean]],
    values: NDArray[np.float64],
    places: NDArray[np.int64],
    sentences: NDArray[np.int64],
) -> list[GroupMean]:
    names = [str(place + 1) if place < POSITIONS else _BEYOND for place in places.tolist()]
    order = {str(place + 1): place for place in range(POSITIONS)} | {_BEYOND: POSITIONS}
    return sorted(means(values, names, sentences), key=lambda item: order[item.name])


@dataclass(frozen=True)
class GateAnalysis:
    """What :func:`measure_gates` finds.

    Attributes:
        sentences: The distinct sentences, with their words and labels.
        words: The gate of every word of them.
        report: The means with their intervals, and how they compare with the paper's lists.
    """

    sentences: Sequence[LabelledSentence]
    words: WordGates
    report: GateReport

    @property
    def tables(self) -> Mapping[str, Sequence[GroupMean]]:
        """The tables by name: `tag` and `dependency` where there are such labels, `kinds`, `words`, `positions_…`."""
        return self.report.tables


def measure_gates(
    encoder: SentenceEncoder,
    texts: Sequence[str] | Sequence[LabelledSentence],
    tags: Sequence[Sequence[str]] | None = None,
    *,
    min_count: int = 20,
    known_only: bool = False,
    replicates: int = 200,
    seed: int = 0,
    show_progress_bar: bool = False,
) -> GateAnalysis:
    """Computes how much of each word the gates of a GRAN let into the sentence (paper 001).

    Args:
        encoder: A GRAN with its tokenizer.
        texts: Sentences, of which each distinct one counts once; or sentences whose words and labels are known.
        tags: For each of the texts the tags of its words, which then are what stands between spaces.
        min_count: Words and labels that occur less often are left out of the tables.
        known_only: Leave out words that the model does not know.
        replicates: Bootstrap replicates, over sentences, for the intervals.
        seed: Seed of the bootstrap.
        show_progress_bar: Show the progress, in sentences, on standard error.
    """
    check_gran(encoder)
    distinct: dict[str, LabelledSentence] = {}
    for sentence in _labelled(encoder, texts, tags):
        distinct.setdefault(sentence.text, sentence)
    sentences = list(distinct.values())
    gates = word_gates(encoder, sentences, show_progress_bar=show_progress_bar)
    if known_only:
        gates = gates.take(np.flatnonzero(gates.known))
        if not len(gates):
            raise InputError("no word of the text is in the model's vocabulary")
    return GateAnalysis(sentences, gates, gate_report(gates, min_count=min_count, replicates=replicates, seed=seed))


def _labelled(
    encoder: SentenceEncoder,
    texts: Sequence[str] | Sequence[LabelledSentence],
    tags: Sequence[Sequence[str]] | None,
) -> list[LabelledSentence]:
    given = [item for item in texts if isinstance(item, LabelledSentence)]
    plain = [item for item in texts if isinstance(item, str)]
    if given and (plain or tags is not None):
        raise UsageError("sentences whose words are known have labels of their own", remedy="give texts with tags")
    if given or tags is None:
        return given or words_of_texts(encoder, plain)
    if len(tags) != len(plain):
        raise UsageError(f"{len(tags)} lists of tags for {len(plain)} texts", remedy="give one for each text")
    sentences = []
    for number, (text, labels) in enumerate(zip(plain, tags, strict=True)):
        words = text.split()
        if len(words) != len(labels):
            raise UsageError(
                f"{len(labels)} tags for the {len(words)} words of text {number}",
                remedy="give a tag for every word between spaces",
            )
        if words:
            sentences.append(LabelledSentence.of_words(words, {TAG: list(labels)}))
    return sentences
