"""What every encoder keeps: padding and company change nothing, and the mean of token vectors is the embedding."""

from __future__ import annotations

import pytest
import torch
from padded_rows import ROWS, padded
from tiny_encoders import new_model, with_all_parameters_moved

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.registry import config_class
from hf_paraphrase.tokenization.ragged_ids import TokenIds
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

KINDS = [
    ("avg", {}),
    ("avg", {"skip_unknown": True}),
    ("concatenation", {}),
    ("concatenation", {"part_weights": [3.0, 1.0]}),
    ("gran", {}),
    ("gran", {"cell": "gru", "bidirectional": True, "skip_unknown": True}),
    ("recurrent", {"peepholes": False, "bidirectional": True}),
    ("recurrent", {"cell": "gru", "pooling": "mean", "skip_unknown": True}),
    ("sdae", {"skip_unknown": True}),
]
AVERAGES = KINDS[:4]
NETWORKS = [kind for kind in KINDS[4:] if kind[0] != "sdae"]
DIM = 6


def make(model_type, settings):
    size = {"vocab_size": 40, "hidden_size": DIM}
    if model_type == "concatenation":
        size = {"vocab_sizes": [9, 31], "part_size": DIM // 2}
    if model_type in ("recurrent", "sdae"):
        size["embedding_size"] = 4
    return with_all_parameters_moved(new_model(model_type, seed=3, initializer_range=0.8, **size, **settings))


@pytest.mark.parametrize(("model_type", "settings"), KINDS)
def test_padding_order_and_company_change_nothing(model_type, settings):
    model = make(model_type, settings)
    alone = torch.stack([model(torch.tensor([row], dtype=torch.long)).pooler_output[0] for row in ROWS])
    near = {"atol": 0 if (model_type, settings) in AVERAGES else 1e-6, "rtol": 0}
    for length, left in ((7, False), (40, False), (40, True)):
        ids, mask = padded(ROWS, length, left=left)
        torch.testing.assert_close(model(ids, mask).pooler_output, alone, **near)
        torch.testing.assert_close(model(ids).pooler_output, alone, **near)
        torch.testing.assert_close(model(ids, mask, return_token_vectors=False).pooler_output, alone, **near)
        torch.testing.assert_close(model(ids.flip(0)).pooler_output.flip(0), alone, **near)
    encoder = SentenceEncoder(model, build_word_level_tokenizer(["a"]))
    for rows in (ROWS, [[]], [[7], [9, 10, 11, 12, 13, 14, 3, 2, 1], [1, 1], [], [21, 1, 30, 4]]):
        alone = torch.stack([model(torch.tensor([row], dtype=torch.long)).pooler_output[0] for row in rows])
        # Laid end to end, as `encode` has them; lengths of weighted parts are rounded otherwise.
        flat = torch.from_numpy(encoder.encode_token_ids(TokenIds.of_lists(rows)))
        torch.testing.assert_close(flat, alone, atol=1e-6 if "part_weights" in settings else near["atol"], rtol=0)
    with_gap = model(torch.tensor([[5, 9, 6, 17]]), torch.tensor([[1, 0, 1, 1]]))
    without = model(torch.tensor([[5, 6, 17]]))
    torch.testing.assert_close(with_gap.pooler_output, without.pooler_output)
    torch.testing.assert_close(with_gap.last_hidden_state[:, [0, 2, 3]], without.last_hidden_state)
    assert not with_gap.last_hidden_state[:, 1].any()


@pytest.mark.parametrize(("model_type", "settings"), KINDS)
@pytest.mark.parametrize("left", [False, True])
def test_the_mean_of_the_token_vectors_is_the_embedding(model_type, settings, left):
    ids, mask = padded([*ROWS, [1, 1]], 9, left=left)
    output = make(model_type, settings)(ids, mask)
    pooled = (output.last_hidden_state * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True).clamp_min(1)
    torch.testing.assert_close(pooled, output.pooler_output, atol=1e-5, rtol=0)
    assert not output.last_hidden_state[mask == 0].any() and output.pooler_output[-1].any()


@pytest.mark.parametrize(("model_type", "settings"), KINDS)
def test_empty_texts_embed_to_zeros(model_type, settings):
    model = make(model_type, settings)
    for shape, training in (((2, 0), False), ((2, 3), True), ((0, 3), False)):
        output = model.train(training)(torch.zeros(shape, dtype=torch.long))
        assert torch.equal(output.pooler_output, torch.zeros(shape[0], DIM))
        assert output.last_hidden_state.shape == (*shape, DIM)


@pytest.mark.parametrize(("model_type", "settings"), [kind for kind in KINDS if kind[1].get("skip_unknown")])
def test_unknown_words_are_left_out_unless_nothing_else_is_left(model_type, settings):
    model = make(model_type, settings)
    ids, mask = padded([[5, 1, 6, 1], [1, 1]], 5)
    output = model(ids, mask)
    torch.testing.assert_close(output.pooler_output[0], model(torch.tensor([[5, 6]])).pooler_output[0])
    model.config.skip_unknown = False
    torch.testing.assert_close(output.pooler_output[1], model(torch.tensor([[1, 1]])).pooler_output[0])
    assert not torch.allclose(model(ids, mask).pooler_output[0], output.pooler_output[0])


@pytest.mark.parametrize(
    ("model_type", "settings", "kind"),
    [
        *((*one, kind) for one in AVERAGES for kind in ("dropout", "word_dropout")),
        *((*one, kind) for one in NETWORKS for kind in ("dropout", "word_dropout", "variational_dropout")),
    ],
)
def test_dropout_acts_in_training_only(model_type, settings, kind):
    model = make(model_type, {**settings, kind: 0.5})
    ids = torch.tensor([[5, 6, 7, 18, 19, 10]]).expand(50, -1)
    assert torch.equal(model(ids).pooler_output, model(ids).pooler_output)
    model.train()
    assert model(ids).pooler_output.std(0).min() > 0.01


@pytest.mark.parametrize(("model_type", "settings"), [*AVERAGES, *NETWORKS])
def test_sparse_gradients_equal_dense_ones_and_every_parameter_has_one(model_type, settings):
    ids, mask = padded(ROWS, 9)
    gradients = []
    for sparse in (False, True):
        model = make(model_type, {**settings, "word_dropout": 0.3}).train()
        model.sparse_gradients = sparse
        torch.manual_seed(1)
        pooled = model(ids, mask, return_token_vectors=False).pooler_output
        (pooled @ torch.arange(1.0, DIM + 1)).square().sum().backward()
        assert model.embeddings.grad.is_sparse is sparse
        gradients.append([parameter.grad.to_dense() for parameter in model.parameters()])
    for dense, sparse_gradient in zip(*gradients, strict=True):
        assert dense.isfinite().all() and dense.any()
        torch.testing.assert_close(sparse_gradient, dense)


@pytest.mark.parametrize(
    ("model_type", "wrong"),
    [
        ("avg", {"dropout": 1.0}),
        ("concatenation", {"word_dropout": -0.1}),
        ("gran", {"dropout": 0.1, "variational_dropout": 0.1}),
        ("recurrent", {"cell": "rnn"}),
        ("gran", {"cell": "gru", "peepholes": True}),
        ("avg", {"normalize": True}),
        ("avg", {"skip_unknown": True, "unk_token_id": None}),
        ("recurrent", {"hidden_size": 5, "bidirectional": True}),
        ("concatenation", {"vocab_sizes": [3, 0]}),
        ("concatenation", {"part_weights": [1.0]}),
        ("concatenation", {"part_weights": [1.0, float("nan")]}),
    ],
)
def test_senseless_settings_are_refused(model_type, wrong):
    with pytest.raises(ValueError):
        config_class(model_type)(**wrong)
