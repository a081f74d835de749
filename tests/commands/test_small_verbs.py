from __future__ import annotations

import gzip
import io
import json
import sys

import numpy as np
import pytest
import torch
from tiny_encoders import WORDS, write_average

from cases import CASES
from forks import run_here
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HubError


def test_env_names_the_versions_and_devices(capsys):
    assert main(["env", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["torch"] == torch.__version__ and facts["accelerators"]
    assert main(["env"]) == 0
    assert f"torch{' ' * 17}{torch.__version__}" in capsys.readouterr().out


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


LINES = ["w1 w2", "", "w3\u2028w4", "unknown words", "w5\tw6"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return write_average(folder)


def run(model, source, output, *flags):
    return main(["encode", "--model", str(model), "--input", str(source), "--output", str(output), *flags])


@pytest.mark.parametrize(("ending", "compressed"), [("\n", True), ("\r\n", False)])
def test_every_line_becomes_its_row_whatever_the_blocks(model, tmp_path, capsys, monkeypatch, ending, compressed):
    monkeypatch.setattr("hf_paraphrase.data.sentences._BLOCK_LINES", 2)
    flags = ["--normalize", "--batch-size", "1"] if compressed else []
    source, content = "-", ending.join([*LINES, ""]).encode()
    if compressed:
        source = tmp_path / "text.gz"
        source.write_bytes(gzip.compress(content))
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + content)))
    assert run(model, source, tmp_path / "out" / "v.npy", *flags) == 0
    vectors = np.load(tmp_path / "out" / "v.npy", mmap_mode="r")
    assert vectors.dtype == np.float32
    expected = SentenceEncoder.from_pretrained(model).encode(LINES, normalize=compressed)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    captured = capsys.readouterr()
    assert captured.out == "" and not vectors[1].any()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["v.npy"]


def test_the_products_of_a_network_are_in_bf16_where_it_is_asked_for_and_those_of_an_average_never(model, tmp_path):
    network = write_average(tmp_path / "gran", classes="gran")
    (tmp_path / "text").write_text("".join(f"{' '.join(WORDS[start : start + 4])}\n" for start in range(len(WORDS))))
    for folder, differs in ((network, True), (model, False)):
        exact, rounded = (tmp_path / f"{folder.name}_{precision}.npy" for precision in ("fp32", "bf16"))
        assert run(folder, tmp_path / "text", exact) == 0
        assert run(folder, tmp_path / "text", rounded, "--precision", "bf16") == 0
        vectors = np.load(rounded)
        assert vectors.dtype == np.float32 and (vectors != np.load(exact)).any() == differs
        np.testing.assert_allclose(vectors, np.load(exact), atol=0.02)
