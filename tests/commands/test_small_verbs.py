from __future__ import annotations

import gzip
import hashlib
import json

import pytest
import torch

from cases import CASES
from forks import run_here
from hf_paraphrase.commands import main
from hf_paraphrase.data.decontamination import LIST_HEADER
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HubError, UsageError
from hf_paraphrase.training.devices import check_device, devices


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


@pytest.fixture
def two_cards(monkeypatch):
    """A machine with two GPUs, as far as torch tells, once it is called."""

    def begin():
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)

    return begin


def test_the_cpu_is_always_there_and_others_are_those_of_the_machine(two_cards):
    two_cards()
    assert devices()[:4] == ["cpu", "cuda", "cuda:0", "cuda:1"]
    assert check_device("cuda:1") == "cuda:1"
    with pytest.raises(UsageError, match=r"no --device cuda:2 here \(did you mean cuda:1\? One of cpu, cuda, cuda:0"):
        check_device("cuda:2")


@pytest.mark.parametrize("name", ["score", "encode", "sts", "index", "mine", "mining", "neighbours", "gates"])
def test_the_encoder_is_opened_on_the_device_that_is_named(name, artefacts, two_cards, monkeypatch, tmp_path):
    opened = []
    words = CASES[name].words(artefacts.paths(CASES[name]))
    if name == "score":
        words += ["--measures", "similarity", "--encoder", str(artefacts["avg"])]

    def from_pretrained(folder, *, device=None, **others):
        opened.append(device)
        raise HubError("enough")

    two_cards()
    monkeypatch.setattr(SentenceEncoder, "from_pretrained", from_pretrained)
    for device in ([], ["--device", "cuda:1"]):
        ended = run_here([*words, *device], tmp_path)
        assert ended.code == 2 and "enough" in ended.errors[0]
    assert opened == ["cpu", "cuda:1"]
