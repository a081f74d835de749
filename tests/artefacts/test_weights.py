from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_encoders import write_average

import hf_paraphrase
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.encoders.initial_vectors import read_initial_vectors
from hf_paraphrase.errors import ModelError
from hf_paraphrase.hub.publishing import plan_push

WORDS = ["the", "cat", "sat", "down"]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of a little average, and the same in int8."""
    root = tmp_path_factory.mktemp("models")
    write_average(root / "avg", WORDS, initializer_range=1.0)
    hf_paraphrase.export_encoder(model=root / "avg", output=root / "int8", format="safetensors", weights="int8")
    return root / "avg", root / "int8"


def damaged(tensors, name):
    """Takes a tensor away, or changes it."""
    if name == "absent":
        return {"embeddings": tensors["embeddings"]}
    return {**tensors, "weights": tensors["weights"][:-1] if name == "short" else tensors["weights"] * np.nan}


@pytest.mark.parametrize(
    ("damage", "settings", "text"),
    [
        ("absent", {}, "do not fit the configuration"),
        ("short", {}, r"`weights` has the shape \[5\], and there are 6 tokens"),
        ("nan", {}, "the vector of token 0 is not finite"),
        (None, {"hidden_size": 4}, r"do not fit the configuration: \(6, 5\), wanted \(6, 4\)"),
        (None, {"model_type": "gran"}, "int8 weights of a model of type `gran`"),
    ],
)
def test_damage_is_one_clear_line(exported, tmp_path, damage, settings, text):
    folder = shutil.copytree(exported[1], tmp_path / "damaged")
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors if damage is None else damaged(tensors, damage), folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **settings}))
    with pytest.raises(ModelError, match=text) as caught:
        SentenceEncoder.from_pretrained(folder)
    assert "\n" not in str(caught.value)


def test_the_folder_serves_as_initial_vectors_and_travels(exported):
    opened = SentenceEncoder.from_pretrained(exported[1]).model
    assert opened.embeddings.requires_grad and opened.embeddings.is_leaf  # it can be trained on
    vectors = read_initial_vectors(exported[1], WORDS)
    rows = [2 + WORDS.index(word) for word in vectors.words[:-1]]
    np.testing.assert_array_equal(vectors.matrix[:-1], opened.embeddings.detach().numpy()[rows])
    plan = plan_push(exported[1], "someone/int8")
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md", "provenance.json"} <= {
        file.name for file in plan.files
    }
