from __future__ import annotations

import argparse
import json
import mmap
from pathlib import Path

import pytest

from hf_paraphrase.errors import InputError, UsageError


@pytest.fixture
def turns(load_script):
    return load_script("benchmarks/interleaved")


def recorded(turns, log, key, name, rates):
    """A contestant whose turns have these rates, one after the other."""
    left = iter(rates)

    def rate():
        log.append(name)
        return next(left)

    return turns.Contestant(key, name, rate)


def test_contestants_take_turns_and_the_first_turn_of_each_does_not_count(turns):
    log = []
    contestants = [recorded(turns, log, "", "one", [9, 1, 2]), recorded(turns, log, "", "two", [8, 3, 4])]
    taken = turns.take_turns(contestants, 2, warm=lambda: log.append("warm"))
    assert [found.rates for found in taken] == [[1, 2], [3, 4]]
    assert log == ["one", "two", "warm", "one", "two", "one", "two"]


def held(mebibytes):
    """A turn that needs so much memory of the system, not of what the process has kept, and gives it back."""

    def turn():
        with mmap.mmap(-1, mebibytes << 20) as memory:
            for page in range(0, len(memory), mmap.PAGESIZE):
                memory[page] = 1
        return 1.0

    return turn


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells")
def test_the_memory_is_what_a_turn_takes_at_most_whatever_others_took_before_it(turns):
    large, small = turns.take_turns([turns.Contestant("", "", held(size)) for size in (200, 50)], 2)
    assert large.mebibytes == pytest.approx(200, abs=5) and small.mebibytes == pytest.approx(50, abs=5)


def test_without_linux_the_table_has_no_memory(turns, monkeypatch, capsys):
    def refuse(*_):
        raise FileNotFoundError

    monkeypatch.setattr(turns.Path, "write_text", refuse)
    turns.measure("x/s", [recorded(turns, [], "", "ours", [1, 30])], 1, heading="", width=5)
    assert capsys.readouterr().out.splitlines()[1].split() == ["ours", "30", "30", "30", "-"]


@pytest.fixture
def no_memory(turns, monkeypatch):
    monkeypatch.setattr(turns, "_forgotten_peak", lambda: None)


def test_the_table_has_median_minimum_maximum_and_our_rate_over_each(turns, no_memory, capsys):
    contestants = [
        recorded(turns, [], "", "ours", [9_999, 3_000, 1_000, 2_000]),
        recorded(turns, [], "x", "peer", [9_999, 400, 500, 600]),
    ]
    assert turns.measure("pairs/s", contestants, 3, width=10) == [2_000, 500]
    assert capsys.readouterr().out.splitlines() == [
        "pairs/s         median         min         max      MiB  ours/this",
        "ours             2,000       1,000       3,000        -       1.00",
        "peer               500         400         600        -       4.00",
    ]


def test_rates_may_be_compared_with_the_last_or_not_at_all(turns, no_memory, capsys):
    def contestants():
        return [recorded(turns, [], "", "ours", [0, 30]), recorded(turns, [], "", "peer", [0, 20])]

    turns.measure("x/s", contestants(), 1, heading="this/peer", over_last=True, width=5)
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == ["this/peer", "1.50", "1.00"]
    turns.measure("x/s", contestants(), 1, heading="", width=5)
    assert capsys.readouterr().out.splitlines()[1] == "ours           30          30          30        -"


def test_a_ratio_is_that_to_the_best_rate_with_its_key(turns):
    contestants = [turns.Contestant(key, key, float) for key in ("", "a", "b", "a", "")]
    assert turns.ratios_to_best(contestants, [12.0, 2.0, 24.0, 3.0, 1.0]) == {"a": 4.0, "b": 0.5}


def test_the_last_line_is_one_json_object_of_rounded_ratios(turns, capsys):
    turns.write_ratios({"a": 1.23456, "b": 2.0})
    assert json.loads(capsys.readouterr().out) == {"a": 1.235, "b": 2.0}


def test_a_number_below_its_bound_is_named_as_the_flag_is(turns):
    arguments = argparse.Namespace(rounds=1, loop_rows=0)
    turns.check_least(arguments, {"rounds": 1, "loop_rows": 0})
    with pytest.raises(UsageError, match=r"--loop-rows must be at least 1, not 0"):
        turns.check_least(arguments, {"rounds": 1, "loop_rows": 1})


def test_the_help_is_the_first_line_and_shows_defaults(turns):
    parser = turns.argument_parser("What it does.\n\nMore.")
    parser.add_argument("--rounds", type=int, default=5, help=turns.ROUNDS)
    text = parser.format_help()
    assert "What it does." in text and "More." not in text and "(default: 5)" in text


def test_an_error_of_the_user_is_one_line_and_any_other_is_not_hidden(turns, capsys):
    def fail(error):
        raise error

    assert turns.exit_code("benchmarks/x", lambda: None) == 0
    assert turns.exit_code("benchmarks/x", lambda: fail(InputError("bad", path="a"))) == 2
    assert capsys.readouterr().err == "benchmarks/x: error: a: bad\n"
    with pytest.raises(ZeroDivisionError):
        turns.exit_code("benchmarks/x", lambda: fail(ZeroDivisionError()))


def test_work_is_timed_and_its_result_given(turns):
    seconds, result = turns.timed(lambda: "done")
    assert seconds >= 0 and result == "done"
