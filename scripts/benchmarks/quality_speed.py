"""Score and time our encoders and every peer that is installed or given; draw quality against speed and size.

The peers are each `--teacher`, the model that model2vec distils from it by default, WordLlama, and weighted character
trigrams, which have no training and no vectors: they are timed on pairs. Quality is measured as by `evaluate`: the
mean of Pearson's r over the available STS sets of Wieting et al. (2017), and separately STS 2016, on which settings
were chosen. Speed is sentences per second from text to vectors, warm, on the same sentences in one run, with settings
that suit each library on few cores (large batches, one process). Slow encoders get fewer sentences: a turn takes about
`--seconds`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import interleaved as bench
from hf_paraphrase.artefacts.hub_models import BUILTIN, BUILTIN_FOLDERS
from hf_paraphrase.encoders.dev_sets.pair_sets import GradedSet, score_with_encoder, score_with_similarity
from hf_paraphrase.encoders.dev_sets.sts_files import find_sts_sets
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation import baselines
from hf_paraphrase.evaluation.sts import evaluate_scored
from hf_paraphrase.studies.report import COLOURS, new_figure, plot_label, save_figure
from hf_paraphrase.tables import format_table, number

_LARGER_BATCH = 256
_FEWEST = 256
"""Sentences that even the slowest contestant is timed on."""
FLAGS = {
    "rounds": (7, bench.ROUNDS),
    "model": ((BUILTIN,), "our encoders: folders, builtin or multilingual"),
    "teacher": ((), "folders of transformers to compare and distil"),
    "data": ("data", "folder below which the STS sets are"),
    "sentences": (100_000, "sentences of the STS sets to time at most"),
    "seconds": (2.0, "how long a turn takes at most, about"),
    "plot": (None, "draw the picture of the first column into this PNG file"),
}
Figures = dict[str, dict[str, Any]]
"""What was measured of each encoder, by their names."""


@dataclass
class Compared:
    """An encoder, or a baseline that has similarities of pairs and no vectors."""

    name: str
    encode: bench.Encode
    size: int
    dimension: int | None
    ours: bool = False
    similarity: baselines.Similarity | None = None


def run(arguments: argparse.Namespace, folder: Path) -> Figures:
    """Open, score and time everything, write table and picture, and return all figures."""
    sets = find_sts_sets(arguments.data).sets
    sentences = list(dict.fromkeys(text for item in sets for text in (*item.sentences1, *item.sentences2)))
    random.Random(0).shuffle(sentences)
    sentences = sentences[: arguments.sentences]
    if len(sentences) < 2:
        raise InputError("no STS set below this folder", path=arguments.data, remedy="check --data")
    bench.write(f"{len(sentences):,} sentences to time")
    rows = {row.name: row for row in compared_encoders(arguments, folder)}
    figures: Figures = {name: quality(row, sets) for name, row in rows.items()}
    column = next(iter(figures[next(iter(rows))]))
    turns = {}
    for name, row in rows.items():
        some = fitting(row.encode, sentences, arguments.seconds)
        turns[name] = partial(bench.sentences_per_second, row.encode, some)
    for name, rates in bench.take_turns(turns, arguments.rounds).items():
        figures[name] |= {"sentences/s": statistics.median(rates), "min": min(rates), "max": max(rates)}
        figures[name] |= {"MB": rows[name].size / 1e6, "components": rows[name].dimension}
    figures = dict(sorted(figures.items(), key=lambda item: -item[1][column]))
    heads = list(dict.fromkeys(head for found in figures.values() for head in found))
    cells = [[name, *(cell(found.get(head)) for head in heads)] for name, found in figures.items()]
    bench.write(format_table(["encoder", *heads], cells))
    if arguments.plot is not None:
        draw_picture(figures, column, {name for name, row in rows.items() if row.ours}, Path(arguments.plot))
    return figures


def cell(value: float | None) -> str:
    """Format a figure, a small one to one decimal; a dash where there is none."""
    return number(value) if value is None or (value < 1000 and isinstance(value, float)) else f"{value:,.0f}"


def compared_encoders(arguments: argparse.Namespace, folder: Path) -> Iterator[Compared]:
    """Open everything, ours first."""
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
    """Open an encoder with a library, as its users do."""
    encode = partial(bench.open_encoder(library, place), **options)
    files = BUILTIN_FOLDERS.get(place, Path(place)).rglob("*")
    size = sum(path.stat().st_size for path in files if path.is_file())
    return Compared(name, encode, size, len(encode(["a"])[0]), ours)


def wordllama(package: Any) -> Compared:
    """Open the table that is in the package `wordllama`."""
    # It looks for the tokenizer in a folder `tokenizer` of the package, and then in `tokenizers` of its cache; the
    # package has `tokenizers`, so the package is named as the cache.
    root, kind = Path(package.__file__).parent, "l2_supercat"
    model = package.WordLlama.load(kind, cache_dir=root, disable_download=True)
    size = sum(path.stat().st_size for part in ("weights", "tokenizers") for path in root.glob(f"{part}/{kind}*"))
    dimension = int(model.embedding.shape[1])
    return Compared(f"WordLlama {dimension}", partial(model.embed, batch_size=_LARGER_BATCH), size, dimension)


def weighted_trigrams() -> Compared:
    """Return the baseline that needs no training: cosines of weighted counts of trigrams, compared pair by pair."""
    similarity = baselines.UNTRAINED_BASELINES["weighted-trigrams"].similarity
    assert similarity is not None
    size = Path(baselines.__file__).with_name("english_trigrams.txt").stat().st_size
    encode = lambda texts: similarity(texts[::2], texts[1::2][: len(texts[::2])])  # noqa: E731
    return Compared("weighted trigrams, untrained", encode, size, None, similarity=similarity)


def quality(row: Compared, sets: Sequence[GradedSet]) -> dict[str, float]:
    """Score one encoder as `evaluate` does."""
    scored = score_with_similarity(row.similarity, sets) if row.similarity else score_with_encoder(row.encode, sets)
    sts = evaluate_scored(scored)
    mean = sts["means"]["22 sets"]
    return {mean["label"]: mean["pearson"], "STS16": sts["dev_mean"]}


def fitting(encode: bench.Encode, sentences: list[str], seconds: float) -> list[str]:
    """Take about as many sentences as take so long, by the second turn with a few."""
    few = sentences[:_FEWEST]
    encode(few)
    return sentences[: max(int(seconds * bench.rate(len(few), lambda: encode(few))), _FEWEST)]


def draw_picture(figures: Figures, column: str, ours: Collection[str], path: Path) -> None:
    """Draw quality against speed as PNG, with the size of each encoder as the area of its mark."""
    heads = ("sentences/s", column, "MB")
    speeds, qualities, sizes = (np.array([found[head] for found in figures.values()]) for head in heads)
    colours = [COLOURS[0] if name in ours else COLOURS[1] for name in figures]
    figure, axes = new_figure(8.6, 5.2)
    axis = axes[0, 0]
    axis.set(xscale="log", xlabel="sentences per second, from text to vectors (logarithmic)")
    axis.set(ylabel=f"STS, mean of {column}: Pearson's r × 100", xlim=(min(speeds) / 1.8, max(speeds) * 12))
    axis.margins(y=0.14)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(axis="x", alpha=0.25)
    axis.scatter(speeds, qualities, s=np.maximum(900 * sizes / sizes.max(), 18), c=colours, alpha=0.75, linewidths=0)
    for colour, label in zip(COLOURS, ("this package", "others"), strict=False):
        axis.scatter([], [], s=60, c=colour, alpha=0.75, linewidths=0, label=label)
    axis.legend(loc="lower left", frameon=False, title="area: size on the disk", alignment="left")
    for name, place, size, colour in zip(figures, zip(speeds, qualities, strict=True), sizes, colours, strict=True):
        # A label goes to the left of its mark if another mark is where it would be.
        is_covered = ((speeds > place[0]) & (speeds < 8 * place[0]) & (abs(qualities - place[1]) < 1)).any()
        offset, side = ((-18, 0), "right") if is_covered else ((18, 0), "left")
        label = f"{plot_label(name)}, {size:.3g} MB" if size >= 0.1 else f"{plot_label(name)}, {1000 * size:.0f} kB"
        style = {"va": "center", "ha": side, "fontsize": 9, "color": colour}
        axis.annotate(label, place, offset, textcoords="offset points", **style)
    save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(bench.run_benchmark(run, __doc__, FLAGS))
