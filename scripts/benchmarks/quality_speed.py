"""Scores and times our encoders and every peer that is installed or given, and draws quality against speed and size.

Our encoders are those of `--model`. The peers are each `--teacher` and what model2vec distils of it by its defaults;
WordLlama; and weighted character trigrams, which need no training. A peer that is not installed is named and left out.

Quality is that of `evaluate`: the mean of Pearson's r over the STS sets of paper 000 that are there, STS 2016
apart because settings are chosen on it, and the dev part of the STS benchmark. Speed is sentences a second from text
to vectors, warm, on the same sentences in one run, by settings that suit each library on few cores (large batches, no
processes of its own); the contestants take turns. A slow one gets fewer sentences: so many that a turn takes about
`--seconds`. The baseline of trigrams has no vectors; it is timed on pairs. Size is that of the files. `encode.py
--model` has the speed of a first call.
"""

from __future__ import annotations

import argparse
import inspect
import os
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import interleaved as bench
from hf_paraphrase.artefacts.hub_models import BUILTIN, BUILTIN_FOLDERS
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation.baselines import UNTRAINED_BASELINES, Similarity, english_trigram_frequencies
from hf_paraphrase.evaluation.figures import COLOURS, new_figure, plot_label, save_figure
from hf_paraphrase.evaluation.pair_sets import GradedSet, score_with_encoder, score_with_similarity
from hf_paraphrase.evaluation.sts import evaluate_scored
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.tables import format_table, number

_LARGER_BATCH = 256
_FEWEST = 256
"""Sentences that even the slowest contestant is timed on."""


