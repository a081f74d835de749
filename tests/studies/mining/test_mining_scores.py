from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from hf_paraphrase.encoders.search.nearest_neighbours import nearest_neighbours
from hf_paraphrase.encoders.search.vector_file import VectorFile
from hf_paraphrase.errors import OutputError
from hf_paraphrase.studies.mining import candidates
from hf_paraphrase.studies.mining.candidates import approximate_candidates, kept_candidates
from hf_paraphrase.studies.mining.matching import exact_matching, greedy_matching, matching
from hf_paraphrase.studies.mining.measures import Curve, Measures, are_gold
from hf_paraphrase.studies.mining.scoring import (
    CandidatePairs,
    combined_scores,
    margin_scores,
    neighbourhood_means,
    pair_cosines,
)
from hf_paraphrase.studies.mining.study import gold_ranks, recall_rows


def unit(rows, dimension, seed):
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def file_of(vectors, path):
    np.save(path, vectors)
    return VectorFile(path)


# ----- margins


def test_ratio_margin_is_the_formula_of_artetxe_and_schwenk():
    source, target = unit(9, 5, 0), unit(11, 5, 1)
    cosines = source.astype(float) @ target.T.astype(float)
    k = 3
    near = [np.sort(cosines, axis=1)[:, -k:].sum(1) / (2 * k), np.sort(cosines, axis=0)[-k:].sum(0) / (2 * k)]
    wanted = cosines / (near[0][:, None] + near[1][None])
    means = [
        neighbourhood_means(nearest_neighbours(*sides, k)[1], k) for sides in ((source, target), (target, source))
    ]
    rows, columns = np.divmod(np.arange(99), 11)
    found = margin_scores(cosines.reshape(-1), means[0][rows], means[1][columns])
    np.testing.assert_allclose(found, wanted.reshape(-1), rtol=1e-5)
    distance = margin_scores(cosines.reshape(-1), means[0][rows], means[1][columns], "distance")
    np.testing.assert_allclose(distance, (cosines - near[0][:, None] - near[1][None]).reshape(-1), atol=1e-6)
    np.testing.assert_array_equal(
        margin_scores(cosines.reshape(-1), means[0][rows], means[1][columns], "absolute"), cosines.reshape(-1)
    )


def test_a_margin_against_nothing_is_zero_and_an_unknown_one_is_refused():
    none = np.zeros(2)
    np.testing.assert_array_equal(margin_scores(np.array([0.5, -0.5]), none, none), [0, 0])
    with pytest.raises(ValueError, match="ratio, distance, absolute, not cube"):
        margin_scores(none, none, none, "cube")
    with pytest.raises(ValueError, match="no mean"):
        neighbourhood_means(np.zeros((3, 0), np.float32), 4)


# ----- matching


pairs_of_scores = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), st.integers(0, 40).map(lambda number: number / 8), max_size=25
)


def as_arrays(pairs):
    keys = np.array(list(pairs), np.int64).reshape(-1, 2)
    return keys[:, 0], keys[:, 1], np.array(list(pairs.values()), float)


@settings(max_examples=80, deadline=None)
@given(pairs_of_scores, st.sampled_from(["greedy", "exact"]))
def test_no_sentence_is_matched_twice_and_no_pair_could_be_added(pairs, kind):
    source, target, scores = as_arrays(pairs)
    taken = matching(kind, source, target, scores)
    assert len(set(source[taken])) == len(set(target[taken])) == taken.sum()
    if kind == "greedy":
        free = ~np.isin(source, source[taken]) & ~np.isin(target, target[taken])
        assert not free.any()


