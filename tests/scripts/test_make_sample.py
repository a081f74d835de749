from __future__ import annotations

import lzma

import pytest

from hf_paraphrase.data.sample import BITEXT_FILE, FOLDER, PARAPHRASE_FILE

RAW = "manythings/fra-eng/fra.txt.gz"


@pytest.fixture
def script(load_script):
    return load_script("make_sample")


def test_spaces_of_every_width_become_one_plain_space_and_accents_one_letter(script):
    assert script.one_kind_of_space("Viens\u202f!\u00a0 Ici\u2009\u200b. ") == "Viens ! Ici ."
    assert script.one_kind_of_space("e\u0301te\u0301") == "été"


def test_sentences_that_a_chain_of_translations_links_are_one_group(script):
    pairs = [
        ("I'm ill.", "Je suis malade."),
        ("I am sick!", "Je suis malade !"),
        ("i am sick", "Je me sens mal."),
        ("Go.", "Va."),
    ]
    groups = script.meanings(pairs)
    assert len({groups[pair] for pair in pairs[:3]}) == 1
    assert groups[pairs[3]] != groups[pairs[0]]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("I am ill.", "I'm ill!", False),
        ("His old cat still lives.", "Her cat is not dead yet.", False),
        ("I have to go.", "I've got to get going.", True),
    ],
)
def test_paraphrases_differ_in_more_than_a_trifle_and_speak_of_the_same_person(script, first, second, expected):
    assert script.is_paraphrase(first, second) == script.is_paraphrase(second, first) == expected


def test_hard_negatives_are_the_likest_sentences_that_say_something_else(script):
    pool = [
        "The girl feeds the dog.",
        "The boys feed the dog.",
        "The boy feeds the cat.",
        "The boy feeds a cat.",
        "We went home early yesterday.",
        "The boy feeds the horse.",
        "The boy is feeding them.",
        "The boy sleeps.",
        "Rain is expected tomorrow.",
        "That boy feeds this dog.",
    ]
    (chosen,) = script.hard_negatives([("The boy feeds the dog.", "The dog gets its food from the boy.")], pool)
    assert len(chosen) == script.NEGATIVES
    assert "That boy feeds this dog." not in chosen
    assert len({"The boy feeds the cat.", "The boy feeds a cat."} & set(chosen)) == 1
    assert not {"We went home early yesterday.", "Rain is expected tomorrow."} & set(chosen)


@pytest.mark.slow
@pytest.mark.real_data
def test_one_command_makes_the_same_sample_again(script, real_data_dir, tmp_path):
    script.make(real_data_dir / RAW, real_data_dir / "held_out.sha256-16.txt.gz", tmp_path)
    for name in (BITEXT_FILE, PARAPHRASE_FILE):
        made, kept = ((folder / name).read_bytes() for folder in (tmp_path, FOLDER))
        # Another version of the compressor may write other bytes of the same text.
        assert lzma.decompress(made) == lzma.decompress(kept)
