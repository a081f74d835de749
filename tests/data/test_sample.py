from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
import unicodedata

import pytest

from hf_paraphrase.data.decontamination import load_fingerprints
from hf_paraphrase.data.fingerprints import normalise
from hf_paraphrase.data.sample import BITEXT_FILE, FOLDER, PARAPHRASE_FILE, TOTAL_PAIRS, sample_bitext
from hf_paraphrase.data.sample import sample_paraphrases as judged
from hf_paraphrase.errors import InputError


@pytest.fixture(scope="module")
def english():
    """The English sentences by file and split."""
    sides = {f"bitext {split}": [pair.english for pair in pairs] for split, pairs in sample_bitext().items()}
    for split, pairs in judged().items():
        sides[f"paraphrases {split}"] = [text for pair in pairs for text in (pair.sentence1, pair.sentence2)]
    return sides


@pytest.fixture(scope="module")
def french():
    return {split: [pair.french for pair in pairs] for split, pairs in sample_bitext().items()}


@pytest.fixture(scope="module")
def sentences(english, french):
    return [text for texts in (*english.values(), *french.values()) for text in texts]


def test_sizes(french):
    assert {split: len(pairs) for split, pairs in french.items()} == {
        "train": 30_000,
        "validation": 600,
        "test": 1_000,
    }
    assert sum(map(len, french.values())) == TOTAL_PAIRS
    assert {split: len(pairs) for split, pairs in judged().items()} == {"validation": 6 * 300, "test": 6 * 800}
    assert sum((FOLDER / name).stat().st_size for name in (BITEXT_FILE, PARAPHRASE_FILE)) < 512 * 1024


def test_no_sentence_is_in_two_splits_whatever_its_case_and_punctuation(english, french):
    for sides in (english, french):
        words = {name: set(map(normalise, texts)) for name, texts in sides.items()}
        for one, other in itertools.combinations(words, 2):
            assert not words[one] & words[other], (one, other)


def test_sentences_are_of_three_to_nine_words_in_clean_text(sentences, english, french):
    for text in sentences:
        assert 3 <= len(text.split()) <= 9
        assert text == unicodedata.normalize("NFC", text) == " ".join(text.split(" "))
        assert all(unicodedata.category(letter)[0] != "C" and letter != "\N{REPLACEMENT CHARACTER}" for letter in text)
        assert "Ã" not in text and "â€" not in text
    assert set("éèêëàâçîïôûùœÉÀÇÊ") <= set("".join(french["train"]))
    assert sum(not text.isascii() for text in english["bitext train"]) < 100
    assert sum(not text.isascii() for text in french["train"]) > 10_000


@pytest.mark.real_data
def test_no_sentence_is_one_that_encoders_are_evaluated_on(real_data_dir, sentences):
    fingerprints = load_fingerprints([real_data_dir / "held_out.sha256-16.txt.gz"])
    assert not fingerprints.contains(sentences).any()


def test_each_sentence_has_one_paraphrase_and_five_other_sentences():
    for pairs in judged().values():
        for start in range(0, len(pairs), 6):
            group = pairs[start : start + 6]
            assert len({pair.sentence1 for pair in group}) == 1
            assert [pair.label for pair in group] == [1, 0, 0, 0, 0, 0]
            assert len({normalise(text) for pair in group for text in (pair.sentence1, pair.sentence2)}) == 7
        assert len({normalise(pair.sentence1) for pair in pairs}) == len(pairs) / 6


def test_same_seed_gives_the_same_pairs_whatever_the_hash_seed():
    program = (
        "import hashlib; from hf_paraphrase.data.sample import sample_bitext, sample_paraphrases\n"
        "text = repr((sample_bitext(1200, 3), sample_paraphrases())).encode()\n"
        "print(hashlib.sha256(text).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    here = hashlib.sha256(repr((sample_bitext(1200, 3), judged())).encode()).hexdigest()
    assert run.stdout.strip() == here


@pytest.mark.parametrize("num_pairs", [99, TOTAL_PAIRS + 1])
def test_impossible_sizes_are_refused(num_pairs):
    with pytest.raises(InputError, match=f"between 100 and 31,600, got {num_pairs:,}"):
        sample_bitext(num_pairs)
