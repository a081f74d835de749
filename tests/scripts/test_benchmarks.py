"""The benchmarks on tiny data: contestants compute the same, and the last line has all ratios."""

from __future__ import annotations

import json
import sys

import datasets
import pytest
from small_runs import table_cells, write, write_sts
from tiny_encoders import write_average

from hf_paraphrase.encoders.dev_sets.sts_files import find_sts_sets
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.evaluation.sts import evaluate_sts


@pytest.fixture(autouse=True)
def kept_settings(monkeypatch):
    """Puts back what benchmarks change in this process."""
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    yield
    datasets.enable_progress_bars()


@pytest.fixture
def run(load_script, monkeypatch, capsys):
    """Run a benchmark; return its exit code and output."""

    def of(name, *words):
        script = sys.modules.get(f"benchmarks/{name}") or load_script(f"benchmarks/{name}")
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        code = sys.modules["interleaved"].run_benchmark(script.run, script.__doc__, script.FLAGS)
        return code, capsys.readouterr()

    return of


@pytest.fixture
def ratios(run):
    """Run a benchmark; return its lines, stripped of table borders, and the object of the last line."""

    def of(name, *words):
        code, printed = run(name, *words)
        assert code == 0, printed.err
        lines = [line.strip("| ") for line in printed.out.splitlines() if line]
        return lines, json.loads(lines[-1])

    return of


def test_contestants_take_turns_of_which_the_first_does_not_count_and_ratios_are_those_to_the_best_peer(
    load_script, capsys
):
    turns, log = load_script("benchmarks/interleaved"), []
    rates = {"ours": [9_999, 3_000, 1_000, 2_000], "peer": [9_999, 400, 500, 600], "other": [1, 250, 250, 250]}

    def compared(**how):
        left = {name: iter(rates[name]) for name in rates}
        contestants = {name: lambda name=name: log.append(name) or next(left[name]) for name in rates}
        return turns.compare("pairs/s", contestants, 3, **how)

    assert compared(keys={"peer": "x", "other": "x"}) == {"x": 4.0} and log == list(rates) * 4
    head, ours, peer, _ = table_cells(capsys.readouterr().out)
    assert head == ["pairs/s", "median", "min", "max", "first/this"]
    assert ours == ["ours", "2,000", "1,000", "3,000", "1.00"] and peer == ["peer", "500", "400", "600", "4.00"]
    assert compared(keys={"ours": "a", "peer": "b"}, to_last=True) == {"a": 8.0, "b": 2.0}


@pytest.mark.parametrize(
    ("name", "words", "problem"),
    [
        ("encode", ["--rounds", "0"], "--rounds must be at least 1, not 0"),
        ("encode", ["--text", "absent.txt"], "absent.txt"),
        ("growth", ["--rows", 10, 1000, 900], "in ascending order"),
    ],
)
def test_what_makes_no_sense_is_one_line(run, name, words, problem):
    code, printed = run(name, *words)
    assert code == 2 and printed.err.startswith(f"{name}: error: ") and printed.err.count("\n") == 1
    assert problem in printed.err


