"""Collections, candidates, their scores, and curves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.errors import InputError
from hf_paraphrase.mining.candidates import CandidateSettings, MiningRun
from hf_paraphrase.mining.collections import Collection, TaskPart, read_collection, read_gold, write_side
from hf_paraphrase.mining.scores import Curve, compute_margins, compute_measures, match_one_to_one
from hf_paraphrase.studies.mining.comparable import ComparableSettings, make_comparable, prepare_comparable
from hf_paraphrase.studies.mining.evaluation import gold_ranks, recall_rows
from hf_paraphrase.text.normalization import normalize_words
from hf_paraphrase.vectors.exact_search import find_nearest
from hf_paraphrase.vectors.storage import open_vectors


def test_ids_that_were_read_as_words_are_refused_with_the_flag_that_reads_them(tmp_path):
    files = [tmp_path / "task.fr", tmp_path / "task.en"]
    for file in files:
        write_side(file, [f"{file.suffix[1:]}-1", f"{file.suffix[1:]}-2"], ["Une phrase.", " "])
    gold = tmp_path / "task.gold"
    gold.write_text("fr-1\ten-1\nfr-1\ten-1\n")
    source, target = (read_collection(file, "bucc") for file in files)
    assert len(source) == 1 and read_gold(gold, source, target).tolist() == [[0, 0]]
    source, target = (read_collection(file, "lines") for file in files)
    with pytest.raises(InputError, match=r"task\.gold:1: the id `fr-1` is not in task\.fr, .*--layout bucc"):
        read_gold(gold, source, target)
    write_side(files[0], ["fr-1", "fr-1"], ["Une phrase.", "Une autre."])
    with pytest.raises(InputError, match="the id `fr-1` occurs more than once"):
        read_collection(files[0], "bucc")


def test_codes_of_languages_in_the_names_of_a_task_may_have_hyphens(tmp_path):
    for ending in ("pt-BR", "zh-Hant", "gold"):
        (tmp_path / f"pt-BR-zh-Hant.test.{ending}").write_text("1\t1\n")
    part = TaskPart.of_task(str(tmp_path / "pt-BR-zh-Hant"), "test")
    assert [path.suffix for path in part.files] == [".pt-BR", ".zh-Hant", ".gold"] and part.gold.tolist() == [[0, 0]]
    with pytest.raises(InputError, match="not a pair of languages"):
        TaskPart.of_task(str(tmp_path / "nowhere"), "test")


def unit(rows, dimension, seed):
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def file_of(vectors, path):
    np.save(path, vectors)
    return open_vectors(path)


def test_ratio_margin_is_the_formula_of_artetxe_and_schwenk():
    source, target = unit(9, 5, 0), unit(11, 5, 1)
    cosines = source.astype(float) @ target.T.astype(float)
    k = 3
    near = [np.sort(cosines, axis=1)[:, -k:].sum(1) / (2 * k), np.sort(cosines, axis=0)[-k:].sum(0) / (2 * k)]
    wanted = cosines / (near[0][:, None] + near[1][None])
    means = [find_nearest(*sides, k)[1].mean(axis=1) for sides in ((source, target), (target, source))]
    rows, columns = np.divmod(np.arange(99), 11)
    found = compute_margins(cosines.reshape(-1), means[0][rows], means[1][columns])
    np.testing.assert_allclose(found, wanted.reshape(-1), rtol=1e-5)
    distance = compute_margins(cosines.reshape(-1), means[0][rows], means[1][columns], "distance")
    np.testing.assert_allclose(distance, (cosines - near[0][:, None] - near[1][None]).reshape(-1), atol=1e-6)


def test_unrelated_sentences_with_hardly_related_neighbours_have_a_low_ratio():
    cosines, means = np.array([0.08, 0.9]), np.array([0.04, 0.6])
    np.testing.assert_allclose(compute_margins(cosines, means, means), [2, 1.5])
    np.testing.assert_allclose(compute_margins(cosines, means, means, min_mean=0.3), [0.08 / 0.3, 1.5])


pairs_of_scores = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), st.integers(0, 40).map(lambda number: number / 8), max_size=25
)


@settings(max_examples=30, deadline=None)
@given(pairs_of_scores, st.integers(0, 40))
def test_one_to_one_pairs_are_the_best_of_both_their_sentences_whatever_the_threshold(pairs, step):
    source, target = np.array(list(pairs), np.int64).reshape(-1, 2).T
    scores = np.array(list(pairs.values()), float)
    taken = match_one_to_one(source, target, scores)
    assert len(set(source[taken])) == len(set(target[taken])) == taken.sum()
    # Each pair that is left out shares a sentence with a taken pair of no lower score.
    for row in np.flatnonzero(~taken):
        rivals = taken & ((source == source[row]) | (target == target[row]))
        assert scores[rivals].max() >= scores[row]
    high = scores >= step / 8
    np.testing.assert_array_equal(taken[high], match_one_to_one(source[high], target[high], scores[high]))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=40), st.integers(1, 50))
def test_curve_has_the_measures_of_every_threshold_counted_by_hand(pairs, more):
    scores = np.array([score for score, _ in pairs], float)
    right = np.array([hit for _, hit in pairs], bool)
    gold = int(right.sum()) + more
    assert (
        compute_measures(40, 10, 25)["f1"] == pytest.approx(2 * 0.25 * 0.4 / 0.65)
        and compute_measures(0, 0, 0)["f1"] == 0
    )
    curve = Curve.of(scores, right, gold)
    by_hand = {}
    for threshold in sorted(set(scores), reverse=True):
        hits = [hit for score, hit in pairs if score >= threshold]
        by_hand[threshold] = compute_measures(len(hits), sum(hits), gold)
    assert [curve.at(threshold) for threshold in curve.thresholds] == list(by_hand.values())
    assert curve.best()["f1"] == max([0.0, *(item["f1"] for item in by_hand.values())])
    for threshold in (-1.0, 3.0, 3.5, 99.0):
        hits = [hit for score, hit in pairs if score >= threshold]
        assert curve.at(threshold) == compute_measures(len(hits), sum(hits), gold)
    if pairs:
        assert curve.at(curve.best_threshold()) == curve.best()
    else:
        with pytest.raises(ValueError, match="without pairs"):
            curve.best_threshold()


def test_the_points_of_a_long_curve_have_its_ends_its_best_and_the_best_precision_of_each_recall():
    random = np.random.default_rng(0)
    curve = Curve.of(random.normal(size=5000), random.random(5000) < 0.3, 2000)
    points, every = curve.points(50), curve.points(5000)
    assert len(points) <= 51 and len(every) == 5000 and max(point["f1"] for point in points) == curve.best()["f1"]
    assert points[0] == every[0] and points[-1] == every[-1] and points[-1]["found"] == 5000


def test_recall_table_is_that_of_the_ranks_among_all_cosines(tmp_path):
    source, target = unit(40, 6, 3), unit(50, 6, 4)
    source[2] = target[3] = 0
    gold = np.array([[1, 5], [1, 6], [7, 9], [30, 49], [2, 0], [4, 3]])
    order = np.argsort(-(source.astype(float) @ target.T.astype(float)), axis=1)
    ranks = [int(np.flatnonzero(order[one] == two)[0]) + 1 for one, two in gold[:4]]
    found = gold_ranks(file_of(source, tmp_path / "a.npy"), file_of(target, tmp_path / "b.npy"), gold)
    # A zero vector shifts ranks behind it by one, and has none itself.
    assert (np.array(ranks) - found[:4]).max() <= 1 and found[4:].tolist() == [1001, 1001]
    rows = recall_rows(found, 40, 50)
    assert [row["n"] for row in rows] == [1, 10, 20, 30, 40, 50, 100, 1000]
    assert [row["found"] for row in rows] == [(found <= row["n"]).sum() for row in rows] and rows[-1]["found"] == 4
    assert [row["pairs"] for row in rows[:2]] == [40, 400] and rows[-1]["pairs"] == 2000


def test_sentences_without_a_vector_are_in_no_pair(tmp_path):
    source, target = unit(3, 4, 5), unit(3, 4, 6)
    source[1] = target[0] = 0
    # Vectors that are there are not computed.
    for side, vectors in (("source", source), ("target", target)):
        np.save(tmp_path / f"vectors-0-{side}.npy", vectors)
    collections = (Collection(tmp_path, [], [""] * len(side)) for side in (source, target))
    run = MiningRun(*collections, {"filter": (None, None)}, tmp_path, CandidateSettings(candidates=2))
    found = set(zip(run.source_rows.tolist(), run.target_rows.tolist(), strict=True))
    assert found == {(0, 1), (0, 2), (2, 1), (2, 2)} and len(run.source_rows) == 4


def made(rows, **options):
    sizes = {"sentences": 40, "share": 0.1, "validation_size": 30}
    settings = ComparableSettings(bitext=["bitext"], output="task", **{**sizes, **options})
    return make_comparable(table(rows), settings)


def words(random, count):
    """Words of random letters, so that no two sentences are near-duplicates by chance."""
    return ["".join(random.choice(list("abcdefghijklmnop"), 7)) for _ in range(count)]


def table(rows):
    return pa.table(
        {name: pa.array([row[side] for row in rows], pa.string()) for side, name in enumerate(("source", "target"))}
    )


@pytest.fixture(scope="module")
def bitext():
    """Rows of which many share a sentence, in other spellings too, and some are near-duplicates of others."""
    random = np.random.default_rng(0)
    rows = [(" ".join(words(random, 6)), " ".join(words(random, 5))) for _ in range(900)]
    for place in range(0, 900, 5):
        rows.append((rows[place][0].upper() + " !", " ".join(words(random, 5))))
    for place in range(1, 900, 9):
        rows.append((" ".join(words(random, 6)), rows[place][1]))
    for place in range(2, 900, 7):
        rows.append((rows[place][0] + " x", rows[place][1] + " y"))
    rows += [
        ("one two", "three four"),
        ("the same on both sides", "the same on both sides"),
        ("...", "no words here at all"),
    ]
    return rows


@pytest.fixture(scope="module")
def task(bitext):
    return made(bitext, seed=1)


def test_gold_is_every_pair_of_the_bitext_that_holds_between_the_sides(task, bitext):
    known = {(normalize_words(source), normalize_words(target)) for source, target in bitext}
    for part in task.parts.values():
        assert len(set(part.source)) == len(set(part.target)) == 40 and part.gold.shape == (4, 2)
        targets = {normalize_words(text): place for place, text in enumerate(part.target)}
        true = {
            (row, targets[target])
            for row, text in enumerate(part.source)
            for source, target in known
            if source == normalize_words(text) and target in targets
        }
        assert {tuple(pair) for pair in part.gold.tolist()} == true


def test_no_sentence_of_the_training_bitext_nor_of_another_part_is_in_a_part(task, bitext):
    sides = [{normalize_words(text) for text in [*part.source, *part.target]} for part in task.parts.values()]
    left = np.flatnonzero(task.train | task.validation)
    trained = {normalize_words(text) for row in left.tolist() for text in bitext[row]}
    for number, one in enumerate(sides):
        assert not one & trained
        assert not any(one & other for other in sides[:number])


def test_near_duplicates_of_planted_sentences_and_of_their_translations_are_left_out(bitext):
    part = made(bitext, sentences=150, share=0.2, validation_size=0).parts["test"]
    translations = {}
    for source, target in bitext:
        translations.setdefault(normalize_words(source), []).append(normalize_words(target))
    gold_sources = {part.source[row] for row in part.gold[:, 0]}
    unseen = [text for source in set(part.source) - gold_sources for text in translations[normalize_words(source)]]
    # The near-duplicates of this bitext are those with one letter more at the end.
    assert not {f"{text} y" for text in unseen} & {normalize_words(text) for text in part.target}
    assert unseen


def test_a_bitext_of_one_language_is_refused_because_both_files_would_have_one_name(bitext, tmp_path):
    columns = table(bitext).append_column("id", pa.array(map(str, range(len(bitext)))))
    for side in ("source_lang", "target_lang"):
        columns = columns.append_column(side, pa.array(["fr"] * len(bitext)))
    write_split(tmp_path / "bitext", "train", [columns], BITEXT)
    with pytest.raises(InputError, match="source and target are both in fr"):
        prepare_comparable(bitext=[str(tmp_path / "bitext")], output=str(tmp_path / "task"), sentences=40)
    assert [path.name for path in tmp_path.iterdir()] == ["bitext"]
