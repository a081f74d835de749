from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from small_runs import table_cells

from hf_paraphrase.encoders.dev_sets.pair_sets import GradedSet, ScoredSet, score_with_similarity
from hf_paraphrase.encoders.dev_sets.sts_files import STS_TASKS
from hf_paraphrase.errors import ModelError
from hf_paraphrase.evaluation.sts import (
    MEAN_GROUPS,
    PROTOCOLS,
    YEARS,
    evaluate_scored,
    evaluate_sts,
    format_sts,
    list_sets,
    list_sts_measurements,
)
from hf_paraphrase.evaluation.suite import Scores
from hf_paraphrase.vectors.similarity import cosine_similarities, pearson, spearman

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
    # Training parts and other benchmarks enter no mean.
    extra = random_sets(["SICK train", "Twitter dev", "STS12 train MSRpar", "graded mine/test", "STS17 track5"])
    assert evaluate_scored([*sets, *extra])["means"] == result["means"]
    own = {f"{item['family']} {item['name']}": item["pearson"] for item in result["sets"]}
    for name, keys in MEAN_GROUPS.items():
        assert result["means"][name]["pearson"] == pytest.approx(np.mean([own[key] for key in keys if key in own]))
    assert result["means"]["19 sets"]["label"] == "19 sets" and result["means"]["19 sets"]["complete"]
    assert result["means"]["22 sets"]["label"] == "22 sets (21 of 22 sets)"
    assert result["means"]["22 sets"]["missing"] == ["STS13 SMT"]
    assert result["dev_mean"] == result["means"]["STS16 mean"]["pearson"]


def test_senteval_weighs_sets_by_their_pairs_as_computed_by_hand():
    # r = 1 on two pairs, r = -1 on four, r = 0.5 on three: (0, 1, 2) against (0, 2, 1).
    sets = [
        scored_set("STS12 MSRpar", [0.1, 0.2], [1, 5]),
        scored_set("STS12 MSRvid", [0.4, 0.3, 0.2, 0.1], [1, 2, 3, 4]),
        scored_set("STS12 OnWN", [0.0, 0.1, 0.2], [0, 2, 1]),
    ]
    rows = evaluate_protocol("senteval", sets)
    assert both(rows["STS12 mean"]) == pytest.approx([100 * (1 - 1 + 0.5) / 3] * 2)
    assert both(rows["STS12 wmean"]) == pytest.approx([100 * (2 * 1 - 4 * 1 + 3 * 0.5) / 9] * 2)
    assert rows["STS12 mean"]["n"] == rows["STS12 wmean"]["n"] == 9


@pytest.mark.parametrize(("protocol", "sick"), [("all", ["test"]), ("mteb", ["train", "trial", "test"])])
def test_a_year_is_one_list_without_smt_and_the_mean_of_seven_is_plain_and_mteb_has_the_whole_of_sick(protocol, sick):
    sets = random_sets([*TWENTY_FIVE, "STS-B test", "SICK test", "SICK train", "SICK trial", "STS-B dev"])
    rows = evaluate_protocol(protocol, sets)
    years = [[item for item in sets if item.graded.family == year and item.key != "STS13 SMT"] for year in YEARS]
    for year, own in zip(YEARS, years, strict=True):
        assert both(rows[f"{year} all pairs"]) == pytest.approx(scipy_correlations(own), abs=1e-9)
        assert rows[f"{year} all pairs"]["n"] == sum(map(len, own))
    others = [
        [item for item in sets if item.key == "STS-B test"],
        [item for item in sets if item.graded.family == "SICK" and item.graded.name in sick],
    ]
    expected = np.mean([scipy_correlations(own) for own in (*years, *others)], axis=0)
    assert both(rows["mean of 7"]) == pytest.approx(expected) and rows["mean of 7"]["complete"]
    # Nothing stands in for a set that is missing.
    assert "mean of 7" not in evaluate_protocol(protocol, [item for item in sets if item.key != "SICK test"])


def test_a_similarity_that_is_not_a_number_counts_as_zero_and_what_else_is_wrong_is_refused():
    graded = random_set("STS12 MSRpar", 1, 6).graded
    values = np.array([0.3, np.nan, 0.1, -0.2, np.nan, 0.8])
    (scored,) = score_with_similarity(lambda first, second: values, [graded])
    assert scored.similarities.tolist() == [0.3, 0.0, 0.1, -0.2, 0.0, 0.8]
    for wrong, words in ((np.ones(5), "shape"), (np.full(6, np.inf), "infinite")):
        with pytest.raises(ModelError, match=words):
            score_with_similarity(lambda first, second, wrong=wrong: wrong, [graded])
    with pytest.raises(ModelError, match="shape"):
        evaluate_sts(lambda texts: np.zeros((1, 3)), [graded])


