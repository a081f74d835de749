from __future__ import annotations

import pickle
import random

import pytest

from hf_paraphrase.studies.expansion import tagger as module
from hf_paraphrase.studies.expansion.tagger import PartOfSpeechTagger


def test_the_tags_are_those_of_the_package_whatever_was_tagged_before(tagger, monkeypatch):
    package = pytest.importorskip("denckring_en_pos")
    reference = package.tagger()
    draw = random.Random(7)
    words = [*draw.sample(sorted(reference.vocabulary), 300), "the", "of", "is", "n't", "I", "Paris", "1999", "zyxt"]
    sentences = [draw.choices(words, k=draw.randint(0, 20)) for _ in range(60)]
    expected = [reference.tag(words) for words in sentences]
    assert (
        tagger.tag(sentences) == tagger.tag(sentences) == pickle.loads(pickle.dumps(tagger)).tag(sentences) == expected
    )
    monkeypatch.setattr(module, "_MOST_KNOWN", 2)
    assert PartOfSpeechTagger(reference).tag(sentences) == expected
    assert "the" in tagger and "zyxt" not in tagger