SENTENCES = ["--sentences", "30", "--vocabulary", "200", "--dimension", "6", "--rounds", "1"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text("A cat sat.\n\nIt isn't a dog\n", encoding="utf-8")
    return path


def test_absent_peers_of_encode_are_named_and_gran_has_its_ratio(ratios, text, monkeypatch):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    lines, found = ratios("encode", "--text", text, *SENTENCES, "--gran-sentences", "4")
    assert list(found) == ["gran_encode_vs_bare_lstm"] and found["gran_encode_vs_bare_lstm"] >= 0
    assert sum(" is left out: " in line for line in lines) == 2
    assert "words: 4.5 tokens per sentence, 100.00% known, 200 x 6 vectors" in lines


def test_installed_peers_give_equal_vectors_with_each_kind_of_tokenizer_and_our_words_a_ratio(ratios, text):
    pytest.importorskip("model2vec")
    pytest.importorskip("sentence_transformers")
    words = ["--text", text, *SENTENCES, "--vocabulary", "400", "--gran-sentences", "0"]
    lines, found = ratios("encode", *words, "--tokenizers", "words", "byte-level")
    assert list(found) == ["avg_encode_vs_model2vec", "avg_encode_vs_sentence_transformers"]
    assert sum("all vectors of 30 sentences" in line for line in lines) == 2
    assert [line.split()[1] for line in lines if " a call " in line] == ["1", "10", "100"] * 2


@pytest.mark.slow
def test_a_model_has_a_rate_of_the_first_call_in_a_new_process_and_one_of_later_calls(ratios, text):
    lines, found = ratios("encode", "--model", "builtin", "--text", text, *SENTENCES)
    assert found == {} and lines[4].startswith("first call, sentences/s")
    assert all(line.split()[0] == "hf_paraphrase" for line in (lines[3], lines[6]))


def test_all_ways_of_preparing_keep_the_same_rows(ratios, run, monkeypatch):
    # One peer is enough: a process for each core takes seconds to start.
    monkeypatch.setattr("hf_paraphrase.threads.available_cores", lambda: 1)
    lines, found = ratios("prepare", "--rows", 300, "--rounds", 1)
    assert "all keep the same " in lines[-2] and int(lines[-2].split()[4]) < 300 and found["prepare_vs_datasets"] > 0
    monkeypatch.setattr(datasets.Dataset, "filter", lambda rows, *given, **named: rows)
    code, printed = run("prepare", "--rows", 300, "--rounds", 1)
    assert code == 2 and "the rows that are kept differ: 2" in printed.err


def test_the_loop_agrees_with_the_measures(ratios, tmp_path):
    write(tmp_path, sentence1=["A cat sat .", "dogs bark", ""], sentence2=["the cat sat .", "dogs", "x y z"])
    lines, found = ratios("score", "--pairs", tmp_path, "--rows", 50, "--loop-rows", 9, "--rounds", 1)
    assert any("agree to 1e-9" in line for line in lines) and found["score_vs_plain_loop"] > 0


def test_every_way_of_training_is_timed_and_an_absent_peer_is_named(ratios, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    sizes = ["--vocabulary", 3_000, "--dimension", 4, "--batch", 10, "--rounds", 1]
    lines, found = ratios("train", *sizes, "--steps", 20, "--slow-steps", 10)
    assert list(found) == ["avg_train_vs_dense"]
    assert any("sentence-transformers is left out" in line for line in lines)
    names = {line.partition(" |")[0].strip() for line in lines}
    assert names >= {"row-wise Adam", "dense Adam"}


SEARCH = ["--hidden", 8, "--embedding", 4, "--vocabulary", 40, "--candidates", 12, "--beams", 3, "--batch", 2]
UPDATES = ["--train-hidden", 4, 8, "--train-vocabulary", 30, "--train-batch", 2, "--train-length", 4, "--updates", 1]
TRANSLATION = [*SEARCH, "--source", 4, "--steps", 3, *UPDATES, "--rounds", 1]


def test_with_joeynmt_the_last_line_has_every_ratio_and_the_lowest_over_the_hidden_sizes(ratios, tmp_path):
    # An interpreter whose JoeyNMT takes 1,000 s for everything.
    stand_in = tmp_path / "python"
    stand_in.write_text('#!/bin/sh\nwhile read order; do echo "$order" >> "$0.orders"; echo 1000; done\n')
    stand_in.chmod(0o755)
    lines, found = ratios("translate", *TRANSLATION, "--joeynmt-python", stand_in)
    names = [line.partition(" |")[0].strip() for line in lines]
    assert "12 candidates, bf16" in names and "plain generate, fp32" in names and names.count("fp32") == 2
    search = ["candidates", "full_bf16", "full_fp32"]
    training = ["nmt_train_bf16_vs_joeynmt", "nmt_train_fp32_vs_joeynmt"]
    assert list(found) == [*(f"beam50_{name}_vs_joeynmt" for name in search), *training]
    column = [float(line.split()[-1]) for line in lines if line.startswith("bf16")]
    assert len(column) == 2 and found[training[0]] == pytest.approx(min(column), rel=0.01)
    # A turn to warm up and one that counts, of the search and of training at both sizes.
    orders = [json.loads(line) for line in (stand_in.parent / "python.orders").read_text().splitlines()]
    assert [order["do"] for order in orders] == ["search"] * 2 + ["train"] * 4
    assert [order["hidden"] for order in orders] == [8, 8, 4, 4, 8, 8]
    lines, found = ratios("translate", *TRANSLATION)
    assert any(line.startswith("JoeyNMT is left out: ") for line in lines) and found == {}


def test_a_stage_is_measured_at_every_size_and_the_last_line_has_the_exponents(
    load_script, ratios, tmp_path, monkeypatch
):
    growth = load_script("benchmarks/growth")
    growth.write_pairs(tmp_path, 200)
    cost = growth.measured(growth.STAGES["prepare"][1], "pairs", tmp_path, 200)
    assert cost.processors > 0 and cost.peak > 2**20 and cost.stored > 200
    # A process per size takes long: other sizes get the square of the rows.
    monkeypatch.setattr(growth, "measured", lambda *given: cost._replace(rows=given[-1], processors=given[-1] ** 2))
    lines, found = ratios("growth", "--rows", 10, 1010, 10010, "--stages", "prepare")
    assert sum(line.startswith("prepare: ") for line in lines) == 3 and any(
        line.startswith("prepare |") for line in lines
    )
    assert found["prepare"] == pytest.approx(2, abs=0.01)


def sentence(place):
    return f"w{place % 20} w{place * 3 % 20} w{place * 7 % 11}"


def test_the_scores_are_those_of_evaluate_and_absent_peers_are_named(ratios, tmp_path, monkeypatch):
    for name in ("model2vec", "model2vec.distill", "wordllama", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    words, data = [f"w{number}" for number in range(20)], tmp_path / "data"
    model = write_average(tmp_path / "model", words, hidden_size=8)
    for year, name in (("12", "MSRpar"), ("13", "OnWN"), ("16", "headlines")):
        pairs = [f"{sentence(place)}\t{sentence(place * int(year) + 1)}" for place in range(12)]
        write_sts(data / f"STS{year}-en-test", name, pairs, [place % 5 for place in range(12)])
    words = ["--data", data, "--rounds", 1, "--seconds", "0.01", "--sentences", 20, "--model", model]
    lines, report = ratios("quality_speed", *words, "--plot", tmp_path / "picture.png")
    assert any(line.startswith("wordllama is left out: ") for line in lines)
    assert set(report) == {"model", "weighted trigrams, untrained"}
    encoder = SentenceEncoder.from_pretrained(model)
    expected = evaluate_sts(encoder.encode, find_sts_sets(data, families=("STS12", "STS13", "STS16")).sets)
    mine = report["model"]
    assert mine["22 sets (2 of 22 sets)"] == pytest.approx(expected["means"]["22 sets"]["pearson"], abs=0.005)
    assert mine["STS16"] == pytest.approx(expected["dev_mean"], abs=0.005)
    assert mine["components"] == 8
    assert mine["MB"] * 1e6 == pytest.approx(sum(file.stat().st_size for file in model.iterdir()), rel=0.01)
    assert all(0 < row["min"] <= row["sentences/s"] <= row["max"] for row in report.values())
    assert {line.partition(" |")[0].strip() for line in lines} >= set(report)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_a_slow_way_gets_fewer_sentences_than_a_fast_one(load_script, monkeypatch):
    script = load_script("benchmarks/quality_speed")
    for taken, count in ((2.56, 256), (0.256, 2_000), (0.001, 50_000)):
        monkeypatch.setattr(script.bench, "rate", lambda number, work, taken=taken: number / taken)
        assert len(script.fitting(len, ["a"] * 50_000, 2.0)) == count
