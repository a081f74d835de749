"""What `train-supervised` and `predict` read, refuse, train and write."""

from __future__ import annotations

import csv
import json
from datetime import date
from functools import partial

import numpy as np
import polars as pl
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, List, Value, load_dataset
from scipy.special import softmax
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from small_runs import record
from small_runs import write as write_columns
from tiny_encoders import new_model, with_all_parameters_moved, write_average
from tiny_training import Killed, on_cpu

from hf_paraphrase import filter, predict, prepare_pairs, train_supervised
from hf_paraphrase.classification.classifier import ClassifierInputs, predict_logits
from hf_paraphrase.classification.labelled_texts import SupervisedSettings, read_labelled, read_supervised
from hf_paraphrase.classification.scores import compare_classes, compare_scores
from hf_paraphrase.classification.trainer import (
    ClassifierTrainer,
    ClassifierTrainingArguments,
    Examples,
    fit_head,
)
from hf_paraphrase.errors import InputError, OutputError
from hf_paraphrase.tokenization.ragged_ids import TokenIds


def make():
    encoder = {"model_type": "gran", "vocab_size": 50, "hidden_size": 4}
    model = new_model("sentence_classifier", sentence_encoder=encoder, head_hidden_size=5, pairs=True)
    return with_all_parameters_moved(model)


def random_inputs(count):
    generator = np.random.default_rng(0)
    sides = (
        TokenIds.of_lists([generator.integers(50, size=generator.integers(6)).tolist() for _ in range(count)])
        for _ in range(2)
    )
    return ClassifierInputs(*sides, generator.integers(2, size=count))


def test_the_penalty_is_that_of_the_formula(tmp_path):
    model = make()
    inputs = random_inputs(40)
    arguments = on_cpu(ClassifierTrainingArguments, tmp_path, lambda_w=2.0, lambda_c=3.0)
    trainer = ClassifierTrainer(model, arguments, Examples(inputs, inputs))
    assert trainer.penalty().item() == 0
    with torch.no_grad():
        model.encoder.embeddings[3, 1] += 0.5
        model.encoder.gate_input.bias[2] -= 0.25
    assert trainer.penalty().item() == pytest.approx(0.5 * 2 * 0.25 + 0.5 * 3 * 0.0625, rel=1e-5)


def test_predictions_depend_on_neither_order_nor_company():
    model = make().eval()
    inputs = random_inputs(50)
    found = predict_logits(model, inputs)
    for row in (0, 17, 49):
        batch = inputs.batch(np.array([row]), 0)
        batch.pop("labels")
        np.testing.assert_allclose(model(**batch).logits.detach().numpy()[0], found[row], atol=1e-5)
    model.train()
    assert np.array_equal(predict_logits(model, inputs), found) and model.training


def test_classes_are_counted_by_hand():
    # The third class never occurs, and does not count.
    one_hot = np.eye(3, dtype=bool)
    scores = compare_classes(one_hot[[0, 1, 1, 1, 0]], one_hot[[0, 1, 0, 1, 1]], "abc")
    assert (scores["accuracy"], scores["baseline"], scores["rows"]) == (60.0, 60.0, 5)
    # Precision and recall of the first are 1/2, of the second both 2/3.
    assert scores["macro_f1"] == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)


def test_f1_of_several_labels_is_that_of_scikit_learn():
    found, right = np.random.default_rng(0).random((2, 30, 3)) > 0.6
    found[:, 2] = right[:, 2] = False  # A label that never occurs does not count.
    scores = compare_classes(found, right, "abc", multi_label=True)
    each = dict(zip("ab", 100 * f1_score(right, found, average=None, labels=[0, 1]), strict=True))
    assert scores["f1"] == pytest.approx(each) and scores["macro_f1"] == pytest.approx(np.mean(list(each.values())))
    assert scores["micro_f1"] == pytest.approx(100 * f1_score(right, found, average="micro"))
    always = np.zeros_like(right)
    always[:, right.sum(0).argmax()] = True
    assert scores["baseline"] == pytest.approx(100 * f1_score(right, always, average="micro"))
    nothing = compare_classes(found & False, right & False, "abc", multi_label=True)
    assert nothing["micro_f1"] == nothing["macro_f1"] == nothing["baseline"] == 0.0


