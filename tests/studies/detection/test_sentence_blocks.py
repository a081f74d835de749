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


def nearest(queries, k, cosines, texts, size):
    """Finds the nearest of sentences whose cosines with two queries are given, in blocks of a size."""
    found = NearestSentences(queries, np.eye(3, dtype=np.float32)[:2], k)
    third = np.sqrt(np.maximum(0, 1 - (cosines**2).sum(axis=0)))
    vectors = np.vstack([cosines, third]).T.astype(np.float32)
    for first in range(0, len(vectors), size):
        part = slice(first, first + size)
        found.add(SentenceBlock(np.arange(len(vectors))[part] + 1, texts[part], vectors[part]))
    return [[(item.score, item.position, item.sentence) for item in items] for items in found.lists]


def by_sorting(query, scores, texts, k):
    found, seen = [], {query}
    for place in np.argsort(-scores, kind="stable").tolist():
        key = " ".join(texts[place].lower().split())
        if key not in seen:
            seen.add(key)
            found.append((pytest.approx(scores[place], abs=1e-6), place + 1, texts[place]))
    return found[:k]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_nearest_are_those_of_sorting_everything_whatever_the_blocks(data):
    variants = {"a": "A", "b": "b", "c": "C", "d e": "D  E", "f": "f"}
    texts = data.draw(st.lists(st.sampled_from([*variants, *variants.values()]), min_size=1, max_size=40))
    # Variants of a sentence have the cosines of the sentence.
    scores = st.tuples(*[st.sampled_from([-0.5, 0.0, 0.25, 0.5, 0.7])] * 2)
    cosine = {key: data.draw(scores) for key in variants}
    cosines = np.array([cosine[" ".join(text.lower().split())] for text in texts]).T
    k, size = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 45))
    found = nearest(["a", "nothing"], k, cosines, texts, size)
    assert found == [by_sorting(query, row, texts, k) for query, row in zip(["a", "nothing"], cosines, strict=True)]
