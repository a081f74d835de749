from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest
import torch
from torch.nn import functional
from transformers import AutoConfig, AutoModelForSeq2SeqLM
from transformers.modeling_outputs import BaseModelOutput

from hf_paraphrase.models.rnn_search import RnnSearchConfig, RnnSearchForConditionalGeneration

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


# ----- the reference: Bahdanau et al. 2015, appendix A, in the form of the reference code, one unit at a time


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


def test_the_start_token_contributes_no_embedding():
    model = make()
    before = model(**batch()).logits
    with torch.no_grad():
        model.decoder.embeddings.weight[START] = 99.0
    torch.testing.assert_close(model(**batch()).logits, before)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_never_changes_logits(side):
    model = make()
    together = model(**batch(side, width=12)).logits
    for index, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = model(input_ids=torch.tensor([source]), labels=torch.tensor([target])).logits[0]
        torch.testing.assert_close(together[index, : len(target)], alone, atol=1e-6, rtol=0)


def test_loss_is_the_mean_negative_log_likelihood_over_real_target_units():
    model = make()
    total = 0.0
    for source, target in zip(SOURCES, TARGETS, strict=True):
        logits, _ = naive_logits(model, source, target[:-1])
        total -= sum(logits.log_softmax(-1)[step, unit] for step, unit in enumerate(target))
    torch.testing.assert_close(model(**batch()).loss, total / sum(map(len, TARGETS)), atol=1e-5, rtol=0)


def test_label_smoothing_acts_in_training_only():
    plain, smoothed = make(), make(label_smoothing=0.2)
    torch.testing.assert_close(smoothed(**batch()).loss, plain(**batch()).loss)
    log_probs = plain(**batch()).logits.log_softmax(-1)
    labels = batch()["labels"]
    real = labels != -100
    chosen = log_probs.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    expected = -(0.8 * chosen + 0.2 * log_probs.mean(-1))[real].mean()
    torch.testing.assert_close(smoothed.train()(**batch()).loss, expected)


def test_dropout_acts_in_training_only():
    model = make(dropout=0.5)
    assert not torch.equal(model.train()(**batch()).logits, model(**batch()).logits)
    model.eval()
    torch.testing.assert_close(model(**batch()).logits, make()(**batch()).logits)


def test_gradients_equal_those_of_the_naive_loop():
    model, naive = make(), make()
    model(**batch()).loss.backward()
    losses = [
        functional.cross_entropy(naive_logits(naive, source, target[:-1])[0], torch.tensor(target), reduction="sum")
        for source, target in zip(SOURCES, TARGETS, strict=True)
    ]
    (sum(losses) / sum(map(len, TARGETS))).backward()
    for (name, ours), (_, theirs) in zip(model.named_parameters(), naive.named_parameters(), strict=True):
        torch.testing.assert_close(
            ours.grad, theirs.grad, atol=1e-5, rtol=1e-4, msg=lambda text, name=name: name + text
        )


# ----- saving and loading


@pytest.mark.parametrize("initialization", ["reference", "xavier"])
@pytest.mark.parametrize("tying", ["none", "output", "all"])
def test_save_and_load_gives_equal_outputs_through_the_auto_class(tmp_path, initialization, tying):
    settings = {
        "none": {},
        "output": {"tie_word_embeddings": True},
        "all": {"tie_word_embeddings": True, "share_embeddings": True, "source_vocab_size": VOCABULARY},
    }[tying]
    torch.manual_seed(3)
    config = RnnSearchConfig(
        **{"vocab_size": VOCABULARY, "source_vocab_size": SOURCE_VOCABULARY, "embedding_size": 4, "hidden_size": 6}
        | settings,
        initialization=initialization,
    )
    model = RnnSearchForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    model.save_pretrained(tmp_path)
    loaded, report = AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert type(loaded) is RnnSearchForConditionalGeneration
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids = torch.tensor([[3, 4, 5, 2]])
    labels = torch.tensor([[5, 2]])
    weights = loaded.state_dict()
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in model.state_dict().items())
    torch.testing.assert_close(loaded(ids, labels=labels).logits, model(ids, labels=labels).logits)
    assert torch.equal(loaded.generate(ids, num_beams=2, max_length=6), model.generate(ids, num_beams=2, max_length=6))
    assert (loaded.lm_head.weight is loaded.decoder.embeddings.weight) == (tying != "none")
    assert (loaded.encoder.embeddings.weight is loaded.decoder.embeddings.weight) == (tying == "all")


