from __future__ import annotations

import numpy as np

from hf_paraphrase.evaluation.graded_set import GradedSet, score_with_similarity
from hf_paraphrase.evaluation.similarity_suites import format_sets
from hf_paraphrase.evaluation.sts import evaluate_scored
from hf_paraphrase.evaluation.suite import Scores
from hf_paraphrase.tables import format_table, short_names


def test_table_columns_line_up_and_pipes_are_escaped():
    lines = format_table(["name", "n"], [["a|b", "1"], ["longer name", "1,000"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith("| a\\|b ") and lines[2].endswith("    1 |")


def test_short_names_are_as_long_as_it_takes_to_distinguish_them():
    assert short_names(["runs/avg/", "runs/gran"]) == ["avg", "gran"]
    assert short_names(["one/avg", "two/avg"]) == ["one/avg", "two/avg"]
    assert short_names(["words"]) == ["words"]


def test_the_report_has_every_set_and_mean_and_names_what_is_missing():
    graded = GradedSet("headlines", "STS13", ["a"] * 3, ["b"] * 3, np.array([1.0, 2.0, 3.0]))
    good = evaluate_scored(score_with_similarity(lambda first, second: np.array([0.1, 0.2, 0.3]), [graded]))
    flat = evaluate_scored(score_with_similarity(lambda first, second: np.zeros(3), [graded]))
    named = [Scores(name, "model", found) for name, found in (("good", good), ("flat", flat))]
    text = format_sets(named, notes=["scores without sentences (not evaluated): STS13 SMT"])
    row = next(line for line in text.splitlines() if line.startswith("| STS13 headlines"))
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "STS13 headlines",
        "3",
        "100.0",
        "100.0",
        "0.0",
        "0.0",
    ]
    # One mean over one set, said once, though six groups have that set.
    assert [line.split(" |")[0] for line in text.splitlines() if "22 sets)" in line and "|" in line] == [
        "| 22 sets (1 of 22 sets)"
    ]
    same = "the same sets as of the 21 sets, 20 sets, 19 sets, STS13 mean"
    assert f"22 sets (1 of 22 sets); {same}; missing: STS12 (5 sets)" in text
    assert "scores without sentences (not evaluated): STS13 SMT" in text
    assert "flat, STS13 headlines: all similarities are equal" in text
    assert "STS12 mean" not in text
