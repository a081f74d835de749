from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.search import centroids, inverted_lists
from hf_paraphrase.encoders.search.inverted_lists import InvertedLists, default_lists, default_probes, write_lists
from hf_paraphrase.encoders.search.paraphrase_mining import BestPairs, mine_exactly, mine_lists
from hf_paraphrase.encoders.search.sentence_table import SENTENCES, RepeatedTexts, SentenceTable, text_keys
from hf_paraphrase.encoders.search.vector_file import NpyWriter, VectorFile, cosine_of_rows
from hf_paraphrase.errors import InputError


def unit(rows, dimension=6, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def stored(tmp_path):
    vectors = unit(300)
    vectors[17] = 0
    vectors[200] = vectors[3]
    np.save(tmp_path / "vectors.npy", vectors)
    return VectorFile(tmp_path / "vectors.npy")


def test_a_file_of_vectors_gives_the_blocks_and_rows_that_were_written(tmp_path):
    vectors = unit(50)
    with NpyWriter(tmp_path / "v.npy", 6) as writer:
        for start in range(0, 50, 7):
            writer.write(vectors[start : start + 7])
    file = VectorFile(tmp_path / "v.npy")
    assert file.shape == (50, 6) and len(file) == 50
    for start, stop in ((0, 50), (3, 9), (48, 99), (60, 70), (9, 3)):
        np.testing.assert_array_equal(file[start:stop], vectors[start:stop])
    rows = np.array([7, 7, 49, 0, 8, 9, 31])
    np.testing.assert_array_equal(file.take(rows), vectors[rows])
    assert file.take(np.empty(0, np.int64)).shape == (0, 6)


@pytest.mark.parametrize(
    "content", [b"", b"not numpy", np.zeros(3, np.float32), np.zeros((2, 2)), np.array([[None]], object)]
)
def test_a_file_that_is_no_matrix_of_vectors_is_refused(tmp_path, content):
    path = tmp_path / "v.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content, allow_pickle=True)
    with pytest.raises(InputError, match=r"v\.npy"):
        VectorFile(path)


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    np.save(tmp_path / "v.npy", unit(50))
    whole = (tmp_path / "v.npy").read_bytes()
    file = VectorFile(tmp_path / "v.npy")
    (tmp_path / "v.npy").write_bytes(whole[:-40])
    with pytest.raises(InputError, match="ends too early"):
        file[40:50]


def test_the_cosine_of_a_pair_does_not_depend_on_its_company():
    one, two = unit(100, 33), unit(100, 33, seed=1)
    together = cosine_of_rows(one, two)
    alone = [cosine_of_rows(one[i : i + 1], two[i : i + 1])[0] for i in range(100)]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(together, np.einsum("nd,nd->n", one, two), atol=1e-6)
    assert cosine_of_rows(one, one).max() <= 1.0


def test_sentences_are_taken_from_any_group_in_any_order(tmp_path, monkeypatch):
    texts = [f"sentence {number}" for number in range(25)]
    tables = [
        SENTENCES.empty_table(),
        *(
            SENTENCES.empty_table().from_pydict(
                {"sentence": texts[start : start + 4], "position": list(range(start + 1, min(start + 4, 25) + 1))},
                schema=SENTENCES,
            )
            for start in range(0, 25, 4)
        ),
    ]
    write_split(tmp_path, "train", tables, SENTENCES, rows_per_shard=8)
    table = SentenceTable(tmp_path)
    assert len(table) == 25
    rows = np.array([24, 0, 7, 8, 8, 3])
    found = table.take(rows)
    assert found.column("sentence").to_pylist() == [texts[row] for row in rows] == table.sentences(rows)
    assert found.column("position").to_pylist() == [row + 1 for row in rows]
    assert table.take(np.empty(0, np.int64)).num_rows == 0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.text("ab ", max_size=3), max_size=6), max_size=5))
def test_a_text_is_new_once(blocks):
    seen, repeated = set(), RepeatedTexts()
    for block in blocks:
        expected = []
        for text in block:
            expected.append(text not in seen)
            seen.add(text)
        assert repeated.new(block).tolist() == expected


def test_keys_forget_case_and_spacing_and_nothing_else():
    keys = text_keys(["A  dog.", " a dog. ", "a dog", "b dog."])
    assert keys[0] == keys[1] and len(set(keys.tolist())) == 3


# ----- inverted lists


@pytest.fixture
def lists(stored, tmp_path):
    write_lists(stored, tmp_path, lists=7, seed=1)
    return InvertedLists(tmp_path, rows=300, dimension=6)


