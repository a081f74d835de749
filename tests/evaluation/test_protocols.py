from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from hf_paraphrase.errors import InputError, ModelError, UsageError
from hf_paraphrase.evaluation.baselines import UNTRAINED_BASELINES
from hf_paraphrase.evaluation.graded_set import GradedSet, ScoredSet, score_with_similarity
from hf_paraphrase.evaluation.similarity_suites import format_protocol
from hf_paraphrase.evaluation.sts import (
    PROTOCOLS,
    YEARS,
    choose_protocols,
    evaluate_scored,
    sets_of_year,
    shorten,
)
from hf_paraphrase.evaluation.sts_files import STS_TASKS, find_sts_sets
from hf_paraphrase.evaluation.suite import Scores

TWENTY_FIVE = [f"{year} {name}" for year in YEARS for name in STS_TASKS[year]]
SEVEN_TASKS = [*(key for key in TWENTY_FIVE if key != "STS13 SMT"), "STS-B test", "SICK test"]


def named(name, result):
    return Scores(name, "model", result)


def evaluate_protocol(name, scored):
    return evaluate_scored(scored, [name]).protocols[name]


def scored_set(key, similarities, scores):
    family, name = key.split(" ", 1)
    texts = [f"{key} {i}" for i in range(len(scores))]
    graded = GradedSet(name, family, texts, texts[::-1], np.asarray(scores, dtype=np.float64))
    return ScoredSet(graded, np.asarray(similarities, dtype=np.float64))


def random_set(key, seed, size=None):
    generator = np.random.default_rng(seed)
    size = int(generator.integers(5, 60)) if size is None else size
    scores = generator.choice(np.arange(0, 5.2, 0.2), size)
    return scored_set(key, 0.1 * scores + generator.normal(size=size), scores)


def random_sets(keys):
    return [random_set(key, seed) for seed, key in enumerate(keys)]


def scipy_correlations(scored):
    similarities = np.concatenate([item.similarities for item in scored])
    scores = np.concatenate([item.graded.scores for item in scored])
    return (
        100 * stats.pearsonr(similarities, scores).statistic,
        100 * stats.spearmanr(similarities, scores).statistic,
    )


def test_senteval_weighs_sets_by_their_pairs_as_computed_by_hand():
    # r = 1 on two pairs, r = -1 on four, r = 0.5 on three: (0, 1, 2) against (0, 2, 1).
    sets = [
        scored_set("STS12 MSRpar", [0.1, 0.2], [1, 5]),
        scored_set("STS12 MSRvid", [0.4, 0.3, 0.2, 0.1], [1, 2, 3, 4]),
        scored_set("STS12 OnWN", [0.0, 0.1, 0.2], [0, 2, 1]),
    ]
    result = evaluate_protocol("senteval", sets)
    mean, wmean = result.row("STS12 mean"), result.row("STS12 wmean")
    for column in ("pearson", "spearman"):
        assert getattr(mean, column) == pytest.approx(100 * (1 - 1 + 0.5) / 3)
        assert getattr(wmean, column) == pytest.approx(100 * (2 * 1 - 4 * 1 + 3 * 0.5) / 9)
    assert mean.n == wmean.n == 9
    assert mean.label == "STS12 mean (3 of 5 sets)" and not mean.complete
    assert mean.missing == ("STS12 SMTeuroparl", "STS12 SMTnews")
    assert set(mean.missing) < set(result.missing)


def test_senteval_equals_scipy_and_numpy_on_all_years():
    sets = random_sets(SEVEN_TASKS)
    result = evaluate_protocol("senteval", sets)
    assert [row.name for row in result.rows] == [f"{year} {kind}" for year in YEARS for kind in ("mean", "wmean")]
    assert result.missing == () and all(row.complete for row in result.rows)
    for year in YEARS:
        own = [item for item in sets if item.graded.family == year]
        values = np.array([scipy_correlations([item]) for item in own])
        for kind, weights in (("mean", None), ("wmean", [len(item) for item in own])):
            row = result.row(f"{year} {kind}")
            expected = np.average(values, axis=0, weights=weights)
            np.testing.assert_allclose((row.pearson, row.spearman), expected, atol=1e-9)


