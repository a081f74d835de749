from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
import torch
from tiny_encoders import write_average

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HubError, UsageError
from hf_paraphrase.training.devices import check_device, devices

VERBS = {
    "score": "score --pairs pairs --encoder m --measures similarity --output o",
    "encode": "encode --model m --input text --output v.npy",
    "evaluate": "evaluate --model m --data sts",
    "search, to build": "search --model m --corpus text --output o",
    "search": "search --model m --corpus text --query w1",
    "search an index": "search --index index --query w1",
    "mine": "mine --source text --target other --encoder m --output o",
    "evaluate-mining": "evaluate-mining --task task/fr-en --encoder m --output o",
    "neighbours": "analyze neighbours --model m --text text --query w1 --output o",
    "similarities": "analyze similarities --model m --text text --query w1 --output o",
    "gates": "analyze gates --model m --text text --output o",
}


@pytest.fixture
def two_cards(monkeypatch):
    """A machine with two GPUs, as far as torch tells."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("w1 w2\nw3\n")
    Path("other").write_text("w4\nw5 w6\n")
    Path("m").mkdir()
    pairs = pa.table({"sentence1": ["w1 w2"], "sentence2": ["w3"]})
    write_split("pairs", "train", [pairs], pairs.schema)
    Path("sts/STS16-en-test").mkdir(parents=True)
    Path("sts/STS16-en-test/STS.input.headlines.txt").write_text("w1\tw2\nw3\tw4\n")
    Path("sts/STS16-en-test/STS.gs.headlines.txt").write_text("1\n2\n")


@pytest.fixture
def index(files):
    write_average("encoder")
    assert main(["search", "--model", "encoder", "--corpus", "text", "--output", "index"]) == 0


def test_the_cpu_is_always_there_and_others_are_those_of_the_machine(two_cards):
    assert devices()[:4] == ["cpu", "cuda", "cuda:0", "cuda:1"]
    assert check_device("cuda:1") == "cuda:1"
    with pytest.raises(UsageError, match=r"no --device cuda:2 here \(did you mean cuda:1\? One of cpu, cuda, cuda:0"):
        check_device("cuda:2")


OTHERS = {
    "score, a classifier": "score --pairs pairs --classifier m --output o",
    "predict": "predict --model m --data pairs --output o",
    "pairs": "analyze pairs --pairs pairs --classifier m --output o",
    "evaluate-nmt": "evaluate-nmt --model m --bitext pairs",
    "back-translate": "back-translate --model m --bitext pairs --output o",
}
"""Verbs that run something else than a sentence encoder."""


@pytest.mark.parametrize("verb", sorted(VERBS | OTHERS))
def test_a_device_that_is_not_there_is_refused_before_any_work(verb, files, capsys):
    for device in ("cuda:7", "gpu", "meta"):
        assert main([*(VERBS | OTHERS)[verb].split(), "--device", device]) == 2
        err = capsys.readouterr().err
        assert f"there is no --device {device} here (" in err and "ne of cpu" in err and err.count("\n") == 1


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_encoder_is_opened_on_the_device_that_is_named(verb, index, two_cards, monkeypatch, capsys):
    opened = []

    def from_pretrained(folder, *, device=None, **others):
        opened.append(device)
        raise HubError("enough")

    monkeypatch.setattr(SentenceEncoder, "from_pretrained", from_pretrained)
    for device in ([], ["--device", "cuda:1"]):
        assert main([*VERBS[verb].split(), *device]) == 2
        assert "enough" in capsys.readouterr().err
    assert opened == ["cpu", "cuda:1"]
