from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from huggingface_hub import ModelCard
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import load_file, save_file
from tiny_encoders import new_model, write_average
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.exporting.onnx_graphs import OPSET, OUTPUTS, TOLERANCE, save_onnx, verify
from hf_paraphrase.exporting.run import store, store_weights
from hf_paraphrase.models.registry import model_class
from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_bpe
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

TEXTS = ["The cat sat on a mat.", "a zebra", "", "cat " * 30, "It isn't the dog", "\u00dcber-cat"]
WORDS = ["the", "cat", "sat", "on", "a", "mat", ".", "it", "is", "n't", "dog"]
CARD = """---
language:
- en
license: cc-by-2.0
---

# a model

## How to use it

Otherwise.

## Training

On pairs; `provenance.json` says more.
"""


def words():
    return build_word_level_tokenizer(WORDS)


def words_and_trigrams():
    trigrams = build_character_trigram_tokenizer(trigram_vocabulary(TEXTS[:1]), skip_unknown=True)
    return ConcatenationTokenizer(parts=[words(), trigrams])


KINDS = {
    "avg": ("avg", words, {}),
    "word-trigram": ("concatenation", words_and_trigrams, {}),
    "joined": ("concatenation", words_and_trigrams, {"part_weights": [0.8, 0.2]}),
    "gran": ("gran", words, {"skip_unknown": True}),
}


def write(folder, kind):
    """A folder as `train-encoder` writes it."""
    model_type, tokenizer, settings = KINDS[kind]
    tokenizer = tokenizer()
    if model_type == "concatenation":
        settings = {"vocab_sizes": tokenizer.part_sizes, "part_size": 6, "hidden_size": 12, **settings}
    write_average(folder, tokenizer, classes=model_type, **{"hidden_size": 6, **settings})
    (folder / "README.md").write_text(CARD)
    (folder / "provenance.json").write_text('{"command": "hf-paraphrase train-encoder"}\n')
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return {kind: write(root / kind, kind) for kind in KINDS}


@pytest.fixture(scope="module")
def exports(models, tmp_path_factory):
    """The folders of ONNX graphs, each made when it is first asked for."""
    root = tmp_path_factory.mktemp("exports")

    def exported(kind):
        if not (root / kind).exists():
            assert export(models[kind], root / kind) == 0
        return root / kind

    return exported


def export(model, output, *flags):
    return main(["export", "--model", str(model), "--output", str(output), *flags])


# Run the code of the card with onnxruntime, tokenizers and NumPy only.
SNIPPET_RUNNER = """
import json, pathlib, sys
for name in ("torch", "transformers", "hf_paraphrase", "onnx"):
    sys.modules[name] = None
import numpy
texts = json.loads(sys.argv[1])
for folder in sys.argv[2:]:
    card = pathlib.Path(folder, "README.md").read_text(encoding="utf-8")
    code = card.split("```python\\n")[1].split("```")[0]
    place = code.index("texts = [")
    line = code[place : code.index("\\n", place)]
    exec(code, {})
    values = {}
    exec(code.replace(line, "texts = " + repr(texts)), values)
    numpy.save(folder + ".npy", values["vectors"])
"""


