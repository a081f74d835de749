"""The recipe of the verb `analyze gates`: a GRAN and a text in, a report with tables and plots out (paper 001)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import write_text_whole
from ...artefacts.remote_paths import to_path
from ...data.text_files import LineErrors, check_readable, read_lines
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...evaluation.figures import check_plots
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...tables import format_table, plain_markdown
from ...training.devices import DeviceSettings
from ..expansion.tagger import PartOfSpeechTagger
from .gate_plots import MOST_WORDS, plot_groups, plot_positions, plot_sentence
from .gate_report import PAPER_HIGH, PAPER_LOW, GateAnalysis, GateReport, highest_labels, lowest_labels, measure_gates
from .gates import check_gran, component_gates, words_of_texts
from .grouped_means import GroupMean
from .word_labels import DEPENDENCY, TAG, LabelledSentence, read_tagged, tagged_lines, with_tags

_TITLES = {TAG: "part of speech", DEPENDENCY: "dependency label"}
_SHOWN = 10


@dataclass(kw_only=True)
class GateAnalysisSettings(DeviceSettings):
    """Reports how much of each word the gates of a GRAN let into the sentence ("Analyzing GRAN Gates", paper 001).

    The gate of a word is the mean of its gate vector's components, between 0 and 1. The report has its means by part
    of speech and dependency label where the text is tagged or `--tagger` tags it, else by closed lists of English
    function words, by word and by position, each with a 95 % interval, and pictures of single sentences. A text in
    another language than the model's has mostly unknown words, which share one vector; the report says how many.
    """

    model: str = setting("the folder of a GRAN", path=True)
    output: str = setting("the folder to make; the report is its README.md")
    text: list[str] = setting("text files, one sentence a line, plain or compressed", [], path=True)
    tags: str | None = setting(
        "a file with the tags of the words of --text, line by line, separated by spaces as the words are",
        None,
        path=True,
    )
    tagger: bool = setting(
        "tag the words of --text, English, with the tagger that `expand` uses: universal parts of speech (needs the "
        "extra `expansion`)",
        False,
        excludes=("tagged", "tags"),
    )
    tagged: list[str] = setting(
        "tagged files instead: word/TAG on one line, word TAB tag a line, CoNLL-U, or files of PIT-2015",
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
    max_sentences: int = setting("how many distinct sentences to look at, from the beginning", 20_000, at_least=1)
    min_count: int = setting("words and labels that occur less often are left out of the tables", 20, at_least=1)
    known_only: bool = setting("leave out words that the model does not know", False)
    bootstrap: int = setting("bootstrap replicates, over sentences, for the intervals", 200, at_least=2)
    seed: int = seed_setting("seed of the bootstrap")
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if bool(self.text) == bool(self.tagged):
            raise UsageError("analyze gates: give either --text or --tagged", remedy="--text FILE or --tagged FILE")
        if self.tags is not None and len(self.text) != 1:
            raise UsageError("analyze gates: --tags belongs to one file of --text")

    @property
    def inputs(self) -> list[str]:
        """The files and folders that are read, the model first."""
        tags = [] if self.tags is None else [self.tags]
        return [self.model, *self.text, *self.tagged, *tags]


@recipe(GateAnalysisSettings)
def analyze_gates(settings: GateAnalysisSettings) -> GateAnalysis:
    """Reports how much of each word the gates of a GRAN let into the sentence (paper 001).

    Returns:
        The gates of all words and the tables of the report.
    """
    for path in settings.inputs[1:]:
        check_readable(Path(path))
    check_plots()
    with Artefact(
        settings.output, command="analyze", settings=settings, inputs=settings.inputs, overwrite=settings.overwrite
    ) as artefact:
        return _analyze(settings, artefact)


def _analyze(settings: GateAnalysisSettings, artefact: Artefact) -> GateAnalysis:
    encoder = SentenceEncoder.from_pretrained(settings.model, device=settings.device)
    check_gran(encoder, settings.model)
    sentences, more = _sentences(settings, encoder)
    try:
        analysis = measure_gates(
            encoder,
            sentences,
            min_count=settings.min_count,
            known_only=settings.known_only,
            replicates=settings.bootstrap,
            seed=settings.seed,
            show_progress_bar=True,
        )
    except InputError as error:
        raise InputError(error.message, path=settings.inputs[1], remedy=error.remedy) from error
    report = analysis.report
    if not analysis.words.known.any():
        log("none of these words is in the model's vocabulary: all have the same vector")
    pictures = _draw(settings, encoder, sentences, report, artefact.staging)
    _write(settings, encoder, analysis, pictures, more, artefact)
    for name, groups in report.labels.items():
        log(f"{_TITLES[name]}: highest {_listed(groups[:5])}; lowest {_listed(groups[::-1][:5])}")
    if not report.labels:
        log(f"kinds of words: highest {_listed(report.kinds[:3])}; lowest {_listed(report.kinds[::-1][:3])}")
    log(f"the report is {settings.output}/README.md")
    return analysis


def _sentences(settings: GateAnalysisSettings, encoder: SentenceEncoder) -> tuple[list[LabelledSentence], bool]:
    """Reads the distinct sentences, and whether there are more than were asked for."""
    kept: dict[str, LabelledSentence] = {}
    stream: Iterable[LabelledSentence]
    if settings.tags is not None:
        stream = tagged_lines(Path(settings.text[0]), Path(settings.tags))
    elif settings.tagged:
        stream = (sentence for path in settings.tagged for sentence in read_tagged(Path(path)))
    else:
        stream = _plain_sentences(settings, encoder)
    for sentence in stream:
        if len(kept) == settings.max_sentences and sentence.text not in kept:
            log(f"the first {len(kept):,} distinct sentences are used; there are more")
            return list(kept.values()), True
        kept.setdefault(sentence.text, sentence)
    if not kept:
        raise InputError("the file contains no words", path=settings.inputs[1], remedy="give one sentence a line")
    return list(kept.values()), False


def _plain_sentences(settings: GateAnalysisSettings, encoder: SentenceEncoder) -> Iterator[LabelledSentence]:
    tagger = PartOfSpeechTagger.load() if settings.tagger else None
    for path in settings.text:
        for block in read_lines(Path(path), LineErrors()):
            lines = block.to_pylist()
            for start in range(0, len(lines), 1000):
                sentences = words_of_texts(encoder, lines[start : start + 1000])
                yield from sentences if tagger is None else with_tags(tagger, sentences)


def _draw(
    settings: GateAnalysisSettings,
    encoder: SentenceEncoder,
    sentences: Sequence[LabelledSentence],
    report: GateReport,
    staging: Path,
) -> list[dict[str, str]]:
    """Draws all plots; returns file and text of the pictures of sentences."""
    plots = staging / "plots"
    for name, groups in report.labels.items():
        if groups:
            high, low = highest_labels(name), lowest_labels(name)
            plot_groups(groups, plots / f"{name}.png", high=high, low=low)
    plot_groups(report.kinds, plots / "kinds.png")
    if report.words:
        shown = [*report.words[:20], *report.words[20:][-20:]]
        plot_groups(shown, plots / "words.png")
    plot_positions(
        (report.from_start, report.from_end),
        (report.adjusted_from_start, report.adjusted_from_end),
        plots / "positions.png",
    )
    if settings.sentences:
        chosen = words_of_texts(encoder, settings.sentences)
    else:
        chosen = [item for item in sentences if 5 <= len(item.spans) <= 20][: settings.pictures]
    pictures = []
    for number, sentence in enumerate(chosen, 1):
        words, gates = component_gates(encoder, sentence)
        if words:
            plot_sentence(words, gates, plots / f"sentence_{number}.png")
            text = plain_markdown(sentence.text, None)
            if len(words) > MOST_WORDS:
                text += f" (the picture has the first {MOST_WORDS} of its {len(words)} words)"
            pictures.append({"file": f"plots/sentence_{number}.png", "text": text})
    return pictures


def _write(
    settings: GateAnalysisSettings,
    encoder: SentenceEncoder,
    analysis: GateAnalysis,
    pictures: list[dict[str, str]],
    more: bool,
    artefact: Artefact,
) -> None:
    sentences, gates, report = analysis.sentences, analysis.words, analysis.report
    for name, groups in report.tables.items():
        write_text_whole(artefact.staging / "tables" / f"{name}.tsv", _tsv(groups))
    numbers = {
        "sentences": len(sentences),
        "words": len(gates),
        "words_without_tokens": gates.without_tokens,
        "unknown_share": report.unknown,
        "mean_gate": report.mean,
        "deviation": report.spread,
        "variance_explained_by_the_word": None if np.isnan(report.explained) else report.explained,
        "norm_of_word_vectors": report.plain_norm,
        "norm_of_gated_vectors": report.gated_norm,
        "paper": {name: {**vars(item), "verdict": item.verdict} for name, item in report.paper.items()},
        "tables": {name: [dataclasses.asdict(item) for item in groups] for name, groups in report.tables.items()},
    }
    write_text_whole(artefact.staging / "gates.json", json.dumps(numbers, indent=2, ensure_ascii=False) + "\n")
    shown = {name: value for name, value in numbers.items() if name != "tables"}
    config: Any = encoder.model.config
    card = Card(
        "analysis_gates",
        {
            "model": to_path(settings.model).resolve().name,
            "cell": config.cell,
            "bidirectional": config.bidirectional,
            "hidden_size": config.hidden_size,
            "texts": [to_path(item).name for item in (*settings.text, *settings.tagged)],
            "sentences": len(sentences),
            "more": more,
            "words": len(gates),
            "without_tokens": gates.without_tokens,
            "unknown": 100 * report.unknown,
            "known_only": settings.known_only,
            "report": report,
            "explained": None if np.isnan(report.explained) else 100 * report.explained,
            "labels": [
                {
                    "name": name,
                    "title": _TITLES[name],
                    "table": _ranked_table(groups, report.details[name], _TITLES[name]),
                    "paper_high": ", ".join(PAPER_HIGH[name]),
                    "paper_low": ", ".join(PAPER_LOW[name]),
                    "comparison": report.paper.get(name),
                }
                for name, groups in report.labels.items()
                if groups
            ],
            "kind_table": _table(report.kinds, "kind of word"),
            "word_table": _two_ends(report.words, "word") if report.words else "",
            "position_table": _position_table(report),
            "pictures": pictures,
            "min_count": settings.min_count,
            "bootstrap": settings.bootstrap,
            "seed": settings.seed,
        },
        report=True,
    )
    artefact.finish(results=shown, card=card)


def _interval(item: GroupMean) -> str:
    return f"{item.mean.value:.3f} [{item.mean.low:.3f}, {item.mean.high:.3f}]"


def _table(groups: Sequence[GroupMean], title: str) -> str:
    rows = [[item.name, f"{item.words:,}", _interval(item)] for item in groups]
    return format_table([title, "words", "gate [95 %]"], rows)


def _ranked_table(groups: Sequence[GroupMean], details: dict[str, tuple[float, float, float]], title: str) -> str:
    rows = []
    for item in groups:
        plain, gated, shift = details[item.name]
        rows.append([item.name, f"{item.words:,}", _interval(item), f"{shift:+.3f}", f"{plain:.2f}", f"{gated:.2f}"])
    return format_table([title, "words", "gate [95 %]", "against its position", "norm of x", "norm of a"], rows)


def _two_ends(groups: Sequence[GroupMean], title: str) -> str:
    low = list(reversed(groups))
    rows = [
        [high.name, f"{high.words:,}", _interval(high), other.name, f"{other.words:,}", _interval(other)]
        for high, other in zip(groups[:_SHOWN], low[:_SHOWN], strict=True)
    ]
    header = [f"highest {title}", "times", "gate [95 %]", f"lowest {title}", "times", "gate [95 %]"]
    return format_table(header, rows)


def _position_table(report: GateReport) -> str:
    rows = []
    ends = (report.from_start, report.adjusted_from_start, report.from_end, report.adjusted_from_end)
    groups_by_end = [{cell.name: cell for cell in groups} for groups in ends]
    for name in dict.fromkeys(name for groups in groups_by_end for name in groups):
        cells = [groups.get(name) for groups in groups_by_end]
        texts = ["–" if cell is None else f"{cell.mean.value:.3f}" for cell in cells]
        for place in (1, 3):
            cell = cells[place]
            if cell is not None:
                texts[place] = cell.mean.text(3)
        rows.append([name, *texts])
    header = ["position", "from the start", "against the word's mean [95 %]", "from the end"]
    return format_table([*header, "against the word's mean [95 %]"], rows)


def _tsv(groups: Iterable[GroupMean]) -> str:
    lines = ["name\twords\tgate\tlow\thigh"]
    for item in groups:
        numbers = (item.mean.value, item.mean.low, item.mean.high)
        lines.append("\t".join([item.name, str(item.words), *(f"{value:.6f}" for value in numbers)]))
    return "\n".join(lines) + "\n"


def _listed(groups: Iterable[GroupMean]) -> str:
    return ", ".join(f"{item.name} {item.mean.value:.3f}" for item in groups) or "none"
