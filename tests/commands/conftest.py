from __future__ import annotations

import pytest
from small_runs import job, number_pairs, write_bitext
from tiny_encoders import write_translator


@pytest.fixture(scope="session")
def tiny_bitext(tmp_path_factory):
    """60 training pairs, 8 for validation and 8 for testing."""
    splits = {"train": number_pairs(60, 100), "validation": number_pairs(8, 0), "test": number_pairs(8, 300)}
    return write_bitext(tmp_path_factory.mktemp("bitext") / "numbers", **splits)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """The folder of an untrained translation model."""
    texts = [text for pair in number_pairs(64, 0) for text in pair]
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return write_translator(folder, texts, 60, source_lang="fr", target_lang="en")


@pytest.fixture(scope="session")
def awkward_bitext(tmp_path_factory):
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