def flattened(sets):
    return [ScoredSet(item.graded, np.zeros(len(item))) for item in sets]


def test_a_constant_scorer_gets_zero_with_a_note_and_valid_json_everywhere():
    result = evaluate_scored(flattened(random_sets([*SEVEN_TASKS, "STS-B dev"])), PROTOCOLS)
    json.dumps(result, allow_nan=False)
    for row in (*result["sets"], *(row for rows in result["protocols"].values() for row in rows.values())):
        assert both(row) == [0.0, 0.0] and "all similarities are equal" in row["note"]


def table_of(keys, protocols, **options):
    sets = random_sets(keys)
    scores = [
        Scores(name, "model", evaluate_scored(own, protocols))
        for name, own in (("runs/good", sets), ("runs/flat", flattened(sets)))
    ]
    text = format_sts(scores, protocols, **options)
    return scores, text, {row[0]: row[1:] for row in table_cells(text)}


def test_the_table_has_every_set_and_each_figure_of_the_paper_once_and_names_what_is_missing():
    scores, text, rows = table_of(["STS13 headlines"], ["paper"], notes=["scores without sentences: STS13 SMT"])
    (graded,) = scores[0].record["sets"]
    assert rows["STS13 headlines"] == [str(graded["n"]), *(f"{value:.1f}" for value in both(graded)), "0.0", "0.0"]
    # One mean over one set, said once, though six groups have that set.
    assert [label for label in rows if "sets)" in label] == ["22 sets (1 of 22 sets)"]
    assert "22 sets (1 of 22 sets): the same sets as of 21 sets, 20 sets, 19 sets, STS13 mean" in text
    assert "scores without sentences: STS13 SMT" in text
    assert "flat, STS13 headlines: all similarities are equal" in text and "good, " not in text


def test_protocols_that_give_the_same_figure_are_one_row():
    keys = [*TWENTY_FIVE, "STS-B test", "SICK test"]
    _, text, rows = table_of(keys, list(PROTOCOLS))
    assert rows["STS12 mean"][0] == "paper, senteval" and rows["STS12 wmean"][0] == "senteval"
    assert rows["STS12 all pairs"][0] == "all, mteb" and rows["mean of 7"][0] == "all"
    assert rows["SICK test"][0] == "paper, all"
    # With SMT the year 2013 has two means; without it, one that is the whole of the other.
    assert text.count("| STS13 mean") == 2
    _, text, rows = table_of([key for key in keys if key != "STS13 SMT"], list(PROTOCOLS))
    assert text.count("| STS13 mean") == 1 and rows["STS13 mean"][0] == "paper (3 of 4 sets), senteval"
    _, text, rows = table_of(["STS12 MSRpar", "STS12 MSRvid"], ["mteb", "senteval"])
    assert rows["STS12 all pairs (2 of 5 sets)"][0] == "mteb" and "STS12 MSRpar" not in rows
    assert "mteb: the same, with the whole of SICK" in text


def test_the_card_has_every_set_and_every_mean_over_a_whole_group_and_the_split_of_a_graded_folder():
    result = evaluate_scored(random_sets([*list_sets("STS13", smt=True), "STS12 MSRpar", "graded my set/dev"]))
    found = list_sts_measurements(result)
    places = [(item.dataset, item.config, item.split, item.metric) for item in found]
    assert ("STS13", "FNWN", None, "pearsonr") in places and ("STS12", "MSRpar", None, "spearmanr") in places
    assert ("my set", None, "dev", "pearsonr") in places
    assert {place[0] for place in places} == {"STS13", "STS12", "STS13 mean", "my set"}
    values = [item.value for item in found if item.dataset == "STS13 mean"]
    assert values == both(result["means"]["STS13 mean"])


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_pearson_does_not_depend_on_the_scale(scale):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=200), generator.integers(0, 6, size=200).astype(float)
    assert pearson(x * scale + 1, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-6)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 5)), max_size=30))
def test_a_correlation_is_always_a_number_between_minus_one_and_one(pairs):
    x, y = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    for value in (pearson(x, y), spearman(x, y)):
        assert -1.0 <= value <= 1.0


def test_cosine_equals_the_formula_and_a_zero_vector_is_similar_to_nothing():
    first = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [1e-20, 0.0]], dtype=np.float32)
    second = np.array([[0.0, 2.0], [4.0, 3.0], [1.0, 1.0], [5.0, 0.0]], dtype=np.float32)
    np.testing.assert_allclose(cosine_similarities(first, second), [0.0, 24 / 25, 0.0, 1.0])


@pytest.mark.parametrize("bad", [np.full((2, 3), np.nan), np.zeros((2, 4)), np.zeros(3)])
def test_nan_and_wrong_shapes_from_an_encoder_are_errors_of_the_model(bad):
    with pytest.raises(ModelError):
        cosine_similarities(np.ones((2, 3)), bad)
