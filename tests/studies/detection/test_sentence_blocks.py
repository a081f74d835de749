from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.known_texts import KnownTexts
from hf_paraphrase.encoders.search.vector_file import NpyWriter, VectorFile
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.studies.detection import sentence_blocks
from hf_paraphrase.studies.detection.sentence_blocks import (
    BestSentences,
    SentenceBlock,
    StreamCounts,
    encoded_blocks,
    stored_blocks,
)
from hf_paraphrase.studies.detection.similarity_distribution import SimilarityDistribution
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
    return [
        *lines[:40],
        "",
        None,
        "unheard of .",
        "  ",
        *lines[40:],
        *lines[:5],
        *(line.upper() for line in lines[:5]),
    ]


def write(path, rows, dtype=np.float32):
    np.save(path, rows.astype(dtype))
    return path


def all_in_one(blocks):
    blocks = list(blocks)
    cosines = np.concatenate([block.cosines for block in blocks], axis=1)
    texts = [text for block in blocks for text in block.texts or []]
    return np.concatenate([block.positions for block in blocks]), cosines, texts


def naive(known, queries, texts):
    kept = [(place, text) for place, text in enumerate(texts, start=1) if text and text.strip()]
    vectors = known.embed([text for _, text in kept]).astype(np.float64)
    there = vectors.any(axis=1)
    vectors /= np.where(there, np.linalg.norm(vectors, axis=1), 1)[:, None]
    sides = known.embed(queries).astype(np.float64)
    sides /= np.linalg.norm(sides, axis=1)[:, None]
    positions = np.array([place for place, _ in kept])[there]
    return positions, sides @ vectors[there].T, [text for (_, text), ok in zip(kept, there, strict=True) if ok]


# ----- the cosines of a stream


@pytest.mark.parametrize(("most", "size"), [(32_768, 100), (3, 100), (7, 1), (1, 11)])
def test_the_cosines_of_a_stream_are_those_of_all_sentences_at_once_whatever_the_blocks(
    known, texts, monkeypatch, most, size
):
    monkeypatch.setattr(sentence_blocks, "_MOST_ROWS", most)
    queries, counts = ["w1 w2", "w8"], StreamCounts()
    blocks = [texts[first : first + size] for first in range(0, len(texts), size)]
    found = all_in_one(encoded_blocks(known.embed(queries), blocks, known, counts))
    expected = naive(known, queries, texts)
    np.testing.assert_array_equal(found[0], expected[0])
    # Encoding in another batch rounds otherwise.
    np.testing.assert_allclose(found[1], expected[1], atol=1e-6)
    assert found[2] == expected[2]
    assert counts == StreamCounts(read=len(texts), empty=3, unknown=1, compared=len(texts) - 4)


def test_progress_counts_every_text_that_was_read(known, texts):
    seen = []
    list(encoded_blocks(known.embed(["w1"]), [texts], known, StreamCounts(), progress=seen.append))
    assert sum(seen) == len(texts)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("most", [32_768, 7])
def test_stored_vectors_of_any_length_give_exact_cosines(tmp_path, monkeypatch, dtype, most):
    monkeypatch.setattr(sentence_blocks, "_MOST_ROWS", most)
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(50, 6)) * generator.uniform(0.1, 30, size=(50, 1))
    rows[[4, 20]] = 0
    vectors = VectorFile(write(tmp_path / "v.npy", rows, dtype), half=True)
    queries = generator.normal(size=(2, 6)).astype(np.float32)
    counts = StreamCounts()
    positions, cosines, texts = all_in_one(stored_blocks(queries, vectors, None, counts))
    kept = np.setdiff1d(np.arange(50), [4, 20])
    wide = rows.astype(dtype)[kept].astype(np.float64)
    expected = queries.astype(np.float64) @ wide.T / np.linalg.norm(wide, axis=1)
    expected /= np.linalg.norm(queries.astype(np.float64), axis=1)[:, None]
    np.testing.assert_array_equal(positions, kept + 1)
    np.testing.assert_allclose(cosines, expected, atol=1e-14)
    assert texts == [] and counts == StreamCounts(read=50, unknown=2, compared=48)


def test_vectors_without_half_precision_stay_refused(tmp_path):
    with pytest.raises(InputError, match="not a matrix of float32"):
        VectorFile(write(tmp_path / "v.npy", np.ones((2, 3)), np.float16))


def encoded(known, texts, path):
    with NpyWriter(path, 5) as writer:
        writer.write(known.encoder.encode([text or "" for text in texts]))
    return VectorFile(path)


@pytest.mark.parametrize("most", [32_768, 7])
def test_stored_vectors_go_with_the_lines_that_they_were_made_of(known, texts, tmp_path, monkeypatch, most):
    monkeypatch.setattr(sentence_blocks, "_MOST_ROWS", most)
    texts = [text for text in texts if text != "unheard of ."]
    vectors, query = encoded(known, texts, tmp_path / "v.npy"), known.embed(["w1 w2"])
    blocks = [texts[:30], texts[30:31], texts[31:]]
    stored = all_in_one(stored_blocks(query, vectors, blocks, StreamCounts(), encoder=known))
    streamed = all_in_one(encoded_blocks(query, blocks, known, StreamCounts()))
    np.testing.assert_array_equal(stored[0], streamed[0])
    np.testing.assert_allclose(stored[1], streamed[1], atol=1e-6)
    assert stored[2] == streamed[2]


