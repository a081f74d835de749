"""What the command line does when its streams are closed or full, and when nothing has foreseen what went wrong."""

from __future__ import annotations

import io
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from hf_paraphrase import commands
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.search.index import Neighbour
from hf_paraphrase.encoders.search.run import Searched, search
from hf_paraphrase.messages import log
from hf_paraphrase.settings import recipe
from hf_paraphrase.training.devices import EnvironmentSettings

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
TOKEN = "hf_" + "a1B2" * 8 + "cD"


def shell(command, **variables):
    """Runs a line of a shell in which `hp` is the program."""
    line = f'hp() {{ "{sys.executable}" -m hf_paraphrase "$@"; }}\n{command}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run(["bash", "-c", line], capture_output=True, env=environment, check=False, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def failing(monkeypatch):
    """Has the verb `env` raise an exception, or do anything else."""

    def fail(action):
        def act(verb, words):
            if isinstance(action, BaseException):
                raise action
            action()

        monkeypatch.setattr(commands, "_run_verb", act)

    return fail


@FULL
def test_a_full_standard_output_is_told_in_one_line():
    code, _, said = shell("hp filter --help > /dev/full")
    assert (code, said) == (2, "hf-paraphrase: error: cannot write to standard output: No space left on device\n")


def test_a_closed_standard_output_is_told_in_one_line():
    assert shell("hp --help >&-") == (2, "", "hf-paraphrase: error: standard output is closed\n")


def test_nothing_is_said_where_the_reader_has_gone():
    assert shell("(sleep 1; hp --help) | true; exit ${PIPESTATUS[0]}") == (1, "", "")


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from hf_paraphrase.commands.streams import guarded_streams\n"
        "with guarded_streams(), open('found', 'w') as stream:\n"
        "    assert stream.fileno() > 2 and sys.stdin.read() == ''\n"
        "    sys.stderr.write('lost'), sys.stderr.flush()\n"
        "    stream.write('kept')\n"
    )
    code, shown, _ = shell(f'cd {tmp_path} && "{sys.executable}" program.py <&- >&- 2>&-')
    assert (code, shown) == (0, "") and (tmp_path / "found").read_text() == "kept"


@pytest.mark.parametrize(
    ("layout", "wanted"),
    [("jsonl", r"un\u001b[31m caf\u00e9 \ud83d\ude00"), ("tsv", r"un\u001b[31m caf\u00e9 \ud83d\ude00")],
)
def test_what_the_encoding_of_the_terminal_lacks_is_escaped(layout, wanted, monkeypatch):
    found = Searched(names=("index",), neighbours=iter([("one", [[Neighbour("un\x1b[31m café 😀", 1.0, 0, 1)]])]))
    monkeypatch.setattr(search, "run", lambda settings: found)
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["search", "--index", "i", "--query", "one", "--format", layout]) == 0
    assert wanted in terminal.buffer.getvalue().decode("ascii")


