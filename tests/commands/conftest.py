from __future__ import annotations

import pytest
from small_runs import job, write_rows
from tiny_encoders import write_translator

from hf_paraphrase.data.schema import BITEXT

FRENCH = ["un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit"]
ENGLISH = ["one", "two", "three", "four", "five", "six", "seven", "eight"]


def numbers(count, offset):
    """Pairs of two to five number words; a different run of them for every offset."""
    for index in range(offset, offset + count):
        digits = [(index // 8**place) % 8 for place in range(2 + index % 4)]
        yield " ".join(FRENCH[digit] for digit in digits), " ".join(ENGLISH[digit] for digit in digits)


def _write_bitext(folder, **splits):
    for split, pairs in splits.items():
        rows = [(f"{split}-{index}", *pair, "fr", "en") for index, pair in enumerate(pairs)]
        write_rows(folder, split, " ".join(BITEXT.names), rows)
    return folder


@pytest.fixture(scope="session")
def write_bitext():
    """Writes a bitext folder from lists of (source, target) pairs, one a split."""
    return _write_bitext


@pytest.fixture(scope="session")
def number_pairs():
    """Makes pairs of number words: how many, and from which number on."""
    return lambda count, offset: list(numbers(count, offset))


@pytest.fixture(scope="session")
def tiny_bitext(tmp_path_factory):
    """60 training pairs, 8 for validation and 8 for testing."""
    splits = {"train": list(numbers(60, 100)), "validation": list(numbers(8, 0)), "test": list(numbers(8, 300))}
    return _write_bitext(tmp_path_factory.mktemp("bitext") / "numbers", **splits)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """The folder of an untrained translation model."""
    texts = [text for pair in numbers(64, 0) for text in pair]
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return write_translator(folder, texts, 60, source_lang="fr", target_lang="en")


@pytest.fixture(scope="session")
def awkward_bitext(write_bitext, number_pairs, tmp_path_factory):
    """Nine ordinary pairs, and among them all that a job meets in the wild."""
    pairs = number_pairs(9, 50)
    pairs[2:2] = [("", "nothing"), ("   ", "only spaces"), ("un", ""), (None, "no source"), ("un", None)]
    pairs[9:9] = [("deux " * 60, "long"), ("trois " * 500, "a thousand units"), ("un |\tdeux", "a | b")]
    return write_bitext(tmp_path_factory.mktemp("bitext") / "awkward", train=pairs)


@pytest.fixture(scope="session")
def translated(tiny_model, awkward_bitext, tmp_path_factory):
    """An undisturbed job."""
    output = tmp_path_factory.mktemp("translated") / "pairs"
    assert job(tiny_model, awkward_bitext, output, "--max-source-tokens", "50") == 0
    return output
