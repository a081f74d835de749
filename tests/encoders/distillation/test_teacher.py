from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from hf_paraphrase.encoders.distillation.teacher import Teacher
from hf_paraphrase.encoders.distillation.word_vectors import distill_word_vectors, principal_components
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("teacher")
    BertModel(
        BertConfig(
            vocab_size=42,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=8,
            initializer_range=0.5,
        ),
        add_pooling_layer=False,
    ).save_pretrained(path)
    save_tokenizer(build_word_level_tokenizer(WORDS), path)
    return path


def with_modules(folder, modules, pooling):
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    listed = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(modules)]
    (folder / "modules.json").write_text(json.dumps(listed))
    return folder


MODULES = [
    ("", "sentence_transformers.models.Transformer"),
    ("1_Pooling", "sentence_transformers.models.Pooling"),
    ("2_Normalize", "sentence_transformers.models.Normalize"),
]


@pytest.fixture
def copy(folder, tmp_path):
    for file in folder.iterdir():
        if file.is_file() and file.name != "modules.json":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def test_texts_of_any_length_and_order_are_embedded_as_each_alone(folder):
    teacher = Teacher.from_pretrained(folder)
    texts = ["w1", "w1 w2 w3", "w5 w4", "w7", "w3 w2 w1", "unheard of"]
    together = teacher.encode(texts)
    alone = np.concatenate([teacher.encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert together.shape == (6, 16) and together.dtype == np.float32 and teacher.encode([]).shape == (0, 16)


def test_a_text_longer_than_the_teacher_can_read_is_cut_off(folder):
    teacher = Teacher.from_pretrained(folder)
    np.testing.assert_allclose(teacher.encode([" ".join(WORDS)]), teacher.encode([" ".join(WORDS[:8])]), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "pooling"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True, "include_prompt": True}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode": "cls"}, "cls"),
    ],
)
def test_the_pooling_of_the_folder_is_followed(copy, settings, pooling):
    teacher = Teacher.from_pretrained(with_modules(copy, MODULES, settings))
    assert teacher.modules.poolings == (pooling,)
    hidden = teacher.model(torch.tensor([[2, 3, 4]])).last_hidden_state[0].detach().numpy()
    expected = {"mean": hidden.mean(0), "cls": hidden[0], "max": hidden.max(0)}[pooling]
    np.testing.assert_allclose(teacher.encode(["w0 w1 w2", "w1"])[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("modules", "pooling", "message"),
    [
        ([*MODULES, ("3_Dense", "sentence_transformers.models.Dense")], {"pooling_mode": "mean"}, "Dense"),
        ([*MODULES[:2], ("2", "some.where.LSTM")], {"pooling_mode": "mean"}, "LSTM"),
        (MODULES, {"pooling_mode": "median"}, "median"),
        (MODULES, {"pooling_mode_median_tokens": True, "pooling_mode_cls_token": True}, "cls, pooling_mode_median"),
        (MODULES, {}, "nothing"),
    ],
)
def test_what_cannot_be_followed_is_refused(copy, modules, pooling, message):
    with pytest.raises(ModelError, match=message):
        Teacher.from_pretrained(with_modules(copy, modules, pooling))


def test_damaged_and_missing_folders_are_named(copy, tmp_path):
    with pytest.raises(ModelError, match="no such model folder"):
        Teacher.from_pretrained(tmp_path / "absent")
    (copy / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be opened") as caught:
        Teacher.from_pretrained(copy)
    assert caught.value.path == str(copy / "model.safetensors") and caught.value.remedy


def test_principal_components_equal_those_of_a_singular_value_decomposition():
    generator = np.random.default_rng(0)
    data = (generator.normal(size=(300, 6)) * [9, 5, 3, 2, 1, 0.1] + 4).astype(np.float32)
    found = principal_components(data, 4)
    left, values, _ = np.linalg.svd(data.astype(np.float64) - data.mean(0, dtype=np.float64), full_matrices=False)
    expected = (left * values)[:, :4]
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-5)
    covariance = np.cov(found.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-3)


def test_all_components_keep_every_distance():
    data = np.random.default_rng(1).normal(size=(50, 5)).astype(np.float32)
    found = principal_components(data, 5)
    distances = [np.linalg.norm(item[:, None] - item, axis=2) for item in (data, found)]
    np.testing.assert_allclose(*distances, atol=1e-5)


def test_distilled_vectors_are_those_of_the_words_projected(folder):
    teacher = Teacher.from_pretrained(folder)
    vectors = distill_word_vectors(teacher, WORDS, dimension=5)
    assert vectors.words == WORDS and vectors.matrix.shape == (40, 5)
    np.testing.assert_array_equal(vectors.matrix, principal_components(teacher.encode(WORDS), 5))


@pytest.mark.parametrize(
    ("words", "dimension", "message"), [(WORDS, 17, "16 components of"), (WORDS[:3], 4, "3 words")]
)
def test_more_components_than_there_are_is_an_error(folder, words, dimension, message):
    with pytest.raises(InputError, match=message):
        distill_word_vectors(Teacher.from_pretrained(folder), words, dimension=dimension)


@pytest.mark.parametrize(
    "modules",
    [
        [{"type": "sentence_transformers.models.Transformer", "path": "../elsewhere"}],
        [{"type": "sentence_transformers.models.Transformer", "path": "/tmp"}],
        [{"type": "sentence_transformers.models.Pooling", "path": "a/../../elsewhere"}],
        [{"type": "sentence_transformers.models.Transformer", "path": 3}],
        ["Transformer"],
        {"type": "Transformer"},
        3,
    ],
)
def test_modules_that_are_elsewhere_are_not_followed(copy, modules):
    (copy / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError) as caught:
        Teacher.from_pretrained(copy)
    assert caught.value.path == str(copy / "modules.json")


@pytest.mark.parametrize("values", [{"vocab_size": 100}, {"num_hidden_layers": 10}, {"hidden_size": 32}])
def test_a_configuration_that_the_weights_do_not_fit_is_one_line(copy, values):
    path = copy / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
    with pytest.raises(ModelError, match="the weights do not fit the configuration") as caught:
        Teacher.from_pretrained(copy)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
