"""The command line with closed or full streams, and with unexpected exceptions."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import pytest

from hf_paraphrase import commands
from hf_paraphrase.commands import main
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.messages import log
from hf_paraphrase.searching.index import Neighbour
from hf_paraphrase.searching.run import Searched, search
from hf_paraphrase.settings import recipe
from hf_paraphrase.training.devices import EnvironmentSettings

TOKEN = "hf_" + "a1B2" * 8 + "cD"


def shell(command, **variables):
    """Runs a line of a shell in which `hp` is the program."""
    line = f'hp() {{ "{sys.executable}" -m hf_paraphrase "$@"; }}\n{command}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run(["bash", "-c", line], capture_output=True, env=environment, check=False, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def failing(monkeypatch):
    """Make the command `env` raise an exception or call a function."""

    def act(verb, words, action):
        if isinstance(action, BaseException):
            raise action
        action()

    return lambda action: monkeypatch.setattr(commands, "_run_verb", partial(act, action=action))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_a_full_standard_output_is_one_line():
    code, _, said = shell("hp filter --help > /dev/full")
    assert (code, said) == (
        2,
        "hf-paraphrase: error: standard output: cannot write: No space left on device "
        "(free some disk space or choose another output)\n",
    )
    assert shell("hp train-nmt --help > /dev/full")[2].endswith("another output; --resume continues)\n")


def test_nothing_is_written_where_the_reader_has_gone():
    assert shell("(sleep 1; hp --help) | true; exit ${PIPESTATUS[0]}") == (1, "", "")


def test_a_log_has_no_progress_bars_of_any_library(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from hf_paraphrase import commands\n"
        "def work(verb, words):\n    import tqdm.auto\n    print(*tqdm.auto.tqdm(range(3)))\n"
        "commands._run_verb = work\ncommands.main(['env'])\n"
    )
    assert shell(f'unset TQDM_DISABLE; "{sys.executable}" {program}') == (0, "0 1 2\n", "")


def test_a_log_has_a_line_of_long_work_now_and_then(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import time\nfrom hf_paraphrase import commands\nfrom hf_paraphrase.messages import log\n"
        "def work(verb, words):\n"
        "    commands._show_progress_as_lines()\n    import tqdm.auto\n"
        "    for step in tqdm.auto.tqdm(range(6), desc='train', unit=' steps'):\n"
        "        time.sleep(0.1)\n        log(f'step {step}')\n"
        "commands._run_verb = work\ncommands.main(['env'])\n"
    )
    code, _, said = shell(f'unset TQDM_DISABLE; TQDM_DELAY=0.2 TQDM_MININTERVAL=0.2 "{sys.executable}" {program}')
    lines = [line for line in said.splitlines() if "steps/s" in line]
    assert code == 0 and 2 <= len(lines) <= 5 and "\r" not in said and said.count("step ") == 6
    assert re.fullmatch(r"train: +\d+% \d/6 \[00:0\d<00:0\d, +[\d.]+ steps/s\]", lines[0])
    assert shell(f'unset TQDM_DISABLE; HF_PARAPHRASE_VERBOSITY=warning "{sys.executable}" {program}') == (0, "", "")
    assert "one of error, warning" in shell(f'HF_PARAPHRASE_VERBOSITY=loud "{sys.executable}" {program}')[2]


def test_quiet_leaves_messages_out_and_verbose_shows_tracebacks(failing, capsys, monkeypatch):
    monkeypatch.setenv("HF_PARAPHRASE_VERBOSITY", "info")
    monkeypatch.setenv("HF_PARAPHRASE_DEBUG", "0")
    failing(lambda: log("a message") or log("a warning", warning=True))
    for words, said in ((["env"], "a message\na warning\n"), (["env", "--quiet"], "a warning\n")):
        monkeypatch.setenv("HF_PARAPHRASE_VERBOSITY", "info")
        assert main(words) == 0
        assert capsys.readouterr().err == said
    monkeypatch.delenv("HF_PARAPHRASE_DEBUG")
    failing(ValueError("surprise"))
    assert main(["--verbose", "env"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["jsonl", "tsv"])
def test_what_the_encoding_of_the_terminal_lacks_is_escaped(layout, monkeypatch):
    found = Searched(neighbours=iter([("one", [Neighbour("un\x1b[31m café 😀", 1.0, 0, 1)])]))
    monkeypatch.setattr(search, "run", lambda settings: found)
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["search", "--index", "i", "--query", "one", "--format", layout]) == 0
    assert r"un\u001b[31m caf\u00e9 \ud83d\ude00" in terminal.buffer.getvalue().decode("ascii")


@pytest.mark.parametrize("debug", [False, True])
def test_what_nothing_has_foreseen_is_one_line_and_a_traceback_only_where_it_is_asked_for(
    failing, capsys, monkeypatch, debug
):
    if debug:
        monkeypatch.setenv("HF_PARAPHRASE_DEBUG", "1")
    failing(type("PanicException", (BaseException,), {})(f"a\x1b[1m\nb {TOKEN}"))
    assert main(["env"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith(
        r"hf-paraphrase: error: PanicException: a\u001b[1m b <token> (please report it; set HF_PARAPHRASE_DEBUG=1"
    )
    assert (len(said) > 1) == any("in act" in line for line in said) == debug
    assert TOKEN not in "".join(said)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_programs_interrupts_a_verb_and_is_put_back(failing, capsys, number):
    failing(lambda: os.kill(os.getpid(), number))
    # Whatever the tests were started under.
    before = signal.signal(number, signal.SIG_DFL)
    try:
        assert main(["env"]) == 130
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert capsys.readouterr().err == "hf-paraphrase: interrupted\n"


def test_what_the_system_refuses_is_one_line_from_a_verb_and_an_error_of_ours_from_python(failing, capsys):
    error = BrokenProcessPool("A process in the process pool was terminated abruptly")
    failing(error)
    assert main(["env"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("hf-paraphrase: error: a worker process was killed") and said.count("\n") == 1

    @recipe(EnvironmentSettings)
    def refused(settings):
        """Fails."""
        raise error

    with pytest.raises(HfParaphraseError):
        refused()
