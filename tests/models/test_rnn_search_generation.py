from __future__ import annotations

import itertools

import pytest
import torch
from rnn_search_by_hand import (
    END,
    SOURCES,
    START,
    VOCABULARY,
    make,
    mask_of,
    padded,
)


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


@pytest.mark.parametrize("seed", [0, 1])
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


@pytest.mark.parametrize("beams", [1, 3])
def test_decoding_with_and_without_the_cache_agree(beams):
    model = make(1)
    ids, mask = padded(SOURCES), mask_of(SOURCES)
    settings = {"num_beams": beams, "num_return_sequences": beams, "max_new_tokens": 8}
    with_cache, scores = nbest(model, ids, mask, **settings, use_cache=True)
    without_cache, other_scores = nbest(model, ids, mask, **settings, use_cache=False)
    assert with_cache == without_cache
    if beams > 1:
        assert scores == pytest.approx(other_scores, abs=1e-5)


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
