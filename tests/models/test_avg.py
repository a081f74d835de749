from __future__ import annotations

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from padded_rows import ROWS, padded
from transformers import AutoModel

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.token_ids import TokenIds
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer


def make(**settings):
    torch.manual_seed(3)
    return AvgModel(AvgConfig(vocab_size=40, hidden_size=9, initializer_range=0.5, **settings)).eval()


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
        torch.manual_seed(0)
        config = AvgConfig(vocab_size=300, hidden_size=40, initializer_range=0.5, initial_distribution=distribution)
        vectors = AvgModel(config).embeddings.detach()
        assert not vectors[0].any() and 0.95 * min(bound, 1) < vectors.abs().max() <= bound
        assert abs(vectors[1:].std().item() - deviation) < 0.01 and abs(vectors.mean().item()) < 0.02


@pytest.mark.parametrize("skip_unknown", [True, False])
@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.lists(st.integers(1, 11), max_size=9), min_size=1, max_size=8), left=st.booleans())
def test_padded_batches_and_sentences_laid_end_to_end_agree_to_the_last_bit(skip_unknown, rows, left):
    model = make(skip_unknown=skip_unknown)
    flat = torch.from_numpy(
        SentenceEncoder(model, build_word_level_tokenizer(["a"])).encode_token_ids(TokenIds.of_lists(rows))
    )
    ids, mask = padded(rows, max(map(len, rows)) + 2, left=left)
    assert torch.equal(model(ids, mask).pooler_output, flat)
    assert torch.equal(model(ids, mask, return_token_vectors=False).pooler_output, flat)
    single = [model(torch.tensor([row], dtype=torch.long)).pooler_output[0] for row in rows]
    assert torch.equal(torch.stack(single), flat)
