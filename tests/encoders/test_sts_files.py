from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_runs import write_sts

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.dev_sets.sts_files import STS_TASKS, find_sts_sets
from hf_paraphrase.errors import InputError


def test_pairs_without_score_or_sentence_count_neither_in_the_raw_set_nor_in_the_prepared_one(tmp_path):
    pairs = ["a\tb", "not\tscored", "c\t ", "\u200b\td", "e\tf\tnote\tnote"]
    write_sts(tmp_path / "raw" / "STS16-en-test", "headlines", pairs, ["1", "", "2", "3", "4"])
    assert main(["prepare", "sts", "--data-dir", str(tmp_path / "raw"), "--output", str(tmp_path / "prepared")]) == 0
    for folder in ("raw", "prepared"):
        (graded,) = find_sts_sets(tmp_path / folder).sets
        assert graded.key == "STS16 headlines"
        assert (graded.sentences1, graded.sentences2, graded.scores.tolist()) == (["a", "e"], ["b", "f"], [1.0, 4.0])


@pytest.mark.parametrize("folder", ["sts2012-en-test/gold", "deep/er/sts-12", "sts-en-test-gs-2012"])
def test_the_year_comes_from_the_folder_and_the_order_from_the_papers_and_a_training_part_is_no_test_set(
    tmp_path, folder
):
    write_sts(tmp_path / "training_runs" / "STS12-en-train", "MSRpar", ["a\tb"], ["3"])
    write_sts(tmp_path / "a" / "STS15", "images", ["a\tb"], ["3"])
    for name in sorted(STS_TASKS["STS12"]):
        write_sts(tmp_path / "training_runs" / folder, name, ["a\tb"], ["3"])
    expected = [*(f"STS12 {name}" for name in STS_TASKS["STS12"]), "STS15 images", "STS12 train MSRpar"]
    assert [graded.key for graded in find_sts_sets(tmp_path).sets] == expected


def test_a_copy_is_read_once_but_two_different_files_for_one_set_are_refused(tmp_path):
    write_sts(tmp_path / "one" / "STS16", "headlines", ["a\tb"], ["3"])
    write_sts(tmp_path / "two" / "STS16", "headlines", ["a\tb"], ["3"])
    assert len(find_sts_sets(tmp_path).sets) == 1
    write_sts(tmp_path / "two" / "STS16", "headlines", ["a\tb"], ["4"])
    with pytest.raises(InputError, match="other content"):
        find_sts_sets(tmp_path)


def test_malformed_sts_files_are_refused_with_file_and_line_and_without_a_way_to_skip_lines(tmp_path):
    write_sts(tmp_path / "STS16", "headlines", ["a\tb", "c\td"], ["1", "x"])
    with pytest.raises(InputError, match="score `x` is not a number from 0 to 5") as caught:
        find_sts_sets(tmp_path)
    assert caught.value.line == 2 and "headlines" in caught.value.path and "--on-error" not in str(caught.value)


def test_sets_that_lack_scores_or_sentences_are_named_and_the_others_read(tmp_path):
    write_sts(tmp_path / "STS16", "headlines", ["a\tb"], ["1"])
    write_sts(tmp_path / "STS16", "plagiarism", ["a\tb"], [""])
    write_sts(tmp_path / "STS16", "postediting", ["a\tb"], ["1"])
    (tmp_path / "STS16" / "STS.gs.postediting.txt").unlink()
    (tmp_path / "STS16" / "STS.gs.ALL.txt").write_text("3\n")
    (tmp_path / "STS13").mkdir()
    (tmp_path / "STS13" / "STS.gs.SMT.txt").write_text("3\n")
    (tmp_path / "test.data").write_text("1\tT\ta\tb\t5\tx\ty\n")
    found = find_sts_sets(tmp_path)
    assert [graded.key for graded in found.sets] == ["STS16 headlines"]
    assert set(found.without_scores) == {"Twitter test", "STS16 plagiarism", "STS16 postediting"}
    assert found.without_input == ("STS13 SMT",)
    assert {path.name for path in found.paths} == {"STS.input.headlines.txt"}


