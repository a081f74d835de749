"""The folders that sentence-transformers writes are followed to the same vectors, and no code of theirs runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_teachers import sentences, write_teacher

from hf_paraphrase.encoders.distillation.teacher import Teacher
from hf_paraphrase.errors import ModelError

TEXTS = [*sentences(12), "A1 b2 C3", "b1"]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_teacher(tmp_path_factory.mktemp("modules") / "bert")


def saved(bert, folder, pooling, *more, **settings):
    """A folder as sentence-transformers writes it."""
    theirs = pytest.importorskip("sentence_transformers")
    from sentence_transformers import models

    torch.manual_seed(0)
    modules = [models.Transformer(str(bert)), models.Pooling(16, pooling), *(make(models) for make in more)]
    model = theirs.SentenceTransformer(modules=modules, device="cpu", **settings)
    model.save_pretrained(str(folder))
    return theirs.SentenceTransformer(str(folder), device="cpu", local_files_only=True)


@pytest.mark.parametrize(
    ("pooling", "more", "settings"),
    [
        ("mean", [], {}),
        ("lasttoken", [], {}),
        ("weightedmean", [], {}),
        ("mean_sqrt_len_tokens", [], {}),
        (["cls", "mean", "max"], [], {}),
        ("mean", [lambda models: models.Normalize()], {}),
        ("cls", [lambda models: models.Dense(16, 6), lambda models: models.Normalize()], {}),
        ("cls", [lambda models: models.Dense(16, 6, bias=False, activation_function=torch.nn.Identity())], {}),
        ("mean", [], {"prompts": {"query": "c1 c2 "}, "default_prompt_name": "query"}),
    ],
)
def test_vectors_are_those_of_sentence_transformers(bert, tmp_path, pooling, more, settings):
    model = saved(bert, tmp_path / "st", pooling, *more, **settings)
    teacher = Teacher.from_pretrained(tmp_path / "st")
    expected = model.encode(TEXTS)
    assert teacher.dimension == expected.shape[1]
    np.testing.assert_allclose(teacher.encode(TEXTS, normalize=True), expected, atol=1e-5)
    assert teacher.modules.normalized is any("Normalize" in str(type(module)) for module in model)


def test_older_folders_say_their_poolings_as_flags(bert, tmp_path):
    saved(bert, tmp_path / "st", "mean")
    flags = {"word_embedding_dimension": 16, "pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}
    (tmp_path / "st" / "1_Pooling" / "config.json").write_text(json.dumps(flags))
    teacher = Teacher.from_pretrained(tmp_path / "st")
    assert teacher.modules.poolings == ("cls", "max") and teacher.dimension == 32


def test_texts_are_lower_cased_where_the_folder_asks_for_it(bert, tmp_path):
    write_teacher(tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text('{"do_lower_case": true, "max_seq_length": 4}')
    teacher = Teacher.from_pretrained(tmp_path)
    np.testing.assert_array_equal(teacher.encode(["A1 B2"]), Teacher.from_pretrained(bert).encode(["a1 b2"]))
    assert teacher.modules.longest == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activation_function": "os.system"}, "is not supported"),
        ({"module_input_name": "token_embeddings"}, "is not supported"),
        ({"use_residual": True}, "is not supported"),
        ({"out_features": 7}, "do not fit"),
    ],
)
def test_a_dense_layer_that_is_invalid_is_refused(bert, tmp_path, change, message):
    saved(bert, tmp_path / "st", "mean", lambda models: models.Dense(16, 6))
    path = tmp_path / "st" / "2_Dense" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelError, match=message):
        Teacher.from_pretrained(tmp_path / "st")


def test_weights_that_would_be_random_are_refused(bert, tmp_path):
    write_teacher(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    left_out = next(name for name in tensors if "output.dense.weight" in name)
    kept = {name: value for name, value in tensors.items() if name != left_out and "pooler" not in name}
    save_file(kept, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=f"missing {left_out}"):
        Teacher.from_pretrained(tmp_path)
    save_file(
        {name: value for name, value in tensors.items() if "pooler" not in name},
        tmp_path / "model.safetensors",
        metadata={"format": "pt"},
    )
    assert Teacher.from_pretrained(tmp_path).dimension == 16
