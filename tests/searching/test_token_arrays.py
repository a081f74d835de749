from __future__ import annotations

import sys

import numpy as np
import pytest
from test_server import ask

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.searching.request_body import MAX_TEXTS
from hf_paraphrase.searching.server import Service, running
from hf_paraphrase.searching.token_arrays import open_array_reader, own_ids_reader, tiktoken_reader

TEXTS = ["w1 w2", "w3", "w29 w1 w1 unknown"]


@pytest.fixture(scope="module")
def encoding():
    tiktoken = pytest.importorskip("tiktoken", reason="pip install tiktoken")
    ranks = {bytes([value]): value for value in range(256)} | {b"w1": 256, b" w": 257}
    return tiktoken.Encoding("tiny", pat_str=r" ?\w+|\W", mergeable_ranks=ranks, special_tokens={})


def embeddings(url, value, **options):
    status, answer = ask(url, "/v1/embeddings", {"input": value, **options})
    assert status == 200, answer
    return np.array([item["embedding"] for item in answer["data"]]), answer["usage"]["prompt_tokens"]


def refusal(url, value, **options):
    status, answer = ask(url, "/v1/embeddings", {"input": value, **options})
    assert status == 400
    return answer["error"]["message"]


def test_arrays_of_the_encoders_own_tokenizer_give_the_vectors_of_the_texts(encoder):
    arrays = [encoder.token_ids(text).ids.tolist() for text in TEXTS]
    with running(Service(encoder, "tiny", array_reader=own_ids_reader(encoder))) as url:
        expected, tokens = embeddings(url, TEXTS, dimensions=3)
        vectors, counted = embeddings(url, arrays, dimensions=3)
        np.testing.assert_allclose(vectors, expected, atol=1e-6)
        assert counted == tokens and vectors.any(axis=1).all()
        np.testing.assert_array_equal(embeddings(url, arrays[0], dimensions=3)[0], vectors[:1])
        assert not embeddings(url, [[], arrays[0]])[0][0].any()
        # A long text is one array, not many texts.
        assert embeddings(url, arrays[0] * MAX_TEXTS)[0].shape == (1, 8)
        for value, message in (
            ([3, 10**6], "array 1 has the id 1000000, but the encoder has"),
            ([[3], [10**30]], "array 2 has the id 1"),
            ([[3], [-1]], "array 2 has -1, which is no token id"),
            ([[3], [True]], "array 2 has True"),
            ([[3], ["w1"]], "array 2 has 'w1'"),
            ([[3], "w1"], "array 2 has 'w1'"),
            ([3, 4.0], "array 1 has 4.0"),
            ([[3]] * (MAX_TEXTS + 1), "more than 2,048"),
        ):
            assert message in refusal(url, value)
        assert "prompt cannot be put before token ids" in refusal(url, arrays, prompt="w1 ")


def test_arrays_of_tiktoken_are_decoded(encoder, encoding):
    arrays = [encoding.encode(text) for text in TEXTS]
    with running(Service(encoder, "tiny", array_reader=tiktoken_reader(encoding))) as url:
        for options in ({}, {"prompt": "w9 "}):
            np.testing.assert_array_equal(embeddings(url, arrays, **options)[0], embeddings(url, TEXTS, **options)[0])
        assert not embeddings(url, [[], arrays[0]])[0][0].any()
        assert "array 2 has an id that tiny lacks" in refusal(url, [[3], [999]])
        assert "array 1 has an id that tiny lacks" in refusal(url, [10**30])


def test_longer_arrays_than_the_encoder_reads_are_refused(encoder):
    limited = SentenceEncoder.from_pretrained(encoder.folder)
    limited.max_seq_length = 3
    with running(Service(limited, "tiny", array_reader=own_ids_reader(limited))) as url:
        assert embeddings(url, [3, 4, 5])[0].any()
        assert "array 1 has 4 ids, more than 3" in refusal(url, [3, 4, 5, 6])


def test_choices_that_cannot_work_are_refused_at_the_start(encoder, monkeypatch):
    prompted = SentenceEncoder.from_pretrained(encoder.folder, prompts={"a": "w1 "}, default_prompt_name="a")
    with pytest.raises(UsageError, match="puts a prompt before each text"):
        open_array_reader("model", prompted)
    pytest.importorskip("tiktoken", reason="pip install tiktoken")
    with pytest.raises(UsageError, match="--token-arrays `cl100k` is unknown") as error:
        open_array_reader("cl100k", encoder)
    assert "did you mean cl100k_base" in error.value.remedy
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(UsageError, match="tiktoken is not installed") as error:
        open_array_reader("cl100k_base", encoder)
    assert error.value.remedy == "pip install tiktoken"


def test_langchain_sends_arrays_and_gets_the_vectors_of_its_texts(encoder, encoding, monkeypatch):
    langchain = pytest.importorskip("langchain_openai", reason="pip install langchain-openai")
    import tiktoken

    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: encoding)
    with running(Service(encoder, "tiny", array_reader=open_array_reader("cl100k_base", encoder))) as url:
        client = langchain.OpenAIEmbeddings(model="tiny", base_url=f"{url}/v1", api_key="none")
        expected = encoder.encode(TEXTS, normalize_embeddings=True)
        np.testing.assert_allclose(client.embed_documents(TEXTS), expected, atol=1e-6)