def test_tied_embeddings_are_stored_once_and_counted_once(tmp_path):
    from safetensors import safe_open

    model = make(tie_word_embeddings=True, share_embeddings=True, source_vocab_size=VOCABULARY)
    model.save_pretrained(tmp_path)
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        shapes = [tuple(file.get_tensor(name).shape) for name in file.keys()]  # noqa: SIM118
    assert shapes.count((VOCABULARY, EMBEDDING)) == 1
    untied = make(source_vocab_size=VOCABULARY)
    assert untied.num_parameters() - model.num_parameters() == 2 * VOCABULARY * EMBEDDING


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


SCRIPT = """
import sys, torch
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "hf_paraphrase":
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from transformers import AutoModelForSeq2SeqLM
model = AutoModelForSeq2SeqLM.from_pretrained("model", trust_remote_code=True).eval()
assert model.__class__.__module__.startswith("transformers_modules")
expected = torch.load("expected.pt", weights_only=True)
ids, mask = torch.tensor([[3, 4, 5, 2], [6, 2, 0, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
labels = torch.tensor([[5, 2], [4, 2]])
torch.testing.assert_close(model(ids, mask, labels=labels).logits, expected["logits"], atol=1e-6, rtol=0)
found = model.generate(ids, attention_mask=mask, num_beams=3, num_return_sequences=3, max_length=6)
assert torch.equal(found, expected["nbest"])
assert "hf_paraphrase" not in sys.modules
"""