def test_with_onnxruntime_and_tokenizers_alone_the_code_of_the_card_gives_the_vectors_of_the_model(
    models, exports, tmp_path
):
    folders = {kind: exports(kind) for kind in ("avg", "word-trigram")}
    for kind, folder in folders.items():
        (tmp_path / kind).symlink_to(folder)
    words = [sys.executable, "-I", "-c", SNIPPET_RUNNER, json.dumps(TEXTS), *folders]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2 * len(folders)
    for kind in folders:
        expected = SentenceEncoder.from_pretrained(models[kind]).encode(TEXTS)
        np.testing.assert_allclose(np.load(tmp_path / f"{kind}.npy"), expected, atol=1e-5, err_msg=kind)
        assert not expected[2].any() and expected[0].any()
        opened = SentenceEncoder.from_pretrained(folders[kind])
        texts = TEXTS * 60
        found = opened.encode(texts, batch_size=16, normalize=True)
        expected = SentenceEncoder.from_pretrained(models[kind]).encode(texts, normalize=True)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_folder_is_complete_and_says_how_it_was_made(models, tmp_path, capsys):
    assert export(models["avg"], tmp_path / "out", "--weights", "int8") == 0
    out, err = capsys.readouterr()
    assert out == "" and "the graph differs from PyTorch by" in err and "torchvision" not in err
    names = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    settings = {
        "config.json",
        "configurations.py",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert names == settings | {"onnx/model.onnx", "README.md", "provenance.json", "source_provenance.json"}
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["model_type"] == "avg" and set(config["auto_map"]) == {"AutoConfig"}
    assert AutoConfig.from_pretrained(tmp_path / "out").hidden_size == 6
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert record["command"] == "hf-paraphrase export" and record["settings"]["weights"] == "int8"
    assert record["inputs"][0]["name"] == "avg" and {"onnx", "onnxruntime"} <= set(record["versions"])
    results = record["results"]
    assert 0 < results["largest_difference"] < 1e-5 and 0.99 < results["lowest_cosine"] < 1
    size = (tmp_path / "out" / "onnx" / "model.onnx").stat().st_size
    assert results["megabytes"] == pytest.approx(size / 1e6)
    card = ModelCard.load(tmp_path / "out" / "README.md", ignore_metadata_errors=False)
    assert card.data.license == "cc-by-2.0" and card.data.language == ["en"] and card.data.library_name == "onnx"
    assert {"avg", "onnx", "int8"} <= set(card.data.tags)
    assert f"{results['lowest_cosine']:.6f}" in card.text
    assert "### Training\n\nOn pairs; `source_provenance.json` says more." in card.text
    assert "Otherwise." not in card.text


def test_a_float16_model_folder_opens_like_the_model_and_is_nearly_the_same(models, tmp_path):
    assert export(models["gran"], tmp_path / "half", "--format", "safetensors", "--weights", "float16") == 0
    values = load_file(tmp_path / "half" / "model.safetensors")
    assert {value.dtype for value in values.values()} == {np.dtype(np.float16)}
    model = AutoModel.from_pretrained(tmp_path / "half")
    assert type(model) is model_class("gran") and model.dtype == torch.float16
    expected = SentenceEncoder.from_pretrained(models["gran"]).encode(TEXTS)
    found = SentenceEncoder.from_pretrained(tmp_path / "half").encode(TEXTS)
    np.testing.assert_allclose(found, expected, atol=5e-3)
    assert (tmp_path / "half" / "modules.json").is_file()


def test_an_int8_model_folder_opens_in_float32_and_is_nearly_the_same(models, tmp_path):
    folder = tmp_path / "int8"
    (tmp_path / "text").write_text("\n".join(TEXTS))
    words = ["--format", "safetensors", "--weights", "int8", "--sentences", str(tmp_path / "text")]
    assert export(models["joined"], folder, *words) == 0
    values = load_file(folder / "model.safetensors")
    assert {name: value.dtype.name for name, value in values.items()} == {"embeddings": "int8", "weights": "float32"}
    table = load_file(models["joined"] / "model.safetensors")["embeddings"]
    rounded = values["embeddings"] * values["weights"][:, None]
    assert np.abs(rounded - table).max() <= values["weights"].max() / 2 + 1e-9
    encoder = SentenceEncoder.from_pretrained(folder)
    assert encoder.model.dtype == torch.float32 and not encoder.model.training
    before, after = SentenceEncoder.from_pretrained(models["joined"]).encode(TEXTS), encoder.encode(TEXTS)
    np.testing.assert_allclose(after, before, atol=values["weights"].max() / 2 + 1e-6)
    results = json.loads((folder / "provenance.json").read_text())["results"]
    some = np.linalg.norm(before, axis=1) > 0
    cosines = (before * after).sum(1)[some] / (np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1))[some]
    assert results["sentences"] == len(TEXTS) and 0.99 < results["lowest_cosine"] <= 1
    assert results["lowest_sentence_cosine"] == pytest.approx(min(1, cosines.min()), abs=1e-6)
    assert results["mean_sentence_cosine"] == pytest.approx(cosines.mean(), abs=1e-6)
    card = ModelCard.load(folder / "README.md", ignore_metadata_errors=False)
    assert f"{results['lowest_sentence_cosine']:.6f} at least" in card.text
    assert "For `transformers.AutoModel`, save an ordinary folder" in card.text
    # No code travels, and what would take the integers for vectors refuses them.
    assert not any(folder.glob("*.py")) and "hf_paraphrase" in (folder / "modules.json").read_text()
    for name in ("config.json", "tokenizer_config.json"):
        assert "auto_map" not in json.loads((folder / name).read_text())
    with pytest.raises(ValueError, match="SentenceEncoder opens it"):
        AutoModel.from_pretrained(folder)
    # It is exported in turn, to a folder that opens everywhere.
    assert export(folder, tmp_path / "float", "--format", "safetensors") == 0
    np.testing.assert_array_equal(SentenceEncoder.from_pretrained(tmp_path / "float").encode(TEXTS), after)
    assert AutoModel.from_pretrained(tmp_path / "float").config.to_dict().get("embedding_dtype") is None
    assert (tmp_path / "float" / "modules.json").is_file()