def test_text_that_is_not_that_of_the_vectors_is_refused(known, texts, tmp_path):
    vectors, query = encoded(known, texts, tmp_path / "v.npy"), known.embed(["w1 w2"])
    short = f"but only {len(texts) - 1} sentences"
    for lines, message in ((texts[:-1], short), ([*texts, "w1"], "but more sentences")):
        with pytest.raises(InputError, match=message):
            list(stored_blocks(query, vectors, [lines], StreamCounts(), encoder=known))
    with pytest.raises(ModelError, match="another vector for sentence"):
        list(stored_blocks(query, vectors, [texts[::-1]], StreamCounts(), encoder=known))
    with pytest.raises(ModelError, match="another vector for sentence"):
        list(stored_blocks(query, vectors, [texts], StreamCounts(), encoder=encoder(seed=1)))


def test_a_vector_that_is_not_finite_is_named_by_its_row(tmp_path):
    rows = np.ones((9, 3))
    rows[6, 1] = np.nan
    with pytest.raises(InputError, match="row 7 holds NaN"):
        list(
            stored_blocks(
                np.ones((1, 3), np.float32), VectorFile(write(tmp_path / "v.npy", rows)), None, StreamCounts()
            )
        )


def test_memory_does_not_grow_with_the_file_of_vectors(tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_blocks, "_CELLS_PER_BLOCK", 1 << 14)
    generator = np.random.default_rng(0)
    peaks = []
    for rows in (10_000, 100_000):
        vectors = VectorFile(write(tmp_path / f"{rows}.npy", generator.normal(size=(rows, 20))))
        distribution, best = SimilarityDistribution((0.5,)), BestSentences(["a"], 10)
        tracemalloc.start()
        for block in stored_blocks(np.ones((1, 20), np.float32), vectors, None, StreamCounts()):
            distribution.add(block.cosines[0])
            best.add(block)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert distribution.size == rows
    # A block is 16,384 numbers of 8 bytes; the larger file has 8 MB.
    assert peaks[1] < 1.5 * peaks[0] and peaks[1] < 2_000_000


# ----- the best sentences of a stream


def blocks_of(cosines, texts, size):
    for first in range(0, cosines.shape[1], size):
        part = slice(first, first + size)
        positions = np.arange(cosines.shape[1])[part] + 1
        yield SentenceBlock(positions, cosines[:, part], None if texts is None else texts[part])


def best_by_sorting(query, scores, texts, k):
    found, seen = [], {query.lower()}
    for place in np.lexsort((np.arange(len(scores)), -np.round(scores, 6))):
        key = texts[place].lower()
        if key not in seen:
            seen.add(key)
            found.append((round(float(scores[place]), 6), int(place) + 1, texts[place]))
    return found[:k]


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_best_are_those_of_sorting_everything_whatever_the_blocks(data):
    count = data.draw(st.integers(1, 40))
    texts = data.draw(
        st.lists(st.sampled_from(["a", "A", "b", "c", "d e", "D  E", "f"]), min_size=count, max_size=count)
    )
    scores = st.sampled_from([-0.5, 0.0, 0.25, 0.25 + 1e-9, 0.5, 1.0])
    cosines = np.array(data.draw(st.lists(st.tuples(scores, scores), min_size=count, max_size=count))).T
    texts = [" ".join(text.split()) for text in texts]
    k, size = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 45))
    best = BestSentences(["a", "nothing"], k)
    for block in blocks_of(cosines, texts, size):
        best.add(block)
    for query, row, found in zip(["a", "nothing"], cosines, best.result(), strict=True):
        assert [(item.score, item.position, item.sentence) for item in found] == best_by_sorting(query, row, texts, k)


def test_vectors_without_text_each_stand_for_themselves():
    cosines = np.array([[0.1, 0.9, 0.9, 0.5]])
    best = BestSentences(["a"], 3)
    for block in blocks_of(cosines, None, 2):
        best.add(block)
    assert [(item.position, item.score, item.sentence) for item in best.result()[0]] == [
        (2, 0.9, None),
        (3, 0.9, None),
        (4, 0.5, None),
    ]


def test_no_neighbour_at_all_is_an_error_of_the_caller():
    with pytest.raises(ValueError, match="at least 1"):
        BestSentences(["a"], 0)


# ----- known words, which decide what is left out


def test_a_text_is_known_if_one_of_its_tokens_is_a_known_word_as_the_tokenizer_says(known, texts):
    lines = [text or "" for text in texts] * 30
    tokenizer = known.encoder.tokenizer
    words = {number for token, number in tokenizer.get_vocab().items() if any(map(str.isalnum, token))}
    words -= {tokenizer.unk_token_id, *tokenizer.all_special_ids}
    expected = [any(number in words for number in ids) for ids in known.encoder.tokenize(lines)]
    assert known.embed(lines).any(axis=1).tolist() == expected and not all(expected)


def test_ids_laid_end_to_end_are_those_of_the_tokenizer(known, texts):
    lines = [text or "" for text in texts] * 30
    ids = known.encoder.token_ids(lines)
    assert [
        ids.ids[first:last].tolist() for first, last in zip(ids.offsets[:-1], ids.offsets[1:], strict=True)
    ] == known.encoder.tokenize(lines)
    assert known.encoder.token_ids([]).ids.tolist() == [] and known.embed([]).shape == (0, 5)
