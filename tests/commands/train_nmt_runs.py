"""Small runs of `train-nmt`, shared by its tests."""

from __future__ import annotations

from hf_paraphrase.commands import main

SMALL = {
    "--vocab-size": 60,
    "--hidden-size": 8,
    "--embedding-size": 6,
    "--epochs": 2,
    "--batch-size": 8,
    "--evaluations": 4,
    "--warmup-steps": 2,
    "--learning-rate": 0.01,
    "--precision": "fp32",
}


def command(bitext, output, *words):
    return [
        "train-nmt",
        "--bitext",
        str(bitext),
        "--output",
        str(output),
        *(f"{flag}={value}" for flag, value in SMALL.items()),
        *words,
    ]


def train(bitext, output, *words):
    return main(command(bitext, output, *words))
