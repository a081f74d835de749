"""Trains the encoders of a study of paraphrase detection, and notes what each says of every judged pair.

    python scripts/studies/detection_runs.py --design scripts/studies/designs/noise.yaml --candidates DIR \
        --others ppdb=DIR --tokenizers morphs=DIR --detection DIR --data DIR --output DIR

`--candidates` are pairs to train on, judged ones, true and false, or ranked ones, the best first; `--detection` are
those to test on, and `--data` holds `msrp`, `sick` and `sts` where the design has a table `transfer`.
`detection_design.py` says what a design is, `detection_table.py` makes its tables. A set of training pairs is a
mixture of candidates (`noisy_pairs.py`) or the name of one of `--others`, of which the first ones are taken that have
as many words as the design's `as_many_words_as`. Each has as many random pairs as negatives. The seed is that of the
draw, of the negatives and of the training. A finished run is a file below `--output`, not made again; the first seeds
of all come first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from detection_design import Cell, Design, read_design
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.artefacts.files import written_whole
from hf_paraphrase.errors import HfParaphraseError, UsageError
from judged_sets import JudgedSets
from noisy_pairs import Mixture, draw_pairs
from quiet_verbs import run_verb

CONFIGS = Path(__file__).resolve().parents[1] / "configs"


def main() -> int:
    """Trains what is not there yet, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", type=Path, required=True, help="the YAML file of the tables")
    parser.add_argument("--candidates", type=Path, required=True, help="data folder of pairs to train on")
    parser.add_argument("--others", nargs="*", default=[], help="NAME=DIR of folders of other training pairs")
    parser.add_argument("--tokenizers", nargs="+", required=True, help="NAME=DIR of each; the first is the usual one")
    parser.add_argument("--detection", type=Path, required=True, help="data folder of judged pairs to test on")
    parser.add_argument("--data", type=Path, required=True, help="the folder that holds msrp, sick and sts")
    parser.add_argument("--most-seeds", type=int, default=1000, help="no more seeds of any encoder (default: all)")
    parser.add_argument("--output", type=Path, required=True, help="a folder for the runs")
    options = parser.parse_args()
    try:
        design = read_design(options.design)
        sets = JudgedSets(options.detection, options.data, **design.judged)
        options.output.mkdir(parents=True, exist_ok=True)
        for cell, seed in design.runs(options.most_seeds):
            if not cell.file(options.output, seed).exists():
                run(options, design, sets, cell, seed)
    except HfParaphraseError as error:
        print(f"detection_runs: error: {error}", file=sys.stderr)
        return 2
    return 0


def run(options: argparse.Namespace, design: Design, sets: JudgedSets, cell: Cell, seed: int) -> None:
    """Trains one encoder and notes what it says of the judged pairs that the design asks for."""
    start = time.process_time()
    with tempfile.TemporaryDirectory(dir=options.output) as folder:
        pairs, model = Path(folder) / "pairs", Path(folder) / "model"
        training_pairs(options, design, cell, seed, pairs)
        words = ["--pairs", pairs, "--tokenizer", _tokenizer(options, cell), "--seed", seed, "--output", model]
        run_verb("train-encoder", *_settings(design, cell), *words)
        trained = time.process_time() - start
        encode = SentenceEncoder.from_pretrained(model).encode
        found = sets.detect(encode) if cell in design.cells("detection") else {}
        found |= sets.transfer(encode) if cell in design.cells("transfer") else {}
    with written_whole(cell.file(options.output, seed)) as path, path.open("wb") as file:
        np.savez(file, **found)  # type: ignore[arg-type]
    spent = time.process_time() - start
    print(f"{cell}, seed {seed}: {trained:.0f} s to train, {spent:.0f} s in all", file=sys.stderr, flush=True)


def training_pairs(options: argparse.Namespace, design: Design, cell: Cell, seed: int, output: Path) -> None:
    """Makes the folder of a run's training pairs, with its negatives."""
    others = dict(item.split("=", 1) for item in options.others)
    seeds = ["--seed", seed, "--negatives", seed, "--output", output]
    if cell.pairs in others:
        # As much training data as the draw of this seed that it is compared with (section 4.3).
        candidates, labelled = output.with_name("like"), output.with_name("like_labelled")
        draw_pairs(options.candidates, Mixture.read(design.as_many_words_as), seed, candidates)
        run_verb("filter", "--pairs", candidates, "--negatives", seed, "--output", labelled)
        results = json.loads((labelled / "provenance.json").read_text(encoding="utf-8"))["results"]
        run_verb("filter", "--pairs", others[cell.pairs], "--max-tokens", results["tokens"], *seeds)
        return
    mixture = Mixture.read(cell.pairs)
    drawn = output.with_name("drawn")
    draw_pairs(options.candidates, mixture, seed, drawn)
    run_verb("filter", "--pairs", drawn, "--noise", mixture.random / 100, *seeds)


def _tokenizer(options: argparse.Namespace, cell: Cell) -> str:
    """Returns the folder of a cell's tokenizer."""
    folders = dict(item.split("=", 1) for item in options.tokenizers)
    name = cell.tokenizer or next(iter(folders))
    if name not in folders:
        raise UsageError(f"`{cell}`: no tokenizer `{name}`", remedy="give it as NAME=DIR with --tokenizers")
    return folders[name]


def _settings(design: Design, cell: Cell) -> list[str]:
    """Lists the options of a cell's model."""
    settings = {name: value for name, value in design.models[cell.model].items() if name != "seeds"}
    settings["config"] = CONFIGS / settings["config"]
    return [str(word) for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", value)]


if __name__ == "__main__":
    sys.exit(main())
