from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError
from hf_paraphrase.hub.hub_errors import hub_errors
from hf_paraphrase.hub.tokens import find_token, redact

TOKEN = "hf_" + "a1B2" * 8 + "cD"


@settings(deadline=None)
@given(st.text(), st.text())
def test_the_token_in_use_is_taken_out_wherever_it_stands(before, after):
    assert TOKEN not in redact(before + TOKEN + after, TOKEN)
    assert "my secret" not in redact(before + "my secret" + after, "my secret")


def test_what_looks_like_a_token_or_a_signature_is_taken_out_and_the_rest_stays():
    text = f"hf_paraphrase/hub: '{TOKEN}' hf_oauth_eyJhbGciOiJ.x-y api_org_{'x' * 20} https://s3/a?Sig=1&b=2 'https://h/a?c'"
    assert redact(text) == "hf_paraphrase/hub: '<token>' <token> <token> https://s3/a 'https://h/a'"


def test_the_file_comes_before_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert find_token() == TOKEN
    (tmp_path / "t").write_text(" hf_other\n")
    assert find_token(tmp_path / "t") == "hf_other"


@pytest.mark.parametrize("content", [b"", b"\n", b"two tokens", b"a\nb", "é".encode(), b"\xff\xfe"])
def test_a_file_without_one_token_is_refused_and_not_repeated(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(InputError, match="token") as caught:
        find_token(tmp_path / "t")
    assert "two" not in caught.value.message


def test_a_token_in_place_of_the_file_is_not_repeated():
    with pytest.raises(InputError, match="cannot read the token file") as caught:
        find_token(TOKEN)
    assert TOKEN not in str(caught.value)


def test_no_token_is_an_error_that_says_where_one_comes_from(monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent")
    with pytest.raises(UsageError, match=r"hf auth login.*HF_TOKEN.*--token-file"):
        find_token()


def test_an_error_behind_other_errors_is_the_one_that_is_told():
    with pytest.raises(HfParaphraseError) as caught, hub_errors("https://hub", "ann/thing", TOKEN):
        try:
            raise ConnectionResetError(f"peer with {TOKEN} went away")
        except ConnectionResetError as error:
            raise RuntimeError("Error while uploading") from error
    assert str(caught.value).startswith("the connection to https://hub failed: peer with <token> went away")


def test_interruptions_pass_as_they_are():
    with pytest.raises(KeyboardInterrupt), hub_errors("https://hub", "ann/thing", TOKEN):
        raise KeyboardInterrupt
