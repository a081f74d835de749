from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.known_texts import KnownTexts
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.studies.detection import sentence_blocks
from hf_paraphrase.studies.detection.sentence_blocks import (
    NearestSentences,
    SentenceBlock,
    StreamCounts,
    encoded_blocks,
)
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

WORDS = [f"w{number}" for number in range(9)]


def encoder(seed=0):
    torch.manual_seed(seed)
    tokenizer = build_word_level_tokenizer([*WORDS, "."])
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=5, initializer_range=0.5))
    return KnownTexts(SentenceEncoder(model, tokenizer))


@pytest.fixture(scope="module")
def known():
    return encoder()


@pytest.fixture(scope="module")
def texts():
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(WORDS, generator.integers(1, 5))) for _ in range(90)]
    return [*lines[:40], "", None, "unheard of .", "  ", *lines[40:], *lines[:5], lines[0].upper()]


def all_in_one(blocks, queries):
    blocks = list(blocks)
    cosines = np.concatenate([block.cosines(queries) for block in blocks], axis=1)
    return np.concatenate([block.positions for block in blocks]).tolist(), cosines


@pytest.mark.parametrize(("rows", "size"), [(10_000, 100), (3, 100), (7, 1), (1, 11)])
def test_the_cosines_of_a_stream_are_those_of_all_sentences_at_once(known, texts, monkeypatch, rows, size):
    monkeypatch.setattr(sentence_blocks, "_ROWS", rows)
    queries, counts = known.embed(["w1 w2", "w8"]), StreamCounts()
    blocks = [texts[first : first + size] for first in range(0, len(texts), size)]
    positions, cosines = all_in_one(encoded_blocks(blocks, known, counts), queries)
    expected = [place for place, text in enumerate(texts, 1) if text and text.strip() and "unheard" not in text]
    assert positions == expected
    vectors = known.embed([texts[place - 1] for place in expected])
    # Encoding in another batch rounds otherwise.
    np.testing.assert_allclose(cosines, queries @ vectors.T, atol=1e-6)
    assert counts == StreamCounts(read=len(texts), empty=3, unknown=1, compared=len(texts) - 4)


def normalized(text):
    return " ".join(text.lower().split())


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_nearest_are_those_of_sorting_everything_whatever_the_blocks(data):
    variants = {"a": "A", "b": "b", "c": "C", "d e": "D  E", "f": "f"}
    texts = data.draw(st.lists(st.sampled_from([*variants, *variants.values()]), min_size=1, max_size=40))
    # Different vectors with the same cosine, which is exact: all have length 5.
    vector_of = {
        key: data.draw(st.sampled_from([(3, 4, 0), (3, 0, 4), (0, 3, -4), (4, -3, 0), (5, 0, 0), (-3, 4, 0)]))
        for key in variants
    }
    vectors = np.array([vector_of[normalized(text)] for text in texts], np.float32)
    k, size = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 45))
    nearest = NearestSentences(["a", "nothing"], np.eye(3, dtype=np.float32)[:2], k)
    for first in range(0, len(texts), size):
        part = slice(first, first + size)
        nearest.add(SentenceBlock(np.arange(len(texts))[part] + 1, texts[part], vectors[part]))
    for query, component, items in zip(["a", "nothing"], (0, 1), nearest.lists, strict=True):
        expected, seen = [], {query}
        for place in np.argsort(-vectors[:, component], kind="stable").tolist():
            if normalized(texts[place]) not in seen:
                seen.add(normalized(texts[place]))
                expected.append((vectors[place, component] / np.float64(5), place + 1, texts[place]))
        assert [(item.score, item.position, item.sentence) for item in items] == expected[:k]
