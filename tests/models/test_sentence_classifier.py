from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from tiny_encoders import new_model, with_all_parameters_moved

ENCODERS = {
    "avg": {"vocab_size": 12, "hidden_size": 4},
    "recurrent": {"vocab_size": 12, "hidden_size": 4, "embedding_size": 3},
    "sdae": {"vocab_size": 12, "hidden_size": 4, "embedding_size": 3},
    "concatenation": {"vocab_sizes": [7, 5], "part_size": 2},
}
FIRST = torch.tensor([[2, 3, 9, 4], [5, 0, 0, 0], [0, 0, 0, 0]])
SECOND = torch.tensor([[3, 8], [5, 6], [7, 0]])


def make(encoder="avg", **settings):
    encoder = {"model_type": encoder, "initializer_range": 0.8, **ENCODERS[encoder]}
    return with_all_parameters_moved(new_model("sentence_classifier", seed=2, sentence_encoder=encoder, **settings))


def softmax(values):
    return np.exp(values) / np.exp(values).sum(-1, keepdims=True)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_one_sentence_is_a_linear_layer_on_its_embedding(encoder):
    model = make(encoder, id2label={0: "a", 1: "b", 2: "c"})
    vectors = model.encoder(FIRST).pooler_output.detach().numpy()
    weight, bias = model.classifier.weight.detach().numpy(), model.classifier.bias.detach().numpy()
    logits = model(FIRST).logits
    np.testing.assert_allclose(logits.detach().numpy(), vectors @ weight.T + bias, atol=1e-6)
    loss = model(FIRST, labels=torch.tensor([2, 0, 1])).loss
    expected = -np.log(softmax(logits.detach().numpy())[range(3), [2, 0, 1]]).mean()
    assert loss.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("encoder", ["avg", "recurrent"])
def test_a_pair_is_judged_by_the_equations(encoder, ordered):
    model = make(encoder, pairs=True, ordered=ordered, head_hidden_size=3, id2label={0: "a", 1: "b"})
    u, v = (model.encoder(ids).pooler_output.detach().numpy() for ids in (FIRST, SECOND))
    features = np.concatenate([u * v, abs(u - v), *([u, v] if ordered else [])], axis=1)
    weights = {name: value.detach().numpy() for name, value in model.named_parameters()}
    hidden = 1 / (1 + np.exp(-(features @ weights["hidden.weight"].T + weights["hidden.bias"])))
    logits = model(FIRST, second_input_ids=SECOND).logits
    expected = hidden @ weights["classifier.weight"].T + weights["classifier.bias"]
    np.testing.assert_allclose(logits.detach().numpy(), expected, atol=1e-5)
    masks = {"attention_mask": (FIRST != 0).long(), "second_attention_mask": (SECOND != 0).long()}
    torch.testing.assert_close(model(FIRST, second_input_ids=SECOND, **masks).logits, logits)
    other = model(SECOND, second_input_ids=FIRST).logits
    assert torch.allclose(other, logits, atol=1e-5) != ordered


def test_a_score_is_the_mean_of_a_distribution_and_its_target_has_the_score_as_its_mean():
    model = make(pairs=True, objective="distribution")
    assert model.config.num_labels == 5 and model.config.id2label[4] == "5"
    labels = torch.tensor([3.7, 1.0, 5.0])
    output = model(FIRST, second_input_ids=SECOND, labels=labels)
    found = softmax(output.logits.detach().double().numpy())
    np.testing.assert_allclose(model.scores(output.logits).detach().numpy(), found @ np.arange(1, 6), rtol=1e-5)
    target = np.array([[0, 0, 0.3, 0.7, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    np.testing.assert_allclose(target @ np.arange(1, 6), labels)
    terms = np.where(target > 0, target * np.log(np.where(target > 0, target, 1) / found), 0)
    assert output.loss.item() == pytest.approx(terms.sum() / 3, rel=1e-5)


def test_a_regression_is_in_the_units_of_the_scores_and_its_loss_in_deviations():
    model = make(objective="regression", score_mean=3.0, score_deviation=2.0)
    output = model(FIRST, labels=torch.tensor([1.0, 2.0, 5.0]))
    scores = model.scores(output.logits)
    raw = model.classifier(model.encoder(FIRST).pooler_output).squeeze(1)
    torch.testing.assert_close(scores, 3 + 2 * raw)
    expected = (((scores - torch.tensor([1.0, 2.0, 5.0])) / 2) ** 2).mean()
    assert output.loss.item() == pytest.approx(expected.item(), rel=1e-5)


ELSEWHERE = ["other/repository--modeling_avg.AvgModel", None]
REFUSED = """
import sys
from transformers import AutoModelForSequenceClassification
for name in sys.argv[1:]:
    try:
        AutoModelForSequenceClassification.from_pretrained(name, trust_remote_code=True)
    except ValueError as error:
        assert "does not name the encoder's code in this folder" in str(error), error
    else:
        raise AssertionError(name)
"""


def test_code_of_an_encoder_that_is_elsewhere_is_not_run(tmp_path, run_python):
    for number, reference in enumerate(ELSEWHERE):
        make().save_pretrained(tmp_path / str(number))
        path = tmp_path / str(number) / "config.json"
        settings = json.loads(path.read_text())
        settings["sentence_encoder"]["auto_map"]["AutoModel"] = reference
        path.write_text(json.dumps(settings))
    result = run_python(REFUSED, *range(len(ELSEWHERE)), folder=tmp_path)
    assert result.returncode == 0, result.stderr
