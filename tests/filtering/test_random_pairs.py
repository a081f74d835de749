from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.random_pairs import add_random_pairs, draw_negatives


def table(rows=40, **columns):
    return pa.table(
        {
            "sentence1": [f"a{row // 2}" for row in range(rows)],
            "sentence2": [f"b{row}" for row in range(rows)],
            "lang": ["fi"] * rows,
            "score": [float(row) for row in range(rows)],
            **columns,
        }
    )


def made(source, batch=7, **settings):
    pairs = pa.concat_tables([source.slice(begin, batch) for begin in range(0, source.num_rows, batch)])
    return pa.concat_tables(add_random_pairs(pairs, **settings))


def pairs_of(table):
    return list(zip(table["sentence1"].to_pylist(), table["sentence2"].to_pylist(), strict=True))


def test_noise_exchanges_the_second_sentences_of_exactly_its_share_and_marks_them():
    source = table()
    result, true = made(source, noise=0.3, seed=5), set(pairs_of(source))
    assert result.num_rows == 40 and sum(result["noise"].to_pylist()) == 12
    for row, (own, new) in enumerate(zip(source.to_pylist(), result.to_pylist(), strict=True)):
        assert new["sentence1"] == own["sentence1"] and new["lang"] == "fi"
        if new["noise"]:
            assert (new["sentence1"], new["sentence2"]) not in true and new["score"] is None
        else:
            assert new["sentence2"] == own["sentence2"] and new["score"] == row
    assert sorted(result["sentence2"].to_pylist()) == sorted(source["sentence2"].to_pylist())
    assert "label" not in result.column_names


def test_negatives_stand_behind_the_positives_and_are_neither_true_nor_noisy_pairs():
    source = table()
    result = made(source, noise=0.5, seed=1, negatives=2)
    assert result["label"].to_pylist() == [1] * 40 + [0] * 40 and sum(result["noise"].to_pylist()) == 20
    drawn = pairs_of(result)
    assert not set(drawn[40:]) & {*pairs_of(source), *drawn[:40]}
    assert sorted(second for _, second in drawn[40:]) == sorted(source["sentence2"].to_pylist())
    assert result["score"].to_pylist()[40:] == [None] * 40


def test_draws_follow_their_seeds_and_not_the_batches():
    first = made(table(), noise=0.4, seed=3, negatives=1)
    assert made(table(), batch=40, noise=0.4, seed=3, negatives=1).equals(first)
    assert made(table(), noise=0.4, seed=4, negatives=1)["noise"] != first["noise"]


def test_pairs_labelled_as_no_paraphrases_and_too_few_pairs_are_refused(caplog):
    caplog.set_level("INFO", logger="hf_paraphrase")
    with pytest.raises(InputError, match="the label of 1 pairs means no paraphrase, and 2 pairs have none"):
        made(table(4, label=[1, None, 0, None]), negatives=0)
    with pytest.raises(InputError, match=r"of 0 pairs .* 1 pairs have none.*--keep 'label=1'"):
        made(table(4, label=[1, None, 1, 1]), negatives=0)
    assert "pairs have no label" not in caplog.text
    assert "noise" not in made(table(4, label=pa.array([None] * 4, pa.int8())), negatives=0).column_names
    assert "4 of 4 pairs have no label, so each of them counts as a paraphrase" in caplog.text
    with pytest.raises(InputError, match="--keep '`is-duplicate`=1'"):
        made(table(4, **{"is-duplicate": [1, 0, 1, 1]}), negatives=0)
    with pytest.raises(InputError, match="--noise"):
        made(table(2), noise=0.5)
    with pytest.raises(InputError, match="--noise: too few distinct"):
        made(table(4, sentence2=["same"] * 4), noise=0.5)


KEYS = st.integers(0, 40)


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(KEYS, KEYS), min_size=1, max_size=60), seed=st.integers(0, 9))
def test_no_negative_is_a_true_pair_and_every_sentence_is_used_once_more(pairs, seed):
    first, second = (np.array(side, dtype=np.uint64) for side in zip(*pairs, strict=True))
    try:
        rows = draw_negatives(first, second, seed, (first, second))
    except ValueError:
        # Only where nearly every sentence is a paraphrase of nearly every other.
        assert len(set(pairs)) < 15 or len({key for pair in pairs for key in pair}) < 15
        return
    assert sorted(rows.tolist()) == list(range(len(pairs)))
    true = set(pairs) | {(right, left) for left, right in pairs}
    drawn = list(zip(first.tolist(), second[rows].tolist(), strict=True))
    assert not true & set(drawn)
    assert all(left != right for left, right in drawn)
    assert np.array_equal(rows, draw_negatives(first, second, seed, (first, second)))