def test_the_code_travels_with_the_weights_to_where_the_package_is_not(tmp_path):
    model = make(tie_word_embeddings=True, share_embeddings=True, source_vocab_size=VOCABULARY)
    model.save_pretrained(tmp_path / "model")
    ids, mask = torch.tensor([[3, 4, 5, 2], [6, 2, 0, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    with torch.inference_mode():
        expected = {
            "logits": model(ids, mask, labels=torch.tensor([[5, 2], [4, 2]])).logits.clone(),
            "nbest": model.generate(ids, attention_mask=mask, num_beams=3, num_return_sequences=3, max_length=6),
        }
    torch.save(expected, tmp_path / "expected.pt")
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


# ----- generation


def nbest(model, ids, mask=None, **settings):
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids) if mask is None else mask,
        **{"length_penalty": 0.0, "do_sample": False, "return_dict_in_generate": True, "output_scores": True}
        | settings,
    )
    sequences = []
    for row in output.sequences[:, 1:].tolist():
        sequences.append(tuple(row[: row.index(END) + 1] if END in row else row))
    scores = output.sequences_scores.tolist() if output.get("sequences_scores") is not None else None
    return sequences, scores


@torch.no_grad()
def brute_force(model, source, vocabulary, max_new):
    """All sequences that end in the end token or are cut at `max_new` units, best total log-probability first."""
    found = {}
    for length in range(1, max_new + 1):
        for units in itertools.product(range(vocabulary), repeat=length):
            if END in units[:-1] or (units[-1] != END and length < max_new):
                continue
            found[units] = None
    logits = {}
    for units in found:
        total = 0.0
        for step, unit in enumerate(units):
            prefix = units[:step]
            if prefix not in logits:
                decoder_ids = torch.tensor([[START, *prefix]])
                logits[prefix] = model(torch.tensor([source]), decoder_input_ids=decoder_ids).logits[0, -1]
                logits[prefix] = logits[prefix].log_softmax(-1)
            total += float(logits[prefix][unit])
        found[units] = total
    return sorted(found.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_beam_search_equals_brute_force_on_a_tiny_vocabulary(seed):
    vocabulary, longest, beams = 5, 3, 30
    model = make(seed, vocab_size=vocabulary, source_vocab_size=VOCABULARY)
    sources = [[3, 4, 5, 2], [6, 2]]
    sequences, scores = nbest(
        model,
        padded(sources),
        mask_of(sources),
        num_beams=beams,
        num_return_sequences=beams,
        max_new_tokens=longest,
        early_stopping=False,
    )
    for index, source in enumerate(sources):
        expected = brute_force(model, source, vocabulary, longest)[:beams]
        own = slice(index * beams, (index + 1) * beams)
        assert sequences[own] == [units for units, _ in expected]
        assert scores[own] == pytest.approx([score for _, score in expected], abs=2e-5)


@pytest.mark.parametrize("beams", [1, 3, 8])
def test_decoding_with_and_without_the_cache_agree(beams):
    model = make(1)
    ids, mask = padded(SOURCES), mask_of(SOURCES)
    settings = {"num_beams": beams, "num_return_sequences": beams, "max_new_tokens": 8}
    with_cache, scores = nbest(model, ids, mask, **settings, use_cache=True)
    without_cache, other_scores = nbest(model, ids, mask, **settings, use_cache=False)
    assert with_cache == without_cache
    if beams > 1:
        assert scores == pytest.approx(other_scores, abs=1e-5)


def test_stepping_with_the_cache_equals_one_forward_pass():
    model = make()
    words = torch.tensor([[START, 3, 5, 4], [START, 6, 6, 7], [START, 8, 3, 2]])
    ids, mask = padded(SOURCES), mask_of(SOURCES)
    whole = model(ids, mask, decoder_input_ids=words).logits
    cache, steps = None, []
    for position in range(words.shape[1]):
        output = model(
            ids, mask, decoder_input_ids=words[:, position : position + 1], past_key_values=cache, use_cache=True
        )
        cache = output.past_key_values
        steps.append(output.logits)
        assert cache.get_seq_length() == position + 1
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=1e-6, rtol=0)


def test_greedy_search_takes_the_most_probable_unit_at_every_step():
    model = make(2)
    sequences, _ = nbest(model, padded(SOURCES), mask_of(SOURCES), num_beams=1, max_new_tokens=7)
    for source, found in zip(SOURCES, sequences, strict=True):
        expected = []
        while len(expected) < 7 and END not in expected:
            expected.append(int(naive_logits(model, source, expected)[0][-1].argmax()))
        assert found[: len(expected)] == tuple(expected)


def test_scores_of_the_nbest_list_equal_teacher_forcing():
    model = make(2)
    for beams in (2, 5):
        sequences, scores = nbest(
            model, padded(SOURCES), mask_of(SOURCES), num_beams=beams, num_return_sequences=beams, max_new_tokens=9
        )
        for index, (units, score) in enumerate(zip(sequences, scores, strict=True)):
            if score < -1e8:
                continue  # filling, where there are fewer hypotheses than asked for
            labels = torch.tensor([list(units)])
            output = model(torch.tensor([SOURCES[index // beams]]), labels=labels)
            assert score == pytest.approx(-output.loss.item() * len(units), abs=2e-5)


def test_sampling_follows_the_seed_and_the_models_probabilities():
    model = make(3)
    ids = torch.tensor([SOURCES[0]])
    draws = 2_000
    torch.manual_seed(5)
    first = model.generate(ids, do_sample=True, top_k=0, num_return_sequences=draws, max_new_tokens=1)[:, 1]
    torch.manual_seed(5)
    assert torch.equal(
        first, model.generate(ids, do_sample=True, top_k=0, num_return_sequences=draws, max_new_tokens=1)[:, 1]
    )
    probabilities = naive_logits(model, SOURCES[0], [])[0][0].softmax(-1)
    frequencies = torch.bincount(first, minlength=VOCABULARY) / draws
    torch.testing.assert_close(frequencies, probabilities, atol=0.05, rtol=0)


@pytest.mark.parametrize("kind", [BaseModelOutput, tuple, "own"])
def test_generating_twice_from_the_same_encoder_output_gives_the_same(kind):
    model = make(4)
    ids, mask = padded(SOURCES), mask_of(SOURCES)
    own = model.encoder(ids, mask)
    outputs = own if kind == "own" else BaseModelOutput(last_hidden_state=own.last_hidden_state)
    settings = {"num_beams": 3, "num_return_sequences": 3, "max_new_tokens": 6}
    _, scores = nbest(model, ids, mask, **settings)
    if kind is tuple:
        from_tuple = model(encoder_outputs=(own.last_hidden_state,), attention_mask=mask, labels=batch()["labels"])
        torch.testing.assert_close(from_tuple.logits, model(**batch()).logits)
        return
    for _ in range(2):
        found = model.generate(
            encoder_outputs=outputs,
            attention_mask=mask,
            length_penalty=0.0,
            return_dict_in_generate=True,
            output_scores=True,
            **settings,
        )
        assert found.sequences_scores.tolist() == pytest.approx(scores, abs=1e-5)
        assert outputs.last_hidden_state.shape[0] == len(SOURCES)


def test_the_batch_does_not_change_a_sentences_nbest_list():
    model = make(6)
    settings = {"num_beams": 4, "num_return_sequences": 4, "max_new_tokens": 6}
    together, scores = nbest(model, padded(SOURCES, width=9), mask_of(SOURCES, width=9), **settings)
    for index, source in enumerate(SOURCES):
        alone, own_scores = nbest(model, torch.tensor([source]), **settings)
        assert together[4 * index : 4 * index + 4] == alone
        assert scores[4 * index : 4 * index + 4] == pytest.approx(own_scores, abs=1e-5)


def test_generation_returns_the_attention_of_every_step():
    model = make()
    ids = torch.tensor([SOURCES[0]])
    output = model.generate(
        ids, max_new_tokens=4, min_new_tokens=4, return_dict_in_generate=True, output_attentions=True
    )
    assert len(output.cross_attentions) == 4
    for step in output.cross_attentions:
        torch.testing.assert_close(step[0].sum(-1), torch.ones(1, 1))


# ----- errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"readout_size": 7}, "readout_size=7 must be even"),
        ({"hidden_size": 7}, "readout_size=7 must be even"),
        ({"share_embeddings": True}, "needs tie_word_embeddings=True"),
        (
            {"share_embeddings": True, "tie_word_embeddings": True, "vocab_size": 9, "source_vocab_size": 10},
            "one vocabulary for both sides",
        ),
        ({"initialization": "zeros"}, "must be 'reference' or 'xavier'"),
    ],
)
def test_configurations_that_do_not_fit_together_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        RnnSearchConfig(**settings)


def test_sizes_that_follow_from_others_are_filled_in_and_survive_saving(tmp_path):
    config = RnnSearchConfig(vocab_size=50, hidden_size=10, source_lang="fr", target_lang="en")
    assert (config.attention_size, config.readout_size, config.source_vocab_size) == (10, 10, 50)
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert type(loaded) is RnnSearchConfig
    assert {**loaded.to_dict(), "_name_or_path": ""} == config.to_dict()


def test_forward_says_which_inputs_are_missing():
    model = make()
    with pytest.raises(ValueError, match="input_ids or encoder_outputs"):
        model(labels=torch.tensor([[3, 2]]))
    with pytest.raises(ValueError, match="decoder_input_ids or labels"):
        model(input_ids=torch.tensor([[3, 2]]))
