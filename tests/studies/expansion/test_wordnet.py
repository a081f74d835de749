from __future__ import annotations

import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.expansion.wordnet import WordNet, find_wordnet


@pytest.fixture(scope="module")
def wordnet(tiny_wordnet):
    return WordNet(tiny_wordnet)


def test_senses_come_in_their_order_without_examples(wordnet):
    definitions = [sense.definition for sense in wordnet.senses("dog", "n")]
    assert definitions == [
        "a member of the genus Canis (probably from the wolf); occurs in many breeds",
        "a dull girl or woman",
    ]
    assert wordnet.senses("go", "v")[0].definition == "change location"
    assert wordnet.senses("domestic_dog", "n") == wordnet.senses("dog", "n")[:1]


def test_a_sense_is_a_name_where_its_word_is_written_with_a_capital(wordnet):
    assert [sense.is_name for sense in wordnet.senses("march", "n")] == [True, False]
    assert not wordnet.senses("boring", "a")[0].is_name


def test_the_folder_is_found_by_the_environment_and_in_the_usual_places(wordnet_folder, monkeypatch, tmp_path):
    folder = wordnet_folder("home/dict")
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.delenv("WNHOME", raising=False)
    assert find_wordnet(None, [str(tmp_path / "absent"), str(folder)]) == folder
    with pytest.raises(InputError, match="wordnet-base"):
        find_wordnet(None, [])
    monkeypatch.setenv("WNHOME", str(folder.parent))
    assert find_wordnet(None, []) == folder


@pytest.mark.parametrize("damage", [b"dog n", b"dog n 1 1 @ 1 0 00000099"])
def test_a_damaged_word_is_named_when_it_is_asked_for(wordnet_folder, damage):
    index = wordnet_folder("dict") / "index.noun"
    lines = index.read_bytes().split(b"\n")
    index.write_bytes(b"\n".join(damage if line.startswith(b"dog ") else line for line in lines))
    wordnet = WordNet(index.parent)
    assert wordnet.senses("teacher", "n")
    with pytest.raises(InputError, match=r"index\.noun: `dog` is damaged here or in data\.noun"):
        wordnet.senses("dog", "n")
