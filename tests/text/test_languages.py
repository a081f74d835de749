from __future__ import annotations

import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.text.languages import check_language, is_language


def test_what_is_no_language_code_is_refused_by_name():
    assert [check_language(code, "--lang") for code in ("fin", "zh_Hans")] == ["fin", "zh_Hans"]
    for code in ("", "xx", "fr-", "../en", "fr@x"):
        with pytest.raises(InputError, match=r"--lang.*not a language code"):
            check_language(code, "--lang")


@pytest.mark.parametrize(
    ("tag", "code", "same"),
    [
        ("fr_CA.UTF-8", "fr", True),
        ("fra", "fr", True),
        ("fr", "fr-CA", False),
        ("pt_BR", "pt-BR", True),
        ("sr@latin", "sr", True),
        ("", "fr", False),
    ],
)
def test_a_tag_matches_the_language_asked_for_whatever_its_spelling_and_region(tag, code, same):
    assert is_language(tag, code) is same
