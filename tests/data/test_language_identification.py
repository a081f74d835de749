from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from hf_paraphrase.data.cleaning import CleaningRules, clean
from hf_paraphrase.data.language_identification import OtherLanguages
from hf_paraphrase.errors import UsageError

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
    kept, counts = clean(rows, CleaningRules(languages=OtherLanguages("fr-CA", "en", 0.9)))
    assert kept.to_pylist() == [{"source": FRENCH, "target": ENGLISH}, {"source": "Ok", "target": "Ok"}]
    assert counts == {"empty_side": 1, "wrong_language": 3}


def test_written_standards_that_corpora_do_not_distinguish_are_one_language():
    pytest.importorskip("py3langid")
    danish_like = "Regjeringen la i går frem et nytt lovforslag om pensjon for alle arbeidstakere."
    assert OtherLanguages("no", "nb", 0.5).right(pa.array([danish_like]), pa.array([danish_like])).tolist() == [True]


def test_what_cannot_work_is_reported_before_any_reading(monkeypatch):
    pytest.importorskip("py3langid")
    with pytest.raises(UsageError, match="does not know the language `sms`"):
        OtherLanguages("sms", "en", 0.9)
    with pytest.raises(UsageError, match="--language-certainty"):
        OtherLanguages("fr", "en", 0.2)
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    with pytest.raises(UsageError, match=r"hf-paraphrase\[language\]"):
        OtherLanguages("fr", "en", 0.9)
