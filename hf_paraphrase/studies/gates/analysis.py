"""The recipe of the verb `analyze gates`: a GRAN and a text in, a report with tables and pictures out (paper 001)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.remote_paths import to_path
from ...data.text_files import LineErrors, check_readable, read_lines
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...evaluation.figures import new_figure, save_plot
from ...evaluation.verdicts import difference
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ..expansion.words import PartOfSpeechTagger
from ..report import Report, ReportSettings, report
from .gates import WordGates, check_gran, component_gates, from_own_mean, grouped_means, word_gates
from .gates import words_of_texts as words_of
from .word_labels import DEPENDENCY, TAG, LabelledSentence, read_tagged, with_tags

_PAPER = {
    TAG: (
        "NNP NNPS CD NNS VBG NN JJ UH VBN JJS PROPN NOUN NUM ADJ INTJ",
        "TO WDT DT WP IN CC PRP EX WRB POS DET ADP CCONJ SCONJ PRON PART",
    ),
    DEPENDENCY: (
        "number nn num acomp appos pobj vmod dobj amod conj compound nummod acl obj",
        "possessive cop det auxpass prep cc mark aux expl neg aux:pass",
    ),
}
"""The top and bottom ten of paper 001 (Penn Treebank tags, Stanford dependencies), then their universal names."""
_TITLES = {TAG: "part of speech", DEPENDENCY: "dependency label", "words": "word"}
_POSITIONS = 15
_MOST_SHOWN, _MOST_WORDS = 60, 40


@dataclass(kw_only=True)
class GateAnalysisSettings(ReportSettings):
    """Reports how much of each word the gates of a GRAN let into the sentence ("Analyzing GRAN Gates", paper 001).

    The gate of a word is the mean of its gate vector's components, between 0 and 1. The report has its means by part
    of speech and dependency label where the text is tagged or `--tagger` tags it, and by word, each with a 95 %
    interval, and pictures of single sentences. A text in another language than the model's has mostly unknown words,
    which share one vector; the report says how many.
    """

    model: str = setting("the folder of a GRAN", path=True)
    text: list[str] = setting("text files, one sentence a line, plain or compressed", [], path=True)
    tagger: bool = setting(
        "tag the words of --text, English, with the tagger that `expand` uses: universal parts of speech (needs the "
        "extra `expansion`)",
        False,
        excludes=("tagged",),
    )
    tagged: list[str] = setting(
        "tagged files instead: CoNLL-U, or word/TAG, a sentence on one line",
        [],
        path=True,
    )
    sentences: list[str] = setting(
        "sentences to draw a picture of [default: the first of the text that have 5 to 20 words]",
        [],
    )
    pictures: int = setting(
        "how many sentences of the text to draw a picture of, where --sentences names none", 4, at_least=0
    )
    max_sentences: int = setting("how many distinct sentences to use, from the beginning", 20_000, at_least=1)
    min_count: int = setting("words and labels that occur less often are left out of the tables", 20, at_least=1)
    bootstrap: int = setting("bootstrap replicates, over sentences, for the intervals", 200, at_least=2)
    seed: int = seed_setting("seed of the bootstrap")

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if bool(self.text) == bool(self.tagged):
            raise UsageError("analyze gates: give either --text or --tagged", remedy="--text FILE or --tagged FILE")


@recipe(GateAnalysisSettings)
def analyze_gates(settings: GateAnalysisSettings) -> dict[str, Any]:
    """Reports how much of each word the gates of a GRAN let into the sentence (paper 001).

    Returns:
        The numbers of the report.
    """
    files = [*settings.text, *settings.tagged]
    for path in files:
        check_readable(Path(path))
    with report("gates", settings, [settings.model, *files], card="analysis_gates") as output:
        encoder = SentenceEncoder.from_pretrained(settings.model, device=settings.device)
        check_gran(encoder, settings.model)
        sentences = _sentences(settings, encoder)
        try:
            gates = word_gates(encoder, sentences)
        except InputError as error:
            raise InputError(error.message, path=files[0], remedy=error.remedy) from error
        if not gates.known.any():
            log("none of these words is in the model's vocabulary: all have the same vector")
        options = {"min_count": settings.min_count, "replicates": settings.bootstrap, "seed": settings.seed}
        lowered = [word.lower() for word in gates.words]
        known = [word if is_known else None for word, is_known in zip(lowered, gates.known, strict=True)]
        tables = {name: gate_table(gates, groups, **options) for name, groups in gates.labels.items()}
        paper = {name: found for name, rows in tables.items() if (found := compare(name, rows)) is not None}
        tables["words"] = gate_table(gates, known, **options)
        for name, rows in tables.items():
            output.table(f"tables/{name}", list(_COLUMNS), ([row[key] for key in _COLUMNS] for row in rows))
        at_start = from_own_mean(gates.gates, lowered)[gates.positions == 0]
        numbers = {
            "sentences": len(sentences),
            "words": len(gates),
            "unknown_share": float(1 - gates.known.mean()),
            "mean_gate": float(gates.gates.mean()),
            "deviation": float(gates.gates.std()),
            "norm_of_word_vectors": float(gates.plain_norms.mean()),
            "norm_of_gated_vectors": float(gates.gated_norms.mean()),
            # How far the first word of a sentence is above the same word elsewhere.
            "first_word": None if np.isnan(at_start).all() else float(np.nanmean(at_start)),
            "paper": paper,
            "tables": tables,
        }
        config: Any = encoder.model.config
        values = {
            **numbers,
            "model": to_path(settings.model).resolve().name,
            "cell": config.cell,
            "bidirectional": config.bidirectional,
            "hidden_size": config.hidden_size,
            "texts": [to_path(item).name for item in files],
            "labels": [
                {
                    "name": name,
                    "title": _TITLES[name],
                    "table": _shown_table(rows, _TITLES[name]),
                    "paper": [names.replace(" ", ", ") for names in _PAPER.get(name, ())],
                    "comparison": paper.get(name),
                }
                for name, rows in tables.items()
                if rows
            ],
            "pictures": _draw(settings, encoder, sentences, output),
            "min_count": settings.min_count,
            "bootstrap": settings.bootstrap,
            "seed": settings.seed,
        }
        output.finish(numbers, values, "\n".join(_ends(name, rows) for name, rows in tables.items()))
    return numbers


def _sentences(settings: GateAnalysisSettings, encoder: SentenceEncoder) -> list[LabelledSentence]:
    """Reads the first distinct sentences."""
    kept: dict[str, LabelledSentence] = {}
    stream: Iterable[LabelledSentence] = (item for path in settings.tagged for item in read_tagged(Path(path)))
    for sentence in stream if settings.tagged else _plain_sentences(settings, encoder):
        kept.setdefault(sentence.text, sentence)
        if len(kept) == settings.max_sentences:
            break
    if not kept:
        path = [*settings.text, *settings.tagged][0]
        raise InputError("the file contains no words", path=path, remedy="give one sentence a line")
    return list(kept.values())


def _plain_sentences(settings: GateAnalysisSettings, encoder: SentenceEncoder) -> Iterator[LabelledSentence]:
    tagger = PartOfSpeechTagger.load() if settings.tagger else None
    for path in settings.text:
        for block in read_lines(Path(path), LineErrors()):
            lines = block.to_pylist()
            for start in range(0, len(lines), 1000):
                sentences = words_of(encoder, lines[start : start + 1000])
                yield from sentences if tagger is None else with_tags(tagger, sentences)


_COLUMNS = ("name", "words", "gate", "low", "high", "against_position", "norm_of_x", "norm_of_a")


def gate_table(
    gates: WordGates, groups: Sequence[str | None], *, min_count: int, replicates: int, seed: int
) -> list[dict[str, Any]]:
    """Computes the means of groups of words that are frequent enough, the highest gate first.

    `against_position` is the mean distance from the mean gate of all words at the same position; `norm_of_x` and
    `norm_of_a` are mean norms of the word vectors and the gated vectors.
    """
    counts = Counter(groups)
    kept = [name if counts[name] >= min_count else None for name in groups]
    position = np.minimum(gates.positions, _POSITIONS)
    at_position = np.bincount(position, weights=gates.gates) / np.bincount(position).clip(1)
    numbers = np.stack([gates.gates - at_position[position], gates.plain_norms, gates.gated_norms])
    names = np.array([name or "" for name in kept])

    found = grouped_means(gates.gates, kept, gates.sentences, replicates=replicates, seed=seed)
    return [
        dict(
            zip(
                _COLUMNS,
                [name, count, mean.value, mean.low, mean.high, *numbers[:, names == name].mean(1).tolist()],
                strict=True,
            )
        )
        for name, count, mean in found
    ]


def compare(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Compares a ranking with the paper's lists; None unless at least one label of each list is there.

    `in_order` is the share of pairs of one label from each list, in per cent, of which the first has the higher gate;
    `in_order_by_norm` the same by the norm of the gated vector. The verdict is that of one encoder, which the rule of
    `evaluation.verdicts` does not let decide anything: it asks for three seeds.
    """
    by_name = {row["name"]: row for row in rows}
    high, low = ([by_name[name] for name in names.split() if name in by_name] for names in _PAPER[kind])
    if not high or not low:
        return None

    def in_order(key: str) -> float:
        ordered = [(one[key] > other[key]) + 0.5 * (one[key] == other[key]) for one in high for other in low]
        return 100 * float(np.mean(ordered))

    return {
        "high": len(high),
        "low": len(low),
        "in_order": in_order("gate"),
        "in_order_by_norm": in_order("norm_of_a"),
        "high_mean": float(np.mean([row["gate"] for row in high])),
        "low_mean": float(np.mean([row["gate"] for row in low])),
        "verdict": difference({0: in_order("gate")}, 50.0).interval().verdict("above"),
    }


