from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

PAD, UNKNOWN = 0, 1


def make(*, skip_unknown=True, **options):
    torch.manual_seed(5)
    config = AvgConfig(vocab_size=12, hidden_size=7, initializer_range=1.0, skip_unknown=skip_unknown, **options)
    return AvgModel(config).eval()


def batch(rows, *, left=False):
    length = max(map(len, rows)) + 2
    ids, mask = torch.zeros(2, len(rows), length, dtype=torch.long)
    for place, row in enumerate(rows):
        span = slice(length - len(row), length) if left else slice(0, len(row))
        ids[place, span], mask[place, span] = torch.tensor(row, dtype=torch.long), 1
    return ids, mask


ROWS = [[5, 1, 6], [1, 1], [], [1, 7], [3, 4, 5, 6]]
sentences = st.lists(st.lists(st.integers(1, 11), max_size=9), min_size=1, max_size=8)


def test_the_unknown_vector_counts_where_nothing_else_is_left_and_by_default():
    table = make().embeddings
    torch.testing.assert_close(make()(*batch([[1, 1, 1]])).pooler_output[0], table[1])
    counted = make(skip_unknown=False)(*batch([[5, 1]])).pooler_output[0]
    torch.testing.assert_close(counted, (table[5] + table[1]) / 2)
    assert AvgConfig().skip_unknown is False


@pytest.mark.parametrize("skip_unknown", [True, False])
@settings(max_examples=60, deadline=None)
@given(rows=sentences, left=st.booleans())
def test_padded_batches_and_sentences_laid_end_to_end_agree_to_the_last_bit(skip_unknown, rows, left):
    model = make(skip_unknown=skip_unknown)
    tokens = torch.tensor([word for row in rows for word in row], dtype=torch.long)
    flat = model.mean_of_words(tokens, torch.tensor([len(row) for row in rows]))
    ids, mask = batch(rows, left=left)
    assert torch.equal(model(ids, mask).pooler_output, flat)
    assert torch.equal(model(ids, mask, return_token_vectors=False).pooler_output, flat)
    single = [model(torch.tensor([row], dtype=torch.long)).pooler_output[0] for row in rows]
    assert torch.equal(torch.stack(single), flat)


@pytest.mark.parametrize("dropout", [{}, {"dropout": 0.3}, {"word_dropout": 0.3}])
def test_a_skipped_unknown_word_is_not_trained(dropout):
    model = make(**dropout).train()
    model(*batch([[5, 1, 6], [7, 1]])).pooler_output.sum().backward()
    assert not model.embeddings.grad[UNKNOWN].any() and model.embeddings.grad[5:8].any()
    model.zero_grad()
    model(*batch([[1, 1]])).pooler_output.sum().backward()
    assert dropout or model.embeddings.grad[UNKNOWN].any()


def test_encode_skips_unknown_words_by_either_way_to_tokenise(tmp_path):
    tokenizer = build_word_level_tokenizer([f"w{number}" for number in range(10)])
    model = make()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    encoder = SentenceEncoder.from_pretrained(tmp_path)
    assert encoder.model.config.skip_unknown
    one = encoder.encode(["w1 strange w2", "strange", "", "w3"])
    np.testing.assert_array_equal(one[[0, 3]], encoder.encode(["w1 w2", "w3"]))
    np.testing.assert_array_equal(one[1], model.embeddings[UNKNOWN].detach())
    assert not one[2].any()
    many = encoder.encode(["w1 strange w2", "strange", "", "w3"] * 300)
    np.testing.assert_array_equal(many.reshape(300, 4, 7), np.broadcast_to(one, (300, 4, 7)))


def test_model2vec_agrees_with_skipped_unknown_words(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    tokenizer = build_word_level_tokenizer([f"w{number}" for number in range(10)])
    make().save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    texts = ["w1 strange w2", "w3"]
    theirs = model2vec.StaticModel.from_pretrained(tmp_path).encode(texts)
    np.testing.assert_allclose(theirs, SentenceEncoder.from_pretrained(tmp_path).encode(texts), rtol=1e-5, atol=1e-6)
