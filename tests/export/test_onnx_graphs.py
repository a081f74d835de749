from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from exported_models import MAIN, SKIPPING, VARIANTS, graph_of, make, name_of, stored

from hf_paraphrase.errors import ModelError
from hf_paraphrase.export import onnx_model
from hf_paraphrase.export.graph_builder import OPSET
from hf_paraphrase.export.onnx_model import build_onnx, save_onnx
from hf_paraphrase.export.verification import TOLERANCE, lowest_cosine, probes, verify
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig

OUTPUTS = ["last_hidden_state", "pooler_output", "sentence_embedding"]


def session_of(graph):
    return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def run(session, ids, mask, outputs=OUTPUTS):
    return session.run(list(outputs), {"input_ids": np.asarray(ids), "attention_mask": np.asarray(mask)})


def assert_near(found, expected):
    """The states of a GRU have no bound, and large ones are rounded more coarsely."""
    expected = expected.numpy()
    assert found.dtype == expected.dtype == np.float32
    largest = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, atol=TOLERANCE * largest, rtol=0)


@pytest.mark.parametrize("variant", [*VARIANTS, *SKIPPING], ids=name_of)
def test_the_graph_gives_the_vectors_of_the_model_whatever_batch_length_and_padding(variant):
    model = make(variant)
    session = session_of(graph_of(model))
    for ids, mask in probes(model.config):
        with torch.inference_mode():
            expected = model(torch.from_numpy(ids), torch.from_numpy(mask))
        states, pooled, again = run(session, ids, mask)
        assert_near(states, expected.last_hidden_state)
        assert_near(pooled, expected.pooler_output)
        np.testing.assert_array_equal(pooled, again)


def test_the_probes_have_every_kind_of_batch_and_are_always_the_same():
    config = make(("avg", {})).config
    batches = probes(config)
    shapes = {ids.shape for ids, _ in batches}
    assert {shape[0] for shape in shapes} >= {0, 1, 2} and (2, 0) in shapes
    masks = [mask for _, mask in batches]
    assert any(row[0] == 0 and row[-1] == 1 for mask in masks for row in mask.tolist() if row)
    assert any((mask.sum(1) == 0).any() and mask.any() for mask in masks)
    assert any((ids == config.unk_token_id)[mask == 1].any() for ids, mask in batches)
    for (ids, mask), (others, other_mask) in zip(batches, probes(config), strict=True):
        np.testing.assert_array_equal(ids, others)
        np.testing.assert_array_equal(mask, other_mask)


@pytest.mark.parametrize("variant", MAIN, ids=name_of)
@pytest.mark.parametrize("weights", ["float16", "int8"])
def test_a_graph_with_rounded_weights_is_the_model_with_these_weights(variant, weights):
    model = make(variant)
    session = session_of(graph_of(model, weights))
    rounded = stored(model, weights).rounded()
    assert any(not np.array_equal(rounded[name], value.numpy()) for name, value in model.state_dict().items())
    model.load_state_dict({name: torch.from_numpy(value) for name, value in rounded.items()})
    for ids, mask in probes(model.config):
        with torch.inference_mode():
            expected = model(torch.from_numpy(ids), torch.from_numpy(mask)).pooler_output
        assert_near(run(session, ids, mask)[1], expected)


@pytest.mark.parametrize("variant", [*MAIN, ("gran", {"bidirectional": True})], ids=name_of)
def test_what_stands_at_padding_and_who_shares_the_batch_changes_nothing(variant):
    session = session_of(graph_of(make(variant, size=32)))
    generator = np.random.default_rng(1)
    lengths = [4, 1, 0, 11]
    alone = [generator.integers(0, 40, (1, length)) for length in lengths]
    expected = np.concatenate([run(session, ids, np.ones_like(ids))[1] for ids in alone])
    ids, mask = generator.integers(0, 40, (4, 30)), np.zeros((4, 30), np.int64)
    for row, tokens in enumerate(alone):
        places = np.sort(generator.choice(30, lengths[row], replace=False))
        ids[row, places], mask[row, places] = tokens[0], 1
    np.testing.assert_allclose(run(session, ids, mask)[1], expected, atol=1e-6, rtol=0)
    assert not expected[2].any()


