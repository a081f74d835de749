from __future__ import annotations

import json
import sys
from functools import partial

import pytest
import torch

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.evaluation.sts import evaluate_sts
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(20)]
PEERS = ("model2vec", "model2vec.distill", "wordllama", "sentence_transformers")


def sentence(place):
    return f"w{place % 20} w{place * 3 % 20} w{place * 7 % 11}"


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(0)
    encoder = AvgModel(AvgConfig(vocab_size=22, hidden_size=8, initializer_range=0.5))
    with torch.no_grad():
        encoder.embeddings[1] = 0
    encoder.save_pretrained(tmp_path / "model")
    save_tokenizer(build_word_level_tokenizer(WORDS), tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    for year, name in (("12", "MSRpar"), ("13", "OnWN"), ("16", "headlines")):
        at = folder / f"STS{year}-en-test"
        at.mkdir(parents=True)
        pairs = [f"{sentence(place)}\t{sentence(place * int(year) + 1)}\n" for place in range(12)]
        (at / f"STS.input.{name}.txt").write_text("".join(pairs))
        (at / f"STS.gs.{name}.txt").write_text("".join(f"{place % 5}\n" for place in range(12)))
    return folder


@pytest.fixture
def bench(run_script, data, monkeypatch):
    """Runs the benchmark on the data with one short round."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    words = ["--data", data, "--rounds", 1, "--seconds", "0.01", "--sentences", 20]
    return partial(run_script, "benchmarks/quality_speed", *words)


@pytest.fixture
def no_peers(monkeypatch):
    for name in PEERS:
        monkeypatch.setitem(sys.modules, name, None)


def test_the_scores_are_those_of_evaluate_and_absent_peers_are_named(bench, data, model, no_peers, tmp_path, capsys):
    assert bench("--model", model, "--plot", tmp_path / "picture.png") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("wordllama is left out: ") for line in lines)
    report = json.loads(lines[-1])
    assert set(report) == {"model", "weighted trigrams, untrained"}
    encoder = SentenceEncoder.from_pretrained(model)
    expected = evaluate_sts(encoder.encode, find_sts_sets(data, families=("STS12", "STS13", "STS16")).sets)
    mine = report["model"]
    assert mine["22 sets (2 of 22 sets)"] == pytest.approx(expected["means"]["22 sets"]["pearson"], abs=0.005)
    assert mine["STS16"] == pytest.approx(expected["dev_mean"], abs=0.005)
    assert mine["components"] == 8 and mine["ours"]
    assert mine["megabytes"] * 1e6 == pytest.approx(sum(file.stat().st_size for file in model.iterdir()), rel=0.01)
    assert all(0 < row["least"] <= row["sentences_per_second"] <= row["most"] for row in report.values())
    rows = [line for line in lines if line.startswith("| ")]
    assert any(line.startswith("| **model**") for line in rows) and len(rows) == len(report) + 2
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_installed_peers_are_opened_without_a_network(bench, load_script, model, capsys):
    for name in ("model2vec", "wordllama"):
        pytest.importorskip(name)
    assert bench("--model", model) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["WordLlama 256"]["components"] == 256 and 10 < report["WordLlama 256"]["megabytes"] < 30
    theirs = load_script("benchmarks/quality_speed").compared("model2vec", "theirs", str(model))
    assert theirs.dimension == 8 and theirs.encode(["w1 w2"]).shape == (1, 8)


def test_a_slow_way_gets_fewer_sentences_than_a_fast_one(load_script, monkeypatch):
    script = load_script("benchmarks/quality_speed")
    for taken, count in ((2.56, 256), (0.256, 2_000), (0.001, 50_000)):
        monkeypatch.setattr(script.bench, "timed", lambda work, taken=taken: (taken, work()))
        assert len(script.fitting(len, ["a"] * 50_000, 2.0)) == count
