"""`push_to_hub` of an opened encoder, as the page for those who come from sentence-transformers says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hub_stand_in import TOKEN

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "migration.md"
TEXTS = ["the doctor bought a car", "rain"]


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    tokenizer = build_word_level_tokenizer(["the", "doctor", "bought", "a", "car", "rain"])
    return SentenceEncoder(AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=8)), tokenizer)


def test_what_the_guide_writes_sends_a_model_that_opens_by_its_name(read_hub, monkeypatch, encoder):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    call = 'model.push_to_hub("ann/my_avg")'
    assert f"| `{call}` | `{call}` |" in PAGE.read_text("utf-8")
    address = eval(call, {"model": encoder})
    assert address.startswith(read_hub.url) and "ann/my_avg" in address
    opened = SentenceEncoder.from_pretrained("ann/my_avg")
    np.testing.assert_array_equal(opened.encode(TEXTS), encoder.encode(TEXTS))
    opened.push_to_hub("ann/again", commit_message="Once more", revision="v2", private=True, token=TOKEN)
    again = SentenceEncoder.from_pretrained("ann/again", revision="v2")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_without_a_token_it_says_so_and_leaves_nothing(hub, encoder):
    with pytest.raises(UsageError, match="token"):
        encoder.push_to_hub("ann/my_avg")
    assert hub.requests == []
