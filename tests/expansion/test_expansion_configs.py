"""The configurations with expansion: every one is read, checked and trains."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from hf_paraphrase.commands import main
from hf_paraphrase.commands.tune_runs import encoder_settings
from hf_paraphrase.data.parquet import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.errors import UsageError

pytest.importorskip("denckring_en_pos")
CONFIGS = sorted((Path(__file__).parents[2] / "scripts" / "configs" / "expansion").glob("*.yaml"))


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_every_configuration_with_expansion_trains_an_encoder_with_its_settings(
    config, tmp_path, tiny_wordnet, monkeypatch
):
    monkeypatch.setenv("WNSEARCHDIR", str(tiny_wordnet))
    table = pa.table({"sentence1": ["The boy saw a dog.", "She is old."], "sentence2": ["the dog", "a b"]})
    write_split(tmp_path / "pairs", "train", [table.cast(PAIRS)], PAIRS)
    words = ["--config", config, "--pairs", tmp_path / "pairs", "--output", tmp_path / "m", "--hidden-size", 4]
    assert (
        main(["train-encoder", *map(str, [*words, "--expansion-share", 2, "--epochs", 1, "--min-frequency", 1])]) == 0
    )
    settings = json.loads((tmp_path / "m" / "provenance.json").read_text())["settings"]
    for name, value in yaml.safe_load(config.read_text(encoding="utf-8")).items():
        assert name in {"epochs", "expansion_share"} or settings[name] == value, name


def test_there_are_configurations_for_both_encoders_and_both_ways():
    assert len(CONFIGS) == 4


def test_tuning_refuses_encoders_with_expansion():
    with pytest.raises(UsageError, match="paper_004_avg_pairs has --expansion"):
        encoder_settings(str(CONFIGS[1]), [])
