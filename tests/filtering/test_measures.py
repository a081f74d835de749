from __future__ import annotations

import math
import unicodedata
from collections import Counter

import pyarrow as pa
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from small_runs import pairs_table

from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering.measuring import Measures, add_measures, choose_measures, find_measures
from hf_paraphrase.text.words import tokenize
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

WORDS = ["a", "A", "b", "The", "the", "cat", "dogs", "sat,", "don't", "ÉTÉ", "été", "猫狗", "狗", "नमस्ते", ".", ""]
SENTENCE = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE, SENTENCE), max_size=12)


def scored(rows, *names):
    return add_measures(pairs_table(rows), names).to_pydict()


def same(found, expected):
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def grams(tokens, order):
    return [tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]


def naive_overlap(first, second, order):
    one, two = grams(tokenize(first), order), grams(tokenize(second), order)
    shorter, longer = (one, two) if len(one) <= len(two) else (two, one)
    if not shorter:
        return 0.0
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


def words_of(text):
    """Return the tokens of three characters or more, and the letters of a script without spaces."""
    return [token for token in tokenize(text) if len(token) >= 3 or token in "猫狗"]


def naive_repetition(text, order):
    kept = words_of(text) if order == 1 else grams(tokenize(text), order)
    return sum(gram in kept[:place] for place, gram in enumerate(kept)) / len(kept) if kept else 0.0


def naive_copy_rate(translation, other):
    words = words_of(translation)
    return sum(word in tokenize(other) for word in words) / len(words) if words else math.nan


@settings(max_examples=150, deadline=None)
@given(PAIRS)
def test_measures_of_words_equal_those_of_loops_over_pairs(rows):
    names = ("length", "overlap", "bleu", "repetition", "copy_rate_source")
    table = scored(rows, *names)
    assert table["length_reference"] == [len(tokenize(first)) for _, first, _ in rows]
    assert table["length"] == [len(tokenize(second)) for _, _, second in rows]
    lengths = zip(table["length"], table["length_reference"], strict=True)
    same(table["length_ratio"], [long / short if short else math.nan for long, short in lengths])
    for order in (1, 2, 3):
        same(table[f"overlap_{order}"], [naive_overlap(first, second, order) for _, first, second in rows])
    same(table["bleu"], [naive_bleu(first, second) for _, first, second in rows])
    for order in (1, 3):
        same(table[f"repetition_{order}"], [naive_repetition(second, order) for _, _, second in rows])
        same(table[f"repetition_reference_{order}"], [naive_repetition(first, order) for _, first, _ in rows])
    same(table["copy_rate_source"], [naive_copy_rate(second, source) for source, _, second in rows])


def test_edit_distances_are_shares_of_the_longer_text_whatever_the_case_and_a_missing_text_is_an_empty_one():
    pairs = [("", ""), ("", "a"), ("Kitten", "sITTING"), ("\U0001f600a", "a"), ("a", None)]
    table = scored(pairs, "edit_distance", "overlap", "bleu", "repetition")
    same(table["edit_distance"], [0.0, 1.0, 3 / 7, 1 / 2, 1.0])
    assert [table[name][-1] for name in ("overlap_1", "bleu", "repetition_1")] == [0.0] * 3


def test_composed_and_decomposed_letters_count_as_the_same():
    text = "À la crème, là où l’été naît"
    one, other = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    table = scored([(other, one, other), (one, other, one)], "overlap", "copy_rate_source", "token_f1", "kendall_tau")
    for column in ("overlap_1", "overlap_3", "copy_rate_source", "token_f1", "kendall_tau"):
        same(table[column], [1.0, 1.0])
    table = scored([(other, one), (one, one)], "edit_distance", "ter", "bleu")
    same(table["edit_distance"] + table["ter"], [0.0] * 4)
    same(table["bleu"][:1], table["bleu"][1:])


def test_tokens_of_the_measures_are_the_words_that_encoders_have_by_default():
    backend = build_word_level_tokenizer(["a"]).backend_tokenizer
    texts = [pair.english for pair in sample_bitext()["train"][:2000]]
    texts += ["It's what they’d've done, isn't it? 'Tis well-known: the cats' 3.5 rock'n'roll CDs can't, he'll say"]
    for text in texts:
        words = [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))]
        assert tokenize(text) == words


def test_measures_are_chosen_by_the_columns_at_hand():
    plain = ["sentence1", "sentence2"]
    text = ["length", "overlap", "bleu", "edit_distance", "repetition"]
    assert choose_measures([], plain, "x") == text
    assert choose_measures([], [*plain, "log_prob", "num_tokens"], "x") == [*text, "cost"]
    assert choose_measures(["bleu", "length"], plain, "x") == ["length", "bleu"]
    assert choose_measures([], plain, "x", Measures(classifier="folder")) == [*text, "reference_probability"]
    with pytest.raises(UsageError, match="needs --classifier"):
        choose_measures(["reference_probability"], plain, "x")
    with pytest.raises(UsageError, match="there is no measure `foo`"):
        choose_measures(["foo"], plain, "x")


def test_no_two_measures_have_a_column_in_common_and_all_give_what_they_announce():
    columns = [column for measure in Measures().values() for column in measure.columns]
    assert len(columns) == len(set(columns))
    table = pairs_table([("c", "a", "b")], log_prob=pa.array([-1.0]), num_tokens=pa.array([1]))
    names = [name for name, measure in Measures().items() if measure.lacks is None and name != "language"]
    announced = [column for name in names for column in Measures()[name].columns]
    assert add_measures(table, names).column_names == [*table.column_names, *announced]
    assert find_measures(["overlap_2", "cost", "other"]) == ["overlap", "cost"]


# ----- tokens


@given(PAIRS)
@settings(deadline=None, max_examples=30)
def test_metrics_are_those_of_sacrebleu_scipy_and_the_definition(rows):
    found = scored(rows, "chrf", "ter", "token_f1", "kendall_tau")
    pairs = list(zip(found["sentence1"], found["sentence2"], strict=True))
    same(found["chrf"], [sacrebleu.sentence_chrf(two, [one]).score / 100 for one, two in pairs])
    tokens = [(tokenize(one), tokenize(two)) for one, two in pairs]
    same(found["ter"], [sacrebleu.sentence_ter(" ".join(two), [" ".join(one)]).score / 100 for one, two in tokens])
    for (one, two), f1, tau in zip(tokens, found["token_f1"], found["kendall_tau"], strict=True):
        same(f1, 2 * (Counter(one) & Counter(two)).total() / max(1, len(one) + len(two)))
        shared = [token for token in one if one.count(token) == two.count(token) == 1]
        places = [two.index(token) for token in shared]
        same(tau, kendalltau(range(len(places)), places).statistic if len(places) > 1 else math.nan)
