"""Texts in a language that an encoder does not read are reported once, and deduplicate refuses them."""

from __future__ import annotations

import logging

import pytest
from tiny_encoders import write_average

from hf_paraphrase import SentenceEncoder, deduplicate, deduplicate_files
from hf_paraphrase.encoders.language_coverage import LanguageCoverage, read_card_languages
from hf_paraphrase.errors import UsageError

ARABIC = [
    f"\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645 {number}" for number in range(20)
]


def warnings_of(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_script_that_the_card_does_not_list_is_reported_once(caplog):
    encoder = SentenceEncoder()
    encoder.encode(["A doctor bought a car."] * 19 + ARABIC[:1])
    assert warnings_of(caplog) == []
    encoder.similarity(ARABIC[:4], ["A doctor bought a car."])
    encoder.encode(ARABIC)
    (warning,) = warnings_of(caplog)
    assert "the language of 100% of the texts, such as" in warning and ARABIC[0] in warning
    assert warning.endswith("such as multilingual")
    multilingual = SentenceEncoder("multilingual")
    cyrillic = "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440"
    multilingual.encode(
        [cyrillic, "Guten Tag", "cat", ARABIC[0], "\u4eca\u5929", "\ub098\ub294", "\u0e2a\u0e38\u0e19"]
    )
    assert len(warnings_of(caplog)) == 1
    multilingual.encode(["\u0939\u093f\u0928\u094d\u0926\u0940"])
    assert warnings_of(caplog)[1].endswith("Use an encoder of that language")


GERMAN = ["Zwei Hunde spielen auf der Wiese.", "Ein Mann liest.", "Frau am Strand", "Das ist mein Auto."]


def test_another_language_in_latin_script_is_reported_and_not_deduplicated(caplog, tmp_path):
    SentenceEncoder().encode([GERMAN[0], *["The tour de France passes the villa of El Greco."] * 20])
    SentenceEncoder("multilingual").encode(GERMAN)
    assert warnings_of(caplog) == []
    SentenceEncoder().encode(GERMAN)
    assert "75% of the texts, such as `Zwei Hunde" in warnings_of(caplog)[0]
    with pytest.raises(UsageError, match=r"75% of the texts, .*--force"):
        deduplicate([f"{text} {number}" for text in GERMAN for number in range(10)])


def test_addresses_are_not_taken_for_portuguese():
    addresses = [f"user{number}@mail{number}.com http://site{number}.com" for number in range(20)]
    assert not SentenceEncoder().find_unreadable_texts(addresses).num_unreadable


def test_one_foreign_word_in_a_query_is_not_reported(caplog):
    encoder = SentenceEncoder()
    for query in ["when harry met sally case", "We've lost power.", "Mobile OS availability"]:
        encoder.encode(query)
    assert warnings_of(caplog) == []
    encoder.encode("Dlaczego nie ma go jak na razie?")
    assert "100% of the texts, such as `Dlaczego" in warnings_of(caplog)[0]


@pytest.mark.parametrize("languages", ["ro", "da", "[en, da]", "[da, ru]", "[en, multilingual]"])
def test_words_are_compared_for_encoders_of_english_alone(tmp_path, languages):
    (tmp_path / "README.md").write_text(f"---\nlanguage: {languages}\n---\n")
    text, backend = ["Tom och jag har kaffe med"], SentenceEncoder().backend
    assert not LanguageCoverage(tmp_path).find_unreadable(backend, text).num_unreadable
    (tmp_path / "README.md").write_text("---\nlanguage: [en, zh]\n---\n")
    assert LanguageCoverage(tmp_path).find_unreadable(backend, text).num_unreadable


def test_a_card_of_many_languages_lists_no_script(tmp_path):
    (tmp_path / "README.md").write_text("---\nlanguage: multilingual\n---\n")
    coverage = LanguageCoverage(tmp_path)
    assert not coverage.scripts and not coverage.other_words and coverage.remedy.endswith("that language")


def test_mostly_unknown_words_are_reported_without_a_card(tmp_path, caplog):
    encoder = SentenceEncoder(write_average(tmp_path / "avg"))
    encoder.encode(["w1 w2 w3"] * 9)
    assert warnings_of(caplog) == []
    encoder.encode(["w1 x y z", "w1 w2"])
    assert "50% of the texts, such as `w1 x y z`" in warnings_of(caplog)[0]


def test_deduplicate_refuses_what_the_encoder_does_not_read(tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(ARABIC))
    with pytest.raises(UsageError, match=r"100% of the texts, .*--force"):
        deduplicate_files(input=[str(tmp_path / "texts.txt")], output=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    deduplicate_files(input=[str(tmp_path / "texts.txt")], output=str(tmp_path / "out"), force=True)
    assert len(deduplicate(["A doctor bought a car.", "a doctor bought a car."])) == 1


@pytest.mark.parametrize(
    ("head", "languages"),
    [
        ("language: ru", ["ru"]),
        ("language:\n- en\n- zh-Hans", ["en", "zh"]),
        ("license: mit", []),
        ("language: [de, fr]", ["de", "fr"]),
    ],
)
def test_languages_of_a_card_are_read_without_yaml(tmp_path, head, languages):
    (tmp_path / "README.md").write_text(f"---\n{head}\ntags:\n- x\n---\n# language: none\n")
    assert read_card_languages(tmp_path) == languages
