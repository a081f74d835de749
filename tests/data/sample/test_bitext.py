from __future__ import annotations

import hashlib
import itertools
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from hf_paraphrase.data.sample import SamplePair, sample_bitext
from hf_paraphrase.data.sample.bitext import MAXIMUM_PAIRS
from hf_paraphrase.data.sample.french_morphology import plural_noun
from hf_paraphrase.data.sample.nouns import NOUNS
from hf_paraphrase.errors import InputError

Bitext = dict[str, list[SamplePair]]
VOWEL = "[aeiouyâàéèêëîïôöùûœ]"


def all_pairs(bitext: Bitext) -> list[SamplePair]:
    return [pair for pairs in bitext.values() for pair in pairs]


def test_default_sizes(bitext: Bitext) -> None:
    assert {split: len(pairs) for split, pairs in bitext.items()} == {"train": 21_000, "validation": 500, "test": 500}


def test_requested_size_is_exact() -> None:
    assert sum(len(pairs) for pairs in sample_bitext(1_777, seed=4).values()) == 1_777


def test_pairs_are_distinct(bitext: Bitext) -> None:
    pairs = all_pairs(bitext)
    assert len({(pair.french, pair.english) for pair in pairs}) == len(pairs)


def test_splits_share_no_meaning_and_no_sentence(bitext: Bitext) -> None:
    for kind in ("meaning", "french", "english"):
        values = [{getattr(pair, kind) for pair in pairs} for pairs in bitext.values()]
        assert not values[0] & values[1] and not values[0] & values[2] and not values[1] & values[2], kind


def test_third_to_half_of_the_training_meanings_have_several_english_wordings(bitext: Bitext) -> None:
    english = defaultdict(set)
    for pair in bitext["train"]:
        english[pair.meaning].add(pair.english)
    share = sum(len(wordings) > 1 for wordings in english.values()) / len(english)
    assert 0.33 < share < 0.55


def test_rare_words_are_few_and_vocabulary_is_moderate(bitext: Bitext) -> None:
    words = Counter(word for pair in all_pairs(bitext) for word in re.findall(r"[\w']+", pair.english.lower()))
    assert 800 <= len(words) <= 2_000
    assert sum(count == 1 for count in words.values()) < 0.08 * len(words)


def test_sentences_are_short_to_medium(bitext: Bitext) -> None:
    lengths = [len(pair.english.split()) for pair in all_pairs(bitext)]
    assert max(lengths) <= 22
    assert sum(4 <= length <= 14 for length in lengths) / len(lengths) > 0.95


def test_same_seed_gives_the_same_pairs_whatever_the_hash_seed() -> None:
    program = (
        "import hashlib; from hf_paraphrase.data.sample import sample_bitext, sample_similarity\n"
        "text = repr(sample_bitext(1200, 3)).encode(); print(hashlib.sha256(text).hexdigest())"
    )
    outputs = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        outputs.add(run.stdout.strip())
    assert outputs == {hashlib.sha256(repr(sample_bitext(1200, 3)).encode()).hexdigest()}


def test_other_seed_gives_other_pairs() -> None:
    assert sample_bitext(1_200, 3)["test"] != sample_bitext(1_200, 5)["test"]


def test_changing_the_returned_lists_does_not_change_the_next_call() -> None:
    sample_bitext(1_200, 3)["train"].clear()
    assert len(sample_bitext(1_200, 3)["train"]) == 200


@pytest.mark.parametrize("num_pairs", [-1, 0, 1_000, MAXIMUM_PAIRS + 1])
def test_impossible_sizes_are_refused(num_pairs: int) -> None:
    with pytest.raises(InputError, match=str(num_pairs)):
        sample_bitext(num_pairs)


