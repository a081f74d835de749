from __future__ import annotations

import json

import torch
from padded_rows import ROWS, padded
from tiny_encoders import new_model
from transformers import AutoModel


def make(**settings):
    return new_model("avg", **{"vocab_size": 40, "hidden_size": 9, "initializer_range": 0.5, **settings}).eval()


def test_token_vectors_are_those_of_the_words_of_which_the_contract_takes_the_mean():
    model = make()
    assert list(model.state_dict()) == ["embeddings"]
    vectors = model(*padded(ROWS, 9)).last_hidden_state
    for place, row in enumerate(ROWS):
        torch.testing.assert_close(vectors[place, : len(row)], model.embeddings[row])


def test_with_the_saved_configuration_model2vec_neither_normalises_nor_truncates(tmp_path):
    make().save_pretrained(tmp_path / "first")
    AutoModel.from_pretrained(tmp_path / "first").save_pretrained(tmp_path / "second")
    for name in ("first", "second"):
        saved = json.loads((tmp_path / name / "config.json").read_text())
        assert saved["normalize"] is False and "max_length" in saved and saved["max_length"] is None


def test_the_first_vectors_are_normal_or_uniform_within_the_range():
    for distribution, bound, deviation in (("normal", 3.0, 0.5), ("uniform", 0.5, 0.5 / 3**0.5)):
        vectors = make(vocab_size=300, hidden_size=40, initial_distribution=distribution).embeddings.detach()
        assert not vectors[0].any() and 0.95 * min(bound, 1) < vectors.abs().max() <= bound
        assert abs(vectors[1:].std().item() - deviation) < 0.01 and abs(vectors.mean().item()) < 0.02
