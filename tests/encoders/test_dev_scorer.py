from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from small_runs import write, write_sts

from hf_paraphrase.encoders.dev_sets.scorer import dev_scorer
from hf_paraphrase.encoders.model_folder import describe_dev_score
from hf_paraphrase.errors import InputError


def vowel_counts(texts):
    return np.array([[text.count(vowel) + 0.1 for vowel in "aeiou"] for text in texts], dtype=np.float32)


def write_graded(folder, split, scores):
    words = ["banana", "umbrella", "ocean", "onion"]
    write(folder, split, sentence1=words, sentence2=words[::-1], score=scores)


def test_the_dev_mean_is_the_plain_mean_over_the_sts16_sets_whatever_files_of_other_years_are_like(tmp_path):
    pairs = ["banana\tumbrella", "ocean\tonion", "bee\tbee"]
    for name, golds in (("headlines", [0, 3, 5]), ("plagiarism", [5, 1, 2])):
        write_sts(tmp_path / "any" / "STS16-en-test", name, pairs, golds)
    (tmp_path / "STS14").mkdir()
    (tmp_path / "STS14" / "STS.input.images.txt").write_text("no gold beside it\n")
    scores = dev_scorer(tmp_path)(vowel_counts)
    assert set(scores) == {"dev_mean", "STS16 headlines", "STS16 plagiarism"}
    assert scores["dev_mean"] == pytest.approx((scores["STS16 headlines"] + scores["STS16 plagiarism"]) / 2)


def test_of_a_graded_folder_the_validation_split_is_taken_and_never_test(tmp_path):
    write_graded(tmp_path, "validation", [1.0, 2.0, 3.0, 4.0])
    only = dev_scorer(tmp_path)(vowel_counts)
    write_graded(tmp_path, "test", [4.0, 3.0, 2.0, 1.0])
    assert dev_scorer(tmp_path)(vowel_counts) == only
    assert only["dev_mean"] == next(value for key, value in only.items() if key != "dev_mean")


@pytest.mark.parametrize("column", ["score", "label"])
def test_a_file_of_pairs_gives_what_its_rows_as_a_folder_give(tmp_path, column):
    sides = ["banana", "umbrella", "ocean", "onion"], ["onion", "ocean", "umbrella", "bee"]
    columns = {"sentence1": sides[0], "sentence2": sides[1], column: [1, 0, 1, 0]}
    folder, file = write(tmp_path / "folder", "validation", **columns), tmp_path / "dev.csv"
    pyarrow.csv.write_csv(pa.table(columns), file)
    found, expected = (dev_scorer(path)(vowel_counts)["dev_mean"] for path in (file, folder))
    assert found == pytest.approx(expected)


def test_raw_sets_without_sts16_give_their_dev_parts_alone(tmp_path):
    lines = [
        f"g\tf\t2012\t{row}\t{score}\t{first}\t{second}\tan url\n"
        for row, (first, second, score) in enumerate([("banana", "bee", 1), ("ocean", "onion", 3), ("bee", "bee", 5)])
    ]
    for part in ("train", "dev", "test"):
        (tmp_path / f"sts-{part}.csv").write_text("".join(lines))
    assert set(dev_scorer(tmp_path)(vowel_counts)) == {"dev_mean", "STS-B dev"}


def test_folders_without_anything_to_tune_on_are_refused(tmp_path):
    for split in ("train", "test"):
        write_graded(tmp_path / "no_dev", split, [1.0, 2.0, 3.0, 4.0])
    (tmp_path / "empty").mkdir()
    write_graded(tmp_path / "equal", "validation", [3.0] * 4)
    problems = {"no_dev": "no split `validation`", "absent": "no such folder", "empty": "STS 2016"}
    for name, problem in {**problems, "equal": "all scores are 3, so no encoder correlates"}.items():
        with pytest.raises(InputError, match=problem):
            dev_scorer(tmp_path / name)


def test_a_bitext_is_scored_by_how_many_sentences_find_their_translation(tmp_path):
    columns = {"source": ["banane", "ombrelle", "île"], "target": ["aaa", "oe", "ii"]}
    write(tmp_path, "validation", **columns)
    places = {"banane": 0, "aaa": 0, "ombrelle": 1, "oe": 1, "île": 2, "ii": 1}
    scores = dev_scorer(tmp_path)(lambda texts: np.eye(3, dtype=np.float32)[[places[text] for text in texts]])
    # Two targets share a source: neither is found from it, as ties are no hits. The third source is near no target.
    expected = {"source_to_target": 100 / 3, "target_to_source": 200 / 3, "dev_mean": 50.0}
    assert scores == pytest.approx(expected)
    with pytest.raises(InputError, match="no rows in a split `validation`"):
        dev_scorer(write(tmp_path / "train_alone", **columns))


def test_the_card_has_the_dev_score_only_if_there_was_a_dev_set():
    item = describe_dev_score("data/sts", 70.5, [{"dev_mean": 70.5}])
    assert (item.metric, item.split, item.value) == ("pearsonr", "dev", 70.5) and "chose the epoch" in item.name
    assert not describe_dev_score(None, 70.5, []).is_complete and not describe_dev_score("sts", None, []).is_complete
    found = describe_dev_score("bitext", 12.0, [{"dev_mean": 12.0, "source_to_target": 1.0}])
    assert (found.metric, found.split, found.task_name) == ("precision", "validation", "Finding translations")
