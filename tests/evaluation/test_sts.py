from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.evaluation.graded_set import GradedSet, score_with_similarity
from hf_paraphrase.evaluation.sts import MEAN_GROUPS, evaluate_scored, evaluate_sts
from hf_paraphrase.evaluation.sts_files import STS_TASKS


def letter_counts(texts):
    """Letters weighted by irrational powers of their positions, so that no two cosines tie by chance."""
    rows = [
        [sum((i + 1.1) ** 0.3 for i, own in enumerate(text) if own == letter) for letter in "abcde"] for text in texts
    ]
    return np.array(rows, dtype=np.float32).reshape(-1, 5)


def random_set(key, seed, size=40):
    family, name = key.split(" ", 1)
    generator = np.random.default_rng(seed)
    texts = ["".join(generator.choice(list("abcde"), size=6)) for _ in range(2 * size)]
    return GradedSet(name, family, texts[:size], texts[size:], generator.uniform(0, 5, size))


ALL = [random_set(key, seed) for seed, key in enumerate(MEAN_GROUPS["22 sets"] + MEAN_GROUPS["STS16 mean"])]


def test_the_groups_have_the_sizes_they_are_named_after_and_nest_as_documented():
    for size in (22, 21, 20, 19):
        assert len(set(MEAN_GROUPS[f"{size} sets"])) == size
    assert set(MEAN_GROUPS["22 sets"]) - set(MEAN_GROUPS["21 sets"]) == {"Twitter test"}
    assert set(MEAN_GROUPS["21 sets"]) - set(MEAN_GROUPS["20 sets"]) == {"SICK test"}
    assert set(MEAN_GROUPS["20 sets"]) - set(MEAN_GROUPS["19 sets"]) == {"STS13 SMT"}
    assert not set(MEAN_GROUPS["STS16 mean"]) & set(MEAN_GROUPS["22 sets"])
    assert sum(len(STS_TASKS[family]) for family in STS_TASKS) == 27


def test_each_set_equals_scipy_on_the_cosines_computed_one_by_one():
    for graded, result in zip(ALL, evaluate_sts(letter_counts, ALL).sets, strict=True):
        first, second = (letter_counts(side).astype(float) for side in (graded.sentences1, graded.sentences2))
        cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(first, second, strict=True)]
        assert result.n == len(graded)
        assert result.pearson == pytest.approx(100 * stats.pearsonr(cosines, graded.scores).statistic, abs=1e-9)
        assert result.spearman == pytest.approx(100 * stats.spearmanr(cosines, graded.scores).statistic, abs=1e-9)


def test_means_are_unweighted_over_sets_and_not_over_pairs_or_years():
    sets = [random_set("STS12 MSRpar", 1, 10), random_set("STS12 MSRvid", 2, 300), random_set("STS13 FNWN", 3, 20)]
    result = evaluate_sts(letter_counts, sets)
    assert result.mean("19 sets").pearson == pytest.approx(np.mean([item.pearson for item in result.sets]))
    assert result.mean("STS12 mean").pearson == pytest.approx(np.mean([item.pearson for item in result.sets[:2]]))


def test_an_incomplete_group_says_so_and_names_what_is_missing():
    result = evaluate_sts(letter_counts, [graded for graded in ALL if graded.key != "STS13 SMT"])
    assert result.mean("19 sets").label == "19 sets" and result.mean("19 sets").complete
    assert result.mean("22 sets").label == "22 sets (21 of 22 sets)"
    assert result.mean("22 sets").missing == ("STS13 SMT",)


def test_training_and_benchmark_rows_enter_no_mean():
    extra = [random_set("SICK train", 1), random_set("Twitter dev", 2), random_set("STS-B dev", 3)]
    alone, beside = evaluate_sts(letter_counts, ALL), evaluate_sts(letter_counts, [*extra, *ALL])
    assert alone.means == beside.means
    nothing = evaluate_sts(letter_counts, extra)
    assert all(mean.pearson is None and not mean.sets for mean in nothing.means)
    assert nothing.dev_mean is None


def test_every_distinct_sentence_is_encoded_once():
    seen = []

    def encode(texts):
        seen.extend(texts)
        return letter_counts(texts)

    graded = GradedSet("x", "graded", ["a", "a", "b"], ["b", "c", "a"], np.array([1.0, 2.0, 3.0]))
    evaluate_sts(encode, [graded, graded])
    assert sorted(seen) == ["a", "b", "c"]


def test_constant_similarities_count_as_zero_with_a_note_and_json_stays_valid():
    graded = GradedSet("x", "STS16", ["a", "b", "c"], ["a", "b", "c"], np.array([1.0, 2.0, 3.0]))
    result = evaluate_sts(lambda texts: np.zeros((len(texts), 4)), [graded])
    assert (result.sets[0].pearson, result.sets[0].spearman) == (0.0, 0.0)
    assert "equal" in result.sets[0].note
    json.dumps(result.as_dict(), allow_nan=False)


def test_an_empty_set_and_an_encoder_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match="no scored pair"):
        evaluate_sts(letter_counts, [GradedSet("x", "STS16", [], [], np.empty(0))])
    with pytest.raises(InputError):
        evaluate_scored(score_with_similarity(lambda first, second: np.ones(len(first)), []))
    with pytest.raises(ModelError, match="shape"):
        evaluate_sts(lambda texts: np.zeros((1, 3)), ALL)
    with pytest.raises(ModelError, match="NaN"):
        evaluate_sts(lambda texts: np.full((len(texts), 3), np.nan), ALL)


def test_a_graded_set_refuses_columns_of_different_lengths():
    with pytest.raises(ValueError, match="different lengths"):
        GradedSet("x", "graded", ["a"], ["b", "c"], np.zeros(1))