def test_what_nothing_has_foreseen_is_one_line_and_its_traceback_lies_in_a_private_file(
    failing, capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    failing(ZeroDivisionError(f"a\x1b[1m\nb {TOKEN}"))
    assert main(["env", f"--model={TOKEN}"]) == 1
    said = capsys.readouterr().err
    found = re.fullmatch(
        r"hf-paraphrase: error: ZeroDivisionError: a\\u001b\[1m b <token> "
        r"\(the traceback is in (\S+\.txt): please report it\)\n",
        said,
    )
    assert found, said
    path = Path(found[1])
    text = path.read_text()
    assert path.parent == tmp_path and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "Traceback (most recent call last)" in text and "in act" in text and TOKEN not in text


def test_a_library_that_raises_what_is_no_exception_is_told_in_one_line(failing, capsys):
    class PanicException(BaseException):
        pass

    failing(PanicException("Hash table capacity overflow"))
    assert main(["env"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("hf-paraphrase: error: PanicException: Hash table capacity overflow (the traceback is in ")


def test_it_is_one_line_too_where_no_traceback_can_be_written(failing, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    failing(MemoryError())
    assert main(["env"]) == 1
    assert capsys.readouterr().err == (
        "hf-paraphrase: error: there is not enough memory "
        "(where it happened could not be written down: No such file or directory)\n"
    )


def test_an_interruption_keeps_its_own_exit_code(failing, capsys):
    failing(KeyboardInterrupt())
    assert main(["env"]) == 130
    assert capsys.readouterr().err == "hf-paraphrase: interrupted\n"


@contextmanager
def handled(number, handler):
    """Has a signal handled so, whatever the tests were started under."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_programs_interrupts_a_verb_and_is_put_back(failing, capsys, number):
    failing(lambda: os.kill(os.getpid(), number))
    with handled(number, signal.SIG_DFL):
        assert main(["env"]) == 130
        assert signal.getsignal(number) is signal.SIG_DFL
    assert capsys.readouterr().err == "hf-paraphrase: interrupted\n"


def test_under_nohup_the_end_of_the_terminal_is_ignored(failing):
    failing(lambda: os.kill(os.getpid(), signal.SIGHUP))
    with handled(signal.SIGHUP, signal.SIG_IGN):
        assert main(["env"]) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_program_that_calls_a_verb_keeps_its_own_handler_and_its_threads_do_without(failing, monkeypatch):
    seen = []
    failing(lambda: seen.append(signal.getsignal(signal.SIGTERM)))
    thread = threading.Thread(target=main, args=(["env"],))
    thread.start()
    thread.join()
    with handled(signal.SIGTERM, seen.append):
        main(["env"])
    assert seen == [signal.SIG_DFL, seen.append]


def test_an_interruption_when_all_is_done_is_told_in_one_line_too(capsys, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "give_up_standard_output", interrupted)
    assert main(["--version"]) == 130
    assert capsys.readouterr().err == "hf-paraphrase: interrupted\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "/x/y"), "/x/y: cannot write: No space left on device"),
        (RuntimeError("[enforce fail] PytorchStreamWriter failed writing file data/0"), "cannot write: No space left"),
        (
            RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 6 vs 5"),
            "cannot write: No space left",
        ),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried …"), "there is not enough memory"),
        (
            ValueError("array is too big; `arr.size * arr.dtype.itemsize` is larger than …"),
            "there is not enough memory",
        ),
        (ValueError("Maximum allowed dimension exceeded"), "there is not enough memory"),
        (RuntimeError("basic_ios::clear: iostream error"), "cannot write: No space left"),
        (RuntimeError("Storage size calculation overflowed with sizes=[9, 9]"), "there is not enough memory"),
        (Exception("I/O error: File too large (os error 27)"), "cannot write: File too large"),
        (OSError("524288 requested and 32768 written"), "cannot write: No space left"),
        (OSError(36, "File name too long", b"/x"), "/x: File name too long"),
        (RuntimeError("Symlink loop from '/x/a'"), "/x/a: Too many levels of symbolic links"),
        (
            UnicodeEncodeError("utf-8", "a\udcff", 1, 2, "surrogates not allowed"),
            "a name or text is no UTF-8: a\\udcff",
        ),
        (ValueError("embedded null byte"), "a name holds the character NUL"),
        (Exception("WordLevel error: Missing [UNK] token from the vocabulary"), "the tokenizer fails at a text: Word"),
    ],
)
def test_what_the_system_refuses_is_told_in_one_line_from_a_verb_and_from_python(error, said, failing, capsys):
    try:
        raise ValueError("of the library") from error
    except ValueError as outer:
        failing(outer)
    assert main(["env"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"hf-paraphrase: error: {said}") and told.count("\n") == 1

    @recipe(EnvironmentSettings)
    def refused(settings):
        """Fails."""
        raise error

    with pytest.raises(Exception, match=re.escape(said)) as caught:
        refused()
    assert type(caught.value).__module__ == "hf_paraphrase.errors"


def test_messages_that_cannot_be_written_do_not_end_the_work(failing, capsys, monkeypatch):
    class Broken:
        def write(self, text):
            raise OSError(28, "No space left on device")

        flush = isatty = write

    monkeypatch.setattr(sys, "stderr", Broken())
    failing(lambda: log("a message"))
    assert main(["env"]) == 0
