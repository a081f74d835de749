from __future__ import annotations

import threading

import pytest

from hf_paraphrase.data.parallel import mapped_in_order, prefetched


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_items_however_long_each_takes(workers):
    gates = [threading.Event() for _ in range(3)]

    def wait(item: int) -> int:
        # With three workers the first item can only end after the third one.
        if workers == 3 and item < 2:
            assert gates[item + 1].wait(10)
        gates[min(item, 2)].set()
        return item * item

    assert list(mapped_in_order(wait, range(20), workers)) == [i * i for i in range(20)]


def test_no_more_items_are_taken_than_may_be_held():
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield i

    results = mapped_in_order(lambda item: item, items(), workers=2)
    for used in range(10):
        assert next(results) == used
        assert len(taken) <= used + 4
    results.close()
    assert len(taken) <= 13


def test_an_error_comes_at_its_place_and_stops_the_rest():
    def function(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    seen = []
    with pytest.raises(ValueError, match="three"):
        for result in mapped_in_order(function, range(1000), workers=2):
            seen.append(result)
    assert seen == [0, 1, 2]


def test_items_are_made_ahead_in_order_and_bounded():
    taken = []

    def items():
        for i in range(50):
            taken.append(i)
            yield i

    stream = prefetched(items(), ahead=2)
    for used in range(5):
        assert next(stream) == used
        # Two wait in the queue and one is in the thread's hand.
        assert len(taken) <= used + 4
    stream.close()
    assert len(taken) <= 8


def test_what_is_raised_while_an_item_is_made_reaches_the_user_after_the_items_before_it():
    def items():
        yield 1
        raise KeyError("broken")

    stream = prefetched(items())
    assert next(stream) == 1
    with pytest.raises(KeyError, match="broken"):
        next(stream)


def test_no_thread_is_left_when_the_items_are_not_used_up():
    before = threading.active_count()
    stream = prefetched(iter(range(1000)))
    next(stream)
    stream.close()
    assert threading.active_count() == before