def test_every_vector_is_in_one_list_with_its_row(stored, lists):
    rows, vectors = map(np.concatenate, zip(*(lists.read(number) for number in range(7)), strict=True))
    assert sorted(rows.tolist()) == list(range(300)) and lists.sizes.sum() == 300
    np.testing.assert_array_equal(vectors, stored.take(rows))
    assert lists.count == 7


def test_reading_all_lists_is_an_exact_search(stored, lists):
    queries = unit(20, seed=5)
    expected = np.argsort(-(queries @ stored[0:300].T), axis=1)[:, :5]
    rows, cosines = lists.search(queries, 5, 7)
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_allclose(cosines, np.sort(queries @ stored[0:300].T, axis=1)[:, :-6:-1], atol=1e-6)
    np.testing.assert_array_equal(lists.search(queries[3:4], 5, 99)[0], expected[3:4])


def test_lists_that_hold_fewer_give_those_first(stored, lists):
    queries = unit(20, seed=5)
    rows, cosines = lists.search(queries, 300, 1)
    for query, found, scores in zip(queries, rows, cosines, strict=True):
        count = int((found >= 0).sum())
        assert 0 < count < 300 and (found[count:] == -1).all() and not scores[count:].any()
        assert len(set(found[:count].tolist())) == count
        np.testing.assert_allclose(scores[:count], stored.take(found[:count]) @ query, atol=1e-6)


def test_searching_few_queries_at_a_time_changes_nothing(lists, monkeypatch):
    queries = unit(20, seed=6)
    together = lists.search(queries, 5, 3)[0]
    for size in (1, 50):
        monkeypatch.setattr(inverted_lists, "_MOST_CANDIDATES", size)
        np.testing.assert_array_equal(lists.search(queries, 5, 3)[0], together)


def test_an_index_is_the_same_whenever_and_wherever_it_is_built(stored, lists, tmp_path):
    (tmp_path / "other").mkdir()
    write_lists(stored, tmp_path / "other", lists=7, seed=1)
    assert lists.path.read_bytes() == (tmp_path / "other" / lists.path.name).read_bytes()


def test_the_lists_are_a_safetensors_file_that_others_open(stored, lists):
    tensors = load_file(lists.path)
    assert {name: value.shape for name, value in tensors.items()} == {
        "centroids": (7, 6),
        "sizes": (7,),
        "rows": (300,),
        "vectors": (300, 6),
    }
    np.testing.assert_array_equal(tensors["vectors"], stored.take(tensors["rows"]))


@pytest.mark.parametrize(("block", "products"), [(11, 8192), (11, 3), (16_384, 5)])
def test_blocks_do_not_change_the_lists(stored, lists, tmp_path, monkeypatch, block, products):
    monkeypatch.setattr(inverted_lists, "_ROWS_PER_BLOCK", block)
    monkeypatch.setattr(centroids, "_ROWS_PER_BLOCK", products)
    (tmp_path / "other").mkdir()
    write_lists(stored, tmp_path / "other", lists=7, seed=1)
    assert lists.path.read_bytes() == (tmp_path / "other" / lists.path.name).read_bytes()


def test_near_lists_come_once_and_each_list_is_near_itself(lists):
    near = dict(lists.neighbouring(3))
    assert list(near) == list(range(7)) and all(others[0] == number for number, others in near.items())
    pairs = [(number, other) for number, others in near.items() for other in others]
    assert len(set(pairs)) == len(pairs) and all(one <= other for one, other in pairs)
    everything = dict(lists.neighbouring(99))
    assert sum(map(len, everything.values())) == 7 * 8 // 2


def with_rows(rows):
    return lambda tensors: tensors | {"rows": np.array(rows, np.int64)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_rows(range(299)), "do not fit"),
        (with_rows([0, *range(299)]), "do not fit"),
        (with_rows([-1, *range(1, 300)]), "do not fit"),
        (with_rows([1 << 40, *range(1, 300)]), "do not fit"),
        (lambda tensors: tensors | {"sizes": np.array([301, -1, 0, 0, 0, 0, 0])}, "do not fit"),
        (lambda tensors: tensors | {"sizes": np.array([1 << 62] * 4 + [300, 0, 0])}, "do not fit"),
        (lambda tensors: tensors | {"sizes": np.zeros(0, np.int64)}, "do not fit"),
        (lambda tensors: tensors | {"more": np.zeros(1, np.int64)}, "do not fit"),
        (lambda tensors: tensors | {"centroids": tensors["centroids"] * np.float32("nan")}, "do not fit"),
        (lambda tensors: tensors | {"vectors": tensors["vectors"] * np.float32("nan")}, "NaN or infinity"),
    ],
)
def test_lists_that_do_not_fit_are_refused(lists, tmp_path, change, message):
    save_file(change(load_file(lists.path)), lists.path)
    with pytest.raises(InputError, match=message):
        InvertedLists(tmp_path, rows=300, dimension=6).search(unit(2), 3, 7)


