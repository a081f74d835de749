"""Small RNNsearch models, and one unit at a time (Bahdanau et al. 2015, appendix A, in the reference form)."""

from __future__ import annotations

import torch

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration

PAD, START, END = 0, 1, 2
HIDDEN, EMBEDDING, ATTENTION, READOUT, VOCABULARY, SOURCE_VOCABULARY = 6, 4, 5, 8, 9, 11


def make(seed=0, **settings):
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": VOCABULARY,
        "source_vocab_size": SOURCE_VOCABULARY,
        "embedding_size": EMBEDDING,
        "hidden_size": HIDDEN,
        "attention_size": ATTENTION,
        "readout_size": READOUT,
        "initialization": "xavier",
    }
    model = RnnSearchForConditionalGeneration(RnnSearchConfig(**{**sizes, **settings})).eval()
    with torch.no_grad():  # zero biases and tiny weights would hide mistakes in the equations
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model


SOURCES = [[3, 4, 5, 6, 2], [7, 2], [8, 9, 10, 2]]
TARGETS = [[3, 4, 2], [5, 6, 7, 8, 2], [2]]


def padded(rows, value=PAD, side="right", width=None):
    width = width or max(map(len, rows))
    return torch.tensor(
        [row + [value] * (width - len(row)) if side == "right" else [value] * (width - len(row)) + row for row in rows]
    )


def mask_of(rows, side="right", width=None):
    return padded([[1] * len(row) for row in rows], 0, side, width)


def batch(side="right", width=None):
    return {
        "input_ids": padded(SOURCES, PAD, side, width),
        "attention_mask": mask_of(SOURCES, side, width),
        "labels": padded(TARGETS, -100),
    }


def naive_gru(gru, embedded, state, extra=None):
    """h' = z h~ + (1 - z) h; the reset acts on h before U; only the candidate has a bias."""
    size = gru.hidden_size
    w_reset, w_update, w = gru.input_weight[:size], gru.input_weight[size : 2 * size], gru.input_weight[2 * size :]
    u_reset, u_update = gru.gate_weight[:size], gru.gate_weight[size:]
    c_reset, c_update, c = (0.0, 0.0, 0.0) if extra is None else extra
    reset = torch.sigmoid(w_reset @ embedded + u_reset @ state + c_reset)
    update = torch.sigmoid(w_update @ embedded + u_update @ state + c_update)
    candidate = torch.tanh(w @ embedded + gru.candidate_weight @ (reset * state) + gru.candidate_bias + c)
    return update * candidate + (1 - update) * state


def naive_encoder(model, source):
    encoder = model.encoder
    vectors = [encoder.embeddings.weight[unit] for unit in source]
    ahead, back = [], []
    state = torch.zeros(HIDDEN)
    for vector in vectors:
        state = naive_gru(encoder.forward_gru, vector, state)
        ahead.append(state)
    state = torch.zeros(HIDDEN)
    for vector in reversed(vectors):
        state = naive_gru(encoder.backward_gru, vector, state)
        back.append(state)
    return [torch.cat([a, b]) for a, b in zip(ahead, reversed(back), strict=True)]


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
