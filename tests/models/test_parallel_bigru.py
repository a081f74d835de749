from __future__ import annotations

import pytest
import torch
from tiny_encoders import new_model, with_all_parameters_moved
from torch import nn
from torch.nn import functional

SOURCE = torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0], [9, 5, 3, 11]])
TARGET = torch.tensor([[4, 4, 2], [9, 3, 0], [7, 0, 0]])
KINDS = [{}, {"share_rnn": True, "score_layer": "product_difference", "score_hidden_size": 6}]


def new(**settings):
    size = {"source_vocab_size": 20, "target_vocab_size": 12, "embedding_size": 6, "hidden_size": 4}
    return with_all_parameters_moved(new_model("parallel_bigru", initializer_range=0.5, **size, **settings))


def vector_by_torch(embeddings, gru, ids):
    """The last states of both directions by `torch.nn.GRU` itself, one sentence at a time and without packing."""
    reference = nn.GRU(gru.input_size, gru.hidden_size, bidirectional=True)
    reference.load_state_dict(gru.state_dict())
    states = reference(embeddings[ids].unsqueeze(1))[1]
    return torch.cat([states[0, 0], states[1, 0]])


@pytest.mark.parametrize("settings", KINDS)
def test_vectors_and_logits_equal_those_of_torchs_own_gru_and_of_the_formula(settings):
    model = new(**settings)
    output = model(SOURCE, None, TARGET)
    target_gru = model.source_gru if settings.get("share_rnn") else model.target_gru
    for row in range(3):
        source = vector_by_torch(model.source_embeddings, model.source_gru, SOURCE[row][SOURCE[row] != 0])
        target = vector_by_torch(model.target_embeddings, target_gru, TARGET[row][TARGET[row] != 0])
        torch.testing.assert_close(output.source_vectors[row], source, atol=1e-6, rtol=0)
        torch.testing.assert_close(output.target_vectors[row], target, atol=1e-6, rtol=0)
        if model.hidden_layer is None:
            expected = source @ model.score_weight @ target
        else:
            hidden = model.hidden_layer(torch.cat([source * target, (source - target).abs()])).tanh()
            expected = model.score_weight[0] @ hidden
        torch.testing.assert_close(output.logits[row], expected + model.score_bias[0], atol=1e-6, rtol=0)


def test_a_sentence_without_words_has_a_zero_vector():
    model = new()
    for ids in (torch.tensor([[0, 0]]), torch.tensor([[0, 0], [5, 6]]), torch.empty(1, 0, dtype=torch.long)):
        vectors = model.encode_target(ids)
        assert vectors.shape == (len(ids), 8) and vectors[0].abs().sum() == 0
    assert model(SOURCE[:1], None, torch.tensor([[0]])).logits.item() == pytest.approx(model.score_bias.item())


def test_a_sentence_of_several_pairs_is_scored_as_if_each_pair_stood_alone():
    model = new()
    source_rows, target_rows = torch.tensor([0, 0, 2, 1]), torch.tensor([0, 2, 2, 1])
    labels = torch.tensor([1, 0, 0, 1])
    once = model(SOURCE, None, TARGET, None, labels, source_rows, target_rows)
    apart = model(SOURCE[source_rows], None, TARGET[target_rows], None, labels)
    torch.testing.assert_close(once.logits, apart.logits, atol=1e-6, rtol=0)
    expected = functional.binary_cross_entropy(apart.logits.sigmoid(), labels.float())
    torch.testing.assert_close(once.loss, expected)
    torch.testing.assert_close(
        model.score(once.source_vectors[source_rows], once.target_vectors[target_rows]), once.logits
    )
