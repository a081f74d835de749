from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split


def run(*words):
    return main([str(word) for word in words])


def sentences(letter, seed, count):
    generator = np.random.default_rng(seed)
    return [
        " ".join(f"{letter}{x}" for x in generator.integers(12, size=generator.integers(2, 9))) for _ in range(count)
    ]


def graded(folder, seed, split):
    table = pa.table(
        {
            "sentence1": sentences("a", seed, 20) * 2,
            "sentence2": [*sentences("b", seed, 20), *sentences("b", seed + 100, 20)],
            "score": [5.0] * 20 + [0.0] * 20,
        }
    )
    write_split(folder, split, [table], table.schema)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Pairs whose words mean the same with another letter; the last third are noise of low quality."""
    folder = tmp_path_factory.mktemp("data")
    good, bad = sentences("a", 0, 60), sentences("a", 1, 60)
    table = pa.table(
        {
            "sentence1": [*good, *bad],
            "sentence2": [*(text.replace("a", "b") for text in good), *sentences("b", 2, 60)],
            "quality": [1.0] * 60 + [0.0] * 60,
        }
    )
    write_split(folder / "pairs", "train", [table], table.schema)
    graded(folder / "dev", 10, "validation")
    graded(folder / "test", 20, "test")
    return folder


def words(data, output, *more):
    common = ["--pairs", f"toy={data / 'pairs'}", "--dev-data", data / "dev", "--data", data / "test", "--sample", 40]
    return ["tune", *common, "--epochs", 2, "--bootstrap", 50, "--output", output, *more]


GRID = ["--filters", "length_bins", "--keep", "quality>0.5", "--keep", "quality<0.5"]


@pytest.fixture(scope="module")
def tuned(data, tmp_path_factory):
    output = tmp_path_factory.mktemp("tuned") / "grid"
    assert run(*words(data, output, *GRID, "--seeds", 0, 1)) == 0
    return output


def rows_of(folder):
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_grid_leaves_a_table_a_plot_a_card_and_every_run(tuned):
    rows = rows_of(tuned)
    cells = {(row["filter"], row["range"]) for row in rows}
    keep = {("quality", "quality>0.5"), ("quality", "quality<0.5")}
    # No sentence has more than nine tokens: the other length bins select nothing.
    assert cells == {("random", ""), ("length_bins", "0<length<=10")} | keep
    assert (tuned / "tuning.png").read_bytes().startswith(b"\x89PNG")
    card = (tuned / "README.md").read_text()
    assert "minus random" in card and "tuning.png" in card
    report = (tuned / "report.html").read_text()
    assert "minus random" in report and report.count('<img src="data:image/png;base64,') == 1
    # The length bin holds all pairs, so it shares the runs of the random selection.
    runs = {(row["filter"], row["range"], row["seed"]) for row in rows}
    assert len((tuned / "runs.jsonl").read_text().splitlines()) == len(runs) - 2
    record = json.loads((tuned / "provenance.json").read_text())
    assert {item["filter"] for item in record["results"]["chosen"]} == {"random", "length_bins", "quality"}
    assert {path.stem for path in (tuned / "similarities").iterdir()} == {
        json.loads(line)["key"] for line in (tuned / "runs.jsonl").open()
    }
    assert not (tuned / "trainer").exists()


def test_the_dev_set_alone_chooses(tuned):
    rows = [row for row in rows_of(tuned) if row["filter"] == "quality" and row["seed"] == "0"]
    chosen = [row for row in rows if row["chosen"] == "1"]
    assert len(chosen) == 1 and float(chosen[0]["dev"]) == max(float(row["dev"]) for row in rows)
    assert chosen[0]["test"] and all(row["test"] == "" for row in rows if row["chosen"] == "0")


def test_a_cell_equals_filter_and_train_encoder_by_hand(data, tuned, tmp_path):
    kept = tmp_path / "kept"
    keep = ["--keep", "quality>0.5", "--sample", 40, "--seed", 0]
    assert run("filter", "--pairs", data / "pairs", "--output", kept, *keep) == 0
    train = ["--dev-data", data / "dev", "--epochs", 2, "--seed", 0]
    row = next(row for row in rows_of(tuned) if row["range"] == "quality>0.5" and row["seed"] == "0")
    assert row["pairs"] == "40" and row["available"] == "60"
    # With words of its own the vocabulary is numbered otherwise, and so is the random start: give both the same one.
    from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

    listed = [f"{letter}{x}" for letter in "ab" for x in range(12)]
    save_tokenizer(build_word_level_tokenizer(listed), tmp_path / "tokenizer")
    (tmp_path / "encoder.yaml").write_text(f"model_type: avg\ntokenizer: {tmp_path / 'tokenizer'}\n")
    more = ["--keep", "quality>0.5", "--seeds", 0, "--encoders", f"mine={tmp_path / 'encoder.yaml'}"]
    assert run(*words(data, tmp_path / "grid", *more)) == 0
    found = next(row for row in rows_of(tmp_path / "grid") if row["range"] == "quality>0.5")
    given = ["--pairs", kept, "--output", tmp_path / "encoder", "--tokenizer", tmp_path / "tokenizer"]
    assert run("train-encoder", *given, *train) == 0
    results = json.loads((tmp_path / "encoder/provenance.json").read_text())["results"]
    assert float(found["dev"]) == pytest.approx(results["dev_best"], abs=1e-3)
    assert float(found["untrained"]) == pytest.approx(results["dev_untrained"], abs=1e-3)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--filters", "beauty"], "--filters: unknown beauty"),
        (["--filters", "perplexity"], "there is no column perplexity"),
        (["--keep", "quality>7"], "the grid selects nothing"),
        (["--encoders", "transformer"], "transformer"),
        (["--largest-share", "0.2"], "give 200 pairs, or a --sample of 24 at most"),
        (["--one-per-reference", "best"], "missing column rank"),
        (["--pairs", "toy=elsewhere"], "two data sets are called toy"),
        (["--pairs", "=elsewhere"], "--pairs `=elsewhere` lacks a name or a folder (give NAME=DIR, or DIR)"),
        (["--epochs", "0"], "trained for no epoch"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(data, tmp_path, capsys, more, expected):
    assert run(*words(data, tmp_path / "grid", *more)) == 2
    assert expected in capsys.readouterr().err.strip().splitlines()[-1] and list(tmp_path.iterdir()) == []


def test_from_python_it_returns_the_table_the_runs_and_what_was_chosen(data, tuned, tmp_path):
    import hf_paraphrase

    (tmp_path / "small.yaml").write_text("model_type: avg\nhidden_size: 7\n")
    found = hf_paraphrase.tune(
        pairs=[f"toy={data / 'pairs'}"],
        dev_data=data / "dev",
        output=tmp_path / "grid",
        keep=["quality>0.5"],
        encoders=[f"small={tmp_path / 'small.yaml'}"],
        epochs=1.0,
        sample=40,
        seeds=[0],
    )
    assert found.folder == tmp_path / "grid" and "small: dev" in found.table
    assert {cell.filter: len(runs) for cell, runs in found.grid.items()} == {"random": 1, "quality": 1}
    assert found.chosen["small", "quality", "toy"].cell.range == "quality>0.5"
    record = json.loads((tmp_path / "grid/provenance.json").read_text())
    assert record["results"]["encoders"]["small"]["hidden_size"] == 7


def test_a_selection_called_by_its_name_is_a_point_of_the_grid(data, tmp_path):
    common = ["--pairs", data / "pairs", "--dev-data", data / "dev", "--sample", 40, "--epochs", 1, "--seeds", 0]
    keep = ["--keep", "different", "--keep", "different,quality>0.5"]
    assert run("tune", *common, *keep, "--output", tmp_path / "grid") == 0
    available = {(row["filter"], row["range"]): row["available"] for row in rows_of(tmp_path / "grid")}
    assert available == {
        ("random", ""): "120", ("different", "different"): "120", ("different+quality", "different,quality>0.5"): "60"
    }  # fmt: skip
