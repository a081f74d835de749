from __future__ import annotations

import gzip
import io
import sys

import numpy as np
import pytest
from tiny_encoders import WORDS, write_average

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_gran import GranModel

LINES = ["w1 w2", "", "w3\u2028w4", "unknown words", "w5\tw6"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return write_average(folder)


def run(model, source, output, *flags):
    return main(["encode", "--model", str(model), "--input", str(source), "--output", str(output), *flags])


@pytest.mark.parametrize(("ending", "compressed"), [("\n", True), ("\r\n", False)])
def test_every_line_becomes_its_row(model, tmp_path, capsys, monkeypatch, ending, compressed):
    source, content = "-", ending.join([*LINES, ""]).encode()
    if compressed:
        source = tmp_path / "text.gz"
        source.write_bytes(gzip.compress(content))
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + content)))
    assert run(model, source, tmp_path / "out" / "v.npy") == 0
    vectors = np.load(tmp_path / "out" / "v.npy", mmap_mode="r")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, SentenceEncoder.from_pretrained(model).encode(LINES), atol=1e-6)
    captured = capsys.readouterr()
    assert captured.out == "" and not vectors[1].any()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["v.npy"]


def test_blocks_and_options_do_not_change_the_rows(model, tmp_path, monkeypatch):
    monkeypatch.setattr("hf_paraphrase.data.sentences._BLOCK_LINES", 3)
    lines = [f"w{i % 10} w{i % 7}" for i in range(1000)]
    (tmp_path / "text").write_text("\n".join(lines))
    assert run(model, tmp_path / "text", tmp_path / "v.npy", "--normalize", "--batch-size", "2") == 0
    expected = SentenceEncoder.from_pretrained(model).encode(lines, normalize=True)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-6)


def test_the_products_of_a_network_are_in_bf16_where_it_is_asked_for_and_those_of_an_average_never(model, tmp_path):
    network = write_average(tmp_path / "gran", classes=(GranModel, GranConfig))
    (tmp_path / "text").write_text("".join(f"{' '.join(WORDS[start : start + 4])}\n" for start in range(len(WORDS))))
    for folder, differs in ((network, True), (model, False)):
        exact, rounded = (tmp_path / f"{folder.name}_{precision}.npy" for precision in ("fp32", "bf16"))
        assert run(folder, tmp_path / "text", exact) == 0
        assert run(folder, tmp_path / "text", rounded, "--precision", "bf16") == 0
        vectors = np.load(rounded)
        assert vectors.dtype == np.float32 and (vectors != np.load(exact)).any() == differs
        np.testing.assert_allclose(vectors, np.load(exact), atol=0.02)


def test_from_python_it_returns_the_file(model, tmp_path):
    (tmp_path / "text").write_text("w1 w2\n\nw3\n")
    settings = {"model": model, "input": tmp_path / "text", "output": tmp_path / "v.npy"}
    vectors = np.load(hf_paraphrase.encode(**settings, normalize=True))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1], atol=1e-6)
    with pytest.raises(hf_paraphrase.OutputError, match="the output file exists"):
        hf_paraphrase.encode(**settings)
