from __future__ import annotations

import json

import torch

import hf_paraphrase
from hf_paraphrase.commands import main


def test_env_names_the_versions_and_devices(capsys):
    assert main(["env", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["torch"] == torch.__version__ and facts["accelerators"]
    assert main(["env"]) == 0
    assert f"torch{' ' * 17}{torch.__version__}" in capsys.readouterr().out


def test_the_recipe_returns_the_facts_that_the_command_prints(capsys):
    found = hf_paraphrase.environment()
    assert found.facts["torch"] == torch.__version__
    assert main(["env"]) == 0
    assert capsys.readouterr().out == str(found)
    assert json.loads(str(hf_paraphrase.environment(json=True))) == found.facts
