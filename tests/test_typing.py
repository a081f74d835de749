"""Public names and signatures as type checkers see them: stubs that a script writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

USER = """\
from pathlib import Path

import hf_paraphrase as hp
from hf_paraphrase import SentenceEncoder, push
from hf_paraphrase.filtering import Measure
from hf_paraphrase import SentenceEncodr
from hf_paraphrase.filtering import Measur

encoder: SentenceEncoder = hp.distill(text=Path("corpus.txt"), output=Path("encoder"), teacher=["a"])
hp.train_encoder(pairs=[{"sentence1": "a", "sentence2": "b"}], output="encoder", epochs=1)
push(path="encoder", repo_id=3)
push(path="encoder", repo_id="me/encoder", privat=True)
push(path="encoder")
hp.distil(text="corpus.txt")
Measure.columns = 3
"""
ERRORS = {6: "SentenceEncodr", 7: "Measur", 11: '"repo_id"', 12: "privat", 13: "repo_id", 14: "distil", 15: "tuple"}


@pytest.mark.slow
def test_a_strict_type_checker_knows_every_public_name_and_every_parameter(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "user.py"]
    config = ["--config-file", str(ROOT / "setup.cfg")]
    # An editable installation is found by an import hook, which type checkers do not run.
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    checked = subprocess.run(
        [*command, *config], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    lines = [line for line in checked.stdout.splitlines() if re.match(r"user\.py:\d+: error:", line)]
    errors = {int(line.split(":")[1]): line for line in lines}
    assert errors.keys() == ERRORS.keys(), checked.stdout
    assert all(word in errors[number] for number, word in ERRORS.items()), checked.stdout


@pytest.mark.slow
def test_the_stubs_are_those_that_the_script_writes():
    command = [sys.executable, ROOT / "scripts" / "documentation" / "stubs.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, f"run scripts/documentation/stubs.py: {checked.stdout}{checked.stderr}"
