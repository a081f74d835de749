"""The configurations beside the scripts: every one is read, checked and trains."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split

FOLDER = Path(__file__).parents[2] / "scripts" / "configs"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
EXPANSION = sorted(FOLDER.glob("expansion/*.yaml"))
SDAE = sorted(FOLDER.glob("sdae/*.yaml"))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "pairs"
    first = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(40)]
    second = [f"b{(x * 5) % 11} d{x % 7} a{x}" for x in range(40)]
    table = pa.table(
        {"sentence1": first * 2, "sentence2": [*second, *second[3:], *second[:3]], "label": [1] * 40 + [0] * 40}
    )
    write_split(folder, "train", [table], table.schema)
    return folder


@pytest.fixture(scope="module")
def english_pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("english") / "pairs"
    table = pa.table(
        {
            "sentence1": [f"The boy saw a dog {x} times." for x in range(40)],
            "sentence2": [f"a dog was seen by the boy {x} times" for x in range(40)],
        }
    )
    write_split(folder, "train", [table], table.schema)
    return folder


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_trains_an_encoder_with_its_settings(config, pairs, tmp_path):
    train_encoder(config, pairs, tmp_path / "m")


@pytest.mark.parametrize("config", EXPANSION, ids=lambda path: path.stem)
def test_every_configuration_of_expansion_trains_an_encoder_with_its_settings(
    config, english_pairs, tmp_path, tiny_wordnet, monkeypatch
):
    pytest.importorskip("denckring_en_pos")
    monkeypatch.setenv("WNSEARCHDIR", str(tiny_wordnet))
    train_encoder(config, english_pairs, tmp_path / "m")


def train_encoder(config, pairs, output):
    flags = ["--config", config, "--pairs", pairs, "--output", output, "--hidden-size", 4, "--epochs", 1]
    assert main(["train-encoder", *map(str, [*flags, "--batch-size", 20, "--min-frequency", 1])]) == 0
    check_settings(config, output, {"epochs", "batch_size"})


@pytest.mark.parametrize("config", SDAE, ids=lambda path: path.stem)
def test_every_configuration_of_autoencoders_trains_one_with_its_settings(config, tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"a{x} b{x % 7} c{x % 5}\n" for x in range(40)))
    (tmp_path / "vectors.txt").write_text("a1 1 2 3\nb1 4 5 6\n")
    flags = ["--config", config, "--text", tmp_path / "lines.txt", "--output", tmp_path / "m", "--hidden-size", 8]
    flags += ["--max-steps", 2, "--evaluations", 1, "--dev-size", 5, "--precision", "fp32"]
    if "fixed_vectors: true" in config.read_text(encoding="utf-8"):
        flags += ["--initial-vectors", tmp_path / "vectors.txt"]
    assert main(["train-sdae", *map(str, flags)]) == 0
    check_settings(config, tmp_path / "m", {"hidden_size", "max_steps", "evaluations", "dev_size"})


def check_settings(config, output, overridden):
    settings = json.loads((output / "provenance.json").read_text())["settings"]
    for line in config.read_text(encoding="utf-8").splitlines():
        name, colon, value = line.partition(": ")
        if colon and not line.startswith("#") and name not in overridden:
            assert str(settings[name]) in {value, value.capitalize(), str(_number(value))}, name


def _number(value):
    try:
        return float(value)
    except ValueError:
        return None


def test_every_configuration_is_trained_by_one_of_these_tests():
    assert sorted([*CONFIGS, *EXPANSION, *SDAE]) == sorted(FOLDER.rglob("*.yaml"))
