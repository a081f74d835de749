from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.evaluation.baselines import UNTRAINED_BASELINES
from hf_paraphrase.evaluation.graded_set import GradedSet, ScoredSet, score_with_similarity
from hf_paraphrase.evaluation.similarity_suites import format_protocol, format_sets
from hf_paraphrase.evaluation.sts import (
    MEAN_GROUPS,
    PROTOCOLS,
    YEARS,
    evaluate_scored,
    evaluate_sts,
    sets_of_year,
    shorten,
    sts_measurements,
)
from hf_paraphrase.evaluation.sts_files import STS_TASKS, find_sts_sets
from hf_paraphrase.evaluation.suite import Scores

TWENTY_FIVE = [f"{year} {name}" for year in YEARS for name in STS_TASKS[year]]
SEVEN_TASKS = [*(key for key in TWENTY_FIVE if key != "STS13 SMT"), "STS-B test", "SICK test"]
EVERY_KEY = [*TWENTY_FIVE, "SICK test", "Twitter test"]


def evaluate_protocol(name, scored):
    return evaluate_scored(scored, [name])["protocols"][name]


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
    return [100 * statistic(similarities, scores).statistic for statistic in (stats.pearsonr, stats.spearmanr)]


def both(row):
    return [row["pearson"], row["spearman"]]


def letter_counts(texts):
    """Letters weighted by irrational powers of their positions, so that no two cosines tie by chance."""
    rows = [
        [sum((i + 1.1) ** 0.3 for i, own in enumerate(text) if own == letter) for letter in "abcde"] for text in texts
    ]
    return np.array(rows, dtype=np.float32).reshape(-1, 5)


def lettered_set(key, seed, size=40):
    generator = np.random.default_rng(seed)
    texts = ["".join(generator.choice(list("abcde"), size=6)) for _ in range(2 * size)]
    family, name = key.split(" ", 1)
    return GradedSet(name, family, texts[:size], texts[size:], generator.uniform(0, 5, size))


def test_the_groups_have_the_sizes_they_are_named_after_and_nest_as_documented():
    for size in (22, 21, 20, 19):
        assert len(set(MEAN_GROUPS[f"{size} sets"])) == size
    assert set(MEAN_GROUPS["22 sets"]) - set(MEAN_GROUPS["21 sets"]) == {"Twitter test"}
    assert set(MEAN_GROUPS["21 sets"]) - set(MEAN_GROUPS["20 sets"]) == {"SICK test"}
    assert set(MEAN_GROUPS["20 sets"]) - set(MEAN_GROUPS["19 sets"]) == {"STS13 SMT"}
    assert not set(MEAN_GROUPS["STS16 mean"]) & set(MEAN_GROUPS["22 sets"])


def test_each_set_equals_scipy_on_the_cosines_computed_one_by_one_and_each_sentence_is_encoded_once():
    sets = [lettered_set(key, seed) for seed, key in enumerate(EVERY_KEY)]
    seen = []

    def encode(texts):
        seen.extend(texts)
        return letter_counts(texts)

    for graded, result in zip(sets, evaluate_sts(encode, sets)["sets"], strict=True):
        first, second = (letter_counts(side).astype(float) for side in (graded.sentences1, graded.sentences2))
        cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(first, second, strict=True)]
        assert result["n"] == len(graded)
        assert both(result) == pytest.approx(scipy_correlations([ScoredSet(graded, np.array(cosines))]), abs=1e-9)
    assert len(seen) == len(set(seen))


def test_means_are_unweighted_over_sets_and_an_incomplete_group_names_what_is_missing():
    sets = random_sets([key for key in EVERY_KEY if key != "STS13 SMT"])
    result = evaluate_scored(sets)
    own = {f"{item['family']} {item['name']}": item["pearson"] for item in result["sets"]}
    for name, keys in MEAN_GROUPS.items():
        assert result["means"][name]["pearson"] == pytest.approx(np.mean([own[key] for key in keys if key in own]))
    assert result["means"]["19 sets"]["label"] == "19 sets" and result["means"]["19 sets"]["complete"]
    assert result["means"]["22 sets"]["label"] == "22 sets (21 of 22 sets)"
    assert result["means"]["22 sets"]["missing"] == ["STS13 SMT"]
    assert result["dev_mean"] == result["means"]["STS16 mean"]["pearson"]