def test_lists_of_other_vectors_cut_off_or_missing_are_refused(lists, tmp_path):
    for rows, dimension in ((299, 6), (300, 5), (240, 8)):
        with pytest.raises(InputError, match="do not fit"):
            InvertedLists(tmp_path, rows=rows, dimension=dimension)
    content = lists.path.read_bytes()
    for changed in (content[:-1], b"nonsense", b""):
        lists.path.write_bytes(changed)
        with pytest.raises(InputError, match="does not fit the file"):
            InvertedLists(tmp_path, rows=300, dimension=6)
    lists.path.unlink()
    with pytest.raises(InputError, match=r"no lists\.safetensors"):
        InvertedLists(tmp_path, rows=300, dimension=6)


# ----- centroids


def test_centroids_are_in_the_middle_of_what_is_nearest_to_them():
    sample = unit(400, seed=3)
    found = centroids.train_centroids(sample, 12, seed=2)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    nearest = centroids.nearest_centroids(sample, found)
    np.testing.assert_array_equal(nearest, (sample.astype(np.float64) @ found.T.astype(np.float64)).argmax(axis=1))
    first = centroids.nearest_centroids(sample, sample[:12])
    assert (sample * found[nearest]).sum() > (sample * sample[first]).sum() * 1.05


def test_centroids_spread_where_nearly_all_vectors_are_equal():
    # All that the rounds begin with is the same vector.
    sample = np.concatenate([np.tile(unit(1), (500, 1)), unit(40, seed=8)])
    found = centroids.train_centroids(sample, 12)
    assert len(np.unique(centroids.nearest_centroids(sample, found))) >= 6


@pytest.mark.parametrize("sample", [unit(2), np.zeros((3, 6), np.float32), np.tile(unit(1), (9, 1))])
def test_few_or_equal_vectors_still_give_finite_centroids(sample):
    found = centroids.train_centroids(sample, 5)
    assert found.shape == (5, 6) and np.isfinite(found).all()


@pytest.mark.parametrize(("rows", "lists"), [(1, 1), (100, 2), (10_000, 256), (1_000_000, 2048)])
def test_default_numbers_of_lists_leave_enough_vectors_for_each(rows, lists):
    assert default_lists(rows) == lists
    assert 1 <= default_probes(lists) <= lists


# ----- mining


def by_brute_force(vectors, threshold):
    wide = vectors.astype(np.float64)
    return {(i, j) for i in range(len(wide)) for j in range(i + 1, len(wide)) if wide[i] @ wide[j] >= threshold}


def collected(blocks):
    found = [(int(i), int(j)) for one, two, _ in blocks for i, j in zip(one, two, strict=True)]
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize("rows", [4096, 300, 64, 7])
def test_exact_mining_equals_brute_force_in_blocks_of_any_size(stored, monkeypatch, rows):
    monkeypatch.setattr("hf_paraphrase.encoders.search.paraphrase_mining._ROWS", rows)
    expected = by_brute_force(stored[0:300], 0.7)
    assert len(expected) > 300 and (3, 200) in expected
    assert collected(mine_exactly(stored, 0.7)) == expected


@pytest.mark.parametrize("rows", [4096, 5])
def test_mining_by_lists_is_a_part_of_the_truth_and_all_of_it_with_all_lists(stored, lists, monkeypatch, rows):
    monkeypatch.setattr("hf_paraphrase.encoders.search.paraphrase_mining._ROWS", rows)
    expected = by_brute_force(stored[0:300], 0.7)
    assert collected(mine_lists(lists, 0.7, 7)) == expected
    some = collected(mine_lists(lists, 0.7, 1))
    assert some < expected and (3, 200) in some
    assert some <= collected(mine_lists(lists, 0.7, 3))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.sampled_from([0.5, 0.75, 1.0]), max_size=5), max_size=6), st.integers(1, 8))
def test_the_best_pairs_of_a_stream_are_those_of_a_sort(blocks, limit):
    best, every, row = BestPairs(limit), [], 0
    for scores in blocks:
        first = np.arange(row, row + len(scores))
        row += len(scores)
        best.add(first, first + 1, np.array(scores))
        every += zip((-score for score in scores), first.tolist(), strict=True)
    found = best.result()
    assert list(zip((-found.scores).tolist(), found.first.tolist(), strict=True)) == sorted(every)[:limit]
    assert found.found == len(every) and (found.second == found.first + 1).all()
