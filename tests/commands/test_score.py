from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split


@pytest.fixture
def pairs(tmp_path):
    table = pa.table(
        {
            "sentence1": ["a cat sat", "dogs bark", ""],
            "sentence2": ["the cat sat", "dogs bark loudly", "x"],
            "label": pa.array([1, 0, None]),
        }
    )
    folder = tmp_path / "pairs"
    for split in ("train", "test"):
        write_split(folder, split, [table], table.schema)
    return folder


def run(*words):
    return main([str(word) for word in words])


def test_score_adds_columns_to_every_split_and_keeps_rows_and_columns(pairs, tmp_path):
    output = tmp_path / "scored"
    assert run("score", "--pairs", pairs, "--output", output) == 0
    from datasets import load_dataset

    loaded = load_dataset(str(output), cache_dir=str(tmp_path / "cache"))
    assert set(loaded) == {"train", "test"}
    columns = ["length", "length_reference", "length_ratio", "overlap_1", "overlap_2", "overlap_3", "bleu"]
    columns += ["edit_distance", "repetition_1", "repetition_3", "repetition_reference_1", "repetition_reference_3"]
    columns += ["copy_rate"]
    assert loaded["train"].column_names == ["sentence1", "sentence2", "label", *columns]
    for split in ("train", "test"):
        before, after = DataFolder(pairs).table(split), DataFolder(output).table(split)
        assert after.select(before.column_names).equals(before)
        assert after.column("length").to_pylist() == [3, 3, 1]
    record = json.loads((output / "provenance.json").read_text())
    drawn = record["results"].pop("histograms")
    assert record["results"] == {"rows": {"train": 3, "test": 3}, "columns": columns}
    assert list(drawn) == columns and drawn["length"]["splits"]["train"] == drawn["length"]["splits"]["test"] == [
        1,
        0,
        2,
    ]
    report = (output / "report.html").read_text()
    assert all(f"<figcaption>{name} (% of the rows" in report for name in columns)
    assert report.count("<svg") == len(columns)
    assert "`overlap_1`" in (output / "README.md").read_text()


@pytest.mark.parametrize(
    "words", [["length,clipped_overlap"], ["length", "clipped_overlap"], ["clipped_overlap, length"]]
)
def test_measures_can_be_listed_with_commas_or_spaces(pairs, tmp_path, words):
    assert run("score", "--pairs", pairs, "--output", tmp_path / "scored", "--measures", *words) == 0
    names = DataFolder(tmp_path / "scored").table().column_names
    assert names[-3:] == ["overlap_clipped_1", "overlap_clipped_2", "overlap_clipped_3"] and "bleu" not in names


def test_batches_do_not_change_the_result(pairs, tmp_path):
    for size in (1, 1000):
        run("score", "--pairs", pairs, "--output", tmp_path / str(size), "--batch-size", size)
    # As text, because NaN is not equal to itself.
    assert repr(DataFolder(tmp_path / "1").table().to_pydict()) == repr(
        DataFolder(tmp_path / "1000").table().to_pydict()
    )


def test_filtering_scored_pairs_equals_filtering_with_measures_on_demand(pairs, tmp_path):
    run("score", "--pairs", pairs, "--output", tmp_path / "scored")
    for name in ("pairs", "scored"):
        assert (
            run("filter", "--pairs", tmp_path / name, "--output", tmp_path / f"{name}_kept", "--keep", "bleu>0.6") == 0
        )
    first, second = DataFolder(tmp_path / "pairs_kept").table(), DataFolder(tmp_path / "scored_kept").table()
    assert 0 < first.num_rows < 3
    assert first.equals(second.select(first.column_names))