def test_scores_are_those_of_the_formulas():
    found, right = np.array([1.0, 2.0, 3.5, 2.0]), np.array([1.0, 3.0, 5.0, 2.0])
    scores = compare_scores(found, right)
    assert scores["pearson"] == pytest.approx(100 * np.corrcoef(found, right)[0, 1])
    assert scores["spearman"] == pytest.approx(100 * spearmanr(found, right)[0])
    assert (scores["mse"], scores["baseline"]) == pytest.approx(((0 + 1 + 2.25 + 0) / 4, right.var()))
    equal = compare_scores(np.ones(3), np.array([1.0, 2.0, 3.0]))
    assert equal["pearson"] == equal["spearman"] == 0.0 and equal["mse"] == pytest.approx(5 / 3)


CARD = """---
dataset_info:
- config_name: mr
  features:
  - name: text
    dtype: string
  - name: label
    dtype:
      class_label:
        names: {'0': negative, '1': positive, '2': mixed}
---
"""


def write(folder, card="", **splits):
    for split, columns in splits.items():
        write_columns(folder, split.replace("_dot_", "."), **columns)
    if card:
        (folder / "README.md").write_text(card)
    return str(folder)


def rows(count, classes=2, start=0):
    return {"text": [f"t{start + i}" for i in range(count)], "label": [i % classes for i in range(count)]}


def read(folder, **settings):
    return read_supervised(SupervisedSettings(model="encoder", data=folder, output="model", **settings))


def sizes(data):
    return {part: len(rows) for part, rows in data.parts.items()}


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        ({"sentence1": ["x"], "sentence2": ["y"], "label": [1]}, {}, {"first": ["x"], "second": ["y"]}),
        ({"text": ["x"], "label": [2.5]}, {"graded": True}, {"first": ["x"], "targets": [2.5]}),
        ({"text": ["x", "y"], "label": [True, False]}, {}, {"targets": [("True",), ("False",)]}),
    ],
)
def test_sentences_pairs_classes_and_scores_are_distinguished(tmp_path, columns, options, expected):
    found = read_labelled(write(tmp_path / "data", train=columns), "train", column="label", **options)
    assert {name: getattr(found, name) for name in expected} == expected
    assert (found.second is not None) == ("sentence2" in columns)


@pytest.mark.parametrize(
    ("labels", "separator"), [([["b", "a"], [], None, ["a", "a"]], None), (["b | a", "", None, "a|"], "|")]
)
def test_labels_are_lists_or_texts_with_a_separator(tmp_path, labels, separator):
    folder = write(tmp_path / "data", train={"text": list("wxyz"), "label": labels})
    found = read_labelled(folder, "train", column="label", separator=separator)
    assert found.targets == [("b", "a"), (), (), ("a",)]
    assert found.class_matrix(["a", "b"]).tolist() == [[1, 1], [0, 0], [0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("columns", "graded", "expected"),
    [
        ({"text": ["x", "y"], "label": [1, None]}, False, "row 2: the label is None, not a class"),
        ({"text": ["x", "y"], "label": ["a", " "]}, False, "row 2: the label is ' ', not a class"),
        ({"text": ["y", None], "label": [1, 1]}, False, "row 2 has no text in column text"),
        ({"text": ["x", "y"], "label": [1.0, float("inf")]}, True, "row 2: the label is inf"),
    ],
)
def test_what_is_wrong_with_a_row_is_named(tmp_path, columns, graded, expected):
    with pytest.raises(InputError) as caught:
        read_labelled(write(tmp_path / "data", train=columns), "train", column="label", graded=graded)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "graded", "targets"),
    [
        ([0, -1, None], False, [("a",), None, None]),
        ([0.0, float("nan"), None], False, [("0",), None, None]),
        (["b", " ", None], False, [("b",), None, None]),
        ([2.0, float("nan"), None], True, [2.0, None, None]),
    ],
)
def test_rows_without_a_class_have_no_target_for_predictions(tmp_path, labels, graded, targets):
    kind = ClassLabel(names=["a", "b"]) if -1 in labels else Value("string" if "b" in labels else "float64")
    features = Features({"text": Value("string"), "label": kind})
    Dataset.from_dict({"text": list("xyz"), "label": labels}, features).to_parquet(tmp_path / "test.parquet")
    found = read_labelled(str(tmp_path), "test", column="label", graded=graded, complete=False)
    assert found.targets == targets


