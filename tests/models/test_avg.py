from __future__ import annotations

import json

import torch
from padded_rows import padded
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel

import hf_paraphrase  # noqa: F401  (registers the model types)
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel


def make(**settings):
    torch.manual_seed(3)
    return AvgModel(AvgConfig(vocab_size=40, hidden_size=9, initializer_range=0.5, **settings)).eval()


ROWS = [[5, 6, 7, 5], [8], [], [1, 2, 3, 4, 9, 10, 11]]


def test_the_only_parameter_is_embeddings_and_its_padding_row_is_zero():
    model = make()
    assert {name: tuple(value.shape) for name, value in model.state_dict().items()} == {"embeddings": (40, 9)}
    assert not model.embeddings[0].any() and model.embeddings[1:].abs().sum(1).min() > 0


def test_pooler_output_is_the_plain_mean_of_the_word_vectors():
    model = make()
    ids, mask = padded(ROWS, 9)
    output = model(ids, mask)
    for place, row in enumerate(ROWS):
        mean = model.embeddings[row].mean(0) if row else torch.zeros(9)
        torch.testing.assert_close(output.pooler_output[place], mean)
        torch.testing.assert_close(output.last_hidden_state[place, : len(row)], model.embeddings[row])
        assert not output.last_hidden_state[place, len(row) :].any()
    pooled = output.last_hidden_state.sum(1) / mask.sum(1, keepdim=True).clamp_min(1)
    torch.testing.assert_close(pooled, output.pooler_output)


def test_the_mask_wins_over_the_padding_id():
    model = make()
    ids = torch.tensor([[5, 0, 6]])
    with_zero_row = model(ids, torch.ones(1, 3)).pooler_output
    torch.testing.assert_close(with_zero_row[0], (model.embeddings[5] + model.embeddings[6]) / 3)


def test_saved_model_opens_with_auto_model_and_gives_equal_vectors(tmp_path):
    model = make(word_dropout=0.25)
    model.save_pretrained(tmp_path)
    assert list(load_file(tmp_path / "model.safetensors")) == ["embeddings"]
    loaded = AutoModel.from_pretrained(tmp_path)
    ids, mask = padded(ROWS, 9)
    assert type(loaded) is AvgModel and torch.equal(loaded(ids, mask)[0], model(ids, mask)[0])
    config = AutoConfig.from_pretrained(tmp_path)
    assert (config.vocab_size, config.hidden_size, config.word_dropout, config.unk_token_id) == (40, 9, 0.25, 1)


def test_with_the_saved_configuration_model2vec_neither_normalises_nor_truncates(tmp_path):
    make().save_pretrained(tmp_path / "first")
    AutoModel.from_pretrained(tmp_path / "first").save_pretrained(tmp_path / "second")
    for name in ("first", "second"):
        saved = json.loads((tmp_path / name / "config.json").read_text())
        assert saved["normalize"] is False and "max_length" in saved and saved["max_length"] is None


def test_word_dropout_drops_whole_words_and_agrees_with_the_token_vectors():
    model = make(word_dropout=0.5).train()
    torch.manual_seed(0)
    output = model(torch.tensor([[5, 6, 7, 8, 9, 10]]))
    whole = output.last_hidden_state[0]
    expected = [torch.zeros(9), None]
    for row, token in zip(whole, [5, 6, 7, 8, 9, 10], strict=True):
        expected[1] = 2 * model.embeddings[token]
        assert any(torch.allclose(row, item) for item in expected)
    torch.testing.assert_close(output.pooler_output[0], whole.mean(0))


def test_the_first_vectors_are_normal_or_uniform_within_the_range():
    for distribution, bound, deviation in (("normal", 3.0, 0.5), ("uniform", 0.5, 0.5 / 3**0.5)):
        torch.manual_seed(0)
        config = AvgConfig(vocab_size=300, hidden_size=40, initializer_range=0.5, initial_distribution=distribution)
        vectors = AvgModel(config).embeddings.detach()
        assert not vectors[0].any() and 0.95 * min(bound, 1) < vectors.abs().max() <= bound
        assert abs(vectors[1:].std().item() - deviation) < 0.01 and abs(vectors.mean().item()) < 0.02
