from __future__ import annotations

import csv
import json
import sys
from functools import partial
from itertools import combinations

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

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
def teacher(tmp_path):
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=22, max_position_embeddings=16, initializer_range=0.5, **size)
    BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path / "teacher")
    save_tokenizer(build_word_level_tokenizer(WORDS), tmp_path / "teacher")
    return tmp_path / "teacher"


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    for year, name in (("12", "MSRpar"), ("13", "OnWN"), ("16", "headlines")):
        at = folder / f"STS{year}-en-test"
        at.mkdir(parents=True)
        pairs = [f"{sentence(place)}\t{sentence(place * int(year) + 1)}\n" for place in range(12)]
        (at / f"STS.input.{name}.txt").write_text("".join(pairs))
        (at / f"STS.gs.{name}.txt").write_text("".join(f"{place % 5}\n" for place in range(12)))
    rows = [f"{place % 3 % 2}\t{sentence(place)}\t{sentence(place + 5)}\n" for place in range(15)]
    (folder / "pairs.tsv").write_text("".join(rows))
    votes = [(5, 0), (0, 5), (2, 3), (4, 1), (1, 4)]
    tweets = [f"1\ttopic\t{sentence(n)}\t{sentence(2 * n + 1)}\t{vote}\n" for n, vote in enumerate(votes)]
    (folder / "dev.data").write_text("".join(tweets))
    return folder


