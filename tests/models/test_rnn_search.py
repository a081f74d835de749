"""RNNsearch, one unit at a time (Bahdanau et al. 2015, appendix A, in the reference form)."""

from __future__ import annotations

import pytest
import torch
from padded_rows import labels_of, padded
from tiny_encoders import new_model, with_all_parameters_moved
from torch.nn import functional

HIDDEN, EMBEDDING, ATTENTION, READOUT, VOCABULARY, SOURCE_VOCABULARY = 6, 4, 5, 8, 9, 11


def make(seed=0, **settings):
    sizes = {
        "vocab_size": VOCABULARY,
        "source_vocab_size": SOURCE_VOCABULARY,
        "embedding_size": EMBEDDING,
        "hidden_size": HIDDEN,
        "attention_size": ATTENTION,
        "readout_size": READOUT,
        "initialization": "xavier",
    }
    return with_all_parameters_moved(new_model("rnn_search", seed=seed, **{**sizes, **settings}))


SOURCES = [[3, 4, 5, 6, 2], [7, 2], [8, 9, 10, 2]]
TARGETS = [[3, 4, 2], [5, 6, 7, 8, 2], [2]]


def batch(*, left=False, width=5):
    ids, mask = padded(SOURCES, width, left=left)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels_of(TARGETS, 5)}


def naive_gru(gru, embedded, state, extra=None):
    """h' = z h~ + (1 - z) h; the reset acts on h before U; only the candidate has a bias."""
    size = gru.size
    w_reset, w_update, w = gru.input_weight[:size], gru.input_weight[size : 2 * size], gru.input_weight[2 * size :]
    u_reset, u_update = gru.gate_weight[:size], gru.gate_weight[size:]
    c_reset, c_update, c = (0.0, 0.0, 0.0) if extra is None else extra
    reset = torch.sigmoid(w_reset @ embedded + u_reset @ state + c_reset)
    update = torch.sigmoid(w_update @ embedded + u_update @ state + c_update)
    candidate = torch.tanh(w @ embedded + gru.candidate_weight @ (reset * state) + gru.candidate_bias + c)
    return update * candidate + (1 - update) * state


def naive_encoder(model, source):
    encoder = model.encoder
    states = []
    for gru, units in ((encoder.forward_gru, source), (encoder.backward_gru, source[::-1])):
        states.append([torch.zeros(HIDDEN)])
        for unit in units:
            states[-1].append(naive_gru(gru, encoder.embeddings.weight[unit], states[-1][-1]))
    return [torch.cat(both) for both in zip(states[0][1:], states[1][:0:-1], strict=True)]


def naive_logits(model, source, previous_words):
    """Logits of every step and the attention; `previous_words` does not hold the start token."""
    decoder = model.decoder
    annotations = naive_encoder(model, source)
    state = torch.tanh(decoder.start.weight @ annotations[0][HIDDEN:] + decoder.start.bias)
    logits, attention = [], []
    for step in range(len(previous_words) + 1):
        energies = [
            decoder.attention_vector @ torch.tanh(decoder.attention_query @ state + decoder.attention_key @ annotation)
            for annotation in annotations
        ]
        weights = torch.softmax(torch.stack(energies), 0)
        context = sum(weight * annotation for weight, annotation in zip(weights, annotations, strict=True))
        readout = decoder.context_to_readout @ context + decoder.state_to_readout.weight @ state
        readout = readout + decoder.state_to_readout.bias
        if step > 0:
            word = decoder.embeddings.weight[previous_words[step - 1]]
            readout = readout + decoder.word_to_readout.weight @ word
        maxout = torch.stack([torch.max(readout[2 * k], readout[2 * k + 1]) for k in range(READOUT // 2)])
        logits.append(model.lm_head.weight @ (decoder.readout_to_output.weight @ maxout) + model.lm_head.bias)
        attention.append(weights)
        if step < len(previous_words):
            word = decoder.embeddings.weight[previous_words[step]]
            extra = (decoder.context_to_gru @ context).split(HIDDEN)
            state = naive_gru(decoder.gru, word, state, extra)
    return torch.stack(logits), torch.stack(attention)


def test_logits_attention_and_gradients_equal_those_of_a_loop_written_from_the_equations():
    model, naive = make().train(), make()
    output = model(**batch(), output_attentions=True)
    loss = 0
    for index, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        logits, attention = naive_logits(naive, source, target[:-1])
        torch.testing.assert_close(output.logits[index, : len(target)], logits, atol=1e-5, rtol=0)
        weights = output.cross_attentions[0][index, : len(target)]
        torch.testing.assert_close(weights[:, : len(source)], attention, atol=1e-5, rtol=0)
        assert not weights[:, len(source) :].any()
        loss = loss + functional.cross_entropy(logits, torch.tensor(target), reduction="sum")
    loss = loss / sum(map(len, TARGETS))
    torch.testing.assert_close(output.loss, loss, atol=1e-5, rtol=0)
    output.loss.backward()
    loss.backward()
    for (name, ours), (_, theirs) in zip(model.named_parameters(), naive.named_parameters(), strict=True):
        torch.testing.assert_close(
            ours.grad, theirs.grad, atol=1e-5, rtol=1e-4, msg=lambda text, name=name: name + text
        )


@pytest.mark.parametrize("left", [True, False])
def test_padding_on_either_side_never_changes_logits(left):
    model = make()
    together = model(**batch(left=left, width=12)).logits
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


def test_initial_weights_are_as_documented():
    sizes = {"vocab_size": 200, "embedding_size": 40, "hidden_size": 60}
    reference, xavier = (new_model("rnn_search", **sizes, initialization=name) for name in ("reference", "xavier"))
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