def _shown_table(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    shown = rows if len(rows) <= _MOST_SHOWN else [*rows[: _MOST_SHOWN // 2], *rows[-_MOST_SHOWN // 2 :]]
    cells = [
        [
            row["name"],
            f"{row['words']:,}",
            f"{row['gate']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
            f"{row['against_position']:+.3f}",
            f"{row['norm_of_x']:.2f}",
            f"{row['norm_of_a']:.2f}",
        ]
        for row in shown
    ]
    return format_table([title, "words", "gate [95 %]", "against its position", "norm of x", "norm of a"], cells)


def _ends(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    ends = [", ".join(f"{row['name']} {row['gate']:.3f}" for row in part) for part in (rows[:5], rows[::-1][:5])]
    return f"{_TITLES[name]}: highest {ends[0] or 'none'}; lowest {ends[1] or 'none'}"


def _draw(
    settings: GateAnalysisSettings, encoder: SentenceEncoder, sentences: Sequence[LabelledSentence], output: Report
) -> list[dict[str, str]]:
    """Draws the pictures of sentences; returns the file and the text of each."""
    chosen = [item for item in sentences if 5 <= len(item.spans) <= 20][: settings.pictures]
    pictures = []
    for number, sentence in enumerate(words_of(encoder, settings.sentences) or chosen, 1):
        words, gates = component_gates(encoder, sentence)
        if words:
            _plot(words[:_MOST_WORDS], gates[:_MOST_WORDS], output.picture(f"sentence_{number}"))
            text = plain_markdown(sentence.text, None)
            if len(words) > _MOST_WORDS:
                text += f" (the picture has the first {_MOST_WORDS} of its {len(words)} words)"
            pictures.append({"file": f"plots/sentence_{number}.png", "text": text})
    return pictures


def _plot(words: Sequence[str], gates: NDArray[np.float64], path: Path) -> None:
    """Draws the gates of a sentence (words, hidden_size): the components in the order of their mean, and the means."""
    figure, axes = new_figure(max(3.4, 1.9 + 0.62 * len(words)), 4.2)
    axis = axes[0, 0]
    components = gates[:, np.argsort(-gates.mean(0), kind="stable")].T
    drawn = axis.imshow(components, cmap="viridis", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    labels = [f"{word} {mean:.2f}" for word, mean in zip(words, gates.mean(1), strict=True)]
    axis.set_xticks(range(len(words)), labels, rotation=45, ha="right", fontsize=9, rotation_mode="anchor")
    for label in axis.get_xticklabels():
        label.set_parse_math(False)
    axis.set_yticks([])
    axis.set_ylabel(f"{gates.shape[1]} components", fontsize=8)
    figure.colorbar(drawn, ax=axis, label="gate", shrink=0.8)
    save_plot(figure, path)