@pytest.fixture
def bench(run_script, data, monkeypatch):
    """Runs the benchmark on the data with one short round."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    return partial(
        run_script, "benchmarks/quality_speed", "--data", data, "--rounds", 1, "--seconds", "0.01", "--sentences", 20
    )


@pytest.fixture
def no_peers(monkeypatch):
    for name in PEERS:
        monkeypatch.setitem(sys.modules, name, None)


def test_the_scores_are_those_of_evaluate_and_absent_peers_are_named(bench, data, model, teacher, no_peers, capsys):
    labelled = [f"tweets={data / 'dev.data'}", f"pairs={data / 'pairs.tsv'}"]
    assert bench("--model", f"mine={model}", "--teacher", f"large={teacher}", "--labelled", *labelled) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in ("model2vec", "wordllama", "sentence_transformers"):
        assert any(line.startswith(f"{name} is left out: ") for line in lines)
    report = json.loads(lines[-1])
    assert {"mine", "large", "weighted trigrams, untrained"} <= set(report)
    encoder = SentenceEncoder.from_pretrained(model)
    expected = evaluate_sts(encoder.encode, find_sts_sets(data, families=("STS12", "STS13", "STS16")).sets)
    mine = report["mine"]
    assert mine["22 sets (2 of 22 sets)"] == pytest.approx(expected.mean("22 sets").pearson, abs=0.005)
    assert mine["STS16 mean (1 of 5 sets)"] == pytest.approx(expected.dev_mean, abs=0.005)
    assert mine["components"] == 8 and mine["ours"] and not report["large"]["ours"]
    assert mine["megabytes"] * 1e6 == pytest.approx(sum(file.stat().st_size for file in model.iterdir()), rel=0.01)
    # Two of the five pairs of tweets are paraphrases, and one is undecided.
    cosines = [float(encoder.similarity(sentence(n), sentence(2 * n + 1)).item()) for n in (0, 1, 3, 4)]
    order = [(True, False, True, False)[place] for place in np.argsort(np.negative(cosines), kind="stable")]
    precisions = [sum(order[: place + 1]) / (place + 1) for place, hit in enumerate(order) if hit]
    assert mine["tweets AP"] == pytest.approx(100 * sum(precisions) / 2, abs=0.005)
    assert 0 < mine["pairs AP"] <= 100
    assert all(0 < row["least"] <= row["sentences_per_second"] <= row["most"] for row in report.values())
    table = [line for line in lines if line.startswith("| ")]
    assert any(line.startswith("| **mine**") for line in table) and len(table) == len(report) + 2


def test_the_same_vectors_have_the_same_quality_whoever_computes_them(bench, data, model, tmp_path, capsys):
    pytest.importorskip("model2vec")
    encoder = SentenceEncoder.from_pretrained(model)
    table = encoder.model.embeddings.detach().numpy()
    text = "".join(f"{word} {' '.join(map(str, table[place + 2]))}\n" for place, word in enumerate(WORDS))
    (tmp_path / "vectors.txt").write_text(text)
    given = ["--model", f"ours={model}", "--model2vec", f"theirs={model}", "--glove", tmp_path / "vectors.txt"]
    assert bench(*given) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    columns = [name for name in report["ours"] if name.startswith(("22 sets", "STS16"))]
    for name in ("theirs", "vectors.txt"):
        assert [report[name][key] for key in columns] == pytest.approx([report["ours"][key] for key in columns])
        assert report[name]["components"] == 8 and not report[name]["ours"]


def test_an_installed_wordllama_is_opened_without_a_network(bench, model, capsys):
    pytest.importorskip("wordllama")
    assert bench("--model", model) == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["WordLlama 256"]["components"] == 256 and 10 < report["WordLlama 256"]["megabytes"] < 30


def test_a_limit_takes_fewer_pairs_and_transfer_tasks_have_a_mean(bench, data, model, no_peers, tmp_path, capsys):
    for name, files in (("MR", ("rt-polarity.pos", "rt-polarity.neg")), ("CR", ("custrev.pos", "custrev.neg"))):
        (data / name).mkdir()
        for shift, file in enumerate(files):
            (data / name / file).write_text("".join(f"{sentence(2 * n + shift)}\n" for n in range(120)))
    output = tmp_path / "figures.json"
    assert bench("--model", model, "--transfer", data, "--limit", 30, "--output", output) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[-1])["model"]
    assert row["transfer mean"] == pytest.approx((row["MR"] + row["CR"]) / 2, abs=0.02)
    assert bench("--model", model, "--limit", 4, "--output", output) == 0
    assert set(json.loads(output.read_text())["facts"]["pairs"].values()) == {4}


def test_a_picture_is_drawn_again_from_the_figures_without_measuring(
    bench, run_script, model, no_peers, tmp_path, capsys
):
    pytest.importorskip("matplotlib")
    figures, table = tmp_path / "figures.json", tmp_path / "figures.csv"
    assert bench("--model", model, "--output", figures, "--csv", table, "--plot", tmp_path / "first.svg") == 0
    measured = capsys.readouterr().out.splitlines()
    again = ["--from", figures, "--plot", tmp_path / "second.png"]
    assert run_script("benchmarks/quality_speed", *again) == 0
    assert capsys.readouterr().out.splitlines() == measured[-len(json.loads(measured[-1])) - 4 :]
    for suffix in (".svg", ".png"):
        pictures = [(tmp_path / name).with_suffix(suffix).read_bytes() for name in ("first", "second")]
        assert pictures[0] == pictures[1] and len(pictures[0]) > 1_000
    rows = list(csv.DictReader(table.open()))
    row = next(row for row in rows if row["name"] == "model")
    assert float(row["STS12 MSRpar"]) + float(row["STS13 OnWN"]) == pytest.approx(
        2 * float(row["22 sets (2 of 22 sets)"])
    )
    assert run_script("benchmarks/quality_speed", *again, "--quality", "nothing") == 2
    assert "22 sets (2 of 22 sets)" in capsys.readouterr().err


def test_labels_of_a_crowd_cover_neither_one_another_nor_marks(load_script):
    load_script("benchmarks/quality_speed")
    from quality_speed_picture import Box, choose_places, places_round

    generator = np.random.default_rng(0)
    marks = [Box.round_point(*point, 8, 8) for point in generator.uniform(150, 650, (14, 2))]
    chosen = choose_places([places_round(mark, 110, 24) for mark in marks], marks, Box(0, 0, 800, 800))
    boxes = [place.box for place in chosen]
    assert all(first.common_area(second) == 0 for first, second in combinations(boxes, 2))
    assert all(label.common_area(mark) == 0 for label in boxes for mark in marks)
    assert all(label.common_area(Box(0, 0, 800, 800)) == pytest.approx(label.area) for label in boxes)


def test_a_slow_way_gets_fewer_sentences_than_a_fast_one(load_script):
    script = load_script("benchmarks/quality_speed")
    sentences = ["a"] * 50_000
    seconds = iter([0.0, 2.56, 0.0, 0.256, 0.0, 2.0, 0.0, 0.001, 0.0, 0.001, 0.0, 0.01, 0.0, 0.1])

    class Clock:
        @staticmethod
        def perf_counter():
            return next(seconds)

    script.time = Clock
    tried = []
    assert script.fitting_number(lambda texts: tried.append(len(texts)), sentences, 2.0) == 256
    assert script.fitting_number(lambda texts: tried.append(len(texts)), sentences, 2.0) == 2_000
    assert script.fitting_number(lambda texts: tried.append(len(texts)), sentences, 2.0) == 50_000
    assert tried == [256, 256, 2_000, 256, 2_048, 16_384, 50_000]


@pytest.mark.parametrize(
    "words",
    [
        ["--rounds", "0"],
        ["--limit", "1"],
        ["--seconds", "0"],
        ["--model", "absent"],
        ["--teacher", "absent"],
        ["--glove", "absent.txt"],
        ["--labelled", "absent.tsv"],
        ["--text", "absent.txt"],
        ["--plot", "picture.pdf"],
        ["--from", "figures.json"],
        ["--output", "."],
    ],
)
def test_bad_arguments_are_one_line(bench, no_peers, capsys, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert bench(*words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_figures_of_another_kind_and_names_that_are_not_unique_are_one_line(
    bench, run_script, model, no_peers, tmp_path, capsys
):
    (tmp_path / "other.json").write_text('{"rows": [{"name": 1}]}')
    for path in ("other.json", "absent.json"):
        assert run_script("benchmarks/quality_speed", "--from", tmp_path / path) == 2
    assert bench("--model", f"one={model}", f"one={model}") == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 3 and err[-1].endswith("two encoders are called one (give them other names: NAME=PLACE)")
