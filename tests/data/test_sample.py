from __future__ import annotations

import hashlib
import itertools

import pytest

from hf_paraphrase.data.sample import BITEXT_FILE, FOLDER, PARAPHRASE_FILE, TOTAL_PAIRS, sample_bitext
from hf_paraphrase.data.sample import sample_paraphrases as judged
from hf_paraphrase.errors import InputError
from hf_paraphrase.text.normalization import normalize_words


def test_the_splits_have_their_sizes_and_no_sentence_in_common_whatever_its_case_and_punctuation():
    bitext = sample_bitext()
    sizes = {split: len(pairs) for split, pairs in bitext.items()}
    assert sizes == {"train": 30_000, "validation": 600, "test": 1_000}
    assert sum((FOLDER / name).stat().st_size for name in (BITEXT_FILE, PARAPHRASE_FILE)) < 512 * 1024
    french = {split: {normalize_words(pair.french) for pair in pairs} for split, pairs in bitext.items()}
    english = {f"bitext {split}": {normalize_words(pair.english) for pair in pairs} for split, pairs in bitext.items()}
    for split, pairs in judged().items():
        english[f"paraphrases {split}"] = {
            normalize_words(text) for pair in pairs for text in (pair.sentence1, pair.sentence2)
        }
    for words in (english, french):
        for one, other in itertools.combinations(words, 2):
            assert not words[one] & words[other], (one, other)


def test_a_seed_gives_the_pairs_that_it_has_always_given():
    text = repr((sample_bitext(1200, 3), judged()))
    digest = "94571f43d1b0d613558d4d4ca0a9eed66c453c791ca72532c4da01ca6b6cf6ba"
    assert hashlib.sha256(text.encode()).hexdigest() == digest


@pytest.mark.parametrize("num_pairs", [99, TOTAL_PAIRS + 1])
def test_impossible_sizes_are_refused(num_pairs):
    with pytest.raises(InputError, match=f"between 100 and 31,600, got {num_pairs:,}"):
        sample_bitext(num_pairs)