@pytest.mark.parametrize(
    "wrong",
    [
        rf"\b(le|la|je|ne|que|me|te|se|de) {VOWEL}(?!aourt)",
        r"\b(le|la|de|je|ne) h(omme|ôpital|ôtel|istoire)",
        r"\bde les?\b",
        r"\bà les?\b",
        r"\b(ma|ta|sa|ce) (amie|assiette|église|école|épouse|homme|ami|enfant|arbre|œuf|hôtel)\b",
        r"\b(beau|nouveau|vieux) (arbre|homme|ami|appartement|hôtel|ordinateur)\b",
        r"\bsi ils?\b",
        r"\bpas (un|une|des) ",
        r"\bne \w+ (?!.*\b(pas|jamais|plus)\b)",
        r" ,|  |\.\.|[^ ]\?",
        r"\bavoir|être en train\b",
        r"_|\{|\}",
    ],
)
def test_french_has_no_such_mistake(bitext: Bitext, wrong: str) -> None:
    found = [pair.french for pair in all_pairs(bitext) if re.search(wrong, pair.french, re.IGNORECASE)]
    assert found == []


@pytest.mark.parametrize(
    "wrong",
    [
        r"\ba (?!uni|use|one)[aeiou]",
        r"\ban (?!hour|honest)[^aeiou]",
        r"^(He|She|It) (are|were|have|do|go|don't)\b",
        r"\b(they|we|you) (is|was|has|does|am)\b",
        r"\bI (is|are|has|does|goes|were)\b",
        r"\b(the|a|an|my|your) (the|a|an|my|your)\b",
        r"\b(did|does|do|will|can|must|didn't|won't|don't|doesn't) (not )?(?!need|feed|bring|sing)\w+(ed|ing)\b",
        r" ,|  | \?|\.\.|_",
        r"\b(childs|mans|womans|sheeps|mouses|breads|milks|knifes)\b",
        r"\bby (I|he|she|we|they|you)\b(?! )",
    ],
)
def test_english_has_no_such_mistake(bitext: Bitext, wrong: str) -> None:
    found = [pair.english for pair in all_pairs(bitext) if re.search(wrong, pair.english)]
    assert found == []


def test_sentences_begin_with_a_capital_and_end_with_a_mark(bitext: Bitext) -> None:
    for pair in all_pairs(bitext):
        for sentence in (pair.french, pair.english):
            assert sentence[0].isupper()
            assert sentence[-1] in ".?"
        assert (pair.french[-1] == "?") == (pair.english[-1] == "?")


def test_articles_agree_with_the_gender_table(bitext: Bitext) -> None:
    articles = {
        "le": False,
        "un": False,
        "ce": False,
        "du": False,
        "au": False,
        "la": True,
        "une": True,
        "cette": True,
    }
    # Compounds go by their first word, which stands next to the article.
    genders = {noun.french.split()[0]: noun.feminine for noun in NOUNS}
    plurals = {plural_noun(noun.french).split()[0] for noun in NOUNS} - set(genders)
    checked = set()
    for pair in all_pairs(bitext):
        words = re.findall(r"[\w-]+", pair.french.lower())
        for article, word in itertools.pairwise(words):
            if article in articles:
                assert word not in plurals, pair
                if word in genders:
                    assert genders[word] == articles[article], pair
                    checked.add(word)
    assert len(checked) > 180


def test_negation_is_on_both_sides(bitext: Bitext) -> None:
    negative = r"\b(not|no|never|longer|cannot|anymore|without|no point|seldom|useless|forbidden)\b|n't\b"
    for pair in all_pairs(bitext):
        if re.search(r"\b(ne|n')\s?\w+.*\b(pas|jamais|plus)\b", pair.french) and "plus " not in pair.french:
            assert re.search(negative, pair.english), pair


def test_every_meaning_has_one_tense_in_both_languages(bitext: Bitext) -> None:
    for pair in all_pairs(bitext):
        if re.search(r"\b(Hier|hier|dernière?)\b", pair.french):
            assert re.search(r"\b(yesterday|last|day before|two days ago)\b", pair.english, re.IGNORECASE), pair
        if "demain" in pair.french.lower():
            assert "tomorrow" in pair.english.lower(), pair
