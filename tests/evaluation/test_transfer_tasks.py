from __future__ import annotations

import gzip
import json

import datasets
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from small_runs import write

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation.transfer import PENALTIES, evaluate_tasks, predict_classes, read_labelled_texts
from hf_paraphrase.evaluation.transfer_tasks import TASKS, Examples, find_transfer_tasks

LETTERS = "abcdefghij"


def words(seed, count):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(list(LETTERS), generator.integers(2, 7))) for _ in range(count)]


def test_the_features_of_pairs_are_the_distance_and_the_product_of_their_components():
    vectors = {"a": [1.0, 2.0], "b": [3.0, -1.0]}
    examples = Examples((["a"], ["b"]), np.array([1]))
    assert examples.features(lambda texts: np.array([vectors[text] for text in texts])).tolist() == [[2, 3, 3, -2]]


def encode(texts):
    """Counts letters; a text with many a's and few b's is far from its opposite."""
    return np.array([[text.count(letter) for letter in LETTERS] for text in texts], dtype=np.float32)


def write_binary(folder, negative="rt-polarity.neg", positive="rt-polarity.pos", count=40):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / negative).write_text("".join(f"{text} b b b\n" for text in words(1, count)))
    with gzip.open(folder / f"{positive}.gz", "wt") as file:
        file.writelines(f"{text} a a a\n" for text in words(2, count))


def write_msrp(folder):
    folder.mkdir()
    for part, count in (("train", 80), ("test", 40)):
        lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for i, (a, b) in enumerate(zip(words(3, count), words(4, count), strict=True)):
            lines.append(f"{i % 2}\t{i}\t{i + 1000}\t{a}\t{a if i % 2 else b + ' h h'}")
        (folder / f"msr_paraphrase_{part}.txt").write_text("\n".join(lines) + "\n")


def write_trec(folder, train=60, test=20):
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {"NUM": "a a a", "LOC": "b b b", "HUM": "c c c"}
    for name, count in (("train_5500.label", train), ("TREC_10.label", test)):
        lines = [
            f"{kind}:x {text} {kinds[kind]} ?\n"
            for text, kind in zip(words(count, count), [*kinds] * count, strict=False)
        ]
        (folder / name).write_bytes("".join(lines).encode("latin-1"))


def test_the_classes_are_those_of_a_naive_loop_over_penalties_and_nested_folds():
    generator = np.random.default_rng(0)
    features = generator.standard_normal((90, 5))
    gold = (features[:, :2] + generator.standard_normal((90, 2))).argmax(axis=1)

    def fit(rows, penalty):
        return LogisticRegression(C=1 / (penalty * len(rows)), max_iter=1000, tol=1e-3).fit(features[rows], gold[rows])

    def folds(rows):
        return [
            (rows[a], rows[b]) for a, b in StratifiedKFold(3, shuffle=True, random_state=1111).split(rows, gold[rows])
        ]

    def naive(train, test):
        means = {p: np.mean([fit(a, p).score(features[b], gold[b]) for a, b in folds(train)]) for p in PENALTIES}
        return fit(train, max(means, key=lambda p: (means[p], -p))).predict(features[test])

    expected = np.empty_like(gold)
    for train, held_out in folds(np.arange(90)):
        expected[held_out] = naive(train, held_out)
    np.testing.assert_array_equal(predict_classes(features, gold, None, 3), expected)
    with_test = predict_classes(features[:60], gold[:60], features[60:], 3)
    np.testing.assert_array_equal(with_test, naive(np.arange(60), np.arange(60, 90)))


def test_each_family_learns_what_its_vectors_show_and_gives_its_measures(tmp_path):
    write_binary(tmp_path / "MR")
    write_trec(tmp_path / "TREC")
    write_msrp(tmp_path / "MSRP")
    tasks, missing, _ = find_transfer_tasks(tmp_path, TASKS)
    results = {result["task"]: result for result in evaluate_tasks(encode, tasks, folds=2)}
    assert list(results) == ["MR", "TREC", "MRPC"] and missing == ["CR", "SUBJ", "MPQA"]
    assert results["MR"]["metrics"]["accuracy"] > 90 and results["MR"]["majority"] == {"accuracy": 50.0}
    assert (results["MR"]["train"], results["MR"]["test"], results["MR"]["tested_on"]) == (40, 80, "2 folds")
    assert results["TREC"]["metrics"]["accuracy"] > 80 and results["TREC"]["test"] == 20
    assert results["MRPC"]["metrics"]["accuracy"] > 75 and results["MRPC"]["metrics"]["f1"] > 75
    assert results["MRPC"]["majority"]["accuracy"] == 50


