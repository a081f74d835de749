from __future__ import annotations

import re
import statistics
from collections import Counter

import pytest

from hf_paraphrase.data.sample import GradedPair, SamplePair, sample_bitext, sample_similarity
from hf_paraphrase.data.sample.adjectives import ADJECTIVES
from hf_paraphrase.data.sample.nouns import NOUNS
from hf_paraphrase.data.sample.similarity import MAXIMUM_PAIRS
from hf_paraphrase.data.sample.verbs import VERBS
from hf_paraphrase.errors import InputError

Graded = dict[str, list[GradedPair]]


def words(sentence: str) -> set[str]:
    return set(re.findall(r"[\w']+", sentence.lower()))


def overlap(pair: GradedPair) -> float:
    first, second = words(pair.sentence1), words(pair.sentence2)
    return len(first & second) / len(first | second)


def test_levels_have_equal_shares(graded: Graded) -> None:
    for pairs in graded.values():
        assert Counter(pair.score for pair in pairs) == dict.fromkeys((0.0, 1.0, 2.0, 3.0, 4.0, 5.0), 100)


def test_sizes_that_six_does_not_divide_are_shared_out() -> None:
    counts = Counter(pair.score for pair in sample_similarity(10, seed=1)["test"])
    assert sum(counts.values()) == 10
    assert set(counts.values()) == {1, 2}


def test_word_overlap_is_an_imperfect_guide(graded: Graded) -> None:
    for pairs in graded.values():
        correlation = statistics.correlation([overlap(pair) for pair in pairs], [pair.score for pair in pairs])
        assert 0.45 < correlation < 0.8


def test_hard_cases_are_a_visible_share(graded: Graded) -> None:
    for pairs in graded.values():
        hard_negatives = [pair for pair in pairs if pair.score <= 3 and overlap(pair) > 0.6]
        hard_positives = [pair for pair in pairs if pair.score == 5 and overlap(pair) < 0.4]
        assert len(hard_negatives) >= 0.12 * len(pairs)
        assert len(hard_positives) >= 0.02 * len(pairs)


def test_role_swaps_keep_their_words_and_lose_their_meaning(graded: Graded) -> None:
    swaps = [pair for pairs in graded.values() for pair in pairs if pair.kind == "role_swap"]
    assert len(swaps) >= 30
    assert all(pair.score == 3.0 for pair in swaps)
    assert sum(words(pair.sentence1) == words(pair.sentence2) for pair in swaps) >= 10


def test_all_kinds_occur(graded: Graded) -> None:
    kinds = {pair.kind for pair in graded["test"]}
    assert kinds >= {
        "synonym", "passive", "reordered", "detail_dropped", "role_swap", "other_object", "other_subject",
        "other_place", "opposite_detail", "negation", "antonym", "other_action", "same_action", "same_topic",
        "same_frame", "shared_noun", "unrelated",
    }  # fmt: skip


def test_negated_pairs_have_one_negation(graded: Graded) -> None:
    negation = re.compile(r"n't\b|\bnot\b|\bcannot\b")
    for pair in (pair for pairs in graded.values() for pair in pairs if pair.kind == "negation"):
        assert bool(negation.search(pair.sentence1)) != bool(negation.search(pair.sentence2)), pair


def test_unrelated_pairs_share_no_noun_adjective_or_main_verb(graded: Graded) -> None:
    auxiliaries = {"be", "have", "do", "go", "get", "can", "will"}
    content = {word.lower() for entry in (*NOUNS, *VERBS, *ADJECTIVES) for word in entry.english if " " not in word}
    for pair in (pair for pairs in graded.values() for pair in pairs if pair.score == 0):
        assert not words(pair.sentence1) & words(pair.sentence2) & (content - auxiliaries), pair


def test_sentences_of_a_pair_differ_and_pairs_are_distinct(graded: Graded) -> None:
    pairs = [pair for split in graded.values() for pair in split]
    assert all(pair.sentence1 != pair.sentence2 for pair in pairs)
    assert len({(pair.sentence1, pair.sentence2) for pair in pairs}) == len(pairs)


def test_no_graded_sentence_is_in_the_training_split(graded: Graded, bitext: dict[str, list[SamplePair]]) -> None:
    train = {pair.english for pair in bitext["train"]}
    for pairs in graded.values():
        assert not train & {sentence for pair in pairs for sentence in (pair.sentence1, pair.sentence2)}


def test_splits_are_disjoint(graded: Graded) -> None:
    validation, test = (
        {sentence for pair in graded[split] for sentence in (pair.sentence1, pair.sentence2)}
        for split in ("validation", "test")
    )
    assert not validation & test


def test_bitexts_of_other_seeds_have_no_graded_meaning_either(graded: Graded) -> None:
    other = {pair.english for pairs in sample_bitext(6_000, seed=9).values() for pair in pairs}
    sentences = [
        sentence for pairs in graded.values() for pair in pairs for sentence in (pair.sentence1, pair.sentence2)
    ]
    assert sum(sentence in other for sentence in sentences) <= 3


def test_same_seed_gives_the_same_set() -> None:
    assert sample_similarity(60, seed=1) == sample_similarity(60, seed=1)
    assert sample_similarity(60, seed=1) != sample_similarity(60, seed=2)


@pytest.mark.parametrize("num_pairs", [-5, 0, MAXIMUM_PAIRS + 1])
def test_impossible_sizes_are_refused(num_pairs: int) -> None:
    with pytest.raises(InputError, match=str(num_pairs)):
        sample_similarity(num_pairs)
