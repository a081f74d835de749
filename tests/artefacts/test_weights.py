from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_encoders import write_average

import hf_paraphrase
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.encoders.initial_vectors import read_saved_vectors
from hf_paraphrase.errors import ModelError

WORDS = ["the", "cat", "sat", "down"]
TEXTS = ["the cat sat down", "a zebra", ""]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder of a little average, and the same in int8."""
    root = tmp_path_factory.mktemp("models")
    write_average(root / "avg", WORDS, initializer_range=1.0)
    hf_paraphrase.export_encoder(model=root / "avg", output=root / "int8", format="safetensors", weights="int8")
    return root / "avg", root / "int8"


@pytest.fixture
def damaged(exported, tmp_path):
    """Copies the int8 folder with other tensors, or another configuration."""

    def make(change=dict, **settings):
        folder = shutil.copytree(exported[1], tmp_path / "damaged")
        save_file(change(load_file(folder / "model.safetensors")), folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **settings}))
        return folder

    return make


def replaced(name, function):
    return lambda tensors: {**tensors, name: function(tensors[name])}


@pytest.mark.parametrize(
    ("change", "settings", "text"),
    [
        (lambda tensors: {"embeddings": tensors["embeddings"]}, {}, "cannot be opened: KeyError: 'weights'"),
        (replaced("weights", lambda scales: scales[:-1]), {}, r"`weights` \[6\], not int8 \[6, 5\] and float32 \[5\]"),
        (dict, {"hidden_size": 4}, r"has `embeddings` int8 \[6, 4\] and .*, not int8 \[6, 5\]"),
        (replaced("weights", lambda scales: scales * np.nan), {}, "the scales of the table are not finite"),
        (dict, {"model_type": "gran"}, "int8 weights of a model of type `gran`"),
    ],
)
def test_damage_is_one_clear_line(damaged, change, settings, text):
    with pytest.raises(ModelError, match=text) as caught:
        SentenceEncoder.from_pretrained(damaged(change, **settings))
    assert "\n" not in str(caught.value)


def test_the_folder_serves_as_initial_vectors(exported):
    opened = SentenceEncoder.from_pretrained(exported[1]).model
    assert opened.embeddings.requires_grad and opened.embeddings.is_leaf  # it can be trained on
    vectors = read_saved_vectors(exported[1], WORDS, first=0)
    rows = [2 + WORDS.index(word) for word in vectors.words[:-1]]
    np.testing.assert_array_equal(vectors.matrix[:-1], opened.embeddings.detach().numpy()[rows])
