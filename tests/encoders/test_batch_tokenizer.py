from __future__ import annotations

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from hf_paraphrase.encoders.backends import batch_tokenizer
from hf_paraphrase.encoders.backends.batch_tokenizer import BatchTokenizer, InputProcessing
from hf_paraphrase.tokenization.ragged_ids import TokenIds
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

WORDS = [f"w{number}" for number in range(30)]


@pytest.fixture(scope="module")
def texts():
    generator = np.random.default_rng(0)
    found = [" ".join(generator.choice([*WORDS, "other", "caf\u00e9", "W3's,"], size)) for size in range(60)]
    return ["w1 w2 w3", "", "nothing known", "  ", *found, "", *found[::-1], " "]


@pytest.fixture
def backend():
    return build_word_level_tokenizer(WORDS).backend_tokenizer


def cut(ids, reading, last):
    most = reading.max_tokens or 99
    return ids if len(ids) <= most else ids[: most - last] + ids[len(ids) - last :]


def ids_of(tokens, backend, texts):
    ids, offsets = TokenIds.joined(tokens.tokenize(backend, texts))
    return [part.tolist() for part in np.split(ids, offsets[1:-1])]


@pytest.mark.parametrize(
    ("reading", "final_special"),
    [
        (InputProcessing(), 0),
        (InputProcessing(max_tokens=5), 0),
        (InputProcessing(max_tokens=5), 2),
        (InputProcessing(max_characters=12, lower_case=True), 0),
    ],
)
def test_what_is_read_of_texts_is_the_same_by_array_operations_and_by_the_library(
    monkeypatch, backend, texts, reading, final_special
):
    if final_special:
        special_tokens = [("[PAD]", backend.token_to_id("[PAD]"))]
        backend.post_processor = TemplateProcessing(single="$A [PAD] [PAD]", special_tokens=special_tokens)
    read = [(text.lower() if reading.lower_case else text)[: reading.max_characters] for text in texts]
    expected = [cut(item.ids, reading, final_special) for item in backend.encode_batch(read)]
    tokens = BatchTokenizer(reading)
    assert ids_of(tokens, backend, texts) == expected
    lengths = [len(item.ids) for item in backend.encode_batch(read)]
    assert tokens.num_truncated == sum(length > (reading.max_tokens or 99) for length in lengths)
    monkeypatch.setattr(tokens, "_lookup", lambda: None)
    assert ids_of(tokens, backend, texts) == expected


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_no_id_and_no_order(monkeypatch, backend, texts, threads):
    tokens = BatchTokenizer(InputProcessing())
    blocks = list(tokens.tokenize(backend, texts))
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(batch_tokenizer, "CHARACTERS_PER_BLOCK", 100)
    monkeypatch.setattr(batch_tokenizer, "CHARACTERS_PER_THREAD", 50)
    smaller = list(tokens.tokenize(backend, texts))
    assert len(smaller) > 10 > len(blocks)
    for one, other in zip(TokenIds.joined(smaller), TokenIds.joined(blocks), strict=True):
        np.testing.assert_array_equal(one, other)