@pytest.mark.parametrize("protocol", ["senteval", "all"])
def test_2013_smt_changes_nothing_where_the_protocol_leaves_it_out(protocol):
    sets = random_sets(SEVEN_TASKS)
    assert evaluate_protocol(protocol, [*sets, random_set("STS13 SMT", 99)]) == evaluate_protocol(protocol, sets)


def test_a_year_in_one_list_gives_the_correlations_that_scipy_gives_on_the_list():
    sets = random_sets(SEVEN_TASKS)
    result = evaluate_protocol("all", sets)
    for task in (*YEARS, "STS-B", "SICK"):
        own = [item for item in sets if item.graded.family == task]
        row = result.row({"STS-B": "STS-B test", "SICK": "SICK-R test"}.get(task, task))
        np.testing.assert_allclose((row.pearson, row.spearman), scipy_correlations(own), atol=1e-9)
        assert row.n == sum(map(len, own))


def test_the_mean_of_seven_is_the_plain_mean_of_the_seven_tasks():
    result = evaluate_protocol("all", random_sets(SEVEN_TASKS))
    tasks, seven = result.rows[:-1], result.rows[-1]
    assert [row.name for row in tasks] == [*YEARS, "STS-B test", "SICK-R test"]
    assert seven.name == "mean of 7" and result.missing == () and result.remarks == ()
    assert seven.spearman == pytest.approx(np.mean([row.spearman for row in tasks]))
    assert seven.pearson == pytest.approx(np.mean([row.pearson for row in tasks]))


@pytest.mark.parametrize("absent", ["STS12 MSRvid", "STS14 images", "STS-B test", "SICK test"])
def test_there_is_no_mean_of_seven_when_one_set_is_missing_and_the_stand_ins_keep_their_names(absent):
    keys = [key for key in SEVEN_TASKS if key != absent]
    sets = [
        *random_sets(keys),
        random_set("STS-B dev", 50),
        random_set("SICK train", 51),
        random_set("SICK trial", 52),
    ]
    result = evaluate_protocol("all", sets)
    names = [row.name for row in result.rows]
    assert "mean of 7" not in names
    assert result.remarks == ("no mean of 7: 6 of the 7 tasks complete",)
    assert result.missing == (absent,)
    assert ("STS-B dev" in names) == (absent == "STS-B test")
    assert ("SICK-R train" in names) == ("SICK-R trial" in names) == (absent == "SICK test")


def test_the_whole_of_sick_in_one_list_is_a_line_of_its_own_outside_the_mean():
    sets = random_sets([*SEVEN_TASKS, "SICK train", "SICK trial"])
    result, without = evaluate_protocol("all", sets), evaluate_protocol("all", random_sets(SEVEN_TASKS))
    row = result.row("SICK-R train+trial+test (MTEB)")
    own = [item for item in sets if item.graded.family == "SICK"]
    np.testing.assert_allclose((row.pearson, row.spearman), scipy_correlations(own), atol=1e-9)
    assert result.row("mean of 7") == without.row("mean of 7")


@pytest.mark.parametrize(
    ("protocol", "label", "family", "splits", "required"),
    [
        ("stsb", "STS-B", "STS-B", ("dev", "test", "train"), ("STS-B dev", "STS-B test")),
        ("sick", "SICK", "SICK", ("train", "trial", "test"), ("SICK test",)),
    ],
)
def test_each_part_of_a_benchmark_is_scored_alone_and_absent_ones_are_named(protocol, label, family, splits, required):
    sets = random_sets([f"{family} {split}" for split in splits])
    result = evaluate_protocol(protocol, [*sets, random_set("STS12 MSRpar", 90)])
    assert [row.name for row in result.rows] == [f"{label} {split}" for split in splits]
    for row, item in zip(result.rows, sets, strict=True):
        np.testing.assert_allclose((row.pearson, row.spearman), scipy_correlations([item]), atol=1e-9)
    assert result.missing == ()
    assert evaluate_protocol(protocol, []).missing == required and evaluate_protocol(protocol, []).rows == ()
    alone = evaluate_protocol(protocol, [item for item in sets if item.graded.name == "test"])
    assert [row.name for row in alone.rows] == [f"{label} test"]


