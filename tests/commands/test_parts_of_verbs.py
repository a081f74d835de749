"""Every verb that takes `--shard` leaves by parts, in any order, the rows of one run."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.jobs import shards as shards_module

WORDS = ["one", "two", "three", "four", "five", "six"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(WORDS, size=generator.integers(1, 7))) for _ in range(120)]
    table = pa.table({"sentence1": texts[:60], "sentence2": [*texts[60:119], None], "number": list(range(60))})
    folder = tmp_path_factory.mktemp("data") / "pairs"
    write_split(folder, "train", table.to_batches(max_chunksize=13), table.schema)
    write_split(folder, "test", [table.slice(5, 9)], table.schema)
    return folder


@pytest.fixture(scope="module")
def held_out(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("sets") / "set.txt"
    path.write_text("\n".join(DataFolder(pairs).table().column("sentence1").to_pylist()[20:40]))
    return path


@pytest.fixture
def words(request, pairs, held_out, tiny_model, tiny_bitext):
    """The command line of a verb, but for its output."""
    return {
        "filter": ["filter", "--pairs", pairs, "--keep", "2<=length<=5", "bleu<0.9", "--decontaminate", held_out],
        "encode": ["encode", "--input", pairs, "--columns", "sentence1", "sentence2", "--normalize"],
        "back-translate": [
            *("back-translate", "--bitext", tiny_bitext, "--split", "validation", "--model", tiny_model),
            *("--num-beams", 3, "--precision", "fp32", "--shard-size", 2),
        ],
    }[request.param]


def run(words, output, *more):
    return main([str(word) for word in (*words, "--output", output, *more)])


def contents(folder):
    opened = DataFolder(folder)
    return {split: repr(opened.table(split).to_pydict()) for split in opened.splits}


@pytest.mark.parametrize("words", ["filter", "encode", "back-translate"], indirect=True)
def test_parts_in_any_order_one_twice_and_one_killed_leave_the_rows_of_one_run(words, tmp_path, monkeypatch, capsys):
    by_parts, whole = tmp_path / "parts", tmp_path / "whole"
    size = [] if "--shard-size" in words else ["--shard-size", 11]
    assert run(words, whole) == 0
    with monkeypatch.context() as context:

        def die(*arguments):
            raise KeyboardInterrupt

        context.setattr(shards_module, "write_text_whole", die)
        assert run(words, by_parts, *size, "--shard", "2/3") == 130
    for part in ("3/3", "1/3", "3/3", "2/3"):
        assert not by_parts.exists()
        assert run(words, by_parts, *size, "--shard", part) == 0
    assert contents(by_parts) == contents(whole)
    results = [json.loads((folder / "provenance.json").read_text())["results"] for folder in (by_parts, whole)]
    assert results[0] == results[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "whole"]
    capsys.readouterr()
    assert run(words, by_parts, *size, "--shard", "1/3") == 0
    assert "nothing is left to do, the output is finished" in capsys.readouterr().err


def test_a_data_folder_is_embedded_as_its_texts_are_and_opens(pairs, tmp_path):
    from datasets import load_dataset

    words = ["encode", "--input", pairs, "--columns", "sentence2"]
    assert run(words, tmp_path / "embedded") == 0
    table = DataFolder(tmp_path / "embedded").table("test")
    texts = table.column("sentence2").to_pylist()
    assert table.column_names == ["sentence1", "sentence2", "number", "sentence2_embedding"]
    expected = SentenceEncoder.from_pretrained().encode(texts)
    found = table.column("sentence2_embedding").combine_chunks().flatten().to_numpy()
    np.testing.assert_allclose(found.reshape(expected.shape), expected, atol=1e-6)
    rows = load_dataset(str(tmp_path / "embedded"), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows.with_format("numpy")[59]["sentence2_embedding"].shape == (expected.shape[1],)
    assert "1 texts were empty or missing" in (tmp_path / "embedded" / "README.md").read_text()


def test_columns_to_embed_are_named_with_commas_or_spaces(pairs, tmp_path):
    for name, columns in (("spaces", ["sentence2", "sentence1"]), ("commas", ["sentence2,", "sentence1"])):
        assert run(["encode", "--input", pairs, "--columns", *columns], tmp_path / name) == 0
    assert contents(tmp_path / "commas") == contents(tmp_path / "spaces")
    assert "sentence1_embedding" in contents(tmp_path / "commas")["test"]


@pytest.mark.parametrize("words", ["encode", "back-translate"], indirect=True)
def test_parts_on_machines_of_which_one_computes_in_bf16_by_itself_are_not_mixed(words, tmp_path, monkeypatch, capsys):
    words = [*words, "--precision", "auto", *([] if "--shard-size" in words else ["--shard-size", 11])]
    monkeypatch.setattr("hf_paraphrase.training.arguments.bf16_is_fast", lambda device: False)
    assert run(words, tmp_path / "out", "--shard", "1/2") == 0
    monkeypatch.setattr("hf_paraphrase.training.arguments.bf16_is_fast", lambda device: True)
    capsys.readouterr()
    assert run(words, tmp_path / "out", "--shard", "2/2") == 2
    assert "the unfinished run had other settings: bf16" in capsys.readouterr().err
    monkeypatch.undo()
    assert run([*words, "--precision", "fp32"], tmp_path / "out", "--shard", "2/2") == 0


@pytest.mark.parametrize(
    ("words", "more", "problem"),
    [
        (
            "filter",
            ["--first", 3],
            "--first looks at all pairs, and --shard at a part of them (filter the output once more",
        ),
        ("filter", ["--noise", 0.1], "--noise looks at all pairs"),
        ("filter", ["--shard-size", 0], "--shard-size must be at least 1"),
        ("encode", ["--columns", "nothing"], "nothing"),
        ("encode", ["--columns", "number"], "split `train`: the column number holds int64, not text"),
        ("back-translate", ["--overwrite"], "--overwrite"),
    ],
    indirect=["words"],
)
def test_what_does_not_go_with_a_part_is_one_line_and_nothing_is_written(words, more, problem, tmp_path, capsys):
    assert run(words, tmp_path / "out", "--shard", "1/2", *more) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--columns", "sentence1"], "--columns makes a data folder (give its name as --output)"),
        (["--columns", "sentence1", "--output", "v.npy"], "--columns makes a data folder"),
        (["--output", "v.npy", "--shard", "1/2"], "--shard is for data folders (give --columns too)"),
        (["--output", "v.npy", "--resume"], "--resume"),
    ],
)
def test_folders_and_files_are_not_mixed_up(pairs, flags, problem, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["encode", "--input", str(pairs), *flags]) == 2
    assert problem in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_filter_by_parts_that_leaves_nothing_names_the_step(pairs, tmp_path, capsys):
    words = ["filter", "--pairs", pairs, "--keep", "length>=1", "number>100", "--shard-size", 40]
    assert run(words, tmp_path / "out", "--shard", "1/2") == 0
    assert run(words, tmp_path / "out", "--shard", "2/2") == 2
    assert "split `train`: nothing is left after `number>100`" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["filter"], indirect=True)
def test_a_filter_without_parts_leaves_the_work_of_parts_alone(words, tmp_path, capsys):
    output, work = tmp_path / "out", tmp_path / ".out.partial"
    assert run(words, output, "--shard-size", 11, "--shard", "1/2") == 0
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert run(words, output) == 2
    error = capsys.readouterr().err
    assert "unfinished work of another run for this output exists (repeat" in error and error.count("\n") == 1
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before
    assert run(words, output, "--overwrite") == 0 and not work.exists()