def test_training_parts_and_other_benchmarks_enter_no_mean_and_no_protocol():
    extra = random_sets(["SICK train", "Twitter dev", "STS12 train MSRpar", "graded mine/test", "STS17 track5"])
    alone, beside = evaluate_scored(random_sets(EVERY_KEY)), evaluate_scored([*extra, *random_sets(EVERY_KEY)])
    assert alone["means"] == beside["means"]
    nothing = evaluate_scored(extra[1:], PROTOCOLS)
    assert all(mean["pearson"] is None and not mean["sets"] for mean in nothing["means"].values())
    assert nothing["dev_mean"] is None
    assert all(not found["results"] and found["missing"] for found in nothing["protocols"].values())


def test_senteval_weighs_sets_by_their_pairs_as_computed_by_hand():
    # r = 1 on two pairs, r = -1 on four, r = 0.5 on three: (0, 1, 2) against (0, 2, 1).
    sets = [
        scored_set("STS12 MSRpar", [0.1, 0.2], [1, 5]),
        scored_set("STS12 MSRvid", [0.4, 0.3, 0.2, 0.1], [1, 2, 3, 4]),
        scored_set("STS12 OnWN", [0.0, 0.1, 0.2], [0, 2, 1]),
    ]
    rows = evaluate_protocol("senteval", sets)["results"]
    assert both(rows["STS12 mean"]) == pytest.approx([100 * (1 - 1 + 0.5) / 3] * 2)
    assert both(rows["STS12 wmean"]) == pytest.approx([100 * (2 * 1 - 4 * 1 + 3 * 0.5) / 9] * 2)
    assert rows["STS12 mean"]["n"] == rows["STS12 wmean"]["n"] == 9


def test_all_pools_the_pairs_of_a_year_without_smt():
    sets = random_sets(TWENTY_FIVE)
    rows = evaluate_protocol("all", sets)["results"]
    for year in YEARS:
        own = [item for item in sets if item.graded.family == year and item.key != "STS13 SMT"]
        assert both(rows[year]) == pytest.approx(scipy_correlations(own), abs=1e-9)
        assert rows[year]["n"] == sum(map(len, own))


def test_the_mean_of_seven_is_the_plain_mean_of_the_seven_tasks():
    result = evaluate_protocol("all", random_sets(SEVEN_TASKS))
    *tasks, seven = result["results"].values()
    assert list(result["results"]) == [*YEARS, "STS-B test", "SICK-R test", "mean of 7"]
    assert result["missing"] == result["remarks"] == []
    assert both(seven) == pytest.approx(np.mean([both(row) for row in tasks], axis=0))


@pytest.mark.parametrize("absent", ["STS12 MSRvid", "STS14 images", "STS-B test", "SICK test"])
def test_there_is_no_mean_of_seven_when_one_set_is_missing_and_nothing_stands_in_for_it(absent):
    keys = [*(key for key in SEVEN_TASKS if key != absent), "STS-B dev", "SICK train", "SICK trial"]
    result = evaluate_protocol("all", random_sets(keys))
    names = result["results"]
    assert "mean of 7" not in names
    assert result["remarks"] == ["no mean of 7: 6 of the 7 tasks complete"]
    assert result["missing"] == [absent]
    assert set(names) <= {*YEARS, "STS-B test", "SICK-R test", "SICK-R train+trial+test (MTEB)"}


def test_the_whole_of_sick_in_one_list_is_a_line_of_its_own_outside_the_mean():
    sets = random_sets([*SEVEN_TASKS, "SICK train", "SICK trial"])
    rows = evaluate_protocol("all", sets)["results"]
    without = evaluate_protocol("all", random_sets(SEVEN_TASKS))["results"]
    own = [item for item in sets if item.graded.family == "SICK"]
    assert both(rows["SICK-R train+trial+test (MTEB)"]) == pytest.approx(scipy_correlations(own), abs=1e-9)
    assert rows["mean of 7"] == without["mean of 7"]


