"""Scores and times our encoders and every peer that is installed or given, and draws quality against speed and size.

Our encoders are the folders of `--model` and the built-in one. The peers are each `--teacher`, in float32 and in
bfloat16, and what model2vec distils of it by its defaults; folders of `--model2vec`; WordLlama; averages of the word
vectors of `--glove`; and weighted character trigrams, which need no training. A peer that is not installed is named
and left out.

Quality is the mean of Pearson's r over the STS sets of paper 000 that are there, STS 2016 apart because settings are
chosen on it, the dev part of the STS benchmark, the average precision of the cosine on labelled pairs, and with
`--transfer` the accuracy on transfer tasks. Speed is sentences a second from text to vectors, on the same sentences
in one run; the contestants take turns, and a peer is timed with its defaults and with settings that may suit it
better, of which the fastest count. A slow one gets fewer sentences: so many that a turn takes `--seconds`. The
baseline of trigrams has no vectors; it is timed on pairs. Size is that of the files on the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

from hf_paraphrase.artefacts.artefact import check_output
from hf_paraphrase.artefacts.hub_models import BUILTIN, BUILTIN_FOLDER
from hf_paraphrase.artefacts.provenance import versions
from hf_paraphrase.data.text_files import LineErrors, read_lines
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.evaluation.figures import check_plots
from hf_paraphrase.tables import short_names
from interleaved import ROUNDS, Contestant, argument_parser, check_least, exit_code, take_turns, timed, write
from quality_speed_encoders import Compared, Named, Way, compared_encoders, let_tokenizers_use_threads
from quality_speed_picture import check_picture, draw_picture
from quality_speed_record import Record, Row
from quality_speed_sets import Quality, QualitySets, read_quality_sets

_FEWEST = 256
"""Sentences that even the slowest contestant is timed on."""


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()
    return exit_code("benchmarks/quality_speed", lambda: run(arguments))


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argument_parser(__doc__)
    named = "; NAME=PLACE gives it another name than that of the folder or file"
    parser.add_argument("--model", nargs="*", default=[], help="folders of our encoders, or builtin" + named)
    parser.add_argument(
        "--teacher", nargs="*", default=[], help="folders of transformers to compare and distil" + named
    )
    parser.add_argument(
        "--model2vec",
        nargs="*",
        default=[],
        help="folders of model2vec, for example what it distils of a teacher in an environment of its own" + named,
    )
    parser.add_argument("--glove", nargs="*", default=[], help="word vectors in the text layout of GloVe" + named)
    parser.add_argument("--data", help="folder below which the STS sets are")
    parser.add_argument(
        "--labelled",
        nargs="*",
        default=[],
        help="labelled pairs: files of PIT-2015, text files with a label (1 = paraphrase), a tab and two sentences a "
        "line, or data folders" + named,
    )
    parser.add_argument("--transfer", help="folder below which transfer tasks are; takes minutes an encoder")
    parser.add_argument("--text", help="sentences to time, one a line; none = those of the pairs, shuffled")
    parser.add_argument("--sentences", type=int, default=100_000, help="sentences to time at most")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long a turn takes at most, about")
    parser.add_argument("--rounds", type=int, default=7, help=ROUNDS)
    parser.add_argument("--limit", type=int, help="pairs of a set and examples of a task at most, for a trial")
    parser.add_argument("--output", help="write all figures to this JSON file")
    parser.add_argument("--csv", help="write all figures to this CSV file")
    parser.add_argument("--plot", help="draw the picture: a PNG file and an SVG file of this name")
    parser.add_argument("--quality", help="the column that the picture shows; none = the first")
    parser.add_argument("--from", dest="source", help="measure nothing: take the figures that --output wrote")
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> None:
    """Measures, or reads what was measured, and writes table, files, picture and the last line."""
    check(arguments)
    if arguments.source is None:
        with tempfile.TemporaryDirectory() as folder:
            record = measured(arguments, Path(folder))
    else:
        record = Record.read(Path(arguments.source))
    write(record.table())
    if arguments.output is not None:
        record.write(Path(arguments.output))
    if arguments.csv is not None:
        record.write_csv(Path(arguments.csv))
    if arguments.plot is not None:
        draw_picture(record, arguments.quality, Path(arguments.plot))
    write(json.dumps({row.name: row.figures() for row in record.rows}, ensure_ascii=False))


def check(arguments: argparse.Namespace) -> None:
    """Refuses what cannot work, before hours are spent."""
    check_least(arguments, {"sentences": 2, "rounds": 1})
    if arguments.limit is not None and arguments.limit < 2:
        raise UsageError(f"--limit must be at least 2, not {arguments.limit}")
    if not arguments.seconds > 0:
        raise UsageError(f"--seconds must be above 0, not {arguments.seconds}")
    if (arguments.data is None) == (arguments.source is None):
        raise UsageError("give --data to measure, or --from to take what was measured", remedy="give one of them")
    for path in (arguments.output, arguments.csv):
        if path is not None:
            check_output(path, overwrite=True, is_file=True)
    if arguments.plot is not None:
        check_picture(Path(arguments.plot))
        check_plots()


def given_places(arguments: argparse.Namespace) -> tuple[Named, Named, Named, Named]:
    """Reads what is to be compared: our encoders, the built-in one among them, and what the peers are made of."""
    models = arguments.model
    if BUILTIN_FOLDER.is_dir() and BUILTIN not in models:
        models = [*models, BUILTIN]
    ours, teachers, distilled, glove = map(
        named_places, (models, arguments.teacher, arguments.model2vec, arguments.glove)
    )
    names = [name for name, _ in (*ours, *teachers, *distilled, *glove)]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two encoders are called {name}", remedy="give them other names: NAME=PLACE")
    return ours, teachers, distilled, glove


def named_places(given: Sequence[str]) -> list[tuple[str, str]]:
    """Reads names and places."""
    parts = [("", item) if os.path.lexists(item) else _parted(item) for item in given]
    places = [place for _, place in parts]
    short = dict(zip(places, short_names(places), strict=True)) if places else {}
    return [(name or short[place], place) for name, place in parts]


def _parted(text: str) -> tuple[str, str]:
    name, sign, place = text.partition("=")
    return (name, place) if sign and name and place else ("", text)


def measured(arguments: argparse.Namespace, folder: Path) -> Record:
    """Opens, scores and times everything."""
    models = given_places(arguments)
    labelled = [(name, Path(place)) for name, place in named_places(arguments.labelled)]
    transfer = None if arguments.transfer is None else Path(arguments.transfer)
    sets = read_quality_sets(Path(arguments.data), labelled, transfer, arguments.limit)
    sentences = sentences_to_time(arguments.text, sets, arguments.sentences)
    found = compared_encoders(*models, folder=folder, note=write)
    cores = len(os.sched_getaffinity(0))
    write(f"{len(sentences):,} sentences to time, {torch.get_num_threads()} threads on {cores} processors")
    qualities = [score(item, sets) for item in found]
    timings = time_all(found, sentences, arguments.rounds, arguments.seconds)
    rows = [row_of(*each) for each in zip(found, qualities, timings, strict=True)]
    facts = {
        "sentences": len(sentences),
        "threads": torch.get_num_threads(),
        "processors": cores,
        "rounds": arguments.rounds,
        "limit": arguments.limit,
        "pairs": {item.key: len(item) for item in (*sets.graded, *sets.labelled)},
        "versions": versions(),
    }
    first = next(iter(qualities[0].columns))
    rows.sort(key=lambda row: -row.quality[first])
    return Record(facts, tuple(rows))


def sentences_to_time(text: str | None, sets: QualitySets, count: int) -> list[str]:
    """Reads the sentences that are timed, or takes those of the pairs in an order that is always the same."""
    if text is None:
        found = sets.sentences()
        random.Random(0).shuffle(found)
        return found[:count]
    if not Path(text).is_file():
        raise InputError("no such file", path=text, remedy="check --text")
    lines = (line for block in read_lines(Path(text), LineErrors()) for line in block.to_pylist() if line.strip())
    found = list(islice(lines, count))
    if len(found) < 2:
        raise InputError("too few sentences", path=text, remedy="give one sentence a line")
    return found


def score(encoder: Compared, sets: QualitySets) -> Quality:
    """Scores one encoder and says so."""
    let_tokenizers_use_threads()
    seconds, quality = timed(lambda: sets.measure(encoder.scorer()))
    column, value = next(iter(quality.columns.items()))
    write(f"{encoder.name}: {column} {value:.1f}, all scores in {seconds:.0f} s")
    return quality


@dataclass(frozen=True)
class Timing:
    """How fast an encoder was with its fastest settings: these, the rates of its turns, and the sentences of one."""

    settings: str
    rates: list[float]
    sentences: int

    @property
    def median(self) -> float:
        """The median rate."""
        return statistics.median(self.rates)


def time_all(found: Sequence[Compared], sentences: list[str], rounds: int, seconds: float) -> list[Timing]:
    """Lets all take turns, in all their settings; returns the fastest of each."""
    turns = [
        (place, settings, way, fitting_number(way, sentences, seconds))
        for place, item in enumerate(found)
        for settings, way in item.ways.items()
    ]
    contestants = [Contestant("", settings, rate_of(way, sentences[:count])) for _, settings, way, count in turns]
    taken = take_turns(contestants, rounds)
    timings: list[list[Timing]] = [[] for _ in found]
    for (place, settings, _, count), found_rates in zip(turns, taken, strict=True):
        timings[place].append(Timing(settings, found_rates.rates, count))
    return [max(each, key=lambda timing: timing.median) for each in timings]


def fitting_number(way: Way, sentences: list[str], seconds: float) -> int:
    """Finds how many sentences take so long, by trying with more and more; all where they take less."""
    count = min(_FEWEST, len(sentences))
    while True:
        start = time.perf_counter()
        way(sentences[:count])
        rate = count / max(time.perf_counter() - start, 1e-9)
        wanted = min(max(int(rate * seconds), _FEWEST), len(sentences))
        # The first call may be slow for reasons of its own; a rate of a few hundred sentences is not that of many.
        if wanted <= 2 * count:
            return wanted
        count = min(8 * count, wanted)


def rate_of(way: Way, sentences: list[str]) -> Callable[[], float]:
    """Makes a turn of a contestant."""

    def rate() -> float:
        let_tokenizers_use_threads()
        return len(sentences) / timed(lambda: way(sentences))[0]

    return rate


def row_of(encoder: Compared, quality: Quality, timing: Timing) -> Row:
    """Puts together what is known of an encoder."""
    return Row(
        name=encoder.name,
        ours=encoder.ours,
        quality=quality.columns,
        sentences_per_second=timing.median,
        least=min(timing.rates),
        most=max(timing.rates),
        timed=timing.sentences,
        settings=timing.settings,
        size=encoder.size,
        dimension=encoder.dimension,
        sets=quality.sets,
    )


if __name__ == "__main__":
    sys.exit(main())
