"""What the user is shown: log, results and errors without control characters and credentials; groups of processes."""

from __future__ import annotations

import errno
import json
import logging
import pickle

import pytest
import torch

from hf_paraphrase.commands import shown_messages
from hf_paraphrase.commands.results import show
from hf_paraphrase.errors import HfParaphraseError, InputError, OutputError, UsageError, error_of_the_system
from hf_paraphrase.messages import LOGGER, log, printable, without_secrets
from hf_paraphrase.tables import format_table

WHOLE = {"RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}
TOKEN = "hf_" + "a1B2" * 8 + "cD"
HOSTILE = "a\x1b]0;title\x07b\rc\x9b2Jd\u202ee\u2066f\ud800g\x00h\x7fi"
OBEYED = set("\x1b\x07\r\x9b\u202e\u2066\ud800\x00\x7f")


def test_what_a_terminal_would_obey_is_escaped_and_the_rest_stays():
    assert printable("\x1b[31m\u202e\x9b\r\x07") == r"\u001b[31m\u202e\u009b\r\u0007"
    kept = "ab\tc\nd é 中 \U0001f468\u200d\U0001f469 \u0645\u200c\u062a \\ \x20"
    assert printable(kept) == kept and not OBEYED & set(printable(HOSTILE))


def test_a_line_of_json_reads_back_as_the_same_after_it():
    text = " ".join(map(chr, range(0x11000)))
    assert json.loads(printable(json.dumps([text], ensure_ascii=False))) == [text]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (f"no such model {TOKEN}!", "no such model <token>!"),
        ("https://user:p@ss@host:80/a?b=c", "https://host:80/a?b=c"),
        ("s3://key@bucket/x https://h/mail@x", "s3://bucket/x https://h/mail@x"),
        ("sftp:/me:pw@host/x C:/me@x", "sftp:/host/x C:/me@x"),
        ("https://h/a?corpus=5&access_token=x1&b=2", "https://h/a?corpus=5&access_token=***&b=2"),
        ("https://h/a?X-Amz-Signature=ab%20&x-id=1", "https://h/a?X-Amz-Signature=***&x-id=1"),
        ("hf_paraphrase/hf_token <unk> a@b.c x?y", "hf_paraphrase/hf_token <unk> a@b.c x?y"),
    ],
)
def test_credentials_are_left_out_and_the_rest_of_an_address_stays(given, shown):
    assert without_secrets(given) == shown


def test_errors_messages_results_and_tables_show_no_control_characters_and_no_credentials(caplog, capsys):
    secret = f"{TOKEN} https://me:pass@host/"
    error = InputError(f"bad {HOSTILE} {secret}", path=f"/x/{HOSTILE}{secret}", remedy=HOSTILE)
    caplog.set_level("INFO", LOGGER.name)
    log(f"{HOSTILE} {secret}")
    LOGGER.warning("%s of a library", f"{HOSTILE} {secret}")
    show(f"{HOSTILE}\n")
    texts = [str(error), *caplog.messages, capsys.readouterr().out, format_table(["a"], [[f"{HOSTILE}\nb\nc"]])]
    for text in texts:
        assert not OBEYED & set(text), text
        assert TOKEN not in text and "pass@" not in text
    assert texts[-1].count("\n") == 3 and texts[0].count("\n") == 0


def test_messages_go_to_standard_error_once_for_all_processes(capsys, monkeypatch):
    level = LOGGER.level
    with shown_messages(), shown_messages():
        log("hello")
        for name, value in WHOLE.items():
            monkeypatch.setenv(name, value)
        log("logged by the first process alone")
    assert capsys.readouterr() == ("", "hello\n")
    assert LOGGER.level == level and not [item for item in LOGGER.handlers if type(item) is not logging.NullHandler]


# ----- errors


def test_an_error_is_one_line_with_file_line_value_and_remedy_also_from_another_process():
    error = InputError("bad\nvalue\t`x`", path="a.tsv", line=3, remedy="fix it")
    for found in (error, pickle.loads(pickle.dumps(error))):
        assert str(found) == "a.tsv:3: bad value `x` (fix it)" and isinstance(found, HfParaphraseError)


HALF_A_PAIR = UnicodeEncodeError("utf-8", "a\udcff", 1, 2, "surrogates not allowed")


def test_a_missing_package_is_named_as_pip_names_it_with_its_extra():
    for module, text in (
        ("scipy.sparse", "the package scipy is not installed"),
        ("sklearn.svm", "the package scikit-learn is not installed (pip inst"),
    ):
        explained = error_of_the_system(ModuleNotFoundError("No module", name=module))
        assert type(explained) is UsageError and str(explained).startswith(text)
    assert error_of_the_system(ModuleNotFoundError("No module", name="hf_paraphrase.nothing")) is None


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (OSError(errno.ENOSPC, "no", "/x/y"), OutputError, "/x/y: cannot write: No space left on device"),
        (OSError(errno.EACCES, "no", "/x"), InputError, "/x: Permission denied"),
        # Written by Rust.
        (Exception("I/O error: File too large (os error 27)"), OutputError, "cannot write: File too large"),
        (MemoryError("Unable to allocate 7 PiB"), UsageError, "not enough memory (use a smaller --batch-size"),
        (torch.OutOfMemoryError("CUDA out of memory."), UsageError, "not enough memory on the GPU (use a smaller"),
        (
            RuntimeError("DataLoader worker (pid 7) is killed by signal: Killed."),
            UsageError,
            "a worker process was",
        ),
        (HALF_A_PAIR, InputError, "not valid UTF-8: a\\udcff"),
    ],
)
def test_what_the_system_refuses_is_explained_however_deep_in_a_chain(error, kind, text):
    try:
        raise ValueError("of the library") from error
    except ValueError as outer:
        found = error_of_the_system(outer)
    assert type(found) is kind and str(found).startswith(text)


def test_what_may_be_a_fault_of_the_program_is_not_explained_by_a_guess():
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    for error in (one, RuntimeError("some iostream of words"), OSError(errno.ENOENT, "No such file or directory")):
        assert error_of_the_system(error) is None