@pytest.mark.parametrize("variant", [*MAIN, ("recurrent", {"bidirectional": True, "skip_unknown": True})], ids=name_of)
def test_the_graph_keeps_to_the_standard_and_to_the_names_that_readers_look_for(variant):
    graph = graph_of(make(variant))
    onnx.checker.check_model(graph, full_check=True)
    assert [(item.domain, item.version) for item in graph.opset_import] == [("", OPSET)]
    session = session_of(graph)
    dim = 18 if variant[0] == "concatenation" else 6
    axes = ["batch_size", "sequence_length"]
    inputs = {item.name: (item.type, item.shape) for item in session.get_inputs()}
    assert inputs == {"input_ids": ("tensor(int64)", axes), "attention_mask": ("tensor(int64)", axes)}
    assert [item.name for item in session.get_outputs()] == OUTPUTS
    shapes = [item.shape for item in session.get_outputs()]
    assert shapes == [[*axes, dim], ["batch_size", dim], ["batch_size", dim]]


def test_the_mean_of_the_token_vectors_over_the_tokens_is_the_embedding():
    for variant in MAIN:
        session = session_of(graph_of(make(variant)))
        ids, mask = probes(make(variant).config)[0]
        states, pooled, _ = run(session, ids, mask)
        means = (states * mask[..., None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]
        np.testing.assert_allclose(means, pooled, atol=1e-5)


@pytest.mark.parametrize("weights", ["float32", "int8"])
def test_large_constants_go_to_a_file_beside_the_graph(tmp_path, monkeypatch, weights):
    model = make(("gran", {}), size=40)
    (single,) = save_onnx(graph_of(model, weights), tmp_path / "single")
    monkeypatch.setattr(onnx_model, "_LARGEST_FILE", 1000)
    files = save_onnx(graph_of(model, weights), tmp_path / "split")
    assert [path.name for path in files] == ["model.onnx", "model.onnx_data"]
    assert sorted(files) == sorted(path for path in (tmp_path / "split").rglob("*") if path.is_file())
    assert sum(path.stat().st_size for path in files) == pytest.approx(single.stat().st_size, rel=0.2)
    # It is opened where it lies after the folder was renamed.
    (tmp_path / "split").rename(tmp_path / "renamed")
    sessions = [
        onnxruntime.InferenceSession(tmp_path / name / "onnx" / "model.onnx") for name in ("single", "renamed")
    ]
    ids, mask = probes(model.config)[0]
    np.testing.assert_array_equal(*(run(session, ids, mask)[1] for session in sessions))


def test_int8_and_float16_shrink_the_file_to_a_quarter_and_a_half(tmp_path):
    model = make(("avg", {}), size=300)
    sizes = {
        weights: save_onnx(graph_of(model, weights), tmp_path / weights)[0].stat().st_size
        for weights in ("float32", "float16", "int8")
    }
    parameters = 40 * 300
    assert sizes["float32"] == pytest.approx(4 * parameters, rel=0.1)
    assert sizes["float16"] == pytest.approx(2 * parameters, rel=0.1)
    assert sizes["int8"] == pytest.approx(parameters + 4 * 40, rel=0.2)


def test_the_same_model_gives_the_same_file_byte_for_byte():
    first, second = (graph_of(make(("gran", {"bidirectional": True})), "int8") for _ in range(2))
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)


def test_verification_reports_the_difference_and_refuses_a_graph_of_other_weights(tmp_path):
    model = make(("gran", {}))
    (path,) = save_onnx(graph_of(model), tmp_path)
    found = verify(model, path)
    assert 0 < found.largest_difference <= TOLERANCE
    assert found.batches == len(probes(model.config)) and found.sentences > 20
    with torch.no_grad():
        model.embeddings[5, 2] += 0.01
    with pytest.raises(ModelError, match=r"differs from the model by 0\.0\d+ \(use another version of onnxruntime"):
        verify(model, path)
    with torch.no_grad():
        model.embeddings[5, 2] = torch.nan
    with pytest.raises(ModelError, match="by nan"):
        verify(model, path)


def test_a_model_type_without_a_graph_is_refused():
    with pytest.raises(ModelError, match=r"`rnn_search` cannot be exported to ONNX \(one of avg, concatenation, gran"):
        build_onnx(RnnSearchConfig(), stored(make(("avg", {}))))


def test_the_lowest_cosine_leaves_out_rows_of_zeros():
    first = np.array([[1, 0], [0, 0], [0, 2]], np.float32)
    assert lowest_cosine(first, first) == 1.0
    assert lowest_cosine(first, np.array([[1, 0], [1, 1], [3, 3]], np.float32)) == pytest.approx(2**-0.5)
    assert lowest_cosine(first[:0], first[:0]) == 1.0