@dataclass
class Compared:
    """An encoder, or a baseline that has similarities of pairs and no vectors, and what was measured of it."""

    name: str
    encode: bench.Encode
    size: int
    dimension: int | None
    ours: bool = False
    similarity: Similarity | None = None
    figures: dict[str, Any] = field(default_factory=dict)


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = bench.argument_parser(__doc__, rounds=7)
    parser.add_argument("--model", nargs="*", default=[BUILTIN], help="our encoders: folders, builtin or multilingual")
    parser.add_argument("--teacher", nargs="*", default=[], help="folders of transformers to compare and distil")
    parser.add_argument("--data", required=True, help="folder below which the STS sets are")
    parser.add_argument("--sentences", type=int, default=100_000, help="sentences of the STS sets to time at most")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long a turn takes at most, about")
    parser.add_argument("--plot", type=Path, help="draw the picture of the first column into this PNG file")
    return bench.run_benchmark(parser, run)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Opens, scores and times everything, writes table and picture, and returns all figures."""
    sets = find_sts_sets(arguments.data).sets
    sentences = list(dict.fromkeys(text for item in sets for text in (*item.sentences1, *item.sentences2)))
    random.Random(0).shuffle(sentences)
    sentences = sentences[: arguments.sentences]
    if len(sentences) < 2:
        raise InputError("no STS set below this folder", path=arguments.data, remedy="check --data")
    rows = list(compared_encoders(arguments, folder))
    cores = len(os.sched_getaffinity(0))
    bench.write(f"{len(sentences):,} sentences to time, {torch.get_num_threads()} threads on {cores} processors")
    for row in rows:
        row.figures = quality(row, sets)
    columns = list(dict.fromkeys(name for row in rows for name in row.figures))
    fitted = [fitting(row.encode, sentences, arguments.seconds) for row in rows]
    contestants = [
        bench.Contestant("", row.name, partial(bench.sentences_per_second, row.encode, some))
        for row, some in zip(rows, fitted, strict=True)
    ]
    for row, rates in zip(rows, bench.take_turns(contestants, arguments.rounds), strict=True):
        row.figures |= {"sentences_per_second": statistics.median(rates), "least": min(rates), "most": max(rates)}
        row.figures |= {"megabytes": row.size / 1e6, "components": row.dimension, "ours": row.ours}
    rows.sort(key=lambda row: -row.figures[columns[0]])
    bench.write(table(rows, columns))
    if arguments.plot is not None:
        draw_picture(rows, columns[0], arguments.plot)
    return {row.name: row.figures for row in rows}


def compared_encoders(arguments: argparse.Namespace, folder: Path) -> Iterator[Compared]:
    """Opens everything, ours first."""
    for place in arguments.model:
        yield compared("hf_paraphrase", Path(place).name, place, ours=True)
    for count, place in enumerate(arguments.teacher):
        if bench.installed("sentence_transformers"):
            yield compared("sentence-transformers", Path(place).name, place, batch_size=_LARGER_BATCH)
        if distillation := bench.installed("model2vec.distill"):
            made = str(folder / f"model2vec-{count}")
            distillation.distill(place, device="cpu").save_pretrained(made)
            yield compared("model2vec", f"model2vec of {Path(place).name}", made, use_multiprocessing=False)
    if package := bench.installed("wordllama"):
        yield wordllama(package)
    yield weighted_trigrams()


def compared(library: str, name: str, place: str, *, ours: bool = False, **options: Any) -> Compared:
    """Opens an encoder with a library, as its users do."""
    encode = partial(bench.open_encoder(library, place), **options)
    files = BUILTIN_FOLDERS.get(place, Path(place)).rglob("*")
    size = sum(path.stat().st_size for path in files if path.is_file())
    return Compared(name, encode, size, len(encode(["a"])[0]), ours)


def wordllama(package: Any) -> Compared:
    """Opens the table that is in the package `wordllama`."""
    # It looks for the tokenizer in a folder `tokenizer` of the package, and then in `tokenizers` of its cache; the
    # package has `tokenizers`, so the package is named as the cache.
    root, kind = Path(package.__file__).parent, "l2_supercat"
    model = package.WordLlama.load(kind, cache_dir=root, disable_download=True)
    size = sum(path.stat().st_size for part in ("weights", "tokenizers") for path in root.glob(f"{part}/{kind}*"))
    dimension = int(model.embedding.shape[1])
    return Compared(f"WordLlama {dimension}", partial(model.embed, batch_size=_LARGER_BATCH), size, dimension)


def weighted_trigrams() -> Compared:
    """Returns the baseline that needs no training: cosines of weighted counts of trigrams, compared pair by pair."""
    similarity = UNTRAINED_BASELINES["weighted-trigrams"].similarity
    assert similarity is not None
    size = Path(inspect.getfile(english_trigram_frequencies)).with_name("english_trigrams.txt").stat().st_size

    encode = lambda texts: similarity(texts[::2], texts[1::2][: len(texts[::2])])  # noqa: E731
    return Compared("weighted trigrams, untrained", encode, size, None, similarity=similarity)


def quality(row: Compared, sets: Sequence[GradedSet]) -> dict[str, float]:
    """Scores one encoder as `evaluate` does and says so."""
    scored = score_with_similarity(row.similarity, sets) if row.similarity else score_with_encoder(row.encode, sets)
    sts = evaluate_scored(scored)
    mean = sts["means"]["22 sets"]
    single = {f"{item['family']} {item['name']}": item["pearson"] for item in sts["sets"]}
    columns = {mean["label"]: mean["pearson"], "STS16": sts["dev_mean"], "STS-B dev": single.get("STS-B dev")}
    known = {name: value for name, value in columns.items() if value is not None}
    bench.write(f"{row.name}: " + ", ".join(f"{name} {value:.1f}" for name, value in known.items()))
    return known


def fitting(encode: bench.Encode, sentences: list[str], seconds: float) -> list[str]:
    """Takes about as many sentences as take so long, by the second turn with a few."""
    few = sentences[:_FEWEST]
    encode(few)
    return sentences[: max(int(seconds * bench.rate(len(few), lambda: encode(few))), _FEWEST)]


def table(rows: Sequence[Compared], columns: Sequence[str]) -> str:
    """Formats quality, speed and size."""
    lines = [
        [
            f"**{row.name}**" if row.ours else row.name,
            *(number(row.figures.get(name)) for name in columns),
            *(f"{row.figures[name]:,.0f}" for name in ("sentences_per_second", "least", "most")),
            f"{row.size / 1e6:.3g}",
            "–" if row.dimension is None else str(row.dimension),
        ]
        for row in rows
    ]
    return format_table(["encoder", *columns, "sentences/s", "min", "max", "MB", "components"], lines)


def draw_picture(rows: Sequence[Compared], column: str, path: Path) -> None:
    """Draws quality against speed as PNG, with the size of each encoder as the area of its mark."""
    speeds, qualities = ([row.figures[name] for row in rows] for name in ("sentences_per_second", column))
    sizes = np.array([row.size for row in rows])
    colours = [COLOURS[0] if row.ours else COLOURS[1] for row in rows]
    figure, axes = new_figure(8.6, 5.2)
    axis = axes[0, 0]
    axis.set(xscale="log", xlabel="sentences a second, from text to vectors (logarithmic)")
    axis.set(ylabel=f"STS, {column}: Pearson's r × 100", xlim=(min(speeds) / 1.8, max(speeds) * 2.6))
    axis.margins(y=0.14)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(axis="x", alpha=0.25)
    axis.scatter(speeds, qualities, s=np.maximum(900 * sizes / sizes.max(), 18), c=colours, alpha=0.75, linewidths=0)
    for colour, label in zip(COLOURS, ("this package", "others"), strict=False):
        axis.scatter([], [], s=60, c=colour, alpha=0.75, linewidths=0, label=label)
    axis.legend(loc="lower left", frameon=False, title="area: size on the disk", alignment="left")
    # From below to above, each label at least a line above the one before.
    height, room = -np.inf, max(max(qualities) - min(qualities), 1.0)
    for place in np.argsort(qualities):
        height = max(qualities[place], height + 0.09 * room)
        axis.annotate(
            f"{plot_label(rows[place].name)}, {sizes[place] / 1e6:.3g} MB",
            (speeds[place], qualities[place]),
            xytext=(speeds[place] * 1.25, height),
            fontsize=9,
            color=colours[place],
            arrowprops={"arrowstyle": "-", "color": colours[place], "linewidth": 0.7, "alpha": 0.6},
        )
    save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(main())
