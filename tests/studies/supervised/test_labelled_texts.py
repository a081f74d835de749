from __future__ import annotations

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.supervised.labelled_texts import CLASSES, SCORES, draw_apart, read_labelled, without_rows_of


def write(folder, split="train", **columns):
    table = pa.table(columns)
    write_split(folder, split, [table], table.schema)
    return folder


def test_pairs_single_sentences_and_texts_are_distinguished(tmp_path):
    pairs = read_labelled(write(tmp_path / "a", sentence1=["x"], sentence2=["y"], label=[1]), "train", column="label")
    assert (pairs.first, pairs.second, pairs.targets) == (["x"], ["y"], ["1"])
    single = read_labelled(write(tmp_path / "b", sentence1=["x"], label=["yes"]), "train", column="label")
    assert (single.first, single.second, single.targets) == (["x"], None, ["yes"])
    text = read_labelled(write(tmp_path / "c", text=["x"], score=[2.5]), "train", column="score", kind=SCORES)
    assert (text.first, text.targets) == (["x"], [2.5])
    assert read_labelled(tmp_path / "c", "train", column=None).targets == []


@pytest.mark.parametrize(
    ("values", "names", "expected"),
    [
        (pa.array([0, 1, 1]), ["no", "yes"], ["no", "yes", "yes"]),
        (pa.array([3, 1, 2]), [], ["3", "1", "2"]),
        (pa.array([True, False, True]), [], ["1", "0", "1"]),
        (pa.array([1.0, 0.0, 1.0]), [], ["1", "0", "1"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), [], ["a", "b", "a"]),
    ],
)
def test_classes_have_names(tmp_path, values, names, expected):
    folder = write(tmp_path / "data", text=["x", "y", "z"], label=values)
    assert read_labelled(folder, "train", column="label", names=names).targets == expected


@pytest.mark.parametrize(
    ("columns", "kind", "expected"),
    [
        ({"text": ["x"], "label": [0.5]}, CLASSES, "row 0: the label is 0.5, not a class"),
        ({"text": ["x", "y"], "label": [0, -1]}, CLASSES, "row 1: the label is -1, not a class"),
        ({"text": ["x", "y"], "label": [1, None]}, CLASSES, "row 1: the label is None, not a class"),
        ({"text": ["x"], "label": [[1]]}, CLASSES, "not a class"),
        ({"text": ["y", None], "label": [1, 1]}, CLASSES, "row 1 has no text in column text"),
        ({"text": [1], "label": [1]}, CLASSES, "column text"),
        ({"text": ["x"], "label": ["high"]}, SCORES, "not a number"),
        ({"text": ["x", "y"], "label": [1.0, float("inf")]}, SCORES, "row 1: the label is inf"),
        ({"sentence2": ["x"], "label": [1]}, CLASSES, "missing column sentence1"),
        ({"words": ["x"], "label": [1]}, CLASSES, "missing column text"),
        ({"text": pa.array([], pa.string()), "label": pa.array([], pa.int64())}, CLASSES, "no rows"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, columns, kind, expected):
    with pytest.raises(InputError) as caught:
        read_labelled(write(tmp_path / "data", **columns), "train", column="label", kind=kind)
    assert expected in str(caught.value)


def test_a_drawn_share_splits_no_equal_rows_and_loses_none(tmp_path):
    texts = [f"text {number // 2}" if number % 2 else f" Text  {number // 2}" for number in range(40)]
    rows = read_labelled(write(tmp_path / "data", text=texts, label=list(range(40))), "train", column="label")
    left, drawn = draw_apart(rows, 0.25, 3)
    assert len(drawn) == 10 and sorted(map(int, [*left.targets, *drawn.targets])) == list(range(40))
    assert {int(number) // 2 for number in drawn.targets}.isdisjoint({int(number) // 2 for number in left.targets})
    assert drawn.first == [texts[int(number)] for number in drawn.targets]
    assert draw_apart(rows, 0.25, 3)[1].targets == drawn.targets != draw_apart(rows, 0.25, 4)[1].targets
    with pytest.raises(InputError, match="too few to draw 1%"):
        draw_apart(rows, 0.01, 0)


def test_rows_of_other_parts_are_left_out_whatever_their_case(tmp_path):
    one = write(tmp_path / "a", sentence1=["A b", "c", "d"], sentence2=["x", "y", "z"], label=[0, 1, 2])
    two = write(tmp_path / "b", sentence1=["a  B", "d"], sentence2=["X", "other"], label=[0, 1])
    first, second = (read_labelled(folder, "train", column="label") for folder in (one, two))
    assert without_rows_of(first, [second]).first == ["c", "d"]
