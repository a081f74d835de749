from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.filtering.measuring import Measures, add_measures, choose_measures, measures_of
from hf_paraphrase.filtering.tokens import tokenize
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

SENTENCE = st.lists(st.sampled_from(["a", "A", "b", "c", "d,", "e.", "don't", "é", ""]), max_size=9).map(" ".join)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), max_size=12)


def pairs_table(pairs, **columns):
    return pa.table(
        {
            "sentence1": pa.array([first for first, _ in pairs], pa.string()),
            "sentence2": pa.array([second for _, second in pairs], pa.string()),
            **columns,
        }
    )


def scored(pairs, *names):
    return add_measures(pairs_table(pairs), names).to_pydict()


def grams(tokens, order):
    return [tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]


def naive_overlap(first, second, order, clipped):
    one, two = grams(tokenize(first), order), grams(tokenize(second), order)
    shorter, longer = (one, two) if len(one) <= len(two) else (two, one)
    if not shorter:
        return 0.0
    if clipped:
        return sum((Counter(shorter) & Counter(longer)).values()) / len(shorter)
    return sum(gram in set(longer) for gram in shorter) / len(shorter)


def naive_bleu(reference, hypothesis):
    reference, hypothesis = tokenize(reference), tokenize(hypothesis)
    if not hypothesis:
        return 0.0
    product = 1.0
    for order in (1, 2, 3, 4):
        matches = sum((Counter(grams(hypothesis, order)) & Counter(grams(reference, order))).values())
        product *= (matches + 1) / (len(grams(hypothesis, order)) + 1)
    return min(1.0, math.exp(1 - (len(reference) + 1) / len(hypothesis))) * product**0.25


@settings(max_examples=150, deadline=None)
@given(PAIRS)
def test_overlap_equals_a_count_with_sets_and_counters(pairs):
    table = scored(pairs, "overlap", "clipped_overlap")
    for order in (1, 2, 3):
        for clipped, name in ((False, f"overlap_{order}"), (True, f"overlap_clipped_{order}")):
            expected = [naive_overlap(first, second, order, clipped) for first, second in pairs]
            assert table[name] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=150, deadline=None)
@given(PAIRS)
def test_sentence_bleu_equals_the_formula_pair_by_pair(pairs):
    assert scored(pairs, "bleu")["bleu"] == pytest.approx([naive_bleu(*pair) for pair in pairs], abs=1e-12)


@settings(deadline=None)
@given(PAIRS)
def test_lengths_equal_the_number_of_tokens(pairs):
    table = scored(pairs, "length")
    assert table["length_reference"] == [len(tokenize(first)) for first, _ in pairs]
    assert table["length"] == [len(tokenize(second)) for _, second in pairs]
    for ratio, long, short in zip(table["length_ratio"], table["length"], table["length_reference"], strict=True):
        assert ratio == long / short if short else math.isnan(ratio)


@settings(deadline=None)
@given(PAIRS, st.integers(1, 5))
def test_a_measure_of_a_pair_does_not_depend_on_the_batch_it_is_in(pairs, size):
    table = pairs_table(pairs)
    names = ["length", "overlap", "clipped_overlap", "bleu"]
    whole = add_measures(table, names).to_pydict()
    parts = [add_measures(table.slice(start, size), names) for start in range(0, len(pairs), size)]
    joined = pa.concat_tables(parts).to_pydict() if parts else {name: [] for name in whole}
    assert repr(joined) == repr(whole)


def test_golden_values_of_the_overlap_definition():
    table = scored([("a a a b", "a b c d e"), ("a b", "x"), ("", "a")], "overlap", "clipped_overlap")
    assert table["overlap_1"] == [1.0, 0.0, 0.0]
    assert table["overlap_clipped_1"] == [0.5, 0.0, 0.0]
    assert table["overlap_2"] == pytest.approx([1 / 3, 0.0, 0.0])


def test_golden_values_of_smoothed_bleu():
    copy, short = scored([("a b c d", "a b c d"), ("a b c d e", "a b")], "bleu")["bleu"]
    assert copy == pytest.approx(math.exp(1 - 5 / 4))
    assert short == pytest.approx(math.exp(1 - 6 / 2))