@pytest.mark.parametrize("name", ["avg", "joined"])
def test_an_int4_folder_has_16_numbers_a_row_and_opens_like_int8(models, tmp_path, name):
    folder = tmp_path / "int4"
    assert export(models[name], folder, "--format", "safetensors", "--weights", "int4") == 0
    table = load_file(models[name] / "model.safetensors")["embeddings"]
    values = load_file(folder / "model.safetensors")
    packed, scales = values["packed_embeddings"], values["weights"][:, None]
    assert packed.dtype == np.uint8 and packed.shape == (len(table), table.shape[1] // 2)
    rounded = np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32) * 2 - 15
    # Numbers within 8 steps lie within half a step of theirs, and the others become the last number.
    steps = 0.37 * np.sqrt(np.mean(np.square(table), axis=1, keepdims=True))
    inside = np.abs(table) <= 8 * steps
    assert inside.mean() > 0.9
    assert (np.abs(rounded * steps / 2 - table)[inside] <= np.broadcast_to(steps, table.shape)[inside] * 0.501).all()
    np.testing.assert_array_equal(rounded[~inside], 15 * np.sign(table[~inside]))
    np.testing.assert_allclose(np.linalg.norm(rounded * scales, axis=1), np.linalg.norm(table, axis=1), rtol=1e-6)
    encoder = SentenceEncoder.from_pretrained(folder)
    np.testing.assert_allclose(encoder.model.get_parameter("embeddings").detach(), rounded * scales, rtol=1e-6)
    encoder.save_pretrained(tmp_path / "float")
    np.testing.assert_allclose(
        SentenceEncoder.from_pretrained(tmp_path / "float").encode(TEXTS), encoder.encode(TEXTS), atol=1e-6
    )
    assert export(folder, tmp_path / "int8", "--format", "safetensors", "--weights", "int8") == 0
    np.testing.assert_array_equal(
        SentenceEncoder.from_pretrained(tmp_path / "int8").encode(TEXTS), encoder.encode(TEXTS)
    )
    assert export(folder, tmp_path / "again", "--format", "safetensors", "--weights", "int4") == 0
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    with pytest.raises(ValueError, match="the vectors of this folder are int4"):
        AutoModel.from_pretrained(folder)
    save_file({"packed_embeddings": packed}, folder / "model.safetensors")
    with pytest.raises(ModelError, match="needs the scales `weights`"):
        SentenceEncoder.from_pretrained(folder)


def test_a_row_with_one_large_number_keeps_its_length_in_int4():
    rows = np.array([[9, *[0.1] * 15], [0] * 16, [3e-38] * 16], np.float32)
    stored = store(rows, "int4", name="rows").rounded()
    np.testing.assert_allclose(np.linalg.norm(stored, axis=1), np.linalg.norm(rows, axis=1), rtol=1e-6)