def test_null_scores_of_a_prepared_set_are_unscored_pairs(tmp_path):
    columns = {"benchmark": ["STS16"] * 3, "subset": ["headlines"] * 3}
    table = pa.table(
        {"sentence1": ["a", "b", "c"], "sentence2": ["d", "e", "f"], "score": [1.0, None, 3.0], **columns}
    )
    pq.write_table(table, tmp_path / "test.parquet")
    (graded,) = find_sts_sets(tmp_path).sets
    assert (graded.sentences1, graded.scores.tolist()) == (["a", "c"], [1.0, 3.0])
    pq.write_table(table.set_column(2, "score", pa.array([1.0, float("nan"), 3.0])), tmp_path / "test.parquet")
    with pytest.raises(InputError, match="STS16 headlines: the score of pair 2 is `nan`"):
        find_sts_sets(tmp_path)


def test_sts_2017_has_its_gold_in_a_sibling_folder_or_in_the_third_field(tmp_path):
    write_sts(tmp_path / "STS2017.gs", "track5.en-en", ["unused"], ["2.4"])
    inputs = tmp_path / "STS2017.eval.v1.1"
    inputs.mkdir()
    (tmp_path / "STS2017.gs" / "STS.input.track5.en-en.txt").rename(inputs / "STS.input.track5.en-en.txt")
    (inputs / "STS.input.track5.en-en.txt").write_text("a\tb\n")
    (inputs / "STS.input.track1.ar-ar.txt").write_text("c\td\t3.5\ne\tf\t\n")
    # Scores of another year or of the train part do not complete the test part.
    write_sts(tmp_path / "STS16-en-test", "headlines", ["a\tb"], ["1"])
    (tmp_path / "STS16-en-test" / "STS.gs.headlines.txt").unlink()
    for folder in ("STS13-en-test", "STS16-en-train"):
        write_sts(tmp_path / folder, "headlines", ["x\ty"], ["4"])
    found = find_sts_sets(tmp_path)
    scores = {graded.key: (graded.sentences1, graded.scores.tolist()) for graded in found.sets}
    assert scores["STS17 track5.en-en"] == (["a"], [2.4]) and scores["STS17 track1.ar-ar"] == (["c"], [3.5])
    assert found.without_scores == ("STS16 headlines",) and found.without_input == ()


def test_sick_the_sts_benchmark_and_all_pairs_of_twitter_are_read(tmp_path):
    (tmp_path / "SICK_test_annotated.txt").write_text(
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n6\tone\ttwo\t3.3\tNEUTRAL\n"
    )
    # Quotes are text.
    (tmp_path / "sts-test.csv").write_text('main\tMSRvid\t2012\t1\t4.5\t"A\tB "quoted"\tlicence\n')
    row = "1\tTopic\ts{0}\tt{0}\t{0}\ttag\ttag\n"
    (tmp_path / "test.data").write_text("".join(row.format(grade) for grade in (0, 3, 5)))
    (tmp_path / "test.label").write_text("false\t0.0000\n----\t0.6000\ntrue\t1.0000\n")
    found = [
        (each.key, each.sentences1, each.sentences2, each.scores.tolist()) for each in find_sts_sets(tmp_path).sets
    ]
    assert found == [
        ("SICK test", ["one"], ["two"], [3.3]),
        ("Twitter test", ["s0", "s3", "s5"], ["t0", "t3", "t5"], [0.0, 0.6, 1.0]),
        ("STS-B test", ['"A'], ['B "quoted"'], [4.5]),
    ]


@pytest.mark.real_data
def test_the_real_files_give_the_published_numbers_of_pairs(real_data_dir):
    published = {
        "STS12": (750, 750, 459, 750, 399),
        "STS13": (750, 561, 189),
        "STS16": (254, 249, 230, 244, 209),
        "SICK": (4500, 500),
        "STS-B": (1500,),
        "Twitter": (4727,),
    }
    sizes = {}
    for folder in ("sts", "sick", "stsbenchmark", "pit2015"):
        for graded in find_sts_sets(real_data_dir / folder).sets:
            sizes.setdefault(graded.family, []).append(len(graded))
    assert {family: tuple(values) for family, values in sizes.items()} == published
    assert find_sts_sets(real_data_dir / "sts").without_input == ("STS13 SMT",)