def test_on_a_long_text_smoothing_vanishes_and_bleu_is_that_of_sacrebleu():
    from sacrebleu.metrics import BLEU

    generator = np.random.default_rng(0)
    reference = list(generator.choice(list("abcdefgh"), size=20_000))
    hypothesis = [word if generator.random() < 0.8 else "x" for word in reference]
    reference, hypothesis = " ".join(reference), " ".join(hypothesis)
    corpus = BLEU(tokenize="none", smooth_method="none").corpus_score([hypothesis], [[reference]]).score / 100
    assert scored([(reference, hypothesis)], "bleu")["bleu"][0] == pytest.approx(corpus, abs=2e-4)
    assert scored([(reference, reference)], "bleu")["bleu"][0] == pytest.approx(1.0, abs=1e-4)


def test_cost_is_nats_per_token_and_undefined_without_tokens():
    table = pairs_table(
        [("a", "b")] * 4, log_prob=pa.array([-6.0, 0.0, -1.0, None]), num_tokens=pa.array([3, 2, 0, 4], pa.int32())
    )
    cost = add_measures(table, ["cost"]).column("cost").to_pylist()
    assert cost[:2] == [2.0, 0.0] and math.isnan(cost[2]) and math.isnan(cost[3])


def test_tokens_split_off_punctuation_and_keep_words_with_accents_whole():
    assert tokenize("Don't stop, Zoë—it’s  well-known.") == [
        "do", "n't", "stop", ",", "zoë", "—", "it", "'s", "well", "-", "known", "."
    ]  # fmt: skip
    assert tokenize("e\u0301te\u0301") == ["e\u0301te\u0301"]


def test_tokens_of_the_measures_are_the_words_that_encoders_have_by_default():
    backend = build_word_level_tokenizer(["a"]).backend_tokenizer
    texts = [pair.english for pair in sample_bitext()["train"][:8000]]
    texts += ["It's what they’d've done, isn't it? 'Tis well-known: the cats' 3.5 rock'n'roll CDs can't, he'll say"]
    contractions = 0
    for text in texts:
        words = [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))]
        assert tokenize(text) == words
        contractions += "n't" in words
    assert contractions > 100


def test_a_missing_sentence_counts_as_empty():
    assert scored([(None, "a b"), ("a", None)], "length", "overlap", "bleu")["length"] == [2, 0]


def test_a_very_long_sentence_is_measured_like_any_other():
    text = " ".join(f"w{i % 700}" for i in range(10_000))
    table = scored([(text, text), ("a", text)], "length", "overlap", "bleu")
    assert table["length"] == [10_000, 10_000]
    assert table["overlap_3"] == [1.0, 0.0]


def test_adding_a_measure_twice_replaces_its_column_in_place():
    table = add_measures(pairs_table([("a", "b c")]), ["length", "overlap"])
    again = add_measures(table.set_column(2, "length", pa.array([99])), ["length"])
    assert again.column_names == table.column_names
    assert again.column("length").to_pylist() == [2]


def test_measures_are_chosen_by_the_columns_at_hand():
    plain = ["sentence1", "sentence2"]
    text = ["length", "overlap", "bleu", "edit_distance", "repetition", "copy_rate"]
    assert choose_measures([], plain, "x") == text
    assert choose_measures([], [*plain, "log_prob", "num_tokens"], "x") == [*text, "cost"]
    assert choose_measures(["bleu", "length"], plain, "x") == ["length", "bleu"]
    with pytest.raises(InputError, match="log_prob, num_tokens"):
        choose_measures(["cost"], plain, "x")
    with pytest.raises(UsageError, match="there is no measure `foo`"):
        choose_measures(["foo"], plain, "x")


def test_no_two_measures_claim_a_column_and_all_give_what_they_announce():
    columns = [column for measure in Measures().values() for column in measure.columns]
    assert len(columns) == len(set(columns))
    table = pairs_table([("a", "b")], source=pa.array(["c"]), log_prob=pa.array([-1.0]), num_tokens=pa.array([1]))
    names = [name for name, measure in Measures().items() if measure.lacks is None and name != "language"]
    announced = [column for name in names for column in Measures()[name].columns]
    assert add_measures(table, names).column_names == [*table.column_names, *announced]
    assert measures_of(["overlap_2", "cost", "other"]) == ["overlap", "cost"]