@pytest.mark.parametrize("flags", [["--format", "safetensors", "--weights", "int4"], ["--format", "safetensors"], []])
def test_prompt_limit_and_normalization_are_kept(models, tmp_path, flags):
    encoder = SentenceEncoder.from_pretrained(models["avg"], prompts={"q": "the cat "}, default_prompt_name="q")
    encoder.max_seq_length = 3
    encoder.backend.processing = dataclasses.replace(encoder.processing, normalize=True)
    encoder.save_pretrained(tmp_path / "model")
    (tmp_path / "text").write_text("on a mat\nthe dog\n")
    assert export(tmp_path / "model", tmp_path / "out", *flags, "--sentences", str(tmp_path / "text")) == 0
    opened = SentenceEncoder.from_pretrained(tmp_path / "out")
    assert opened.options == encoder.options and opened.max_seq_length == 3
    np.testing.assert_allclose(opened.encode(TEXTS), encoder.encode(TEXTS), atol=0.15 if "int4" in flags else 1e-5)


def test_int4_without_an_even_number_of_columns_or_as_onnx_is_refused(models, tmp_path, capfd):
    write_average(tmp_path / "odd", ["a", "b"], hidden_size=5)
    assert export(tmp_path / "odd", tmp_path / "out", "--format", "safetensors", "--weights", "int4") == 2
    assert "the weights `embeddings` have 5 columns, and int4 needs an even number" in capfd.readouterr().err
    assert export(models["avg"], tmp_path / "out", "--weights", "int4") == 2
    assert "--weights int4 is for --format safetensors" in capfd.readouterr().err


def test_model2vec_opens_an_int8_average_and_refuses_an_int4_one(models, tmp_path):
    model2vec = pytest.importorskip("model2vec")
    for weights in ("int8", "int4"):
        assert export(models["avg"], tmp_path / weights, "--format", "safetensors", "--weights", weights) == 0
    with pytest.raises(Exception, match="embeddings"):
        model2vec.StaticModel.from_pretrained(tmp_path / "int4")
    # It never counts unknown words.
    texts = ["the cat sat on a mat .", "a dog", ""]
    expected = SentenceEncoder.from_pretrained(tmp_path / "int8").encode(texts)
    found = model2vec.StaticModel.from_pretrained(tmp_path / "int8").encode(texts)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_an_int8_folder_reads_texts_by_the_same_pieces_from_a_shorter_file(models, tmp_path):
    write_average(tmp_path / "pieces", train_encoder_bpe(TEXTS * 3, 60))
    words = ["--format", "safetensors", "--weights", "int8"]
    assert export(tmp_path / "pieces", tmp_path / "int8", *words) == 0
    before, after = (Tokenizer.from_file(str(tmp_path / name / "tokenizer.json")) for name in ("pieces", "int8"))
    assert len((tmp_path / "int8" / "tokenizer.json").read_text()) < len(before.to_str())
    assert before.to_str() == after.to_str() and len(json.loads(after.to_str())["model"]["merges"]) > 10


# ----- damaged folders


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda folder: (folder / "onnx" / "model.onnx").write_bytes(b"no graph"), "the graph cannot be opened"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "the tokenizer cannot be opened"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "bert"}'), "only sentence-tr"),
    ],
)
def test_damaged_folders_end_in_one_line(exports, tmp_path, damage, text):
    exported = shutil.copytree(exports("avg"), tmp_path / "avg")
    damage(exported)
    with pytest.raises(ModelError) as caught:
        SentenceEncoder.from_pretrained(exported)
    assert text in str(caught.value) and str(exported) in str(caught.value)


# ----- graphs


def make(model_type, settings):
    size = {"vocab_size": 40, "hidden_size": 6}
    if model_type == "concatenation":
        size = {"vocab_sizes": [8, 3, 29], "part_size": 6}
    return new_model(model_type, seed=3, initializer_range=0.8, **size, **settings).eval()


def table_of(model, weights="float32"):
    return store(model.get_parameter("embeddings").detach().numpy(), weights, name="embeddings")