@settings(max_examples=80, deadline=None)
@given(pairs_of_scores)
def test_exact_matching_has_the_total_of_the_assignment_problem(pairs):
    source, target, scores = as_arrays(pairs)
    taken = exact_matching(source, target, scores)
    if not len(scores):
        assert not len(taken)
        return
    gains = np.zeros((7, 14))
    gains[source, target] = scores - scores.min() + 1e-9
    best = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert (scores[taken] - scores.min() + 1e-9).sum() == pytest.approx(best, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(pairs_of_scores, st.integers(0, 40))
def test_greedy_matching_and_a_threshold_may_come_in_either_order(pairs, step):
    source, target, scores = as_arrays(pairs)
    high = scores >= step / 8
    before = greedy_matching(source[high], target[high], scores[high])
    np.testing.assert_array_equal(greedy_matching(source, target, scores)[high], before)


def test_greedy_takes_the_best_pair_and_exact_the_best_total():
    source, target = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    scores = np.array([1.0, 0.9, 0.8, 0.1])
    np.testing.assert_array_equal(greedy_matching(source, target, scores), [True, False, False, True])
    np.testing.assert_array_equal(exact_matching(source, target, scores), [False, True, True, False])
    assert matching(None, source, target, scores).all()
    with pytest.raises(ValueError, match="greedy, exact"):
        matching("stable", source, target, scores)


# ----- measures


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=40), st.integers(1, 50))
def test_curve_has_the_measures_of_every_threshold_counted_by_hand(pairs, more):
    scores = np.array([score for score, _ in pairs], float)
    right = np.array([hit for _, hit in pairs], bool)
    gold = int(right.sum()) + more
    curve = Curve.of(scores, right, gold)
    by_hand = {}
    for threshold in sorted(set(scores), reverse=True):
        hits = [hit for score, hit in pairs if score >= threshold]
        by_hand[threshold] = Measures(len(hits), sum(hits), gold)
    assert [Measures(int(f), int(r), gold) for f, r in zip(curve.found, curve.right, strict=True)] == list(
        by_hand.values()
    )
    assert curve.best().f1 == max([0.0, *(item.f1 for item in by_hand.values())])
    for threshold in (-1.0, 3.0, 3.5, 99.0):
        hits = [hit for score, hit in pairs if score >= threshold]
        assert curve.at(threshold) == Measures(len(hits), sum(hits), gold)
    if pairs:
        assert curve.at(curve.best_threshold()) == curve.best()
    else:
        with pytest.raises(ValueError, match="no pairs"):
            curve.best_threshold()


def test_measures_are_those_of_the_shared_task():
    measures = Measures(found=40, right=10, gold=25)
    assert (measures.precision, measures.recall) == (0.25, 0.4)
    assert measures.f1 == pytest.approx(2 * 0.25 * 0.4 / 0.65)
    assert Measures(0, 0, 5).f1 == Measures(0, 0, 0).f1 == Measures(0, 0, 0).precision == 0


def test_a_thinned_curve_keeps_its_ends_and_its_best():
    random = np.random.default_rng(0)
    curve = Curve.of(random.normal(size=5000), random.random(5000) < 0.3, 2000)
    thin = curve.thinned(50)
    assert len(thin) <= 51 and thin.best() == curve.best()
    assert thin.thresholds[0] == curve.thresholds[0] and thin.found[-1] == 5000
    for recall in (0.1, 0.3, 0.6):
        best = [item.precision[item.recall >= recall].max() for item in (thin, curve)]
        assert best[0] == pytest.approx(best[1], abs=0.02)


def test_gold_pairs_are_known_by_both_sides():
    gold = np.array([[0, 3], [2, 1]])
    found = are_gold(np.array([0, 0, 2, 1]), np.array([3, 1, 1, 1]), gold, 4)
    np.testing.assert_array_equal(found, [True, False, True, False])


# ----- recall of the filter


def test_recall_table_is_that_of_the_ranks_among_all_cosines():
    source, target = unit(40, 6, 3), unit(50, 6, 4)
    gold = np.array([[1, 5], [1, 6], [7, 9], [30, 49]])
    order = np.argsort(-(source.astype(float) @ target.T.astype(float)), axis=1)
    ranks = [int(np.flatnonzero(order[one] == two)[0]) + 1 for one, two in gold]
    found = gold_ranks(source, target, gold, 20)
    np.testing.assert_array_equal(found, np.minimum(ranks, 21))
    table = recall_rows(found, 40, 50, sizes=(1, 10, 20))
    assert [row["found"] for row in table] == [sum(rank <= n for rank in ranks) for n in (1, 10, 20)]
    assert [row["pairs"] for row in table] == [40, 400, 800]
    assert [row["pairs_growth"] for row in table] == [None, 900, 100] and table[0]["found_growth"] is None
    assert table[2]["share"] == 25 * table[2]["found"]


