from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from hf_paraphrase.errors import ModelError
from hf_paraphrase.export.onnx_graphs import GRAPHS, OPSET, OUTPUTS, save_onnx
from hf_paraphrase.export.stored_weights import store_weights
from hf_paraphrase.export.verification import TOLERANCE, cosines, probes, verify
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.registry import config_class, model_class

CELLS = [
    {"cell": "lstm", "peepholes": False, "output_gate": False},
    {"cell": "lstm", "bidirectional": True, "skip_unknown": True},
    {"cell": "gru", "candidate_activation": "tanh", "bidirectional": True, "direction_merge": "sum"},
    {"cell": "gru", "negative_slope": 0.05, "bidirectional": True},
]
VARIANTS = [
    ("avg", {}),
    ("avg", {"skip_unknown": True}),
    ("concatenation", {}),
    ("concatenation", {"part_weights": [0.8, 0.2, 0.4]}),
    *(("gran", cell) for cell in CELLS),
    *(("recurrent", {"pooling": pooling, **cell}) for cell in CELLS for pooling in ("last", "mean")),
    ("sdae", {}),
]
EXPORTED = [
    ("avg", {"skip_unknown": True}, "float32"),
    ("concatenation", {"part_weights": [0.8, 0.2, 0.4]}, "int8"),
    ("gran", {}, "float32"),
    ("recurrent", {"bidirectional": True, "pooling": "last", "skip_unknown": True}, "int8"),
    ("sdae", {}, "float16"),
]


def name_of(variant):
    return " ".join([variant[0], *(f"{key}={value}" for key, value in variant[1].items()), *variant[2:]])


def make(model_type, settings):
    """A small encoder with all parameters moved away from where they start."""
    given = {"vocab_size": 40, "hidden_size": 6, "initializer_range": 0.8, **settings}
    if model_type == "concatenation":
        given = {"vocab_sizes": [8, 3, 29], "part_size": 6, "initializer_range": 0.8, **settings}
    if model_type in ("recurrent", "sdae"):
        given["embedding_size"] = 4
    torch.manual_seed(3)
    model = model_class(model_type)(config_class(model_type)(**given))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.3)
    return model.eval()


def stored(model, weights="float32"):
    return store_weights({name: value.numpy() for name, value in model.state_dict().items()}, weights)


@pytest.fixture(scope="module", params=EXPORTED, ids=name_of)
def exported(request, tmp_path_factory):
    """A model with rounded weights, and the file of its graph."""
    model_type, settings, weights = request.param
    model = make(model_type, settings)
    matrices = stored(model, weights)
    model.load_state_dict({name: torch.from_numpy(value.rounded()) for name, value in matrices.items()})
    path = tmp_path_factory.mktemp("graph") / "onnx" / "model.onnx"
    save_onnx(model.config, matrices, path)
    return model, path


def scan_in_python(step, carry, steps, reverse=False):
    """`scan` of PyTorch, which compiles its step, as a loop."""
    order = range(len(steps[0]))[:: -1 if reverse else 1]
    states = [None] * len(steps[0])
    for index in order:
        carry, states[index] = step(carry, tuple(values[index] for values in steps))
    return carry, torch.stack(states)


@pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
def test_the_module_that_is_exported_computes_what_the_model_computes(variant, monkeypatch):
    monkeypatch.setattr("torch._higher_order_ops.scan", scan_in_python)
    model = make(*variant)
    graph = GRAPHS[variant[0]](model.config, stored(model))
    for ids, mask in probes(model.config):
        arguments = torch.from_numpy(ids), torch.from_numpy(mask)
        with torch.inference_mode():
            expected, (states, pooled, again) = model(*arguments), graph(*arguments)
        for found, wanted in ((states, expected.last_hidden_state), (pooled, expected.pooler_output)):
            # The states of a GRU have no bound, and large ones are rounded more coarsely.
            largest = max(1.0, np.abs(wanted.numpy()).max(initial=0.0))
            np.testing.assert_allclose(found, wanted, atol=TOLERANCE * largest, rtol=0)
        assert torch.equal(pooled, again)


def test_the_graph_gives_the_vectors_of_the_model_whatever_batch_length_and_padding(exported):
    model, path = exported
    assert 0 <= verify(model, path) <= TOLERANCE * 10


def test_the_graph_has_the_names_that_readers_look_for_and_no_paths_of_this_machine(exported):
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


def test_the_same_model_gives_the_same_file_byte_for_byte(tmp_path):
    model = make("gran", {"bidirectional": True})
    for name in ("first", "second"):
        save_onnx(model.config, stored(model), tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_the_probes_have_padding_anywhere_no_tokens_unknown_words_and_empty_batches():
    config = make("avg", {}).config
    batches = list(probes(config))
    assert {ids.shape for ids, _ in batches} >= {(1, 2), (2, 0)}
    ids, mask = batches[0]
    assert mask[0].all() and not mask[-1].any() and 0 < mask[5].sum() < 40 and (ids[1] == config.unk_token_id).all()


def test_verification_refuses_a_graph_of_other_weights(tmp_path):
    model = make("avg", {})
    save_onnx(model.config, stored(model), tmp_path / "graph")
    for change, problem in ((0.01, r"differs from the model by 0\.0\d+ \(use another version"), (torch.nan, "by nan")):
        with torch.no_grad():
            model.embeddings[5, 2] += change
        with pytest.raises(ModelError, match=problem):
            verify(model, tmp_path / "graph")


def test_a_model_type_without_a_graph_is_refused(tmp_path):
    problem = r"`rnn_search` cannot be exported to ONNX \(use one of avg, concatenation, gran"
    with pytest.raises(ModelError, match=problem):
        save_onnx(RnnSearchConfig(), {}, tmp_path / "graph")


def test_cosines_leave_out_rows_of_zeros():
    first = np.array([[1, 0], [0, 0], [0, 2]], np.float32)
    assert cosines(first, first).tolist() == [1.0, 1.0]
    assert cosines(first, np.array([[1, 0], [1, 1], [3, 3]], np.float32)).min() == pytest.approx(2**-0.5)
    assert cosines(first[:0], first[:0]).shape == (0,)
