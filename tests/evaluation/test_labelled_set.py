from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation.labelled_set import (
    LabelledSet,
    read_labelled_folder,
    sentence_folds,
    sentence_groups,
    without_pairs_of,
)


def write(folder, split="test", **columns):
    count = len(next(iter(columns.values())))
    texts = {"sentence1": [f"a {i}" for i in range(count)], "sentence2": [f"b {i}" for i in range(count)]}
    table = pa.table({**texts, **columns})
    write_split(folder, split, [table], table.schema)
    return folder


def pairs(*texts):
    first, second = zip(*texts, strict=True)
    return LabelledSet("x", list(first), list(second), np.arange(len(first)) % 2)


def test_labels_are_read_and_pairs_without_one_left_out_and_counted(tmp_path):
    found = read_labelled_folder(write(tmp_path, label=[1, None, 0, 1]), "test")
    assert found.labels.tolist() == [1, 0, 1] and found.sentences1 == ["a 0", "a 2", "a 3"]
    assert (found.undecided, found.positives, len(found)) == (1, 2, 3)


def test_scores_above_the_border_are_paraphrases_and_those_at_it_are_left_out(tmp_path):
    folder = write(tmp_path, score=[1.0, 2.5, 3.0, None, 2.0, 4.0], label=[1, 1, 1, 1, 1, 1])
    found = read_labelled_folder(folder, "test", positive_above=2.5)
    assert found.labels.tolist() == [0, 1, 0, 1] and found.undecided == 2
    assert found.sentences2 == ["b 0", "b 2", "b 4", "b 5"]


def test_the_configuration_labelled_stands_in_for_a_split_that_is_not_there(tmp_path):
    write(tmp_path, "labelled.validation", label=[0, 1])
    assert read_labelled_folder(tmp_path, "validation").name.endswith("/labelled.validation")
    write(tmp_path, "validation", label=[0, 1, 1])
    assert len(read_labelled_folder(tmp_path, "validation")) == 3


@pytest.mark.parametrize(
    ("columns", "border", "expected"),
    [
        ({"label": [0, 2]}, None, "row 1: the label is 2"),
        ({"label": [0, -1]}, None, "row 1: the label is -1"),
        ({"label": ["0", "1"]}, None, "row 0: the label is 0"),
        ({"label": [0.5, 1.0]}, None, "row 0: the label is 0.5"),
        ({"label": [[0], [1]]}, None, "row 0: the label is [0]"),
        ({"score": [1.0, 4.0]}, None, "give --positive-above"),
        ({"grade": [1.0, 4.0]}, None, "the columns are sentence1, sentence2, grade"),
        ({"label": [0, 1]}, 2.5, "no column score"),
        ({"score": [1.0, float("nan")]}, 2.5, "row 1: the score is nan"),
        ({"score": ["1", "high"]}, 2.5, "not numeric"),
        ({"label": [0, 1], "sentence1": ["x", None]}, None, "missing values in column sentence1"),
    ],
)
def test_what_is_no_label_is_named_with_its_row(tmp_path, columns, border, expected):
    with pytest.raises(InputError, match=expected.replace("[", r"\[")):
        read_labelled_folder(write(tmp_path, **columns), "test", border)


def test_a_split_that_is_not_there_is_named_with_those_that_are(tmp_path):
    with pytest.raises(InputError, match="the splits are test"):
        read_labelled_folder(write(tmp_path, label=[0, 1]), "validation")
    with pytest.raises(InputError, match="no such data folder"):
        read_labelled_folder(Path(tmp_path / "absent"), "test")


def test_pairs_of_the_other_set_go_whichever_way_round_and_however_they_are_written():
    dev = pairs(("Sit down!", "Have a seat."), ("sit down", "go away"), ("?", "!"), ("new", "pair"))
    test = pairs(("have a  seat", "SIT DOWN"), ("go away", "new"), ("!", "."))
    assert without_pairs_of(dev, test).sentences2 == ["go away", "!", "pair"]


texts = st.sampled_from("abcdefghij")


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=30), st.integers(1, 6))
def test_no_sentence_is_in_two_folds_and_a_group_is_what_chains_of_shared_sentences_join(rows, count):
    first, second = [a for a, _ in rows], [b for _, b in rows]
    folds = sentence_folds(first, second, count)
    seen = {}
    for a, b, fold in zip(first, second, folds, strict=True):
        assert seen.setdefault(a, fold) == fold and seen.setdefault(b, fold) == fold
    # A naive closure: merge groups until nothing changes.
    naive = [{a, b} for a, b in rows]
    for _ in rows:
        naive = [set().union(*(other for other in naive if other & group)) for group in naive]
    groups = sentence_groups(first, second)
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert (groups[i] == groups[j]) == (naive[i] == naive[j])


def test_folds_of_pairs_without_common_sentences_have_like_sizes():
    first, second = [f"a {i}" for i in range(23)], [f"b {i}" for i in range(23)]
    assert sorted(np.bincount(sentence_folds(first, second, 5))) == [4, 4, 5, 5, 5]
