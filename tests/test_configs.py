"""The configurations beside the scripts: every one is read, checked and trains."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.parquet import write_split

FOLDER = Path(__file__).parents[1] / "scripts" / "configs"
CONFIGS = sorted([*FOLDER.glob("*.yaml"), *FOLDER.glob("study_001_rates/*.yaml")])


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


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_trains_an_encoder_with_its_settings(config, pairs, tmp_path):
    flags = ["--config", config, "--pairs", pairs, "--output", tmp_path / "m", "--hidden-size", 4, "--epochs", 1]
    assert main(["train-encoder", *map(str, [*flags, "--batch-size", 20, "--min-frequency", 1])]) == 0
    settings = json.loads((tmp_path / "m" / "provenance.json").read_text())["settings"]
    for line in config.read_text(encoding="utf-8").splitlines():
        name, colon, value = line.partition(": ")
        if colon and not line.startswith("#") and name not in {"epochs", "batch_size"}:
            assert str(settings[name]) in {value, value.capitalize(), str(_number(value))}, name


def _number(value):
    try:
        return float(value)
    except ValueError:
        return None
