from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from hf_paraphrase.data.cleaning import CleaningRules, clean
from hf_paraphrase.data.languages import OtherLanguages, check_language, is_language, language_tag, primary_language
from hf_paraphrase.errors import InputError, UsageError


@pytest.mark.parametrize("code", ["fr", "en", "fin", "fra", "pt-BR", "zh_Hans", "no", "sms", "sl-rozaj"])
def test_language_codes_are_accepted(code):
    assert check_language(code, "--lang") == code


@pytest.mark.parametrize(
    "code",
    [
        "",
        "french",
        "FR",
        "xx",
        "f",
        "fr-",
        "fr en",
        "12",
        "fr-toolongsubtag",
        "../en",
        "zzz",
        "fr-AB",
        "fr--FR",
        "fr@x",
    ],
)
def test_what_is_no_language_code_is_refused_by_name(code):
    with pytest.raises(InputError, match=r"--lang.*not a language code"):
        check_language(code, "--lang")


@pytest.mark.parametrize(
    ("tag", "code", "same"),
    [
        ("fr", "fr", True),
        ("FR-fr", "fr", True),
        ("fr_CA.UTF-8", "fr", True),
        ("fra", "fr", True),
        ("fr", "fra", True),
        ("fr", "fr-CA", False),
        ("fr-FR", "fr-CA", False),
        ("pt_BR", "pt-BR", True),
        ("sr@latin", "sr", True),
        ("en", "fr", False),
        ("", "fr", False),
        ("x-none", "fr", False),
        ("*all*", "fr", False),
    ],
)
def test_a_tag_matches_the_language_asked_for_whatever_its_spelling_and_region(tag, code, same):
    assert is_language(tag, code) is same


def test_tags_have_one_form():
    assert {language_tag(tag) for tag in ("de_AT", "DE-at", "ger-AT", "de_AT.ISO-8859-1")} == {"de-AT"}
    assert language_tag("no such tag") is None
    assert (primary_language("pt-BR"), primary_language("deu")) == ("pt", "de")


FRENCH = "Le gouvernement a présenté hier un nouveau projet de loi sur les retraites."
ENGLISH = "The government presented a new bill on pensions yesterday."
GERMAN = "Die Regierung hat gestern einen neuen Gesetzentwurf zur Rente vorgelegt."


def test_rows_with_a_side_in_another_language_are_left_out_and_doubtful_ones_stay():
    pytest.importorskip("py3langid")
    rows = pa.table(
        {
            "source": [FRENCH, ENGLISH, FRENCH, "Ok", "", GERMAN],
            "target": [ENGLISH, ENGLISH, GERMAN, "Ok", "x", "12 %"],
        }
    )
    kept, counts = clean(rows, CleaningRules(languages=OtherLanguages("fr-CA", "en")))
    assert kept.to_pylist() == [{"source": FRENCH, "target": ENGLISH}, {"source": "Ok", "target": "Ok"}]
    assert counts == {"empty_side": 1, "wrong_language": 3}


def test_written_standards_that_corpora_do_not_distinguish_are_one_language():
    pytest.importorskip("py3langid")
    danish_like = "Regjeringen la i går frem et nytt lovforslag om pensjon for alle arbeidstakere."
    assert OtherLanguages("no", "nb").right(pa.array([danish_like]), pa.array([danish_like])).tolist() == [True]


def test_what_cannot_work_is_reported_before_any_reading(monkeypatch):
    pytest.importorskip("py3langid")
    with pytest.raises(UsageError, match="does not know the language `sms`"):
        OtherLanguages("sms", "en")
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    with pytest.raises(UsageError, match=r"hf-paraphrase\[language\]"):
        OtherLanguages("fr", "en")
