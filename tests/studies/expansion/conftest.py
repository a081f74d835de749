from __future__ import annotations

import pytest

from hf_paraphrase.studies.expansion.wordnet import WordNet
from hf_paraphrase.studies.expansion.words import PartOfSpeechTagger


@pytest.fixture(scope="session")
def tagger():
    """The installed part-of-speech tagger; it takes a second to open."""
    pytest.importorskip("denckring_en_pos")
    pytest.importorskip("lemminflect")
    return PartOfSpeechTagger.load()


@pytest.fixture(scope="session")
def wordnet(tiny_wordnet):
    """A few dozen words."""
    return WordNet(tiny_wordnet)
