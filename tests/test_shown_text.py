from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.errors import InputError
from hf_paraphrase.messages import LOGGER, log, show
from hf_paraphrase.shown_text import encodable, printable, shown_line, without_secrets
from hf_paraphrase.tables import format_table

TOKEN = "hf_" + "a1B2" * 8 + "cD"
HOSTILE = "a\x1b]0;title\x07b\rc\x9b2Jd\u202ee\u2066f\ud800g\x00h\x7fi"
OBEYED = set("\x1b\x07\r\x9b\u202e\u2066\ud800\x00\x7f")


def test_what_a_terminal_would_obey_is_escaped_and_the_rest_stays():
    assert printable("\x1b[31m\u202e\x9b\r\x07") == r"\u001b[31m\u202e\u009b\u000d\u0007"
    kept = "ab\tc\nd é 中 \U0001f468\u200d\U0001f469 \u0645\u200c\u062a \\ \x20"
    assert printable(kept) == kept and not OBEYED & set(printable(HOSTILE))


@given(st.text())
def test_a_line_of_json_reads_back_as_the_same_after_it(text):
    line = json.dumps([text], ensure_ascii=False)
    assert json.loads(printable(line)) == [text]
    assert json.loads(encodable(printable(line), "ascii")) == [text]
    assert encodable(printable(line), "ascii").isascii()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (f"no such model {TOKEN}!", "no such model <token>!"),
        ("https://user:pass@host/a", "https://host/a"),
        ("https://user:p@ss@host:80/a?b=c", "https://host:80/a?b=c"),
        ("s3://key@bucket/x https://h/mail@x", "s3://bucket/x https://h/mail@x"),
        ("s3:/me:secret@bucket/x", "s3:/bucket/x"),
        ("sftp:/me:pw@host/x C:/me@x", "sftp:/host/x C:/me@x"),
        ("https://h/a?corpus=5&access_token=x1&b=2", "https://h/a?corpus=5&access_token=***&b=2"),
        (
            "https://h/a?X-Amz-Signature=ab%20&X-Amz-Credential=x/y",
            "https://h/a?X-Amz-Signature=***&X-Amz-Credential=***",
        ),
        ("https://h/a?design=1;api_key=2#c", "https://h/a?design=1;api_key=***#c"),
        ("hf_paraphrase/hf_token <unk> a@b.c x?y", "hf_paraphrase/hf_token <unk> a@b.c x?y"),
    ],
)
def test_credentials_are_left_out_and_the_rest_of_an_address_stays(given, shown):
    assert without_secrets(given) == shown


@given(st.text(alphabet="://@?&=_-keytoken hf", max_size=200))
def test_leaving_them_out_twice_changes_nothing_more(text):
    assert without_secrets(without_secrets(text)) == without_secrets(text)


def test_errors_messages_results_and_tables_show_no_control_characters_and_no_credentials(caplog, capsys):
    secret = f"{TOKEN} https://me:pass@host/"
    error = InputError(f"bad {HOSTILE} {secret}", path=f"/x/{HOSTILE}{secret}", remedy=HOSTILE)
    caplog.set_level("INFO", LOGGER.name)
    log(f"{HOSTILE} {secret}")
    show(f"{HOSTILE}\n")
    texts = [str(error), caplog.messages[0], capsys.readouterr().out, format_table(["a"], [[f"{HOSTILE}\nb\nc"]])]
    for text in texts:
        assert not OBEYED & set(text), text
        assert TOKEN not in text and "pass@" not in text
    assert texts[-1].count("\n") == 3 and texts[0].count("\n") == 0


def test_a_value_of_any_length_makes_a_short_message():
    assert len(str(InputError("9" * 5_000, path="8" * 5_000))) < 2_100
    assert shown_line("a b\nc", 4) == "a b…"