def test_classes_have_the_names_of_the_card_else_numbers_keep_their_order_and_names_the_alphabet(tmp_path):
    folder = write(tmp_path / "data", CARD, mr_dot_train=rows(30, 3))
    assert read(folder, train_split="mr.train").classes == ["negative", "positive", "mixed"]
    texts = [f"t{i}" for i in range(24)]
    assert read(write(tmp_path / "a", train={"text": texts, "label": [10, 9, 2, 10] * 6})).classes == ["2", "9", "10"]
    assert read(write(tmp_path / "b", train={"text": texts, "label": ["b", "a"] * 12})).classes == ["a", "b"]
    lines = "".join(f"{text},{row % 3 - 1}\n" for row, text in enumerate(texts))
    (tmp_path / "c.csv").write_text(f"text,label\n{lines}")
    assert read(str(tmp_path / "c.csv")).classes == ["-1", "0", "1"]
    assert read(write(tmp_path / "d", train={"text": texts, "label": [-1, -2, 1, 0] * 6})).classes == [
        "-2",
        "-1",
        "0",
        "1",
    ]


def test_splits_are_found_or_drawn_and_the_record_names_those_that_are_used(tmp_path):
    folder = write(tmp_path / "data", train=rows(50), validation=rows(10, start=100), test=rows(6, start=200))
    assert sizes(read(folder, test_split="test")) == {"train": 50, "test": 6, "dev": 10}
    assert read(folder).sources == {"train": "train", "dev": "validation"}
    found = read(folder, test_split="validation", dev_share=0.2)
    assert sizes(found) == {"train": 40, "test": 10, "dev": 10}
    assert found.sources == {"train": "train", "test": "validation", "dev": "20% of train, drawn"}


def test_a_drawn_part_shares_no_row_with_the_rest_but_for_case_and_space(tmp_path):
    texts = [f"text {number // 2}" if number % 2 else f" Text  {number // 2}" for number in range(40)]
    folder = write(tmp_path / "data", train={"text": texts, "label": [str(number % 4) for number in range(40)]})
    parts = read(folder, dev_share=0.25).parts
    drawn, left = ({text.lower().split()[1] for text in parts[name].first} for name in ("dev", "train"))
    assert len(parts["dev"]) == 10 and not drawn & left and drawn | left == {str(number) for number in range(20)}


def test_training_rows_that_are_rows_of_another_part_are_left_out_and_counted(tmp_path):
    upper = {"text": [f" T{i}" for i in range(10)], "label": [0, 1] * 5}
    found = read(write(tmp_path / "data", train=rows(50), validation=upper))
    assert len(found.parts["train"]) == 40 and found.left_out == 10


PAIRS = {"sentence1": ["a"] * 20, "sentence2": [f"{i}" for i in range(20)]}


def several(*labels):
    return {**rows(30), "label": [*labels] * 15}


