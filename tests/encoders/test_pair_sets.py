from __future__ import annotations

import numpy as np
import pytest
import small_runs
from datasets import ClassLabel, Dataset, Features, Value
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.dev_sets.pair_sets import (
    group_sentences,
    read_graded_folder,
    read_labelled_folder,
    require_both_classes,
    split_into_folds,
)
from hf_paraphrase.encoders.dev_sets.scorer import dev_scorer
from hf_paraphrase.errors import InputError

CLASSES = ["entailment", "not_entailment"]


def write(folder, split="test", **columns):
    count = len(next(iter(columns.values())))
    texts = {"sentence1": [f"a {i}" for i in range(count)], "sentence2": [f"b {i}" for i in range(count)]}
    return small_runs.write(folder, split, **{**texts, **columns})


def test_the_configuration_labelled_stands_in_for_a_split_that_is_not_there(tmp_path):
    write(tmp_path, "labelled.validation", label=[0, 1])
    write(tmp_path, "train", label=[0, 1])
    assert read_labelled_folder(tmp_path, "validation").name.endswith("/labelled.validation")
    write(tmp_path, "validation", label=[0, 1, 1])
    assert len(read_labelled_folder(tmp_path, "validation")) == 3


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"label": [0.5, 1.0]}, "label 0.5 of row 1 does not say"),
        ({"grade": [1.0, 4.0]}, "the columns are sentence1, sentence2, grade"),
        ({"label": [0, 1], "sentence1": ["x", None]}, "row 2 of .* has no sentence1"),
        ({"score": [1.0, None]}, "/test: the score of pair 2 is missing"),
        ({"score": ["a", "b"]}, "the score of pair 1 is `a`, not a number"),
        ({"score": ["1_0", "2"]}, "the score of pair 1 is `1_0`, not a number"),
    ],
)
def test_what_is_no_label_and_no_score_is_named_with_its_pair(tmp_path, columns, problem):
    read = read_graded_folder if "score" in columns else read_labelled_folder
    with pytest.raises(InputError, match=problem):
        read(write(tmp_path, **columns), "test")


def test_a_file_is_read_by_the_usual_names_of_columns_and_the_usual_spellings_of_labels(tmp_path):
    path = tmp_path / "judged.csv"
    path.write_text('id,text1,text2,label\n1,"a, b",c,1.0\n2,d,e,False\n3,f,g,\n4,h,i,True\n')
    found = read_labelled_folder(path, "test")
    assert (found.name, found.labels.tolist(), found.undecided) == ("judged", [1, 0, 1], 1)
    assert found.sentences1 == ["a, b", "d", "h"]
    path.write_text("text1,text2,label\na,b,\n")
    with pytest.raises(InputError, match="no pair of judged has a label"):
        require_both_classes(read_labelled_folder(path, "test"), path)
    path.write_text("text1,text2,label\na,b,1\nc,d,maybe\n")
    with pytest.raises(InputError, match="label maybe of row 2 does not say whether a pair is a paraphrase"):
        read_labelled_folder(path, "test")


def test_a_dev_set_has_usual_columns_of_labels_and_of_scores_and_its_class_names_say_what_a_number_means(tmp_path):
    names = Features({"text1": Value("string"), "text2": Value("string"), "label": ClassLabel(names=CLASSES)})
    rows = {"text1": ["a", "b", "c"], "text2": ["d", "e", "f"]}
    Dataset.from_dict({**rows, "label": [0, 1, 0]}, features=names).to_parquet(tmp_path / "rte.parquet")
    Dataset.from_dict({**rows, "is_duplicate": ["1", "0", "1"]}).to_csv(tmp_path / "quora.csv")
    Dataset.from_dict({**rows, "gold_label": ["entailment", "neutral", "entailment"]}).to_json(tmp_path / "nli.jsonl")
    for file in ("rte.parquet", "quora.csv", "nli.jsonl"):
        assert read_labelled_folder(tmp_path / file, "test").labels.tolist() == [1, 0, 1], file
        assert "average_precision" in dev_scorer(tmp_path / file)(lambda texts: np.ones((len(texts), 2)))
    Dataset.from_dict({**rows, "similarity_score": [1.0, 2.5, 4.0]}).to_csv(tmp_path / "sts.csv")
    assert read_graded_folder(tmp_path / "sts.csv", "test").scores.tolist() == [1.0, 2.5, 4.0]


def test_words_and_numbers_of_classes_are_read_by_their_meaning(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("text1,text2,label\na,b,duplicate\nc,d,not_duplicate\ne,f,\ng,h,Entailment\ni,j,contradiction\n")
    labelled = read_labelled_folder(path, "test")
    assert (labelled.labels.tolist(), labelled.undecided) == ([1, 0, 1, 0], 1)
    # In RTE the number of the class of paraphrases is 0.
    features = {"sentence1": Value("string"), "sentence2": Value("string"), "label": ClassLabel(names=CLASSES)}
    rows = {"sentence1": ["a", "c", "e"], "sentence2": ["b", "d", "f"], "label": [0, 1, -1]}
    Dataset.from_dict(rows, Features(features)).to_parquet(tmp_path / "rte" / "test.parquet")
    for source in (tmp_path / "rte", tmp_path / "rte" / "test.parquet"):
        labelled = read_labelled_folder(source, "test")
        assert (labelled.labels.tolist(), labelled.undecided) == ([1, 0], 1)


texts = st.sampled_from("abcdefghij")


@settings(deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=30), st.integers(1, 6))
def test_no_sentence_is_in_two_folds_and_a_group_is_what_chains_of_shared_sentences_join(rows, count):
    first, second = [a for a, _ in rows], [b for _, b in rows]
    folds = split_into_folds(first, second, count)
    seen = {}
    for a, b, fold in zip(first, second, folds, strict=True):
        assert seen.setdefault(a, fold) == fold and seen.setdefault(b, fold) == fold
    # A naive closure.
    naive = [{a, b} for a, b in rows]
    for _ in rows:
        naive = [set().union(*(other for other in naive if other & group)) for group in naive]
    groups = group_sentences(first, second)
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert (groups[i] == groups[j]) == (naive[i] == naive[j])


def test_folds_of_pairs_without_common_sentences_have_like_sizes():
    sizes = np.bincount(split_into_folds([f"a {i}" for i in range(23)], [f"b {i}" for i in range(23)], 5))
    assert sorted(sizes) == [4, 4, 5, 5, 5]
