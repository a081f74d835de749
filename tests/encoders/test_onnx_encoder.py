from __future__ import annotations

import json

import numpy as np
import pytest
from tiny_encoders import write_average

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return write_average(folder)


@pytest.fixture
def exported(model, tmp_path):
    assert main(["export", "--model", str(model), "--output", str(tmp_path / "onnx")]) == 0
    return tmp_path / "onnx"


def test_long_and_short_texts_in_many_batches_give_the_vectors_of_the_model(model, exported):
    texts = [" ".join(f"w{place % 10}" for place in range(number % 37)) for number in range(300)]
    expected = SentenceEncoder.from_pretrained(model).encode(texts, normalize=True)
    found = SentenceEncoder.from_pretrained(exported, device="cpu").encode(texts, normalize=True, batch_size=16)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


def set_config(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (
            lambda folder: (folder / "onnx" / "model.onnx").write_bytes(b"no graph"),
            "onnxruntime cannot open the graph",
        ),
        (lambda folder: (folder / "config.json").unlink(), "the model cannot be opened"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "the tokenizer cannot be opened"),
        (lambda folder: set_config(folder, model_type="bert"), "'bert' is not a sentence encoder"),
        (lambda folder: set_config(folder, hidden_size=6), "no `sentence_embedding` of 6 components"),
    ],
)
def test_damaged_folders_end_in_one_line(exported, damage, text):
    damage(exported)
    with pytest.raises(ModelError) as caught:
        SentenceEncoder.from_pretrained(exported)
    assert text in str(caught.value) and str(exported) in str(caught.value)
