from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
import unicodedata

import pytest

from hf_paraphrase.data.evaluation_sets import load_fingerprints
from hf_paraphrase.data.fingerprints import normalise
from hf_paraphrase.data.sample import TOTAL_PAIRS, sample_bitext, sample_paraphrases
from hf_paraphrase.data.sample.tatoeba import BITEXT_FILE, FOLDER, PARAPHRASE_FILE
from hf_paraphrase.errors import InputError


@pytest.fixture(scope="module")
def bitext():
    return sample_bitext()


@pytest.fixture(scope="module")
def paraphrases():
    return sample_paraphrases()


@pytest.fixture(scope="module")
def sentences(bitext, paraphrases):
    """All sentences, French and English."""
    found = [text for pairs in bitext.values() for pair in pairs for text in (pair.french, pair.english)]
    return found + [
        text for pairs in paraphrases.values() for pair in pairs for text in (pair.sentence1, pair.sentence2)
    ]


def test_sizes(bitext, paraphrases):
    assert {split: len(pairs) for split, pairs in bitext.items()} == {
        "train": 30_000,
        "validation": 600,
        "test": 1_000,
    }
    assert sum(map(len, bitext.values())) == TOTAL_PAIRS
    assert {split: len(pairs) for split, pairs in paraphrases.items()} == {"validation": 6 * 300, "test": 6 * 800}
    assert sum((FOLDER / name).stat().st_size for name in (BITEXT_FILE, PARAPHRASE_FILE)) < 512 * 1024


def test_no_sentence_is_on_two_sides_whatever_its_case_and_punctuation(bitext, paraphrases):
    sides = {f"bitext {split}": {normalise(pair.english) for pair in pairs} for split, pairs in bitext.items()}
    for split, pairs in paraphrases.items():
        sides[f"paraphrases {split}"] = {
            normalise(text) for pair in pairs for text in (pair.sentence1, pair.sentence2)
        }
    for one, other in itertools.combinations(sides, 2):
        assert not sides[one] & sides[other], (one, other)
    french = [{normalise(pair.french) for pair in pairs} for pairs in bitext.values()]
    for one, other in itertools.combinations(french, 2):
        assert not one & other


def test_sentences_are_of_three_to_nine_words_in_clean_text(sentences):
    for text in sentences:
        assert 3 <= len(text.split()) <= 9
        assert text == unicodedata.normalize("NFC", text) == " ".join(text.split(" "))
        assert all(unicodedata.category(letter)[0] != "C" and letter != "\N{REPLACEMENT CHARACTER}" for letter in text)
        assert "Ã" not in text and "â€" not in text


def test_french_has_its_accents_and_english_hardly_any(bitext):
    french = "".join(pair.french for pair in bitext["train"])
    for letter in "éèêëàâçîïôûùœÉÀÇÊ":
        assert letter in french
    assert sum(not pair.english.isascii() for pair in bitext["train"]) < 100 < 10_000
    assert sum(not pair.french.isascii() for pair in bitext["train"]) > 10_000


@pytest.mark.real_data
def test_no_sentence_is_one_that_encoders_are_evaluated_on(real_data_dir, sentences):
    fingerprints = load_fingerprints([real_data_dir / "held_out.sha256-16.txt.gz"])
    assert not fingerprints.contains(sentences).any()


def test_each_sentence_has_one_paraphrase_and_five_other_sentences(paraphrases):
    for pairs in paraphrases.values():
        for start in range(0, len(pairs), 6):
            group = pairs[start : start + 6]
            assert len({pair.sentence1 for pair in group}) == 1
            assert [pair.label for pair in group] == [1, 0, 0, 0, 0, 0]
            assert len({normalise(text) for pair in group for text in (pair.sentence1, pair.sentence2)}) == 7
        firsts = [normalise(pair.sentence1) for pair in pairs[::6]]
        assert len(set(firsts)) == len(firsts)


def test_same_seed_gives_the_same_pairs_whatever_the_hash_seed():
    program = (
        "import hashlib; from hf_paraphrase.data.sample import sample_bitext, sample_paraphrases\n"
        "text = repr((sample_bitext(1200, 3), sample_paraphrases())).encode()\n"
        "print(hashlib.sha256(text).hexdigest())"
    )
    outputs = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        outputs.add(run.stdout.strip())
    here = hashlib.sha256(repr((sample_bitext(1200, 3), sample_paraphrases())).encode()).hexdigest()
    assert outputs == {here}


@pytest.mark.parametrize("num_pairs", [-1, 0, 99, TOTAL_PAIRS + 1])
def test_impossible_sizes_are_refused(num_pairs):
    with pytest.raises(InputError, match=f"between 100 and 31,600, got {num_pairs:,}"):
        sample_bitext(num_pairs)
