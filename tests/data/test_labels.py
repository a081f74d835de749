"""Labels of pairs of every type and spelling mean the same in every command."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, Features, Value, load_dataset

from hf_paraphrase import SentenceEncoder, filter, prepare_pairs
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.pair_rows import PairLabels, PairRows, find_label
from hf_paraphrase.encoders import mine_hard_negatives
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.random_pairs import add_random_pairs

SIDES = {"sentence1": ["a dog", "a cat", "a cow"], "sentence2": ["one dog", "one house", "one cow"]}
MEANING = [1, 0, 1]


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1, 0, 1], []),
        ([True, False, True], []),
        ([1.0, 0.0, 1.0], []),
        (["1", "0", "1"], []),
        (["1.0", " 0", "TRUE"], []),
        (["yes", "no", "Yes"], []),
        (["paraphrase", "not paraphrase", "paraphrase"], []),
        (["duplicate", "not_duplicate", "duplicate"], []),
        (["entailment", "contradiction", "entailment"], []),
        ([0, 1, 0], ["entailment", "not_entailment"]),
        ([1, 0, 1], ["not_entailment", "entailment"]),
        ([0, 2, 0], ["entailment", "neutral", "contradiction"]),
        ([1, 0, 1], ["not_equivalent", "equivalent"]),
    ],
)
def test_labels_of_all_types_and_class_names_in_either_order_mean_the_same(values, names, tmp_path):
    assert PairLabels("label", {"label": names}).read(pa.array(values)).to_pylist() == MEANING
    kind = ClassLabel(names=names) if names else Dataset.from_dict({"label": values}).features["label"]
    features = Features({**dict.fromkeys(SIDES, Value("string")), "label": kind})
    rows = Dataset.from_dict({**SIDES, "label": values}, features=features)
    tokenizer = SentenceEncoder("builtin").tokenizer
    rows.to_parquet(tmp_path / "rows.parquet")
    for pairs in (rows, rows.to_iterable_dataset(), tmp_path / "rows.parquet"):
        encoded = encode_pairs(pairs, tokenizer)
        assert (len(encoded), encoded.not_paraphrases) == (2, 1)
    prepared = prepare_pairs(parquet=tmp_path / "rows.parquet", output=tmp_path / "prepared")
    assert prepared.table()["label"].to_pylist() == MEANING


@pytest.mark.parametrize("name", ["label", "labels", "is_duplicate", "paraphrase", "gold_label"])
def test_prepare_keeps_labels_of_every_layout_and_training_leaves_the_others_out(name, tmp_path):
    frame = pd.DataFrame(
        {"question1": SIDES["sentence1"], "question2": SIDES["sentence2"], name: MEANING, "n": [1, 2, 3]}
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "a.parquet")
    tokenizer = SentenceEncoder("builtin").tokenizer
    for kind in ("csv", "tsv", "jsonl", "parquet"):
        file = tmp_path / f"a.{kind}"
        made = prepare_pairs(**{kind: file}, output=tmp_path / kind, keep_columns=True).table()
        assert made.drop_columns("n").to_pydict() == {**SIDES, "label": MEANING}
        assert list(map(int, made["n"].to_pylist())) == [1, 2, 3]
        assert encode_pairs(file, tokenizer).not_paraphrases == 1
    assert find_label(["original", "paraphrase"], ["original", "paraphrase"]) is None


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2], "label 2 of row 3 does not say .*--positive-label"),
        ([1, None, 0], "row 2 has no label"),
        (["a", "b", "a"], "label a of row 1 does not say"),
        ([0.5, 1.0, 0.0], "label 0.5 of row 1 does not say"),
    ],
)
def test_what_says_nothing_of_paraphrases_is_asked_for(labels, message, tmp_path):
    tokenizer = SentenceEncoder("builtin").tokenizer
    rows = pa.table({**SIDES, "label": labels})
    with pytest.raises(InputError, match=message):
        encode_pairs(rows, tokenizer)
    if None not in labels:
        positive = str(labels[0])
        assert len(encode_pairs(rows, tokenizer, positive_label=positive)) == labels.count(labels[0])


@pytest.mark.parametrize("names", [[], ["entailment", "other"]])
def test_a_positive_label_that_does_not_occur_is_refused_and_a_class_is_named_by_its_number(names, tmp_path):
    kind = ClassLabel(names=names) if names else Value("int64")
    features = Features({**dict.fromkeys(SIDES, Value("string")), "label": kind})
    Dataset.from_dict({**SIDES, "label": [0, 1, 1]}, features=features).to_parquet(tmp_path / "a.parquet")
    settings = {"parquet": tmp_path / "a.parquet", "output": tmp_path / "out"}
    with pytest.raises(InputError, match="no pair has the label `9`"):
        prepare_pairs(**settings, positive_label="9")
    assert not (tmp_path / "out").exists()
    assert prepare_pairs(**settings, positive_label="0").table()["label"].to_pylist() == [1, 0, 0]


def test_a_block_without_labels_does_not_train_among_labelled_ones():
    rows = pa.table({"sentence1": ["a"] * 10_001, "sentence2": ["b"] * 10_001, "label": [None] * 10_000 + [1]})
    with pytest.raises(InputError, match=r"10,000 of 10,001 pairs have no label \(give every pair a label, or none\)"):
        encode_pairs(rows, SentenceEncoder("builtin").tokenizer)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None] * 3, "3 of 3 pairs have no label, so each of them counts as a paraphrase"),
        ([1, None, 0], "1 of 3 pairs have no label, and train-encoder refuses such pairs"),
        ([1, 1, 0], None),
    ],
)
def test_prepare_logs_pairs_without_a_label(labels, message, tmp_path, caplog):
    pq.write_table(pa.table({**SIDES, "label": pa.array(labels, pa.int64())}), tmp_path / "a.parquet")
    made = prepare_pairs(parquet=tmp_path / "a.parquet", output=tmp_path / "out").table()
    assert made["label"].to_pylist() == labels
    assert message in caplog.text if message else "have no label" not in caplog.text


def test_the_remedy_for_labelled_pairs_names_the_class_of_paraphrases():
    rows = Dataset.from_dict({**SIDES, "label": [0, 1, 0]}).data.table
    with pytest.raises(InputError, match="--keep 'label=0'"):
        add_random_pairs(rows, negatives=1, class_names={"label": ["entailment", "not_entailment"]})


def test_new_labels_are_not_read_by_the_names_of_the_old_classes_and_other_columns_keep_theirs(tmp_path):
    classes = {"label": ["entailment", "not_entailment"], "topic": ["x", "y"]}
    kinds = {name: ClassLabel(names=names) for name, names in classes.items()}
    features = Features({**dict.fromkeys(SIDES, Value("string")), **kinds})
    columns = {**SIDES, "label": [0, 1, 0], "topic": [1, 0, 1]}
    Dataset.from_dict(columns, features=features).to_parquet(tmp_path / "a.parquet")
    made = filter(pairs=tmp_path / "a.parquet", keep=["label=0"], negatives=1, output=tmp_path / "negatives")
    mined = mine_hard_negatives(tmp_path / "a.parquet", "builtin")
    prepared = prepare_pairs(parquet=tmp_path / "a.parquet", keep_columns=True, output=tmp_path / "prepared")
    for pairs, labels in ((made, [1, 1, 0, 0]), (mined, MEANING), (prepared, MEANING)):
        rows = PairRows(pairs)
        ((_, batch),) = rows.batches(["label", *SIDES])
        assert rows.labels.read(batch[rows.label]).to_pylist() == labels
        assert rows.rows.class_names == {"topic": ["x", "y"]}


def test_pairs_that_are_no_paraphrases_are_never_labelled_anew(tmp_path, capsys):
    pd.DataFrame({**SIDES, "is_duplicate": MEANING}).to_csv(tmp_path / "a.csv", index=False)
    words = ["--pairs", str(tmp_path / "a.csv"), "--negatives", "1", "--output", str(tmp_path / "out")]
    assert main(["filter", *words]) == 2
    assert "the is_duplicate of" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_all_other_columns_are_kept_whatever_their_names(tmp_path):
    others = {"my topic": ["x", "y", "z"], "été": ["a", "b", "c"], "#1": ["007", "1E5", ""]}
    frame = pd.DataFrame({**SIDES, **others})
    frame.to_csv(tmp_path / "a.csv")
    frame.to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "a.parquet")
    for kind in ("csv", "tsv", "jsonl", "parquet"):
        file = tmp_path / f"a.{kind}"
        made = prepare_pairs(**{kind: file}, output=tmp_path / kind, keep_columns=True).table()
        assert made.column_names == [*SIDES, *(["Unnamed: 0"] if kind == "csv" else []), *others]
        assert [value or "" for value in made["#1"].to_pylist()] == others["#1"]
        opened = load_dataset(str(tmp_path / kind), split="train", cache_dir=str(tmp_path / "cache"))
        assert opened["été"] == others["été"]
    day = pd.Timestamp("2024-02-01", tz="Asia/Tokyo")
    values = {"day": [day] * 3, "price": [Decimal("1.5")] * 3, "raw": [b"x"] * 3}
    pd.DataFrame({**SIDES, **values}).to_parquet(tmp_path / "b.parquet")
    made = prepare_pairs(dataset=tmp_path / "b.parquet", output=tmp_path / "made", keep_columns=True).table()
    assert made.select(list(values)).to_pydict() == values


def test_a_label_that_is_not_asked_for_is_left_out_with_a_warning(tmp_path, capsys):
    pd.DataFrame({**SIDES, "label": MEANING}).to_csv(tmp_path / "a.csv", index=False)
    words = ["--csv", str(tmp_path / "a.csv"), "--columns", "sentence2,sentence1", "--output", str(tmp_path / "out")]
    assert main(["prepare", "pairs", *words]) == 0
    assert "the column label is left out, so that all pairs count as paraphrases" in capsys.readouterr().err
    kept = filter(pairs=tmp_path / "out", output=tmp_path / "kept")
    assert DataFolder(kept).schema().names == ["sentence1", "sentence2"]


@pytest.mark.parametrize(
    ("score", "message"), [("0,5", r"score '0,5' of `a` is not a number"), (5.0, "between 0 and 1")]
)
def test_a_score_that_is_no_number_or_off_the_scale_is_named(score, message):
    pairs = pa.table({"sentence1": ["a"], "sentence2": ["b"], "score": [score]})
    rows = PairRows(pairs)
    with pytest.raises(InputError, match=message):
        rows.read_scores(pairs.to_batches()[0])
