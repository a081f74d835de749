from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation.transfer import read_labelled_texts


def write_csv(path, count=60, seed=0):
    generator = np.random.default_rng(seed)
    lines = ["id,label,text"]
    for row in range(count):
        word = ["good", "bad", "neither"][row % 3]
        lines.append(f'{row},{word},"{word}, {" ".join(generator.choice(list("abcdef"), 3))}"')
    path.write_text("\n".join(lines) + "\n")


def evaluate(data, output):
    words = ["evaluate", "--suite", "classification", "--data", data, "--baseline", "words", "--output", output]
    return main([str(word) for word in words])


def test_a_folder_is_tested_on_its_test_part(tmp_path, capsys):
    write_csv(tmp_path / "train.csv")
    write_csv(tmp_path / "test.csv", 30, seed=1)
    assert evaluate(tmp_path, tmp_path / "results.json") == 0
    record = json.loads((tmp_path / "results.json").read_text())
    (task,) = record["results"][0]["tasks"]
    assert (task["tested_on"], task["train"], task["test"]) == ("test", 60, 30)
    assert task["metrics"] == {"accuracy": 100, "f1": pytest.approx(100)}
    assert task["majority"]["accuracy"] == pytest.approx(100 / 3) and "| accuracy |" in capsys.readouterr().out


def test_a_data_folder_is_tested_on_its_test_split_and_the_f1_is_the_mean_over_the_classes(tmp_path):
    texts = ["good", "bad", "neither"] * 30
    labels = texts.copy()
    test = pa.table({"text": ["good", "bad", "bad", "neither"], "label": ["good", "good", "bad", "neither"]})
    train = pa.table({"text": texts, "label": labels})
    for split, table in (("train", train), ("test", test)):
        write_split(tmp_path / "kinds", split, [table], table.schema)
    found = hf_paraphrase.evaluate(data=[tmp_path / "kinds"], baseline=["words"])
    (task,) = found.record["results"][0]["tasks"]
    assert found.suite == "classification" and task["metrics"]["accuracy"] == 75
    assert task["metrics"]["f1"] == pytest.approx(100 * (2 / 3 + 2 / 3 + 1) / 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,kind\na,b\n", "label"),
        ("text,label\na,b,c\n", "3 fields where the header has 2"),
        ("text,label\na,\n", "without a label"),
        ('text,label\n"a,b\n', "quote"),
    ],
)
def test_malformed_files_are_named(tmp_path, content, message):
    (tmp_path / "x.csv").write_text(content)
    with pytest.raises(InputError, match=message) as raised:
        read_labelled_texts(tmp_path / "x.csv")
    assert str(raised.value.path).endswith("x.csv")


def test_quoted_fields_and_tabs_are_read(tmp_path):
    (tmp_path / "x.csv").write_text('label,text\r\n1,"a ""b"", c\nd"\r\n')
    (tmp_path / "x.tsv").write_text("text\tlabel\na, b\tyes\n")
    assert read_labelled_texts(tmp_path / "x.csv") == (['a "b", c\nd'], ["1"])
    assert read_labelled_texts(tmp_path / "x.tsv") == (["a, b"], ["yes"])


def test_too_few_examples_for_folds_are_refused(tmp_path, capsys):
    write_csv(tmp_path / "few.csv", 9)
    assert evaluate(tmp_path / "few.csv", tmp_path / "results.json") == 2
    assert "too few for folds" in capsys.readouterr().err
