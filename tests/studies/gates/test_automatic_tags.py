from __future__ import annotations

import pytest

from hf_paraphrase.studies.expansion.tagger import PartOfSpeechTagger
from hf_paraphrase.studies.gates.word_labels import DEPENDENCY, LabelledSentence, with_tags


def test_words_get_the_taggers_labels_without_their_forms_and_punctuation_one_of_its_own():
    pytest.importorskip("denckring_en_pos")
    tagger = PartOfSpeechTagger.load()
    words = ["“", "Tom", "saw", "a", "dog", ",", "and", "it", "was", "barking", ".", "”"]
    plain = [word for word in words if word.isalnum()]
    expected = iter(label.split("|")[0] for label in tagger.tag([plain])[0])
    sentences = [LabelledSentence.of_words(words, {DEPENDENCY: ["x"] * len(words)}), LabelledSentence.of_words(["!"])]
    first, second = with_tags(tagger, sentences)
    assert list(first.labels["tag"]) == [next(expected) if word.isalnum() else "PUNCT" for word in words]
    assert first.labels["tag"][1:5] == ("PROPN", "VERB", "DET", "NOUN")
    assert first.labels[DEPENDENCY] == ("x",) * len(words) and first.spans == sentences[0].spans
    assert second.labels["tag"] == ("PUNCT",)
