from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import pytest

from hf_paraphrase.searching import request_batches
from hf_paraphrase.searching.request_batches import RequestEncoder


@pytest.fixture
def calls(encoder, monkeypatch):
    """The texts of each call of `encode`, which refuses the text `bad`."""
    encode, texts_of_calls = encoder.encode, []

    def recorded(texts, **options):
        texts_of_calls.append(list(texts))
        if "bad" in texts:
            raise ValueError("a bad text")
        return encode(texts, **options)

    monkeypatch.setattr(encoder, "encode", recorded)
    return texts_of_calls


def ask_at_once(encoder, asked):
    """The vectors and token counts of requests that all arrive while the lock is taken, or their errors."""
    lock = Lock()
    requests = RequestEncoder(encoder, lock)

    def answer(request):
        texts, options = request
        try:
            return requests.encode(texts, **options)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(len(asked)) as pool:
        with lock:
            answers = [pool.submit(answer, request) for request in asked]
            while len(requests._waiting) < len(asked):
                time.sleep(0.001)
        return [answer.result() for answer in answers]


def test_waiting_requests_are_encoded_in_one_call_and_each_gets_its_own_vectors(encoder, calls):
    asked = [([f"w{number} w{number + 1}"] * (number % 3 + 1), {}) for number in range(20)]
    answers = ask_at_once(encoder, asked)
    assert len(calls) == 1
    for (texts, _), (vectors, num_tokens) in zip(asked, answers, strict=True):
        np.testing.assert_allclose(vectors, encoder.encode(texts, normalize_embeddings=True), atol=1e-6)
        assert num_tokens == 2 * len(texts)


def test_requests_with_other_options_are_other_batches(encoder, calls):
    asked = [(["w1"], {}), (["w2"], {"truncate_dim": 3}), (["w3"], {}), (["w4"], {"prompt": "w5 "})]
    answers = ask_at_once(encoder, asked)
    assert sorted(map(len, calls)) == [1, 1, 2]
    assert [vectors.shape for vectors, _ in answers] == [(1, 8), (1, 3), (1, 8), (1, 8)]
    assert [num_tokens for _, num_tokens in answers] == [1, 1, 1, 2]


def test_an_error_is_raised_for_its_own_request_only(encoder, calls):
    first, bad, last = ask_at_once(encoder, [(["w1"], {}), (["w2", "bad"], {}), (["w3"], {})])
    assert isinstance(bad, ValueError)
    np.testing.assert_allclose(first[0], encoder.encode(["w1"], normalize_embeddings=True), atol=1e-6)
    np.testing.assert_allclose(last[0], encoder.encode(["w3"], normalize_embeddings=True), atol=1e-6)


def test_a_batch_is_limited_but_a_single_request_is_not(encoder, calls, monkeypatch):
    monkeypatch.setattr(request_batches, "MAX_TEXTS_PER_BATCH", 4)
    answers = ask_at_once(encoder, [(["w1"] * 6, {}), *[(["w2"], {})] * 6])
    assert [len(vectors) for vectors, _ in answers] == [6, 1, 1, 1, 1, 1, 1]
    assert max(len(texts) for texts in calls if "w1" not in texts) == 4 and ["w1"] * 6 in calls