def test_the_two_averages_of_2021_are_over_sets_and_over_years_by_hand():
    sets = [
        scored_set("STS12 MSRpar", [0.1, 0.2], [1, 5]),  # r = 1
        scored_set("STS12 MSRvid", [0.1, 0.2], [5, 1]),  # r = -1
        scored_set("STS13 SMT", [0.0, 0.1, 0.2], [0, 2, 1]),  # r = 0.5
    ]
    rows = evaluate_protocol("wieting2021", sets)["results"]
    assert rows["mean over sets"]["pearson"] == pytest.approx(100 * 0.5 / 3)
    assert rows["mean over years"]["pearson"] == pytest.approx(100 * (0 + 0.5) / 2)
    assert rows["mean over years"]["label"] == "mean over years (3 of 25 sets)"


def test_no_protocol_changes_with_the_order_of_the_sets():
    sets = random_sets([*TWENTY_FIVE, "STS-B dev", "STS-B test", "SICK train", "SICK test", "Twitter test"])
    for protocol in PROTOCOLS:
        one, other = (evaluate_protocol(protocol, order)["results"] for order in (sets, sets[::-1]))
        assert list(one) == list(other)
        for name, row in one.items():
            assert both(row) == pytest.approx(both(other[name]), abs=1e-9)


def test_a_similarity_that_is_not_a_number_counts_as_zero():
    graded = random_set("STS12 MSRpar", 1, 6).graded
    values = np.array([0.3, np.nan, 0.1, -0.2, np.nan, 0.8])
    (scored,) = score_with_similarity(lambda first, second: values, [graded])
    assert scored.similarities.tolist() == [0.3, 0.0, 0.1, -0.2, 0.0, 0.8]


def test_wrong_similarities_vectors_and_sets_are_refused():
    graded = random_set("STS12 MSRpar", 1, 6).graded
    for values, words in ((np.ones(5), "shape"), (np.ones((6, 1)), "shape"), (np.full(6, np.inf), "infinite")):
        with pytest.raises(ModelError, match=words):
            score_with_similarity(lambda first, second, values=values: values, [graded])
    for vectors, words in ((np.zeros((1, 3)), "shape"), (np.full((12, 3), np.nan), "NaN")):
        with pytest.raises(ModelError, match=words):
            evaluate_sts(lambda texts, vectors=vectors: vectors[: len(texts)], [graded])
    with pytest.raises(InputError, match="no scored pair"):
        evaluate_sts(letter_counts, [GradedSet("x", "STS16", [], [], np.empty(0))])
    with pytest.raises(InputError, match="no scored pair"):
        evaluate_sts(letter_counts, [])
    with pytest.raises(ValueError, match="different lengths"):
        GradedSet("x", "graded", ["a"], ["b", "c"], np.zeros(1))


def flattened(sets):
    return [ScoredSet(item.graded, np.zeros(len(item))) for item in sets]


def test_a_constant_scorer_gets_zero_with_a_note_and_valid_json_everywhere():
    result = evaluate_scored(flattened(random_sets([*SEVEN_TASKS, "STS-B dev"])), PROTOCOLS)
    for found in result["protocols"].values():
        assert found["results"] and all(both(row) == [0.0, 0.0] for row in found["results"].values())
    json.dumps(result, allow_nan=False)
    assert "all similarities are equal" in result["sets"][0]["note"]
    rows = {name: found["results"] for name, found in result["protocols"].items()}
    assert "STS12 MSRpar: all similarities are equal" in rows["senteval"]["STS12 mean"]["note"]
    assert "all similarities are equal" in rows["all"]["STS12"]["note"]


