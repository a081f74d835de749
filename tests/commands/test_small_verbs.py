from __future__ import annotations

import gzip
import hashlib
import json

import torch

from hf_paraphrase.commands import main
from hf_paraphrase.data.decontamination import LIST_HEADER


def test_the_list_has_the_documented_fingerprints_sorted_and_each_once(tmp_path):
    folder, output = tmp_path / "eval", tmp_path / "held.txt.gz"
    folder.mkdir()
    (folder / "STS.input.a.txt").write_text("A man is eating food.\tA woman is eating food.\nToo short\tNo\n")
    (folder / "b.txt").write_text("The cat sat down!\nthe CAT sat, down\n")
    assert main(["fingerprint", "--data", str(folder), "--output", str(output)]) == 0
    texts = ("a man is eating food", "a woman is eating food", "the cat sat down")
    digits = sorted(hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts)
    assert gzip.decompress(output.read_bytes()).decode().splitlines() == [LIST_HEADER, *digits]


def test_env_names_the_versions_and_devices(capsys):
    assert main(["env", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["torch"] == torch.__version__ and facts["accelerators"]
    assert main(["env"]) == 0
    assert f"torch{' ' * 17}{torch.__version__}" in capsys.readouterr().out