def test_growth_is_that_of_the_paper():
    ranks = np.repeat([1, 10, 2000], [6891, 7824 - 6891, 9086 - 7824])
    first, second = recall_rows(ranks, 369_810, 270_000, sizes=(1, 10))
    assert (first["found"], round(first["share"], 2), first["pairs"]) == (6891, 75.84, 369_810)
    assert (second["found"], round(second["share"], 2), round(second["found_growth"], 2)) == (7824, 86.11, 13.54)
    assert (second["pairs"], second["pairs_growth"]) == (3_698_100, 900)


def test_a_sentence_without_a_vector_has_no_rank():
    source, target = unit(5, 4, 5), unit(6, 4, 6)
    source[2] = target[3] = 0
    found = gold_ranks(source, target, np.array([[2, 0], [1, 3], [0, 0]]), 6)
    assert found[0] == found[1] == 7 and found[2] <= 6


# ----- pairs


def test_sentences_without_a_vector_are_in_no_pair():
    rows, cosines = np.array([[0, 1], [1, 2], [2, -1]]), np.zeros((3, 2), np.float32)
    pairs = CandidatePairs.of(rows, cosines, np.array([True, False, True]), np.array([True, False, True]))
    assert list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)) == [(0, 0), (2, 2)]


def test_cosines_under_another_encoder_are_those_of_the_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr("hf_paraphrase.studies.mining.scoring._PAIRS_AT_A_TIME", 7)
    source, target = unit(10, 4, 7), unit(12, 4, 8)
    rows, cosines = nearest_neighbours(source, target, 3)
    pairs = CandidatePairs.of(rows, cosines, np.ones(10, bool), np.ones(12, bool))
    found = pair_cosines(pairs, file_of(source, tmp_path / "a.npy"), file_of(target, tmp_path / "b.npy"))
    np.testing.assert_allclose(found, cosines.reshape(-1), atol=1e-6)


def test_scores_are_combined_as_named():
    one, two = np.array([0.5, -0.2]), np.array([0.4, 0.6])
    np.testing.assert_allclose(combined_scores([one, two], "product"), [0.2, 0.0])
    np.testing.assert_allclose(combined_scores([one, two], "mean"), [0.45, 0.2])
    assert combined_scores([one], "product") is one
    for scores, how in (([], "mean"), ([one, two], "sum")):
        with pytest.raises(ValueError, match="combine"):
            combined_scores(scores, how)


def test_approximate_candidates_are_true_cosines_and_their_recall_is_measured(tmp_path):
    source, target = unit(60, 8, 9), unit(2000, 8, 10)
    files = file_of(source, tmp_path / "a.npy"), file_of(target, tmp_path / "b.npy")
    (tmp_path / "few").mkdir(), (tmp_path / "all").mkdir()
    true, _ = nearest_neighbours(source, target, 5)
    rows, cosines, recall = approximate_candidates(*files, 5, tmp_path / "few", probes=2)
    shares = [np.isin(one, two).mean() for one, two in zip(true, rows, strict=True)]
    assert recall == pytest.approx(np.mean(shares)) and recall < 1
    known = rows >= 0
    np.testing.assert_allclose(cosines[known], np.einsum("ij,inj->in", source, target[rows])[known], atol=1e-6)
    rows, _, recall = approximate_candidates(*files, 5, tmp_path / "all", probes=10_000)
    assert recall == 1
    np.testing.assert_array_equal(rows, true)


def test_blocks_of_candidates_that_are_kept_are_not_computed_again(tmp_path, monkeypatch):
    monkeypatch.setattr(candidates, "SOURCES_PER_BLOCK", 24)
    source, target = unit(60, 5, 17), unit(70, 5, 18)
    rows, cosines = kept_candidates(tmp_path, "best", source, target, 4)
    expected = nearest_neighbours(source, target, 4)
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_allclose(cosines, expected[1], atol=1e-7)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"best-00000{number}.npz" for number in range(3)]
    (tmp_path / "best-000001.npz").unlink()
    compared = []
    monkeypatch.setattr(
        candidates,
        "nearest_neighbours",
        lambda block, *rest, **options: compared.append(len(block)) or nearest_neighbours(block, *rest, **options),
    )
    again = kept_candidates(tmp_path, "best", source, target, 4)
    assert compared == [24]
    np.testing.assert_array_equal(again[0], rows)
    np.testing.assert_array_equal(again[1], cosines)
    for damage in (b"PK", b""):
        (tmp_path / "best-000001.npz").write_bytes(damage)
        with pytest.raises(OutputError, match="best-000001"):
            kept_candidates(tmp_path, "best", source, target, 4)
