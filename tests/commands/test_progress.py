"""Progress is for those who watch: bars on a terminal, without colours; lines alone in a log."""

from __future__ import annotations

import re
import sys

import pytest
from tqdm.auto import tqdm
from train_nmt_runs import SMALL

from hf_paraphrase import commands
from hf_paraphrase.commands import main
from hf_paraphrase.data.sentences import estimated_lines
from hf_paraphrase.messages import log


def work():
    """What verbs do: bars of one's own and of libraries, one in the other, and messages between."""
    for _ in tqdm(range(3), desc="outer", disable=False):
        for _ in tqdm(range(2), desc="inner", position=1, leave=False, mininterval=0):
            log("a message")
    log("done")


@pytest.fixture
def verb(monkeypatch):
    """Runs `work` as the verb `env`."""
    monkeypatch.setattr(commands, "_run_verb", lambda verb, words: work())
    return lambda: main(["env"])


def test_a_log_has_the_messages_alone(verb, capsys):
    assert verb() == 0
    assert capsys.readouterr().err == "a message\n" * 6 + "done\n"


def test_empty_lines_that_somebody_writes_stay(verb, monkeypatch, capsys):
    def lines():
        for text in ("one", "", "two", ""):
            print(text, file=sys.stderr)  # noqa: T201 - what is tested

    monkeypatch.setattr(sys.modules[__name__], "work", lines)
    assert verb() == 0
    assert capsys.readouterr().err == "one\n\ntwo\n\n"


def test_a_terminal_has_bars_with_rate_and_time_left(verb, watch):
    watched = watch()
    assert verb() == 0
    text = watched.getvalue()
    assert re.search(r"outer: 100%.*3/3 \[\d\d:\d\d<\d\d:\d\d, .*it/s\]", text) and text.count("a message") == 6


@pytest.mark.parametrize("text", ["plain\n", "A\n", "\n", "windows\r\n", "a\rb\n", "\rover\nand more\n"])
def test_what_is_no_bar_passes_whole(verb, monkeypatch, capsys, text):
    monkeypatch.setattr(sys.modules[__name__], "work", lambda: sys.stderr.write(text))
    assert verb() == 0
    assert capsys.readouterr().err == text


def test_training_in_a_log_is_a_line_a_score(tiny_bitext, tmp_path, capfd):
    words = [f"{flag}={value}" for flag, value in {**SMALL, "--epochs": 1, "--evaluations": 2}.items()]
    assert main(["train-nmt", "--bitext", str(tiny_bitext), "--output", str(tmp_path / "model"), *words]) == 0
    out, err = capfd.readouterr()
    assert out == "" and "\r" not in err and "\x1b" not in err and "%|" not in err and "{" not in err
    assert len(re.findall(r"^epoch \d\.\d\d: dev BLEU \d", err, re.MULTILINE)) == 2


def test_a_watched_training_is_one_line_with_its_figures_without_colours(tiny_bitext, tmp_path, monkeypatch, watch):
    watched = watch()
    monkeypatch.setenv("NO_COLOR", "1")
    words = [f"{flag}={value}" for flag, value in {**SMALL, "--epochs": 1, "--evaluations": 2}.items()]
    assert main(["train-nmt", "--bitext", str(tiny_bitext), "--output", str(tmp_path / "model"), *words]) == 0
    text = watched.getvalue()
    assert re.search(r"train: 100%\|.*8/8 \[\d\d:\d\d<\d\d:\d\d, .*(steps/s|s/ steps).*dev bleu=", text), text[-2000:]
    assert not re.search(r"\x1b\[\d*m", text) and "{'" not in text
    assert "Loading weights" not in text and "Writing model shards" not in text


def test_lines_of_a_plain_file_are_estimated_from_some_of_them(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"sentence {number:05}é\n" for number in range(1000)))
    assert estimated_lines(path, 30, 30 * 17) == 1000
    assert estimated_lines(path, 2000, 10**6) == 2000 and estimated_lines(path, 0, 0) is None
    path.rename(tmp_path / "a.txt.gz")
    assert estimated_lines(tmp_path / "a.txt.gz", 30, 30 * 17) is None