def test_the_two_averages_of_2021_are_over_sets_and_over_years_by_hand():
    sets = [
        scored_set("STS12 MSRpar", [0.1, 0.2], [1, 5]),  # r = 1
        scored_set("STS12 MSRvid", [0.1, 0.2], [5, 1]),  # r = -1
        scored_set("STS13 SMT", [0.0, 0.1, 0.2], [0, 2, 1]),  # r = 0.5
    ]
    result = evaluate_protocol("wieting2021", sets)
    assert result.row("mean over sets").pearson == pytest.approx(100 * 0.5 / 3)
    assert result.row("mean over years").pearson == pytest.approx(100 * (0 + 0.5) / 2)
    assert result.row("mean over years").label == "mean over years (3 of 25 sets)"
    whole = evaluate_protocol("wieting2021", random_sets(TWENTY_FIVE))
    assert whole.missing == () and whole.row("mean over sets").label == "mean over sets"


def test_no_protocol_changes_with_the_order_of_the_sets():
    sets = random_sets([*TWENTY_FIVE, "STS-B dev", "STS-B test", "SICK train", "SICK test", "Twitter test"])
    for protocol in PROTOCOLS:
        one, other = evaluate_protocol(protocol, sets), evaluate_protocol(protocol, sets[::-1])
        assert [row.label for row in one.rows] == [row.label for row in other.rows]
        for first, second in zip(one.rows, other.rows, strict=True):
            assert (first.pearson, first.spearman) == pytest.approx((second.pearson, second.spearman), abs=1e-9)


def test_training_parts_and_other_benchmarks_enter_no_protocol():
    extra = random_sets(["STS12 train MSRpar", "Twitter test", "graded mine/test", "STS17 track5"])
    for name in PROTOCOLS:
        assert evaluate_protocol(name, extra).rows == (), name
        assert evaluate_protocol(name, extra).missing


def test_a_similarity_that_is_not_a_number_counts_as_zero():
    graded = random_set("STS12 MSRpar", 1, 6).graded
    values = np.array([0.3, np.nan, 0.1, -0.2, np.nan, 0.8])
    (scored,) = score_with_similarity(lambda first, second: values, [graded])
    assert scored.similarities.tolist() == [0.3, 0.0, 0.1, -0.2, 0.0, 0.8]
    row = evaluate_protocol("senteval", [scored]).row("STS12 mean")
    assert row.pearson == pytest.approx(100 * stats.pearsonr(np.nan_to_num(values), graded.scores).statistic)
    assert evaluate_scored([scored]).sets[0].pearson == pytest.approx(row.pearson)


def test_similarities_of_a_wrong_number_or_without_bound_are_refused():
    graded = random_set("STS12 MSRpar", 1, 6).graded
    for values, words in ((np.ones(5), "shape"), (np.ones((6, 1)), "shape"), (np.full(6, np.inf), "infinite")):
        with pytest.raises(ModelError, match=words):
            score_with_similarity(lambda first, second, values=values: values, [graded])
    with pytest.raises(InputError):
        score_with_similarity(lambda first, second: np.ones(len(first)), [])


def test_a_constant_scorer_gets_zero_with_a_note_and_valid_json_everywhere():
    sets = [ScoredSet(item.graded, np.zeros(len(item))) for item in random_sets([*SEVEN_TASKS, "STS-B dev"])]
    for protocol in PROTOCOLS:
        result = evaluate_protocol(protocol, sets)
        assert result.rows
        assert all(row.pearson == row.spearman == 0.0 for row in result.rows)
    json.dumps(evaluate_scored(sets, PROTOCOLS).as_dict(), allow_nan=False)
    assert "STS12 MSRpar: all similarities are equal" in evaluate_protocol("senteval", sets).row("STS12 mean").note
    assert "all similarities are equal" in evaluate_protocol("all", sets).row("STS12").note


