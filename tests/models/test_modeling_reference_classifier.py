from __future__ import annotations

import pytest
import torch
from tiny_encoders import new_model

IDS = torch.tensor([[5, 6, 7, 0], [8, 0, 0, 0], [9, 5, 3, 11]])


def alone(model, words):
    """The logits of one sentence without padding, by the layer of torch itself."""
    vectors = model.embeddings[words]
    return model.classifier(vectors.mean(0) if model.config.body == "avg" else model.lstm(vectors)[1][0][0])


@pytest.mark.parametrize("body", ["avg", "lstm"])
def test_logits_equal_those_of_each_sentence_alone_and_the_gradient_of_the_loss_reaches_every_parameter(body):
    size = {"vocab_size": 20, "embedding_size": 6, "hidden_size": 4 if body == "lstm" else None}
    model = new_model("reference_classifier", body=body, **size, initializer_range=0.5).eval()
    labels = torch.tensor([1, 0, 1])
    output = model(IDS, labels=labels)
    for row, ids in enumerate(IDS):
        torch.testing.assert_close(output.logits[row], alone(model, ids[ids != 0]), atol=1e-6, rtol=0)
    expected = -output.logits.softmax(-1)[torch.arange(3), labels].log().mean()
    torch.testing.assert_close(output.loss, expected)
    output.loss.backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in model.parameters())