def good_and_flat(keys):
    sets = random_sets(keys)
    return [
        Scores(name, "model", evaluate_scored(own, ["all"]))
        for name, own in (("runs/good", sets), ("runs/flat", flattened(sets)))
    ]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_report_has_every_set_and_each_mean_once_and_names_what_is_missing():
    scores = good_and_flat(["STS13 headlines"])
    text = format_sets(scores, notes=["scores without sentences (not evaluated): STS13 SMT"])
    row = next(line for line in text.splitlines() if line.startswith("| STS13 headlines"))
    (graded,) = scores[0].record["sets"]
    assert cells(row)[1:] == [str(graded["n"]), *(f"{value:.1f}" for value in both(graded)), "0.0", "0.0"]
    # One mean over one set, said once, though six groups have that set.
    assert [line.split(" |")[0] for line in text.splitlines() if "22 sets)" in line and "|" in line] == [
        "| 22 sets (1 of 22 sets)"
    ]
    same = "the same sets as of the 21 sets, 20 sets, 19 sets, STS13 mean"
    assert f"22 sets (1 of 22 sets); {same}; missing: STS12 (5 sets)" in text
    assert "scores without sentences (not evaluated): STS13 SMT" in text
    assert "flat, STS13 headlines: all similarities are equal" in text
    assert "STS12 mean" not in text


def test_a_protocol_table_has_its_title_its_columns_and_names_what_is_missing():
    scores = good_and_flat(["STS12 MSRpar", "STS12 MSRvid", "STS16 headlines"])
    lines = format_protocol(scores, "all").splitlines()
    assert lines[0].startswith("## all: all pairs of a year in one list")
    assert cells(lines[2]) == ["all", "pairs", "good all-P", "all-S", "flat all-P", "all-S"]
    row = scores[0].record["protocols"]["all"]["results"]["STS12"]
    assert cells(lines[4]) == [
        "STS12 (2 of 5 sets)", str(row["n"]), *(f"{value:.1f}" for value in both(row)), "0.0", "0.0"
    ]  # fmt: skip
    text = "\n".join(lines)
    assert "not found: STS12 SMTeuroparl, STS12 OnWN, STS12 SMTnews, STS13 (3 sets), STS14 (6 sets)" in text
    assert "no mean of 7: 0 of the 7 tasks complete" in text
    assert "flat, STS12: all similarities are equal" in text and "good, " not in text


def test_only_a_whole_year_is_abbreviated():
    assert shorten(sets_of_year("STS13", smt=True)) == ["STS13 (4 sets)"]
    assert shorten(["STS13 SMT", "STS14 images", "SICK test"]) == ["STS13 SMT", "STS14 images", "SICK test"]


def test_the_card_has_every_set_and_every_mean_over_a_whole_group_and_the_split_of_a_graded_folder():
    result = evaluate_scored(random_sets([*sets_of_year("STS13", smt=True), "STS12 MSRpar", "graded my set/dev"]))
    found = sts_measurements(result)
    places = [(item.dataset, item.config, item.split, item.metric) for item in found]
    assert ("STS13", "FNWN", None, "pearsonr") in places and ("STS12", "MSRpar", None, "spearmanr") in places
    assert ("my set", None, "dev", "pearsonr") in places
    assert {place[0] for place in places} == {"STS13", "STS12", "STS13 mean", "my set"}
    values = [item.value for item in found if item.dataset == "STS13 mean"]
    assert values == both(result["means"]["STS13 mean"])


@pytest.mark.real_data
def test_the_same_trigram_cosines_give_each_protocol_its_known_figure(real_data_dir):
    scored = score_with_similarity(
        UNTRAINED_BASELINES["trigrams"].similarity, find_sts_sets(real_data_dir / "sts").sets
    )
    senteval, pooled = (evaluate_protocol(name, scored)["results"] for name in ("senteval", "all"))
    assert senteval["STS12 mean"]["pearson"] == pytest.approx(55.7, abs=0.1)
    assert senteval["STS12 wmean"]["pearson"] == pytest.approx(56.6, abs=0.1)
    assert both(pooled["STS12"]) == pytest.approx([53.3, 52.9], abs=0.1)
    assert senteval["STS13 mean"]["pearson"] == pytest.approx(47.8, abs=0.1)
    assert [senteval[f"{year} mean"]["n"] for year in ("STS12", "STS13", "STS16")] == [3108, 1500, 1186]