def test_a_protocol_table_has_its_title_its_columns_and_names_what_is_missing():
    sets = random_sets(["STS12 MSRpar", "STS12 MSRvid", "STS16 headlines"])
    flat = [ScoredSet(item.graded, np.zeros(len(item))) for item in sets]
    results = [named(name, evaluate_scored(own, ["all"])) for name, own in (("runs/good", sets), ("runs/flat", flat))]
    lines = format_protocol(results, "all").splitlines()
    assert lines[0].startswith("## all: all pairs of a year in one list")
    header = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert header == ["all", "pairs", "good all-P", "all-S", "flat all-P", "all-S"]
    row = results[0].result.protocols["all"].row("STS12")
    cells = [cell.strip() for cell in lines[4].strip("|").split("|")]
    size = str(len(sets[0]) + len(sets[1]))
    assert cells == ["STS12 (2 of 5 sets)", size, f"{row.pearson:.1f}", f"{row.spearman:.1f}", "0.0", "0.0"]
    text = "\n".join(lines)
    assert "not found: STS12 SMTeuroparl, STS12 OnWN, STS12 SMTnews, STS13 (3 sets), STS14 (6 sets)" in text
    assert "no mean of 7: 0 of the 7 tasks complete" in text
    assert "flat, STS12: all similarities are equal" in text and "good, " not in text


def test_only_a_whole_year_is_abbreviated():
    assert shorten(sets_of_year("STS13", smt=True)) == ["STS13 (4 sets)"]
    assert shorten(sets_of_year("STS13", smt=False)) == ["STS13 (3 sets)"]
    assert shorten(["STS13 SMT", "STS14 images", "SICK test"]) == ["STS13 SMT", "STS14 images", "SICK test"]


def test_protocols_are_chosen_by_name_all_by_default_and_unknown_ones_are_refused():
    assert choose_protocols([]) == ["paper", *PROTOCOLS]
    assert choose_protocols(["stsb", "paper", "stsb"]) == ["stsb", "paper"]
    with pytest.raises(UsageError, match="unknown protocol mteb") as caught:
        choose_protocols(["paper", "mteb"])
    assert "senteval" in str(caught.value.remedy)


@pytest.mark.real_data
def test_the_same_trigram_cosines_give_each_protocol_its_known_figure(real_data_dir):
    scored = score_with_similarity(
        UNTRAINED_BASELINES["trigrams"].similarity, find_sts_sets(real_data_dir / "sts").sets
    )
    senteval, pooled = evaluate_protocol("senteval", scored), evaluate_protocol("all", scored)
    assert senteval.row("STS12 mean").pearson == pytest.approx(55.7, abs=0.1)
    assert senteval.row("STS12 wmean").pearson == pytest.approx(56.6, abs=0.1)
    assert pooled.row("STS12").pearson == pytest.approx(53.3, abs=0.1)
    assert pooled.row("STS12").spearman == pytest.approx(52.9, abs=0.1)
    assert senteval.row("STS13 mean").pearson == pytest.approx(47.8, abs=0.1)
    assert [senteval.row(f"{year} mean").n for year in ("STS12", "STS13", "STS16")] == [3108, 1500, 1186]


@pytest.mark.real_data
def test_the_real_benchmark_and_sick_parts_are_found_by_name(real_data_dir):
    sets = [graded for name in ("stsbenchmark", "sick") for graded in find_sts_sets(real_data_dir / name).sets]
    scored = score_with_similarity(UNTRAINED_BASELINES["trigrams"].similarity, sets)
    benchmark, sick = evaluate_protocol("stsb", scored), evaluate_protocol("sick", scored)
    assert [(row.name, row.n) for row in benchmark.rows] == [("STS-B dev", 1500)]
    assert [(row.name, row.n) for row in sick.rows] == [("SICK train", 4500), ("SICK trial", 500)]
    assert benchmark.missing == ("STS-B test",) and sick.missing == ("SICK test",)
    assert 60 < benchmark.row("STS-B dev").pearson < 75
