"""The command `analyze gates`: reports the gates of a GRAN for the words of a text, with tables and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ...artefacts.fsspec_path import to_path
from ...data.sentences import lines_of_file, naming
from ...data.text_blocks import check_readable
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ...training.verdicts import difference
from ..report import Report, ReportSettings, new_figure, report, save_plot
from .gates import (
    DEPENDENCY,
    REPLICATES,
    TAG,
    LabelledSentence,
    WordGate,
    check_gran,
    gate_table,
    read_tagged,
    word_gates,
    words_of_texts,
)

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
"""The top and bottom ten of Gimpel et al. (Penn Treebank tags, Stanford dependencies), then their universal names."""
_TITLES = {TAG: "part of speech", DEPENDENCY: "dependency label", "words": "word"}
_COLUMNS = ("name", "words", "gate", "low", "high", "norm_of_a")
_MOST_SHOWN, _PICTURES = 60, 4


@dataclass(kw_only=True)
class GateAnalysisSettings(ReportSettings):
    """Report how much of each word the gates of a GRAN let into the sentence ("Analyzing GRAN Gates", Gimpel et al.).

    The gate of a word is the mean of its gate vector's components, between 0 and 1. The report has its means with 95 %
    intervals, by word, and for tagged text by part of speech and dependency label, and pictures of sentences.
    Unknown words share one vector; the report counts them.
    """

    model: str = setting("the folder of a GRAN", path=True)
    text: list[str] = setting("text files, one sentence per line, plain or compressed", [], path=True)
    tagged: list[str] = setting("tagged files instead of --text: CoNLL-U, or sentences of word/TAG", [], path=True)
    max_sentences: int = setting("number of distinct sentences to use, from the beginning", 20_000, at_least=1)
    min_count: int = setting("words and labels that occur less often are left out of the tables", 20, at_least=1)
    seed: int = seed_setting("random seed of the bootstrap")

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if bool(self.text) == bool(self.tagged):
            raise UsageError("analyze gates: give either --text or --tagged", remedy="--text FILE or --tagged FILE")


@recipe(GateAnalysisSettings)
def analyze_gates(settings: GateAnalysisSettings) -> dict[str, Any]:
    """Report how much of each word the gates of a GRAN let into the sentence (Gimpel et al.).

    Returns:
        The numbers of the report.
    """
    files = [*settings.text, *settings.tagged]
    for path in files:
        check_readable(Path(path))
    with report("gates", settings, [settings.model, *files], card="analysis_gates", draws=True) as output:
        encoder = SentenceEncoder.from_pretrained(settings.model, device=settings.device)
        check_gran(encoder, settings.model)
        sentences = _sentences(settings, encoder)
        with naming(files[0]):
            words = word_gates(encoder, sentences)
        is_known = [word.known for word in words]
        if not any(is_known):
            log("the vocabulary of the model lacks all of these words: all have the same vector")
        kinds = dict.fromkeys(kind for sentence in sentences for kind in sentence.labels)
        groups = {kind: [word.labels.get(kind) for word in words] for kind in kinds}
        groups["words"] = [word.word.lower() if word.known else None for word in words]
        tables = {
            kind: gate_table(words, names, min_count=settings.min_count, seed=settings.seed)
            for kind, names in groups.items()
        }
        paper = {kind: compared for kind in kinds if (compared := compare(kind, tables[kind]))}
        for name, rows in tables.items():
            output.table(f"tables/{name}", list(_COLUMNS), ([row[key] for key in _COLUMNS] for row in rows))
        gates = [word.gate for word in words]
        numbers = {
            "sentences": len(sentences),
            "words": len(words),
            "unknown_share": float(1 - np.mean(is_known)),
            "mean_gate": float(np.mean(gates)),
            "deviation": float(np.std(gates)),
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
            "texts": [to_path(path).name for path in files],
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
            "pictures": _draw(encoder, sentences, output),
            "min_count": settings.min_count,
            "bootstrap": REPLICATES,
            "seed": settings.seed,
        }
        output.finish(numbers, values, "\n".join(_ends(name, rows) for name, rows in tables.items()))
    return numbers


def _sentences(settings: GateAnalysisSettings, encoder: SentenceEncoder) -> list[LabelledSentence]:
    """Read the first distinct sentences."""
    kept: dict[str, LabelledSentence] = {}
    streams = chain(map(read_tagged, map(Path, settings.tagged)), (_plain(encoder, path) for path in settings.text))
    for sentence in chain.from_iterable(streams):
        kept.setdefault(sentence.text, sentence)
        if len(kept) == settings.max_sentences:
            break
    if not kept:
        path = [*settings.text, *settings.tagged][0]
        raise InputError("the file contains no words", path=path, remedy="give one sentence per line")
    return list(kept.values())


def _plain(encoder: SentenceEncoder, path: str) -> Iterator[LabelledSentence]:
    for lines in lines_of_file(Path(path)):
        for start in range(0, len(lines), 1000):
            yield from words_of_texts(encoder, lines[start : start + 1000])


def compare(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Compare a ranking with the paper's lists; None unless each list has a label that occurs.

    Over all pairs of a label from the paper's high list and a label from its low list, `in_order` is the percentage in
    which the former has the higher gate, and `in_order_by_norm` the higher norm of the gated vector. The verdict on a
    single encoder is always undecided.
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
        "verdict": difference({0: in_order("gate")}, 50.0).interval().verdict("above"),
    }


def _shown_table(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    shown = rows if len(rows) <= _MOST_SHOWN else [*rows[: _MOST_SHOWN // 2], *rows[-_MOST_SHOWN // 2 :]]
    cells = []
    for row in shown:
        gate = f"{row['gate']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        cells.append([row["name"], f"{row['words']:,}", gate, f"{row['norm_of_a']:.2f}"])
    return format_table([title, "words", "gate [95 %]", "norm of a"], cells)


def _ends(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    ends = [", ".join(f"{row['name']} {row['gate']:.3f}" for row in part) for part in (rows[:5], rows[::-1][:5])]
    return f"{_TITLES[name]}: highest {ends[0] or 'none'}; lowest {ends[1] or 'none'}"


def _draw(encoder: SentenceEncoder, sentences: Sequence[LabelledSentence], output: Report) -> list[dict[str, str]]:
    """Draw the first sentences of 5 to 20 words; return the file and the text of each."""
    pictures = []
    short = [sentence for sentence in sentences if 5 <= len(sentence.spans) <= 20]
    for index, sentence in enumerate(short[:_PICTURES], 1):
        _plot(word_gates(encoder, [sentence], components=True), output.picture(f"sentence_{index}"))
        pictures.append({"file": f"plots/sentence_{index}.png", "text": plain_markdown(sentence.text, None)})
    return pictures


def _plot(words: Sequence[WordGate], path: Path) -> None:
    """Draw the gates of a sentence: the components in the order of their mean, and the means."""
    gates = np.array([word.components for word in words])
    figure, axes = new_figure(max(3.4, 1.9 + 0.62 * len(words)), 4.2)
    axis = axes[0, 0]
    components = gates[:, np.argsort(-gates.mean(0), kind="stable")].T
    drawn = axis.imshow(components, cmap="viridis", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    labels = [f"{word.word} {word.gate:.2f}" for word in words]
    axis.set_xticks(range(len(words)), labels, rotation=45, ha="right", fontsize=9, rotation_mode="anchor")
    for label in axis.get_xticklabels():
        label.set_parse_math(False)
    axis.set_yticks([])
    axis.set_ylabel(f"{gates.shape[1]} components", fontsize=8)
    figure.colorbar(drawn, ax=axis, label="gate", shrink=0.8)
    save_plot(figure, path)
