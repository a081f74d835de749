"""The configurations beside the scripts: each is read and checked by its verb, which then has its settings."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from parsed_calls import parsed

FOLDER = Path(__file__).parents[2] / "scripts" / "configs"


@pytest.mark.parametrize("config", sorted(FOLDER.rglob("*.yaml")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_configuration_gives_its_verb_its_settings(config, tmp_path):
    (tmp_path / "vectors.txt").write_text("a1 1 2 3\n")
    words = (
        ["train-sdae", "--text", "lines.txt"] if config.parent.name == "sdae" else ["train-encoder", "--pairs", "p"]
    )
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    if values.get("fixed_vectors"):
        words += ["--initial-vectors", str(tmp_path / "vectors.txt")]
    found = parsed([*words, "--config", str(config), "--output", str(tmp_path / "m")])
    assert values and {name: getattr(found, name) for name in values} == values
