"""Small runs of commands, and the folders that they read and write, shared by the tests."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import BITEXT

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
"""The settings of a small translation model."""
FRENCH = ["un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit"]
ENGLISH = ["one", "two", "three", "four", "five", "six", "seven", "eight"]


def run(*words):
    return main([str(word) for word in words])


def write(folder, split="train", **columns):
    """Writes a split of a data folder."""
    table = pa.table(columns)
    write_split(folder, split, [table], table.schema)
    return folder


def write_rows(folder, split, names, rows):
    """The same from rows."""
    return write(folder, split, **dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True)))


def pairs_table(rows, **columns):
    """Sources, first and second sentences; the sources may be left out."""
    sides = zip(*(("", *row)[-3:] for row in rows), strict=True) if rows else ((), (), ())
    names = ("source", "sentence1", "sentence2")
    return pa.table({name: pa.array(side, pa.string()) for name, side in zip(names, sides, strict=True)} | columns)


def number_pairs(count, offset):
    """Pairs of two to five number words, French and English; a different run of them for every offset."""
    numbers = [[(index // 8**place) % 8 for place in range(2 + index % 4)] for index in range(offset, offset + count)]
    return [tuple(" ".join(words[digit] for digit in digits) for words in (FRENCH, ENGLISH)) for digits in numbers]


def write_bitext(folder, **splits):
    """Writes a bitext folder from lists of (source, target) pairs, one a split."""
    for split, pairs in splits.items():
        rows = [(f"{split}-{index}", *pair, "fr", "en") for index, pair in enumerate(pairs)]
        write_rows(folder, split, " ".join(BITEXT.names), rows)
    return folder


def bitext_of(pairs, source_lang="fr", target_lang="en"):
    """A table of bitext with the numbers of its pairs as ids."""
    rows = [(str(number), *pair, source_lang, target_lang) for number, pair in enumerate(pairs)]
    return pa.Table.from_pylist([dict(zip(BITEXT.names, row, strict=True)) for row in rows], schema=BITEXT)


def write_sts(folder, name, pairs, golds):
    """Writes a set of the STS tasks in its raw layout: sentences with tabs between them, and scores."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, lines in (("input", pairs), ("gs", golds)):
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"STS.{kind}.{name}.txt").write_text(text, encoding="utf-8")


def random_sentences(count, shortest=0, longest=8):
    """Sentences of the words w0 to w11, the same in every run."""
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(12)]
    return [" ".join(generator.choice(words, size=generator.integers(shortest, longest + 1))) for _ in range(count)]


def lettered(letter, seed, count):
    """Sentences of two to six of thirty words that begin with a letter."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(2, 7, size=count)
    return [" ".join(f"{letter}{number}" for number in generator.integers(30, size=size)) for size in sizes]


def write_pairs(folder, rows, test=slice(0, 0), **settings):
    """Writes numbered pairs of them in row groups of odd sizes, and some as a split `test`; returns the folder."""
    texts = random_sentences(2 * rows)
    sides = {"sentence1": texts[:rows], "sentence2": [*texts[rows:-1], None]}
    table = pa.table({**sides, "note": list(range(rows))})
    write_split(folder, "train", table.to_batches(max_chunksize=17), table.schema, **settings)
    write_split(folder, "test", [table.slice(test.start, test.stop - test.start)], table.schema)
    return folder


def tree(folder):
    """Return the files of a folder without the path of its parent in their contents."""
    place = str(folder.parent).encode()
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes().replace(place, b"") for path in files}


def table_cells(text):
    """Return the cells of the Markdown tables in a text, a list per line without the rule below the head."""
    lines = (line for line in text.splitlines() if line.startswith("|") and "---" not in line)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def record(folder):
    return json.loads((folder / "provenance.json").read_text())


def command(bitext, output, *words):
    small = [f"{flag}={value}" for flag, value in SMALL.items()]
    return ["train-nmt", "--bitext", str(bitext), "--output", str(output), *small, *words]


def train(bitext, output, *words):
    return main(command(bitext, output, *words))


def job(model, bitext, output, *words):
    small = ["--num-beams", 4, "--num-return-sequences", 3, "--shard-size", 4, "--precision", "fp32"]
    return run("back-translate", "--model", model, "--bitext", bitext, "--output", output, *small, *words)
