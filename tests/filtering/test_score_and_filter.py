from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from small_runs import record, run, write

from hf_paraphrase.data.folder import DataFolder, write_split


@pytest.fixture
def pairs(tmp_path):
    first = [f"the {i // 2} cats sat on a mat" for i in range(20)]
    second = [text if i % 4 == 0 else f"{'x ' * i}pets" for i, text in enumerate(first)]
    columns = {"id": [f"r{i // 2}" for i in range(20)], "sentence1": first, "sentence2": second, "rank": [0, 1] * 10}
    write(tmp_path / "pairs", "test", **{name: values[:2] for name, values in columns.items()})
    return write(tmp_path / "pairs", **columns)


def test_every_step_is_counted_and_what_was_computed_for_one_stays(pairs, tmp_path, capsys):
    words = ["--drop-identical", "--keep", "overlap_1<=0.7", "2<=length<=30", "--keep", "rank==1"]
    assert run("filter", "--pairs", pairs, "--output", tmp_path / "kept", *words, "--sample", 4) == 0
    captured = capsys.readouterr()
    for step in ("read", "not identical", "overlap_1<=0.7", "2<=length<=30", "rank==1", "sample 4"):
        assert f"| {step} " in captured.err
    assert "not in the output: test" in captured.err
    kept = DataFolder(tmp_path / "kept").table()
    assert kept.column_names == ["id", "sentence1", "sentence2", "rank", "length", "overlap_1"]
    assert kept.column("rank").to_pylist() == [1] * 4
    made = record(tmp_path / "kept")
    assert made["results"]["rows"] == 4 and made["results"]["funnel"]["read"] == 20


def test_pairs_that_contain_an_evaluation_sentence_go_only_where_ngrams_are_compared(pairs, tmp_path):
    (tmp_path / "eval.txt").write_text("3 cats sat on a\n")
    words = ["filter", "--pairs", pairs, "--decontaminate", tmp_path / "eval.txt"]
    assert run(*words, "--output", tmp_path / "exact") == 0
    assert run(*words, "--decontaminate-ngrams", 5, "--output", tmp_path / "ngrams") == 0
    exact, ngrams = (set(DataFolder(tmp_path / name).table()["id"].to_pylist()) for name in ("exact", "ngrams"))
    assert len(exact) == 10 and exact - ngrams == {"r3"}
    made = record(tmp_path / "ngrams")
    assert made["results"]["contamination"] == {"eval.txt (5-grams)": 2}


def test_noise_and_negatives_are_made_told_and_recorded(pairs, tmp_path, capsys):
    words = ["filter", "--pairs", pairs, "--first", 16, "--drop-identical", "--noise", 0.25, "--seed", 3]
    assert run(*words, "--negatives", 7, "--output", tmp_path / "a") == 0
    assert "4 of the pairs were made random, 15 negatives added" in capsys.readouterr().err
    table = DataFolder(tmp_path / "a").table()
    assert table["label"].to_pylist() == [1] * 15 + [0] * 15
    assert sum(table["noise"].to_pylist()) == 4 and table.column_names[-2:] == ["noise", "label"]
    results = record(tmp_path / "a")["results"]
    assert (results["rows"], results["pairs"], results["noise"], results["negatives"]) == (30, 15, 4, 15)
    positives = table.slice(0, 15)
    texts = [*positives["sentence1"].to_pylist(), *positives["sentence2"].to_pylist()]
    assert results["tokens"] == sum(len(text.split()) for text in texts)
    card = (tmp_path / "a" / "README.md").read_text()
    assert "4 are random" in card and "15 negatives" in card


def test_explain_keeps_what_was_left_out_with_the_step_that_removed_it(pairs, tmp_path):
    words = ["--drop-identical", "--keep", "2<=length<=15", "--one-per-reference", "best", "--sample", 3]
    paths = ["--pairs", pairs, "--output", tmp_path / "kept", "--explain", tmp_path / "removed"]
    assert run("filter", *paths, *words) == 0
    every, kept, removed = (
        DataFolder(path).table().to_pylist() for path in (pairs, *map(tmp_path.joinpath, ("kept", "removed")))
    )
    key = lambda row: (row["id"], row["rank"])  # noqa: E731
    assert sorted(map(key, [*kept, *removed])) == sorted(map(key, every)) and len(kept) == 3
    steps = {key(row): row.pop("removed_by") for row in removed}
    assert all(row in every for row in removed)
    for row in every:
        if row["sentence1"] == row["sentence2"]:
            assert steps[key(row)] == "not identical"
        elif not 2 <= len(row["sentence2"].split()) <= 15:
            assert steps[key(row)] == "2<=length<=15"
    made = record(tmp_path / "removed")["results"]
    lost = [before - after for before, after in pairwise(made["funnel"].values())]
    assert [list(steps.values()).count(step) for step in list(made["funnel"])[1:]] == lost and min(lost) > 0


def test_score_adds_columns_to_every_split_and_keeps_rows_and_columns(tmp_path):
    columns = {"sentence1": ["a cat sat", "dogs bark", ""], "sentence2": ["the cat sat", "dogs bark loudly", "x"]}
    columns["label"] = [1, 0, None]
    two_splits, output = write(tmp_path / "pairs", "test", **columns), tmp_path / "scored"
    # Costs are measured only where all splits have what they need.
    write(two_splits, "train", **columns, log_prob=[1, 2, 3], num_tokens=[1, 2, 3])
    assert run("score", "--pairs", two_splits, "--output", output) == 0
    columns = ["length", "length_reference", "length_ratio", "overlap_1", "overlap_2", "overlap_3", "bleu"]
    columns += ["edit_distance", "repetition_1", "repetition_3", "repetition_reference_1", "repetition_reference_3"]
    for split in ("train", "test"):
        before, after = DataFolder(two_splits).table(split), DataFolder(output).table(split)
        assert after.column_names == [*before.column_names, *columns]
        assert after.select(before.column_names).equals(before)
        assert after.column("length").to_pylist() == [3, 3, 1]
    assert record(output)["results"] == {"rows": {"train": 3, "test": 3}, "columns": columns}