def test_each_split_gets_the_measures_that_its_own_columns_allow(pairs, tmp_path, capsys):
    table = DataFolder(pairs).table()
    for name, values in (("log_prob", [-1.0, -2.0, -3.0]), ("num_tokens", [2, 2, 1])):
        table = table.append_column(name, pa.array(values))
    write_split(pairs, "train", [table], table.schema)
    assert run("score", "--pairs", pairs, "--output", tmp_path / "scored", "--language", "en") == 0
    assert "split `test`: without cost, whose columns it does not have" in capsys.readouterr().err
    assert DataFolder(tmp_path / "scored").table().column("cost").to_pylist() == [0.5, 1.0, 3.0]
    names = DataFolder(tmp_path / "scored").table("test").column_names
    assert "cost" not in names and "overlap_1" in names and "language" in names
    words = ["--pairs", pairs, "--output", tmp_path / "asked", "--measures", "cost"]
    assert run("score", *words) == 2
    assert "needs the missing columns log_prob, num_tokens" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--measures", "beauty"], "there is no measure `beauty`"),
        (["--measures", "cost"], "needs the missing columns log_prob, num_tokens"),
        (["--batch-size", "0"], "--batch-size must be at least 1, not 0"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(pairs, tmp_path, capsys, words, expected):
    before = sorted(tmp_path.iterdir())
    assert run("score", "--pairs", pairs, "--output", tmp_path / "scored", *words) == 2
    assert expected in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_columns_that_were_there_are_said_to_be_computed_anew(pairs, tmp_path, capsys):
    run("score", "--pairs", pairs, "--output", tmp_path / "one")
    assert run("score", "--pairs", tmp_path / "one", "--output", tmp_path / "two", "--measures", "bleu") == 0
    assert "the column bleu was there before" in capsys.readouterr().err
    assert repr(DataFolder(tmp_path / "one").table().to_pydict()) == repr(
        DataFolder(tmp_path / "two").table().to_pydict()
    )


@pytest.fixture
def back_translated(tmp_path):
    generator = np.random.default_rng(0)
    words = ["cat", "dog", "sat", "ran", "here", "there", "now", "slowly", "big", "small"]
    references = [" ".join(generator.choice(words, size=generator.integers(2, 7))) for _ in range(40)]
    table = pa.table(
        {
            "id": [f"r{i // 3}" for i in range(120)],
            "sentence1": [references[i // 3] for i in range(120)],
            "sentence2": [" ".join(generator.choice(words, size=generator.integers(1, 7))) for _ in range(120)],
            "source": ["un chat"] * 120,
            "log_prob": -generator.random(120),
            "num_tokens": pa.array([3] * 120, pa.int32()),
        }
    )
    folder = tmp_path / "back"
    write_split(folder, "train", table.to_batches(max_chunksize=11), table.schema, rows_per_shard=50)
    return folder


def tree(folder):
    """Every file of a folder with its bytes, but for the name of the folder itself."""
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), b"OUTPUT")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_holding_references_out_leaves_their_pairs_out_and_models_them(back_translated, tmp_path, capsys):
    output = tmp_path / "scored"
    assert run("score", "--pairs", back_translated, "--output", output, "--hold-out", 15) == 0
    held_out = (output / "held_out.txt").read_text().splitlines()
    before, after = DataFolder(back_translated).table(), DataFolder(output).table()
    assert len(set(held_out)) == 15
    kept = [row for row in before.to_pylist() if row["sentence1"] not in held_out]
    assert after.select(before.column_names).to_pylist() == kept and 0 < len(kept) < 120
    again = tmp_path / "again"
    words = ["--measures", "perplexity", "--language-model", output / "language_model.arpa"]
    assert run("score", "--pairs", output, "--output", again, *words) == 0
    assert DataFolder(again).table().column("perplexity").equals(after.column("perplexity"))
    record = json.loads((output / "provenance.json").read_text())
    assert record["results"]["language_model"]["sentences"] == 15
    assert "held_out.txt" in (output / "README.md").read_text()
    assert "15 sentences" in capsys.readouterr().err
    assert sorted(path.name for path in output.iterdir()) == [
        "README.md", "data", "held_out.txt", "language_model.arpa", "provenance.json", "report.html"
    ]  # fmt: skip


def test_processes_and_interruptions_do_not_change_a_byte(back_translated, tmp_path, monkeypatch, capsys):
    words = ["--pairs", back_translated, "--hold-out", 10, "--shard-size", 25]
    assert run("score", *words, "--output", tmp_path / "one", "--workers", 1) == 0
    assert run("score", *words, "--output", tmp_path / "two", "--workers", 2) == 0
    from hf_paraphrase.jobs import shards

    write, written = shards.write_shard, []

    def killed(*arguments):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(write(*arguments))
        return written[-1]

    monkeypatch.setattr(shards, "write_shard", killed)
    killed_words = [*words, "--output", tmp_path / "killed"]
    assert run("score", *killed_words, "--workers", 1) == 130
    assert not (tmp_path / "killed").exists()
    monkeypatch.setattr(shards, "write_shard", write)
    capsys.readouterr()
    assert run("score", *killed_words) == 2 and "--resume continues it" in capsys.readouterr().err
    assert (
        run("score", *killed_words, "--resume", "--seed", 5) == 2 and "other settings: seed" in capsys.readouterr().err
    )
    assert run("score", *killed_words, "--resume") == 0
    record = tmp_path / "killed" / "provenance.json"
    values = json.loads(record.read_text())
    assert len(values.pop("interruptions")) == 1
    record.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n")
    assert tree(tmp_path / "one") == tree(tmp_path / "two") == tree(tmp_path / "killed")
    assert not list(tmp_path.glob(".*.partial"))
    # Killed between the last event and its exit, it has nothing left to do.
    capsys.readouterr()
    assert run("score", *killed_words, "--resume") == 0
    assert "nothing is left to do, the output is finished" in capsys.readouterr().err
    assert run("score", *killed_words, "--resume", "--seed", 5) == 2
    assert "made with other settings or inputs" in capsys.readouterr().err
    scored = hf_paraphrase.score(
        pairs=back_translated, hold_out=10, shard_size=25, output=tmp_path / "killed", resume=True
    )
    assert set(scored.rows) == {"train"} and "overlap_1" in scored.columns and scored.language_model


@pytest.mark.parametrize("how", [["--resume"], ["--shard", "1/1"]])
def test_a_run_that_was_killed_behind_its_card_leaves_what_an_undisturbed_one_does(
    how, back_translated, tmp_path, monkeypatch
):
    from hf_paraphrase.filtering import scoring

    words = ["score", "--pairs", back_translated, "--measures", "perplexity", "--hold-out", 10, *how]
    assert run(*words, "--output", tmp_path / "whole") == 0

    def killed(*arguments, **settings):
        write(*arguments, **settings)
        raise KeyboardInterrupt

    write = scoring.write_card
    with monkeypatch.context() as context:
        context.setattr(scoring, "write_card", killed)
        assert run(*words, "--output", tmp_path / "killed") == 130
    estimated = []
    monkeypatch.setattr(scoring, "_language_model", lambda *arguments: estimated.append(arguments))
    assert run(*words, "--output", tmp_path / "killed") == 0
    found = {path.name for path in (tmp_path / "killed").iterdir()}
    assert found == {path.name for path in (tmp_path / "whole").iterdir()} and not estimated
    assert not list(tmp_path.glob(".*"))


def test_a_language_model_is_estimated_on_a_compressed_text(back_translated, tmp_path):
    text = tmp_path / "text.gz"
    text.write_bytes(gzip.compress(b"the big cat ran here\nA small dog sat there now.\n\n"))
    words = ["--language-model-text", text, "--measures", "perplexity,length"]
    assert run("score", "--pairs", back_translated, "--output", tmp_path / "scored", *words) == 0
    table = DataFolder(tmp_path / "scored").table()
    assert table.column_names[-2:] == ["perplexity", "unknown_rate"] and table.num_rows == 120
    assert np.isfinite(table.column("perplexity").to_numpy()).all()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--hold-out", "40"], "references, and 40 are to be held out"),
        (["--hold-out", "0"], "--hold-out must be at least 1, not 0"),
        (["--hold-out", "3", "--language-model", "x"], "--hold-out and --language-model exclude each other"),
        (["--language-model", "absent.arpa"], "absent.arpa"),
        (["--language-model-text", "absent.txt"], "absent.txt"),
        (["--language-model-text", "EMPTY"], "no word (give sentences with words, one a line)"),
        (["--language-model-text", "FOREIGN"], "knows none of the words"),
        (["--measures", "perplexity"], "perplexity needs --language-model (give it, or leave the measure out)"),
        (["--measures", "length", "--encoder", "x"], "--encoder is for the measure similarity"),
        (["--encoder", "absent"], "absent"),
        (["--translation-model", "absent"], "absent"),
        (["--measures", "length", "--language", "en"], "--language is for the measure language"),
        (["--workers", "0"], "--workers must be at least 1, not 0"),
        (["--seed", "-1"], "--seed must be at least 0"),
    ],
)
def test_what_models_cannot_do_is_said_in_one_line_and_leaves_nothing_behind(
    back_translated, tmp_path, capsys, words, expected
):
    (tmp_path / "EMPTY").write_text(" \n\n")
    (tmp_path / "FOREIGN").write_text("кот сидит\nсобака бежит\n")
    before = sorted(tmp_path.iterdir())
    words = [tmp_path / word if word in {"EMPTY", "FOREIGN"} else word for word in words]
    assert run("score", "--pairs", back_translated, "--output", tmp_path / "scored", *words) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("hf-paraphrase: error")]
    assert len(error) == 1 and expected in error[0]
    assert sorted(tmp_path.iterdir()) == before


def test_a_model_that_knows_few_words_is_said_to(back_translated, tmp_path, capsys):
    (tmp_path / "text").write_text("cat\n")
    words = ["--language-model-text", tmp_path / "text", "--measures", "perplexity"]
    assert run("score", "--pairs", back_translated, "--output", tmp_path / "scored", *words) == 0
    assert "knows only" in capsys.readouterr().err


def test_a_language_adds_its_measure(pairs, tmp_path):
    pytest.importorskip("py3langid", reason="py3langid is not installed")
    assert run("score", "--pairs", pairs, "--output", tmp_path / "scored", "--language", "fr") == 0
    table = DataFolder(tmp_path / "scored").table()
    assert table.column_names[-2:] == ["language", "language_probability"]
    assert table.schema.field("language").type == pa.string()
