from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from hf_paraphrase.errors import ModelError
from hf_paraphrase.export.onnx_graphs import OPSET, OUTPUTS, TableGraph, save_onnx
from hf_paraphrase.export.stored_weights import store
from hf_paraphrase.export.verification import TOLERANCE, probes, verify
from hf_paraphrase.models.registry import config_class, model_class

VARIANTS = [
    ("avg", {}),
    ("avg", {"skip_unknown": True}),
    ("concatenation", {}),
    ("concatenation", {"part_weights": [0.8, 0.2, 0.4]}),
]


def make(model_type, settings):
    size = {"vocab_size": 40, "hidden_size": 6}
    if model_type == "concatenation":
        size = {"vocab_sizes": [8, 3, 29], "part_size": 6}
    torch.manual_seed(3)
    return model_class(model_type)(config_class(model_type)(initializer_range=0.8, **size, **settings)).eval()


def table_of(model, weights="float32"):
    return store(model.get_parameter("embeddings").detach().numpy(), weights, name="embeddings")


@pytest.fixture(
    scope="module", params=[(*VARIANTS[1], "float32"), (*VARIANTS[3], "int8")], ids=["avg", "concatenation"]
)
def exported(request, tmp_path_factory):
    """A model with rounded weights, and the file of its graph."""
    model_type, settings, weights = request.param
    model = make(model_type, settings)
    table = table_of(model, weights)
    model.load_state_dict({"embeddings": torch.from_numpy(table.rounded())})
    path = tmp_path_factory.mktemp("graph") / "onnx" / "model.onnx"
    save_onnx(model.config, table, path)
    return model, path


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_module_that_is_exported_computes_what_the_model_computes(variant):
    model = make(*variant)
    graph = TableGraph(model.config, table_of(model))
    for ids, mask in probes(model.config):
        arguments = torch.from_numpy(ids), torch.from_numpy(mask)
        with torch.inference_mode():
            expected, (states, pooled, again) = model(*arguments), graph(*arguments)
        np.testing.assert_allclose(states, expected.last_hidden_state, atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(pooled, expected.pooler_output, atol=TOLERANCE, rtol=0)
        assert torch.equal(pooled, again)


def test_the_graph_gives_the_vectors_of_the_model_whatever_batch_length_and_padding(exported):
    model, path = exported
    assert 0 <= verify(model, path) <= TOLERANCE * 10


def test_the_graph_has_the_names_that_readers_look_for_and_no_paths_of_this_machine(exported, tmp_path):
    model, path = exported
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
        save_onnx(model.config, table_of(model), tmp_path / name)
    assert (tmp_path / "graph").read_bytes() == (tmp_path / "again").read_bytes()
    for change, problem in ((0.01, r"differs from the model by 0\.0\d+ \(use another version"), (torch.nan, "by nan")):
        with torch.no_grad():
            model.embeddings[5, 2] += change
        with pytest.raises(ModelError, match=problem):
            verify(model, tmp_path / "graph")