@pytest.mark.parametrize(
    ("options", "splits", "expected"),
    [
        ({"label_separator": "|"}, {"train": several("a", "a;b")}, "no row has several labels with '|' between them"),
        ({}, {"train": several(["a"], [])}, "there is one label only"),
        ({}, {"train": several(["a"], ["b"]), "dev": {"text": ["x"], "label": [["c"]]}}, "dev`: the class c is unkno"),
        ({}, {"train": rows(30, 1)}, "split `train`: .* nothing to learn"),
        ({}, {"train": {"text": ["a"] * 4, "label": [0, 1, 0, 1]}}, "are the same text"),
        (
            {"task": "similarity"},
            {"train": {**PAIRS, "score": [2.0] * 19 + [0.4]}},
            "0.4 is off the scale from 1 to 5",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(tmp_path, options, splits, expected):
    with pytest.raises(InputError, match=expected.replace("|", r"\|")):
        data = read(write(tmp_path / "data", **splits), **options)
        data.parts["dev"].class_matrix(data.classes)


@pytest.mark.parametrize("classes", [2, 4])
def test_a_frozen_encoder_has_the_logistic_regression_of_scikit_learn(classes):
    generator = np.random.default_rng(0)
    words = [generator.integers(30, size=generator.integers(1, 9)).tolist() for _ in range(80)]
    inputs = ClassifierInputs(TokenIds.of_lists(words), targets=np.arange(80) % classes)
    encoder = {"model_type": "avg", "vocab_size": 30, "hidden_size": 6, "initializer_range": 1.0}
    model = new_model("sentence_classifier", sentence_encoder=encoder, id2label=dict(enumerate("abcd"[:classes])))
    weights = model.encoder.embeddings.detach().clone()
    fit_head(model, inputs)
    vectors = np.stack([weights.double().numpy()[row].mean(0) for row in words])
    # A softmax over two classes halves the squared norm of the one vector that scikit-learn has for them.
    regression = LogisticRegression(C=2.0 if classes == 2 else 1.0, tol=1e-10, max_iter=10_000)
    expected = regression.fit(vectors, inputs.targets).predict_proba(vectors)
    np.testing.assert_allclose(softmax(predict_logits(model, inputs), axis=1), expected, atol=1e-4)
    assert torch.equal(model.encoder.embeddings, weights)


def test_the_row_penalty_counts_the_word_vectors_of_a_batch(tmp_path):
    encoder = {"model_type": "avg", "vocab_size": 30, "hidden_size": 6}
    model = new_model("sentence_classifier", sentence_encoder=encoder)
    inputs = ClassifierInputs(TokenIds.of_lists([[1, 2], [3, 3], [4], [5]]), targets=np.array([0, 1, 0, 1]))
    arguments = on_cpu(ClassifierTrainingArguments, tmp_path, row_penalty=2.0)
    trainer = ClassifierTrainer(model, arguments, Examples(inputs, inputs))
    with torch.no_grad():
        model.encoder.embeddings[3, 1] += 0.5
        model.encoder.embeddings[9] += 7
    batch = inputs.batch(np.array([0, 1]), 0)
    loss = trainer.compute_loss(model, dict(batch))
    assert loss.item() == pytest.approx(model(**batch).loss.item() + 0.25, rel=1e-5)
    loss.backward()
    assert model.encoder.embeddings.grad.is_sparse


def test_lists_of_classes_keep_their_names_in_models_predictions_and_folders(tmp_path):
    texts = [f"{('ice', 'sun')[i % 2]} {i}" for i in range(40)]
    columns = {"sentence1": texts, "sentence2": texts, "topics": [[0], [0, 1]] * 20, "other": [1] * 40}
    sides = dict.fromkeys(("sentence1", "sentence2"), Value("string"))
    features = Features({**sides, "topics": List(ClassLabel(names=["cold", "warm"])), "other": ClassLabel(2)})
    dataset = Dataset.from_dict(columns, features=features)
    trained = train_supervised(data=dataset, target_column="topics", freeze_encoder=True, output=tmp_path / "model")
    assert trained.class_names == ["cold", "warm"]
    predict(model=tmp_path / "model", data=dataset, output=tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["topics"] for line in lines[:2]] == [["cold"], ["cold", "warm"]]
    filter(pairs=dataset, keep=["length>0"], output=tmp_path / "filtered")
    prepare_pairs(dataset=tmp_path / "filtered", keep_columns=True, output=tmp_path / "prepared")
    for name in ("filtered", "prepared"):
        made = load_dataset(str(tmp_path / name), split="train", cache_dir=str(tmp_path / "cache"))
        assert made.features["topics"] == features["topics"]
        assert read_labelled(str(tmp_path / name), "train", column="topics").names == {"cold", "warm"}


def test_four_repeated_texts_are_enough_for_a_dev_part(tmp_path):
    columns = {"text": [f"t{i % 4}" for i in range(40)], "label": [i % 2 for i in range(40)]}
    assert sizes(read(write(tmp_path / "data", train=columns))) == {"train": 30, "dev": 10}


def opinions(folder, count, *, pairs=False):
    """Labelled sentences of words of which the first tells the class, or pairs of them."""
    texts = [f"w{number % 2} w{2 + number % 17} w{20 + number // 17 % 19}" for number in range(count)]
    sides = {"sentence1": texts, "sentence2": texts} if pairs else {"text": texts}
    # A repeated text is in one part only.
    return write(folder, train={**sides, "label": [number % 2 for number in range(count)]})


@pytest.mark.parametrize(
    ("count", "options", "epochs"),
    [
        (1200, {}, 3),
        (900, {}, 10),
        (1200, {"second": True}, 10),
        (1200, {"from_scratch": True}, 10),
        (900, {"epochs": 2}, 2),
    ],
)
def test_many_rows_need_few_epochs_from_the_best_head(tmp_path, count, options, epochs):
    data = opinions(tmp_path / "data", count, pairs="second" in options)
    settings = {name: value for name, value in options.items() if name != "second"}
    encoder = write_average(tmp_path / "encoder", [f"w{number}" for number in range(40)])
    train_supervised(model=encoder, data=data, batch_size=300, output=tmp_path / "model", **settings)
    results = record(tmp_path / "model")["results"]
    assert len(results["epochs"]) == epochs
    # From there the learning rate falls to zero in equal steps, otherwise it is constant.
    rates = [entry["learning_rate"] for entry in results["log"] if "learning_rate" in entry]
    falls = "second" not in options and not options.get("from_scratch")
    np.testing.assert_allclose(np.diff(rates), -0.001 / epochs if falls else 0.0, rtol=1e-6)
    assert (rates[-1] < 0.001 / epochs) == falls


def test_a_killed_training_goes_on_in_the_schedule(tmp_path, monkeypatch):
    data = opinions(tmp_path / "data", 60)
    encoder = write_average(tmp_path / "encoder", [f"w{number}" for number in range(40)])
    train = partial(train_supervised, model=encoder, data=data, epochs=4, learning_rate=0.05)
    whole = train(output=tmp_path / "whole")
    begin_epoch = ClassifierTrainer.begin_epoch
    with monkeypatch.context() as deadly, pytest.raises(Killed):

        def kill(trainer, epoch):
            if epoch == 2:
                raise Killed
            begin_epoch(trainer, epoch)

        deadly.setattr(ClassifierTrainer, "begin_epoch", kill)
        train(output=tmp_path / "killed")
    resumed = train(output=tmp_path / "killed", resume=True)
    assert np.array_equal(resumed.logits(["w0 w5", "w1 w6"]), whole.logits(["w0 w5", "w1 w6"]))
    assert record(tmp_path / "killed")["results"]["epochs"] == record(tmp_path / "whole")["results"]["epochs"]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    texts = [f"{('dreadful', 'lovely')[i % 2]} {i}" for i in range(40)]
    data = write(folder / "data", train={"review": texts, "opinion": ["01" if i % 2 else "TRUE" for i in range(40)]})
    columns = {"text_column": "review", "target_column": "opinion", "freeze_encoder": True}
    classifier = train_supervised(data=data, output=str(folder / "model"), **columns)
    assert classifier.class_names == ["01", "TRUE"]
    return folder


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predictions_of_blank_texts_and_unknown_labels_are_written_to_files(reviews, tmp_path, ending, caplog):
    columns = {
        "review": ["lovely", None, "", "dreadful"],
        "opinion": ["01", "01", "other", None],
        "n": [[date(2024, 1, 31)], [], [None], []],
        "weight": [0.5, float("nan"), None, float("inf")],
    }
    data = write(tmp_path / "data", train=columns)
    output = tmp_path / f"found.{ending}"
    result = predict(model=str(reviews / "model"), data=data, output=str(output))
    assert result["rows"] == 4 and result["scores"]["rows"] == 2
    assert "2 rows have no text" in caplog.text
    if ending == "csv":
        found = list(csv.DictReader(output.read_text().splitlines()))
        assert [row["n"] for row in found] == ['["2024-01-31"]', "[]", "[null]", "[]"]
    elif ending == "parquet":
        found = pl.read_parquet(output).to_dicts()
        assert [row["n"] for row in found] == columns["n"]
    else:
        found = [json.loads(line) for line in output.read_text().splitlines()]
        assert [row["weight"] for row in found] == [0.5, None, None, None]
        assert [row["review"] for row in found] == columns["review"]
    assert (found[0]["prediction"], found[3]["prediction"]) == ("01", "TRUE")
    with pytest.raises(OutputError, match="exists"):
        predict(model=str(reviews / "model"), data=data, output=str(output))


def test_rows_without_a_published_class_get_a_prediction_and_truth_values_are_classes(tmp_path):
    features = Features({"text": Value("string"), "label": ClassLabel(names=["bad", "good"])})
    rows = {"text": [f"{word} day {i}" for i in range(10) for word in ("good", "bad")], "label": [1, 0] * 10}
    train = Dataset.from_dict(rows, features=features)
    assert train_supervised(data=train, epochs=1, output=tmp_path / "model").class_names == ["bad", "good"]
    hidden = Dataset.from_dict({"text": ["good day", "bad day"], "label": [-1, -1]}, features=features)
    results = predict(model=tmp_path / "model", data=hidden, output=tmp_path / "out.jsonl")
    assert results["rows"] == 2 and results["scores"] is None
    results = predict(model=tmp_path / "model", data=train, output=tmp_path / "out.csv")
    assert results["split"] == "train" and results["scores"]["accuracy"] > 90
    names = [json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["label"]]
    names += [row["label"] for row in csv.DictReader((tmp_path / "out.csv").read_text().splitlines())]
    assert names == [None, *(["good", "bad"] * 10)]
    truths = Dataset.from_dict({"text": rows["text"], "label": [True, False] * 10})
    assert read_labelled(truths, "train", column="label").names == {"True", "False"}


def test_a_text_file_has_one_sentence_per_line(reviews, tmp_path):
    (tmp_path / "lines.txt").write_text("lovely\n\ndreadful\n")
    result = predict(model=str(reviews / "model"), data=str(tmp_path / "lines.txt"), output=str(tmp_path / "o.jsonl"))
    assert result["rows"] == 3 and result["scores"] is None
