from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModel

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.models.registry import config_class, model_class
from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

TEXTS = ["w1 w2", "", "w3 zebra w4 w5", "zebra", "w1"]


def model_folder(folder, model_type):
    torch.manual_seed(0)
    tokenizer = build_word_level_tokenizer(f"w{number}" for number in range(10))
    given = {"vocab_size": 12, "hidden_size": 8}
    if model_type == "concatenation":
        tokenizer = ConcatenationTokenizer(parts=[tokenizer, tokenizer])
        given = {"vocab_sizes": [12, 12], "part_size": 4}
    model_class(model_type)(config_class(model_type)(initializer_range=0.5, **given)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("model_type", ["avg", "concatenation", "gran", "recurrent"])
def test_truncated_embeddings_are_the_first_components(tmp_path, model_type, size):
    folder = model_folder(tmp_path / "model", model_type)
    whole = SentenceEncoder.from_pretrained(folder).encode(TEXTS)
    encoder = SentenceEncoder.from_pretrained(folder, truncate_dim=size)
    assert encoder.dimension == size
    np.testing.assert_allclose(encoder.encode(TEXTS), whole[:, :size], rtol=0, atol=1e-7)
    assert encoder.encode("w1").shape == (size,) and encoder.encode([]).shape == (0, size)
    # The part that is kept is what is normalised.
    norms = np.linalg.norm(encoder.encode(TEXTS, normalize=True), axis=1)
    np.testing.assert_allclose(norms, np.linalg.norm(whole[:, :size], axis=1) > 0, atol=1e-6)


def test_a_truncated_average_is_saved_as_the_smaller_model_that_it_is(tmp_path):
    encoder = SentenceEncoder.from_pretrained(model_folder(tmp_path / "model", "avg"), truncate_dim=3)
    encoder.save_pretrained(tmp_path / "small")
    assert AutoModel.from_pretrained(tmp_path / "small").embeddings.shape == (12, 3)
    np.testing.assert_array_equal(
        SentenceEncoder.from_pretrained(tmp_path / "small").encode(TEXTS), encoder.encode(TEXTS)
    )
    assert (
        "(type `avg`, 3 numbers a sentence, the first of what model gives)"
        in (tmp_path / "small" / "README.md").read_text()
    )
    gran = SentenceEncoder.from_pretrained(model_folder(tmp_path / "gran", "gran"), truncate_dim=3)
    with pytest.raises(ModelError, match="`gran` cannot be saved with fewer components"):
        gran.save_pretrained(tmp_path / "none")
    assert not (tmp_path / "none").exists()
