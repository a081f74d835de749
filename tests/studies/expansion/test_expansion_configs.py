"""The configurations with expansion; tests/test_configs.py trains with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering.tuning.tuned_encoders import encoder_settings

FOLDER = Path(__file__).parents[3] / "scripts" / "configs" / "expansion"


def settings_of(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


def test_there_are_configurations_for_both_encoders_and_both_ways():
    names = {f"paper_004_{kind}_{way}" for kind in ("avg", "gran") for way in ("pairs", "compositionality")}
    assert {path.stem for path in FOLDER.glob("paper_004_*.yaml")} == names


@pytest.mark.parametrize(
    ("name", "paper", "epochs", "way"),
    [
        ("avg_10_epochs", "paper_000_avg", 10, None),
        ("avg_12_epochs", "paper_000_avg", 12, None),
        ("avg_10_epochs_pairs", "expansion/paper_004_avg_pairs", 10, ("expansion_share", 0.25)),
        ("avg_10_epochs_compositionality", "expansion/paper_004_avg_compositionality", 10, ("expansion_weight", 0.3)),
        ("gran_2_epochs", "paper_000_gran", 2, None),
        ("gran_2_epochs_pairs", "expansion/paper_004_gran_pairs", 2, ("expansion_share", 0.25)),
        ("gran_2_epochs_compositionality", "expansion/paper_004_gran_compositionality", 2, ("expansion_weight", 0.3)),
    ],
)
def test_the_configurations_of_the_study_differ_from_the_papers_in_their_epochs_only(name, paper, epochs, way):
    settings = settings_of(f"study_004_{name}")
    assert settings == {**settings_of(f"../{paper}"), "epochs": epochs}
    assert way is None or settings[way[0]] == way[1]


def test_tuning_refuses_encoders_with_expansion():
    with pytest.raises(UsageError, match="paper_004_avg_pairs has --expansion"):
        encoder_settings(str(FOLDER / "paper_004_avg_pairs.yaml"))
