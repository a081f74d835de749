"""Progress is for those who watch: bars on a terminal, without colours; lines alone in a log."""

from __future__ import annotations

import io
import re
import sys

import pytest
from tqdm.auto import tqdm
from train_nmt_runs import SMALL

import hf_paraphrase.commands.env as env_verb
from hf_paraphrase.commands import main
from hf_paraphrase.data.sentences import estimated_lines
from hf_paraphrase.messages import say


class Terminal(io.StringIO):
    """A stream that somebody watches."""

    def isatty(self):
        return True


def work():
    """What verbs do: bars of one's own and of libraries, one in the other, and messages between."""
    for _ in tqdm(range(3), desc="outer", disable=False):
        for _ in tqdm(range(2), desc="inner", position=1, leave=False, mininterval=0):
            say("a message")
    say("done")


@pytest.fixture
def shown(monkeypatch):
    """Runs `work` as the verb `env`, with a stream as standard error, and gives what it got."""

    def run(stream):
        monkeypatch.setattr(env_verb, "main", lambda argv: work())
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(["env"]) == 0
        return stream.getvalue()

    return run


def test_a_log_has_the_messages_alone(shown):
    assert shown(io.StringIO()) == "a message\n" * 6 + "done\n"


def test_a_terminal_has_bars_with_rate_and_time_left(shown):
    text = shown(Terminal())
    assert re.search(r"outer: 100%.*3/3 \[\d\d:\d\d<\d\d:\d\d, .*it/s\]", text) and text.count("a message") == 6


@pytest.mark.parametrize("text", ["plain\n", "A\n", "\n", "windows\r\n", "a\rb\n", "\rover\nand more\n"])
def test_what_is_no_bar_passes_whole(shown, monkeypatch, text):
    monkeypatch.setattr(sys.modules[__name__], "work", lambda: sys.stderr.write(text))
    assert shown(io.StringIO()) == text


def test_training_in_a_log_is_a_line_a_score(tiny_bitext, tmp_path, capfd):
    words = [f"{flag}={value}" for flag, value in {**SMALL, "--epochs": 1, "--evaluations": 2}.items()]
    assert main(["train-nmt", "--bitext", str(tiny_bitext), "--output", str(tmp_path / "model"), *words]) == 0
    out, err = capfd.readouterr()
    assert out == "" and "\r" not in err and "\x1b" not in err and "%|" not in err and "{" not in err
    assert len(re.findall(r"^epoch \d\.\d\d: dev BLEU \d", err, re.MULTILINE)) == 2


def test_a_watched_training_is_one_line_with_its_figures_and_has_no_colours(tiny_bitext, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    words = [f"{flag}={value}" for flag, value in {**SMALL, "--epochs": 1, "--evaluations": 2}.items()]
    assert main(["train-nmt", "--bitext", str(tiny_bitext), "--output", str(tmp_path / "model"), *words]) == 0
    text = stream.getvalue()
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
