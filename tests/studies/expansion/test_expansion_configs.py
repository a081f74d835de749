"""The configurations with expansion; tests/test_configs.py trains with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering.tuning.settings import encoder_settings

FOLDER = Path(__file__).parents[3] / "scripts" / "configs" / "expansion"


def settings_of(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["avg", "gran"])
@pytest.mark.parametrize(
    ("way", "name", "value"), [("pairs", "expansion_share", 0.25), ("compositionality", "expansion_weight", 0.3)]
)
def test_the_configurations_differ_from_those_of_paper_000_in_their_expansion_only(kind, way, name, value):
    settings = settings_of(f"paper_004_{kind}_{way}")
    expansion = {"expansion": "auto", name: value}
    assert settings == {**settings_of(f"../paper_000_{kind}"), **expansion}


def test_tuning_refuses_encoders_with_expansion():
    with pytest.raises(UsageError, match="paper_004_avg_pairs has --expansion"):
        encoder_settings(str(FOLDER / "paper_004_avg_pairs.yaml"))
