from __future__ import annotations

import pytest
import torch
from rnn_search_by_hand import (
    SOURCES,
    TARGETS,
    batch,
    make,
    mask_of,
    naive_encoder,
    naive_logits,
    padded,
)
from torch.nn import functional

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration


def test_annotations_equal_a_per_unit_loop_in_both_directions():
    model = make()
    output = model.encoder(padded(SOURCES), mask_of(SOURCES)).last_hidden_state
    for row, source in zip(output, SOURCES, strict=True):
        torch.testing.assert_close(row[: len(source)], torch.stack(naive_encoder(model, source)), atol=1e-5, rtol=0)


def test_logits_and_attention_equal_a_per_step_loop_written_from_the_equations():
    model = make()
    output = model(**batch(), output_attentions=True)
    for index, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        logits, attention = naive_logits(model, source, target[:-1])
        torch.testing.assert_close(output.logits[index, : len(target)], logits, atol=1e-5, rtol=0)
        weights = output.cross_attentions[0][index, : len(target)]
        torch.testing.assert_close(weights[:, : len(source)], attention, atol=1e-5, rtol=0)
        assert not weights[:, len(source) :].any()


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_never_changes_logits(side):
    model = make()
    together = model(**batch(side, width=12)).logits
    for index, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model(input_ids=torch.tensor([source]), labels=torch.tensor([target])).logits[0]
        torch.testing.assert_close(together[index, : len(target)], alone, atol=3e-6, rtol=0)


def test_label_smoothing_acts_in_training_only():
    plain, smoothed = make(), make(label_smoothing=0.2)
    torch.testing.assert_close(smoothed(**batch()).loss, plain(**batch()).loss)
    log_probs = plain(**batch()).logits.log_softmax(-1)
    labels = batch()["labels"]
    real = labels != -100
    chosen = log_probs.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    expected = -(0.8 * chosen + 0.2 * log_probs.mean(-1))[real].mean()
    torch.testing.assert_close(smoothed.train()(**batch()).loss, expected)


def test_loss_and_gradients_in_training_equal_those_of_the_naive_loop():
    model, naive = make().train(), make()
    output = model(**batch())
    output.loss.backward()
    losses = [
        functional.cross_entropy(naive_logits(naive, source, target[:-1])[0], torch.tensor(target), reduction="sum")
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]
    expected = sum(losses) / sum(map(len, TARGETS))
    expected.backward()
    torch.testing.assert_close(output.loss, expected, atol=1e-5, rtol=0)
    for (name, ours), (_, theirs) in zip(model.named_parameters(), naive.named_parameters(), strict=True):
        torch.testing.assert_close(
            ours.grad, theirs.grad, atol=1e-5, rtol=1e-4, msg=lambda text, name=name: name + text
        )


def test_initial_weights_are_as_documented():
    torch.manual_seed(0)
    sizes = {"vocab_size": 200, "embedding_size": 40, "hidden_size": 60}
    reference = RnnSearchForConditionalGeneration(RnnSearchConfig(**sizes))
    xavier = RnnSearchForConditionalGeneration(RnnSearchConfig(**sizes, initialization="xavier"))
    for model in (reference, xavier):
        for gru in (model.encoder.forward_gru, model.encoder.backward_gru, model.decoder.gru):
            for matrix in (*gru.gate_weight.chunk(2), gru.candidate_weight):
                torch.testing.assert_close(matrix @ matrix.T, torch.eye(60), atol=1e-5, rtol=0)
            assert not gru.candidate_bias.any()
    assert not reference.decoder.attention_vector.any() and xavier.decoder.attention_vector.any()
    assert reference.decoder.attention_key.std().item() == pytest.approx(0.001, rel=0.05)
    assert reference.decoder.context_to_gru.std().item() == pytest.approx(0.01, rel=0.05)
    assert xavier.decoder.embeddings.weight[3:].std().item() == pytest.approx(40**-0.5, rel=0.05)
    # Glorot's bound for one gate of (60, 120), not for the three stacked ones.
    assert xavier.decoder.context_to_gru.abs().max().item() == pytest.approx((6 / 180) ** 0.5, rel=0.01)