@pytest.mark.parametrize(
    ("model_type", "settings", "weights"),
    [("avg", {"skip_unknown": True}, "float32"), ("concatenation", {"part_weights": [0.8, 0.2, 0.4]}, "int8")],
)
def test_the_graph_gives_the_vectors_of_the_model_by_the_names_that_readers_look_for_without_paths(
    tmp_path, model_type, settings, weights
):
    model, path = make(model_type, settings), tmp_path / "onnx" / "model.onnx"
    table = table_of(model, weights)
    model.load_state_dict({"embeddings": torch.from_numpy(table.rounded())})
    save_onnx(model, table, path)
    assert 0 <= verify(model, path) <= TOLERANCE * 10
    graph = onnx.load(path)
    onnx.checker.check_model(graph, full_check=True)
    assert [(item.domain, item.version) for item in graph.opset_import] == [("", OPSET)]
    assert b".py" not in path.read_bytes() and b"stack_trace" not in path.read_bytes()
    assert {item.key: item.value for item in graph.metadata_props}["model_type"] == model.config.model_type
    session = onnxruntime.InferenceSession(path)
    dim, axes = model.config.hidden_size, ["batch_size", "sequence_length"]
    inputs = {item.name: (item.type, item.shape) for item in session.get_inputs()}
    assert inputs == {"input_ids": ("tensor(int64)", axes), "attention_mask": ("tensor(int64)", axes)}
    assert [item.name for item in session.get_outputs()] == list(OUTPUTS)
    assert [item.shape for item in session.get_outputs()] == [[*axes, dim], ["batch_size", dim], ["batch_size", dim]]


def test_verification_refuses_a_graph_of_other_weights_and_equal_models_give_equal_files(tmp_path):
    model = make("avg", {})
    for name in ("graph", "again"):
        save_onnx(model, table_of(model), tmp_path / name)
    assert (tmp_path / "graph").read_bytes() == (tmp_path / "again").read_bytes()
    for change, problem in ((0.01, r"differs from the model by 0\.0\d+ \(use another version"), (torch.nan, "by nan")):
        with torch.no_grad():
            model.embeddings[5, 2] += change
        with pytest.raises(ModelError, match=problem):
            verify(model, tmp_path / "graph")


# ----- weights in fewer bits


NUMBERS = st.floats(-6e4, 6e4, width=32)
MATRICES = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=0), elements=NUMBERS)


@given(MATRICES)
def test_no_number_of_a_row_in_8_bits_is_off_by_more_than_half_a_scale(matrix):
    stored = store(matrix, "int8", name="w")
    assert stored.values.dtype == np.int8 and stored.scales is not None and stored.scales.shape == (len(matrix),)
    assert stored.values.min(initial=0) >= -127
    error = np.abs(stored.rounded().astype(np.float64) - matrix)
    assert (error <= stored.scales[:, None].astype(np.float64) * 0.5001 + 1e-44).all()
    largest = np.abs(matrix).max(axis=1, initial=0)
    assert (stored.scales[largest > 1e-30] <= largest[largest > 1e-30] / 127 * 1.001).all()


def test_numbers_that_are_not_finite_or_beyond_half_precision_are_refused_by_name():
    for value in (np.nan, np.inf):
        with pytest.raises(ModelError, match=r"`gate\.bias` have values"):
            store_weights({"gate.bias": np.array([1.0, value])}, "float16")
    with pytest.raises(ModelError, match=r"value 70000, but the maximum of float16 is 65504 \(use --weights float32"):
        store(np.array([[1.0, 7e4]]), "float16", name="w")


def test_only_matrices_are_rounded():
    values = {
        "embeddings": np.full((2, 2), 0.1, np.float32),
        "cell.peepholes": np.full((3, 2), 0.1, np.float32),
        "cell.bias": np.full(2, 0.1, np.float32),
    }
    stored = store_weights(values, "float16")
    rounded = {name: value.rounded() for name, value in stored.items()}
    assert {name: value.shape for name, value in rounded.items()} == {n: v.shape for n, v in values.items()}
    np.testing.assert_array_equal(rounded["cell.bias"], values["cell.bias"])
    np.testing.assert_array_equal(rounded["cell.peepholes"], values["cell.peepholes"])
    np.testing.assert_array_equal(rounded["embeddings"], np.float16(0.1))