def test_bad_files_are_named(tmp_path, capsys):
    with pytest.raises(InputError, match="no such folder"):
        find_transfer_tasks(tmp_path / "absent", TASKS)
    with pytest.raises(InputError, match="no transfer task is complete: MR"):
        find_transfer_tasks(tmp_path, TASKS)
    write_trec(tmp_path)
    (tmp_path / "TREC_10.label").write_text("NUM:dist How far ?\nODD:x y\n")
    with pytest.raises(InputError, match=r"TREC_10\.label:2: not a question"):
        find_transfer_tasks(tmp_path, ["TREC"])
    write_binary(tmp_path / "few", count=3)
    assert main(["evaluate", "--data", str(tmp_path / "few"), "--baseline", "words"]) == 2
    assert "MR has 6 examples, 3 of the second largest class: too few for folds" in capsys.readouterr().err


def test_a_data_folder_is_tested_on_its_test_split_and_the_f1_is_the_mean_over_the_classes(tmp_path):
    train = {"text": ["good", "bad", "neither"] * 30, "label": ["good", "bad", "neither"] * 30}
    test = {"text": ["good", "bad", "bad", "neither"], "label": ["good", "good", "bad", "neither"]}
    write(tmp_path / "kinds", **train)
    write(tmp_path / "kinds", "test", **test)
    found = hf_paraphrase.evaluate(data=[tmp_path / "kinds"], baseline=["words"])
    (task,) = found.record["results"][0]["tasks"]
    assert found.suite == "classification" and (task["tested_on"], task["train"], task["test"]) == ("test", 90, 4)
    assert task["metrics"] == {"accuracy": 75, "f1": pytest.approx(100 * (2 / 3 + 2 / 3 + 1) / 3)}
    (tmp_path / "files").mkdir()
    for name, rows in (("x_train", train), ("testing", test)):  # the names that `datasets` finds
        lines = [json.dumps({"text": a, "label": b}) for a, b in zip(*rows.values(), strict=True)]
        (tmp_path / "files" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    files = hf_paraphrase.evaluate(data=tmp_path / "files", suite="classification", baseline=["words"])
    assert files.record["results"][0]["tasks"][0]["metrics"] == task["metrics"]
    for split, rows in (("train", train), ("test", test)):
        write(tmp_path / "named", split, review=rows["text"], opinion=rows["label"])
    names = {"text_column": "review", "label_column": "opinion"}
    named = hf_paraphrase.evaluate(data=tmp_path / "named", suite="classification", baseline=["words"], **names)
    assert named.record["results"][0]["tasks"][0]["metrics"] == task["metrics"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,kind\na,b\n", "label"),
        ("text,label\na,b,c\n", "3 fields where the header has 2"),
        ("text,label\na,\n", "split `train`: row 1 has no label"),
        ("text,label\n", "split `train`: no rows"),
    ],
)
def test_labelled_texts_are_read_as_they_are_and_malformed_files_are_named(tmp_path, content, message):
    (tmp_path / "x.tsv").write_text('text\tlabel\na, b\tyes\n"c\nd"\t1\n')
    assert read_labelled_texts(tmp_path / "x.tsv") == (["a, b", "c\nd"], ["yes", "1"])
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(InputError, match=message) as raised:
        read_labelled_texts(tmp_path / "x.csv")
    assert str(raised.value.path).endswith("x.csv")


def write_classes(path, names, labels, kind=None):
    classes = kind or datasets.ClassLabel(names=names)
    features = datasets.Features({"text": datasets.Value("string"), "label": classes})
    rows = {"text": [f"text {row}" for row in range(len(labels))], "label": labels}
    datasets.Dataset.from_dict(rows, features).to_parquet(path)


@pytest.mark.parametrize(
    ("labels", "kind", "message"),
    [
        ([0, -1], datasets.ClassLabel(names=["a", "b"]), "row 2 has no label"),
        ([["a"], ["a", "b"]], datasets.List(datasets.Value("string")), "has lists, not classes"),
    ],
)
def test_rows_without_a_class_and_lists_of_classes_are_no_classes_of_their_own(tmp_path, labels, kind, message):
    write_classes(tmp_path / "x.parquet", [], labels, kind)
    with pytest.raises(InputError, match=message):
        read_labelled_texts(tmp_path / "x.parquet")


def test_a_test_part_without_classes_is_not_tested_on(tmp_path):
    names = ["w0 is rare", "w0 is usual"]
    write_classes(tmp_path / "train.parquet", names, [0, 1] * 20)
    write_classes(tmp_path / "test.parquet", names, [-1] * 4)
    (task,) = hf_paraphrase.evaluate(data=tmp_path, baseline=["words"]).record["results"][0]["tasks"]
    assert task["tested_on"] == "10 folds" and task["test"] == 40


@pytest.mark.real_data
def test_the_sets_at_hand_have_their_published_sizes(real_data_dir):
    tasks, missing, _ = find_transfer_tasks(real_data_dir, TASKS)
    sizes = {name: {part: len(examples.gold) for part, examples in task.items()} for name, task in tasks.items()}
    assert sizes == {
        "MR": {"train": 10662}, "CR": {"train": 3775}, "SUBJ": {"train": 10000}, "MPQA": {"train": 10606},
        "TREC": {"train": 5452, "test": 500},
    }  # fmt: skip
    assert missing == ["MRPC"]
