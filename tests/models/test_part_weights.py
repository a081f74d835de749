"""Concatenations whose parts have weights: the cosine of two sentences is the weighted mean of the parts' cosines."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from padded_rows import padded

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_concatenation import ConcatenationConfig
from hf_paraphrase.models.modeling_concatenation import ConcatenationModel
from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer, sentence_vocabulary

SIZES, SIZE = [20, 30, 10], 5
WEIGHTS = [3.0, 1.0, 0.5]
ROWS = [[5, 6, 25, 26, 51], [8, 40, 55], [1, 7, 30, 30, 58, 59], [8], [], [41, 52], [57], [5, 55, 26, 6, 25]]
WHOLE = [0, 1, 2, 7]
"""The rows with tokens of all parts."""
TEXTS = ["The cat sat.", "a", "", "the  hat", "never seen before"]


def make(part_weights=WEIGHTS, **settings):
    torch.manual_seed(3)
    config = ConcatenationConfig(
        vocab_sizes=SIZES, part_size=SIZE, initializer_range=0.5, part_weights=part_weights, **settings
    )
    return ConcatenationModel(config).eval()


def encoder(part_weights):
    words = build_word_level_tokenizer(sentence_vocabulary(TEXTS[:4]))
    trigrams = build_character_trigram_tokenizer(trigram_vocabulary(TEXTS[:4]), skip_unknown=True)
    tokenizer = ConcatenationTokenizer(parts=[words, trigrams])
    torch.manual_seed(0)
    config = ConcatenationConfig(
        vocab_sizes=tokenizer.part_sizes, part_size=4, initializer_range=0.5, part_weights=part_weights
    )
    return SentenceEncoder(ConcatenationModel(config).eval(), tokenizer)


def parts_by_hand(model, row):
    """The mean of each part, one token at a time, float64 (parts, part size)."""
    table, ends = model.embeddings.detach().double().numpy(), np.cumsum(SIZES)
    sums, counts = np.zeros((3, SIZE)), np.zeros(3)
    for token in row:
        part = int(np.searchsorted(ends, token, side="right"))
        sums[part] += table[token]
        counts[part] += 1
    return sums / np.maximum(counts, 1)[:, None]


def cosine(first, second):
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def embed(model, rows):
    return model(*padded(rows, 9)).pooler_output.detach()


def test_the_cosine_is_the_weighted_mean_of_the_cosines_of_the_parts():
    model = make()
    vectors = embed(model, ROWS).double().numpy()
    for one in WHOLE:
        assert math.isclose(np.linalg.norm(vectors[one]), 1.0, abs_tol=1e-6)
        for other in WHOLE:
            parts = zip(WEIGHTS, *(parts_by_hand(model, ROWS[row]) for row in (one, other)), strict=True)
            expected = sum(weight * cosine(first, second) for weight, first, second in parts) / sum(WEIGHTS)
            assert math.isclose(cosine(vectors[one], vectors[other]), expected, abs_tol=1e-6)


def test_a_part_without_tokens_stays_zero_and_the_others_have_their_norms():
    model = make()
    for row, vector in zip(ROWS, embed(model, ROWS).numpy(), strict=True):
        for part, (mean, weight) in enumerate(zip(parts_by_hand(model, row), WEIGHTS, strict=True)):
            found = vector[SIZE * part : SIZE * (part + 1)]
            norm = np.linalg.norm(mean)
            expected = math.sqrt(weight / sum(WEIGHTS)) * mean / norm if norm else mean
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_length_of_a_parts_vectors_does_not_count():
    model, longer = make(), make()
    with torch.no_grad():
        longer.embeddings[SIZES[0] : SIZES[0] + SIZES[1]] *= 50
    torch.testing.assert_close(embed(longer, ROWS), embed(model, ROWS))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("length", [7, 64])
def test_padding_and_other_sentences_change_no_bit(left, length):
    model = make()
    expected = torch.stack([model(torch.tensor([row], dtype=torch.long)).pooler_output[0] for row in ROWS])
    ids, mask = padded(ROWS, length, left=left)
    assert torch.equal(model(ids, mask).pooler_output, expected)
    assert torch.equal(model(ids, mask, return_token_vectors=False).pooler_output, expected)
    flat = torch.tensor([token for row in ROWS for token in row])
    assert torch.equal(model.mean_of_words(flat, torch.tensor(list(map(len, ROWS)))), expected)


@pytest.mark.parametrize("rows", [ROWS, [row for row in ROWS if len(row) > 2]])
def test_the_gradient_agrees_with_finite_differences_and_is_finite_at_empty_parts(rows):
    model = make().double().train()
    ids, mask = padded(rows, 8)

    def function(embeddings):
        return torch.func.functional_call(model, {"embeddings": embeddings}, (ids, mask)).pooler_output

    assert torch.autograd.gradcheck(function, (model.embeddings.detach().requires_grad_(),), fast_mode=True)


@pytest.mark.parametrize("settings", [{}, {"dropout": 0.3}, {"word_dropout": 0.3}])
def test_sparse_gradients_equal_dense_ones_and_dropout_keeps_the_norms(settings):
    ids, mask = padded(ROWS, 9)
    gradients = []
    for sparse in (False, True):
        model = make(**settings).train()
        model.sparse_gradients = sparse
        torch.manual_seed(1)
        pooled = model(ids, mask, return_token_vectors=False).pooler_output
        norms = pooled.detach()[:3, :SIZE].norm(dim=1)
        assert all(math.isclose(norm, math.sqrt(3 / 4.5), abs_tol=1e-5) or norm == 0 for norm in norms.tolist())
        (pooled @ torch.arange(15.0)).square().sum().backward()
        assert model.embeddings.grad.is_sparse is sparse
        gradients.append(model.embeddings.grad.to_dense())
    assert gradients[0].any()
    torch.testing.assert_close(*gradients)


def test_a_saved_folder_gives_the_same_and_so_does_one_from_before_there_were_weights(tmp_path):
    for name, weights in (("weighted", [0.8, 0.2]), ("plain", None)):
        item = encoder(weights)
        item.model.save_pretrained(tmp_path / name)
        save_tokenizer(item.tokenizer, tmp_path / name)
        opened = SentenceEncoder.from_pretrained(tmp_path / name)
        np.testing.assert_array_equal(opened.encode(TEXTS), item.encode(TEXTS))
        assert opened.model.config.part_weights == weights
    path = tmp_path / "plain" / "config.json"
    config = json.loads(path.read_text())
    del config["part_weights"]
    path.write_text(json.dumps(config))
    np.testing.assert_array_equal(SentenceEncoder.from_pretrained(path.parent).encode(TEXTS), opened.encode(TEXTS))
    assert not np.allclose(encoder([0.8, 0.2]).encode(TEXTS[:1]), encoder(None).encode(TEXTS[:1]))


def test_sentence_transformers_gives_the_same_by_the_code_in_the_folder(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    item = encoder([0.8, 0.2])
    item.save_pretrained(tmp_path / "model")
    opened = sentence_transformers.SentenceTransformer(str(tmp_path / "model"), device="cpu", trust_remote_code=True)
    texts = [text for text in TEXTS if text]
    np.testing.assert_allclose(opened.encode(texts), item.encode(texts), atol=1e-6)
