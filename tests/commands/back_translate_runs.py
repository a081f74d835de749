"""Small runs of `back-translate`, shared by its tests."""

from __future__ import annotations

from hf_paraphrase.commands import main

SMALL = ["--num-beams", "4", "--num-return-sequences", "3", "--shard-size", "4", "--precision", "fp32"]


def command(model, bitext, output, *words):
    return ["back-translate", "--model", str(model), "--bitext", str(bitext), "--output", str(output), *SMALL, *words]


def job(model, bitext, output, *words):
    return main(command(model, bitext, output, *words))