def test_holding_references_out_leaves_their_pairs_out_and_models_them(tmp_path):
    pytest.importorskip("kenlm", reason="kenlm is not installed")
    # Forty references with three translations each.
    references = [f"the cat {number} sat here" for number in range(40) for _ in range(3)]
    table = pa.table({"sentence1": references, "sentence2": [f"a cat sat {row}" for row in range(120)]})
    lists, output = tmp_path / "lists", tmp_path / "scored"
    write_split(lists, "train", table.to_batches(max_chunksize=11), table.schema, rows_per_shard=50)
    assert run("score", "--pairs", lists, "--output", output, "--hold-out", 15) == 0
    held_out = (output / "held_out.txt").read_text().splitlines()
    before, after = DataFolder(lists).table(), DataFolder(output).table()
    assert len(set(held_out)) == 15 and after.num_rows == 75
    kept = [row for row in before.to_pylist() if row["sentence1"] not in held_out]
    assert after.select(before.column_names).to_pylist() == kept
    words = ["--measures", "perplexity", "--language-model", output / "language_model.arpa"]
    assert run("score", "--pairs", output, "--output", tmp_path / "again", *words) == 0
    assert DataFolder(tmp_path / "again").table().column("perplexity").equals(after.column("perplexity"))
    assert "15 references (`held_out.txt`)" in (output / "README.md").read_text()


def test_a_bitext_gets_similarity_length_ratio_and_languages_and_is_filtered_by_them(tmp_path):
    pytest.importorskip("py3langid", reason="py3langid is not installed")
    # The last three are wrong: another sentence, the source again, and far too long.
    rows = {
        "die Katze sitzt auf der Matte": "the cat sits on the mat",
        "der Hund schläft heute im Garten": "the dog sleeps in the garden today",
        "ein Vogel singt": "I would like to pay by card",
        "das ist nicht wahr und nicht schön": "das ist nicht wahr und nicht schön",
        "ja": "yes yes yes yes yes yes yes yes",
    }
    write(tmp_path / "bitext", source=list(rows), target=list(rows.values()))
    words = ["--encoder", "--language", "en", "--source-language", "de"]
    assert run("score", "--pairs", tmp_path / "bitext", "--output", tmp_path / "scored", *words) == 0
    scored = DataFolder(tmp_path / "scored").table()
    assert scored.column_names == [
        "source", "target", "length", "length_reference", "length_ratio", "copy_rate_source", "similarity",
        "language", "language_probability", "language_source", "language_probability_source",
    ]  # fmt: skip
    assert scored.column("length_ratio").to_pylist() == [1.0, 7 / 6, 7 / 3, 1.0, 8.0]
    from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

    # The built-in encoder for two languages.
    encode = SentenceEncoder.from_pretrained("multilingual").encode
    sides = [encode(list(side), normalize=True) for side in (rows.keys(), rows.values())]
    assert scored.column("similarity").to_pylist() == pytest.approx((sides[0] * sides[1]).sum(1).tolist(), abs=1e-5)
    assert scored.column("language").to_pylist()[3] == scored.column("language_source").to_pylist()[3] == "de"
    keep = ["--keep", "0.5<=length_ratio<=3", "--keep", "copy_rate_source<1", "--drop-identical"]
    for name in ("bitext", "scored"):
        assert run("filter", "--pairs", tmp_path / name, "--output", tmp_path / f"{name}_kept", *keep) == 0
        assert DataFolder(tmp_path / f"{name}_kept").table().column("source").to_pylist() == list(rows)[:3]


@pytest.mark.parametrize("verb", ["score", "filter", "tune"])
def test_a_folder_without_rows_is_an_error_and_leaves_nothing_behind(tmp_path, capsys, verb):
    write(tmp_path / "pairs", sentence1=pa.array([], pa.string()), sentence2=pa.array([], pa.string()))
    write(tmp_path / "dev", "validation", sentence1=["a", "b", "c"], sentence2=["a", "c", "d"], score=[5.0, 0.0, 1.0])
    words = [verb, "--pairs", tmp_path / "pairs", "--output", tmp_path / "out"]
    assert run(*words, *(["--dev-data", tmp_path / "dev"] if verb == "tune" else [])) == 2
    assert "no pairs" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_folder_of_explain_that_exists_is_refused_before_the_output_is_written(pairs, tmp_path, capsys):
    (tmp_path / "removed").mkdir()
    (tmp_path / "removed" / "mine.txt").write_text("mine")
    paths = ["--pairs", str(pairs), "--output", str(tmp_path / "kept"), "--explain", str(tmp_path / "removed")]
    assert run("filter", *paths, "--keep", "length>3") == 2
    assert "removed" in capsys.readouterr().err and not (tmp_path / "kept").exists()


def test_the_training_data_of_an_encoder_that_measures_are_no_sources_of_the_pairs(pairs, tmp_path):
    assert run("score", "--pairs", pairs, "--output", tmp_path / "scored", "--encoder") == 0
    run("filter", "--pairs", tmp_path / "scored", "--output", tmp_path / "kept", "--keep", "similarity>-2")
    for name in ("scored", "kept"):
        card = (tmp_path / name / "README.md").read_text()
        assert "source_datasets" not in card, card
    assert "measured with `builtin`" in (tmp_path / "scored" / "README.md").read_text()
