"""Times the exact candidate filter of `mine` against plain blocked search and faiss, on a slice, and once in full.

The vectors are random with a common direction and a falling spectrum, as averages of word vectors have, in files that
are read block by block. On a slice of the sources, with all targets, the contestants take turns: the filter, NumPy
products with a partition of every block and, where it is installed, the flat index of faiss. The table has source
sentences a second, and the time that all sources would take at that rate. All give the same candidates, which is
checked. With --full the whole filter runs once and its peak memory is printed. Ratios are of median rates, above 1 =
this package is faster.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from hf_paraphrase.encoders.search.nearest_neighbours import nearest_neighbours
from hf_paraphrase.encoders.search.vector_file import NpyWriter, VectorFile
from hf_paraphrase.errors import UsageError
from hf_paraphrase.studies.mining.candidates import candidate_blocks
from interleaved import (
    CLOCK,
    CLOCKS,
    ROUNDS,
    Contestant,
    argument_parser,
    check_least,
    exit_code,
    measure,
    ratios_to_best,
    timed,
    write,
    write_ratios,
)

_ROWS_AT_A_TIME = 16_384
Search = Callable[[], NDArray[np.int64]]


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()

    def work() -> None:
        names = ("sources", "targets", "dimension", "n", "slice", "rounds", "threads")
        check_least(arguments, dict.fromkeys(names, 1))
        if arguments.slice > arguments.sources:
            raise UsageError(f"--slice {arguments.slice} is more than --sources {arguments.sources}")
        torch.set_num_threads(arguments.threads)
        with tempfile.TemporaryDirectory() as folder:
            run(arguments, Path(folder))

    return exit_code("benchmarks/mine", work)


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sources", type=int, default=369_810, help="source sentences (paper 002: 369,810)")
    parser.add_argument("--targets", type=int, default=270_000, help="target sentences (paper 002: about 270,000)")
    parser.add_argument("--dimension", type=int, default=300, help="components of a vector")
    parser.add_argument("--n", type=int, default=40, help="candidates of a source sentence")
    parser.add_argument("--slice", type=int, default=8_192, help="source sentences of the comparison")
    parser.add_argument("--rounds", type=int, default=3, help=ROUNDS)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="threads that compute")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help=CLOCK)
    parser.add_argument("--only-ours", action="store_true", help="leave the others out")
    parser.add_argument("--full", action="store_true", help="run the whole filter once as well")
    return parser.parse_args()


def write_vectors(path: Path, rows: int, dimension: int, seed: int) -> VectorFile:
    """Writes random vectors with a common direction and a falling spectrum."""
    random = np.random.default_rng(seed)
    spectrum = (1 / np.sqrt(1 + np.arange(dimension) / 20)).astype(np.float32)
    common = np.random.default_rng(0).normal(size=dimension).astype(np.float32) * spectrum / 2
    with NpyWriter(path, dimension) as writer:
        for start in range(0, rows, _ROWS_AT_A_TIME):
            number = min(_ROWS_AT_A_TIME, rows - start)
            values = random.normal(size=(number, dimension)) * spectrum + common
            writer.write(values.astype(np.float32))
    return VectorFile(path)


def contestants(arguments: argparse.Namespace, source: NDArray[np.float32], target: VectorFile) -> dict[str, Search]:
    """Lists what is timed, by the keys of the ratios; ours first."""

    def partitioned() -> NDArray[np.int64]:
        rows, cosines = np.empty((len(source), 0), np.int64), np.empty((len(source), 0), np.float32)
        unit = source / np.linalg.norm(source, axis=1, keepdims=True)
        for start in range(0, len(target), _ROWS_AT_A_TIME):
            part = target[start : start + _ROWS_AT_A_TIME]
            products = unit @ (part / np.linalg.norm(part, axis=1, keepdims=True)).T
            rows = np.concatenate([rows, np.broadcast_to(np.arange(start, start + len(part)), products.shape)], axis=1)
            cosines = np.concatenate([cosines, products], axis=1)
            best = np.argpartition(-cosines, min(arguments.n, cosines.shape[1]) - 1, axis=1)[:, : arguments.n]
            rows, cosines = np.take_along_axis(rows, best, 1), np.take_along_axis(cosines, best, 1)
        return np.take_along_axis(rows, np.argsort(-cosines, axis=1), 1)

    found: dict[str, Search] = {"": lambda: nearest_neighbours(source, target, arguments.n)[0]}
    if arguments.only_ours:
        return found
    found["mine_candidates_vs_numpy"] = partitioned
    try:
        import faiss
    except ImportError:
        write("faiss is not installed and left out")
        return found

    def flat() -> NDArray[np.int64]:
        faiss.omp_set_num_threads(arguments.threads)
        index = faiss.IndexFlatIP(arguments.dimension)
        vectors = target[: len(target)]
        faiss.normalize_L2(vectors)
        index.add(vectors)
        queries = source.copy()
        faiss.normalize_L2(queries)
        return np.asarray(index.search(queries, arguments.n)[1])

    found["mine_candidates_vs_faiss_flat"] = flat
    return found


def run(arguments: argparse.Namespace, folder: Path) -> None:
    """Makes the vectors, compares, and writes the report."""
    source = write_vectors(folder / "source.npy", arguments.sources, arguments.dimension, 1)
    target = write_vectors(folder / "target.npy", arguments.targets, arguments.dimension, 2)
    part = source[: arguments.slice]
    found: dict[str, NDArray[np.int64]] = {}

    def rate_of(key: str, search: Search) -> Callable[[], float]:
        def rate() -> float:
            seconds, found[key] = timed(search, arguments.clock)
            return len(part) / seconds

        return rate

    def check() -> None:
        for key, rows in found.items():
            share = float((rows == found[""]).mean())
            write(f"{key or 'ours'}: the same candidates at {100 * share:.3f} % of the places")

    write(
        f"{arguments.sources:,} x {arguments.targets:,} sentences, {arguments.dimension} dimensions, "
        f"{arguments.n} best, {arguments.threads} threads"
    )
    searches = contestants(arguments, part, target)
    names = {key: key.removeprefix("mine_candidates_vs_").replace("_", " ") or "candidates" for key in searches}
    turns = [Contestant(key, names[key], rate_of(key, search)) for key, search in searches.items()]
    medians = measure("sources/s", turns, arguments.rounds, warm=check)
    for contestant, median in zip(turns, medians, strict=True):
        write(f"{contestant.name}: all sources at this rate: {arguments.sources / median:,.0f} s (extrapolated)")
    if arguments.full:
        seconds, _ = timed(lambda: full_run(source, target, arguments.n))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        write(f"the whole filter, {arguments.threads} threads: {seconds:,.0f} s, peak memory {peak:.2f} GiB")
    write_ratios(ratios_to_best(turns, medians))


def full_run(source: VectorFile, target: VectorFile, n: int) -> int:
    """Runs the whole filter as `mine` does, holding all candidates, and tells how many there are."""
    rows = np.empty((len(source), min(n, len(target))), np.int64)
    cosines = np.empty(rows.shape, np.float32)
    for part, part_rows, part_cosines in candidate_blocks(source, target, n, show_progress_bar=True):
        rows[part], cosines[part] = part_rows, part_cosines
    return rows.size


if __name__ == "__main__":
    sys.exit(main())
