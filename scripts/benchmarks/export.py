"""Measures what the forms of an exported encoder cost: size, STS points, distance from the model, and speed.

The model is exported in every form into a temporary folder, and every form is opened as a user opens it, with
`SentenceEncoder`. The vectors of all distinct sentences of the STS sets below `--data` are compared with those of the
model, the STS16 mean is Pearson's r times 100 as `evaluate` computes it, and the forms take turns in the timing, so
that a slow minute of the machine meets all of them. Both speeds include tokenisation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError
from hf_paraphrase.evaluation.graded_set import GradedSet
from hf_paraphrase.evaluation.sts import evaluate_sts
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.export.run import export_encoder
from interleaved import CLOCK, CLOCKS

FORMS = {
    "torch float32": None,
    "torch float16": ("safetensors", "float16"),
    "onnx float32": ("onnx", "float32"),
    "onnx float16": ("onnx", "float16"),
    "onnx int8": ("onnx", "int8"),
}
"""The forms by name, and how each is exported; the first is the model itself."""


class Form(NamedTuple):
    """One form of the model."""

    name: str
    encoder: SentenceEncoder
    megabytes: float


def main() -> int:
    """Runs the measurements and returns the exit code."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--model", required=True, help="folder of a sentence encoder")
    parser.add_argument("--data", required=True, help="folder below which the STS sets are")
    parser.add_argument("--sentences", type=int, default=5_000, help="STS sentences to time, at most")
    parser.add_argument("--single", type=int, default=300, help="STS sentences to time one a call, at most")
    parser.add_argument("--batch-size", type=int, default=64, help="sentences in a padded batch")
    parser.add_argument("--rounds", type=int, default=3, help="timed turns of each form, after one to warm up")
    parser.add_argument(
        "--clock",
        choices=list(CLOCKS),
        default="wall",
        help=CLOCK,
    )
    arguments = parser.parse_args()
    try:
        for name in ("sentences", "single", "batch_size", "rounds"):
            if getattr(arguments, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(arguments, name)}")
        if not Path(arguments.data).is_dir():
            raise InputError("no such folder", path=arguments.data, remedy="check --data")
        sets = find_sts_sets(arguments.data).sets
        if not sets:
            raise InputError("no STS set below this folder", path=arguments.data, remedy="check --data")
        with tempfile.TemporaryDirectory() as folder:
            measure(arguments, list(sets), open_forms(Path(arguments.model), Path(folder)))
    except HfParaphraseError as error:
        sys.stderr.write(f"benchmarks/export: error: {error}\n")
        return 2
    return 0


def open_forms(model: Path, folder: Path) -> list[Form]:
    """Exports and opens the model in every form."""
    forms = []
    for name, settings in FORMS.items():
        path = model
        if settings is not None:
            path = folder / name.replace(" ", "_")
            export_encoder(model=str(model), output=str(path), format=settings[0], weights=settings[1])
        files = [*path.glob("*.safetensors"), *path.glob("onnx/*")]
        forms.append(Form(name, SentenceEncoder.from_pretrained(path), sum(f.stat().st_size for f in files) / 1e6))
    return forms


def measure(arguments: argparse.Namespace, sets: list[GradedSet], forms: list[Form]) -> None:
    """Measures all forms and writes the table, and one JSON object on the last line."""
    sentences = list(dict.fromkeys(text for item in sets for text in (*item.sentences1, *item.sentences2)))
    some, few = sentences[: arguments.sentences], sentences[: arguments.single]
    write(
        f"{len(sentences):,} distinct sentences of {len(sets)} STS sets; timed: {len(some):,} in batches of "
        f"{arguments.batch_size} and {len(few):,} one a call, {torch.get_num_threads()} threads, "
        f"{arguments.clock} seconds"
    )
    many_rates, single_rates = rates(forms, some, few, arguments)
    write(f"{'':15}{'MB':>8}{'STS16':>8}{'1 - cos: max':>14}{'mean':>10}{'sentences/s':>13}{'one a call':>12}")
    expected = forms[0].encoder.encode(sentences, batch_size=arguments.batch_size)
    report: dict[str, dict[str, Any]] = {}
    for form, many, single in zip(forms, many_rates, single_rates, strict=True):
        vectors = form.encoder.encode(sentences, batch_size=arguments.batch_size)
        score = sts16(sentences, vectors, sets)
        distances = cosine_distances(expected, vectors)
        row = {
            "megabytes": form.megabytes,
            "sts16": score,
            "max_distance": float(distances.max(initial=0.0)),
            "mean_distance": float(distances.mean()) if len(distances) else 0.0,
            "sentences_per_second": many,
            "single_per_second": single,
        }
        report[form.name] = {key: None if value is None else float(f"{value:.6g}") for key, value in row.items()}
        write(
            f"{form.name:15}{form.megabytes:8.1f}{'-' if score is None else f'{score:.3f}':>8}"
            f"{row['max_distance']:14.1e}{row['mean_distance']:10.1e}{many:13,.0f}{single:12,.0f}"
        )
    write(json.dumps(report))


def sts16(sentences: list[str], vectors: NDArray[np.float32], sets: list[GradedSet]) -> float | None:
    """Computes the STS16 mean from the embeddings (sentences, dim); None where there is no set of STS16."""
    place = {text: row for row, text in enumerate(sentences)}

    def look_up(texts: list[str]) -> NDArray[np.float32]:
        return vectors[[place[text] for text in texts]]

    return evaluate_sts(look_up, sets).dev_mean


def rates(
    forms: list[Form], some: list[str], few: list[str], arguments: argparse.Namespace
) -> tuple[list[float], list[float]]:
    """Times the forms in turns; returns the median sentences a second of each, in batches and one a call."""
    clock = CLOCKS[arguments.clock]
    many: list[list[float]] = [[] for _ in forms]
    single: list[list[float]] = [[] for _ in forms]
    for turn in range(arguments.rounds + 1):
        for form, of_many, of_single in zip(forms, many, single, strict=True):
            start = clock()
            form.encoder.encode(some, batch_size=arguments.batch_size)
            middle = clock()
            for text in few:
                form.encoder.encode([text])
            end = clock()
            if turn:
                of_many.append(len(some) / (middle - start))
                of_single.append(len(few) / (end - middle))
    return [statistics.median(column) for column in many], [statistics.median(column) for column in single]


def cosine_distances(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Computes 1 - cosine of equal rows of two matrices (rows, dim); rows of zeros are left out."""
    one, other = first.astype(np.float64), second.astype(np.float64)
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    some = norms > 0
    return np.maximum(1 - np.einsum("ij,ij->i", one[some], other[some]) / norms[some], 0.0)


def write(line: str) -> None:
    """Writes a line of the report to standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
