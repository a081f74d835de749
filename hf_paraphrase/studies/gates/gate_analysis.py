"""The whole gate analysis of a text in one call, without a file being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, UsageError
from .gate_report import GateReport, gate_report
from .gates import WordGates, check_gran, word_gates, words_of_texts
from .grouped_means import GroupMean
from .tagged_text import TAG, LabelledSentence

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder


@dataclass(frozen=True)
class GateAnalysis:
    """What :func:`analyze_gates` finds.

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


def analyze_gates(
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

    Raises:
        ModelError: If the encoder has no gates.
        UsageError: If there are not as many lists of tags as texts, or a text has not as many words as tags.
        InputError: If there is no word, or none that the model knows where only such count.
    """
    check_gran(encoder)
    distinct: dict[str, LabelledSentence] = {}
    for sentence in _labelled(encoder, texts, tags):
        distinct.setdefault(sentence.text, sentence)
    sentences = list(distinct.values())
    found = word_gates(encoder, sentences, show_progress_bar=show_progress_bar)
    if known_only:
        found = found.take(np.flatnonzero(found.known))
        if not len(found):
            raise InputError("the model knows no word of the text")
    return GateAnalysis(sentences, found, gate_report(found, min_count=min_count, replicates=replicates, seed=seed))


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
