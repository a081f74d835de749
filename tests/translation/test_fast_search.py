from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_encoders import new_translator
from transformers import LogitsProcessorList

from hf_paraphrase.models import stepwise_decoder
from hf_paraphrase.models.stepwise_decoder import SourceProjections, StepwiseDecoder
from hf_paraphrase.translation import fast_search
from hf_paraphrase.translation.beam_search import SentenceLengths
from hf_paraphrase.translation.fast_search import CUT, best_continuations, fast_beam_search, log_normalizers

START, END = 1, 2


def make(seed=0, end_bias=0.0, vocab_size=12, std=0.8):
    model = new_translator(vocab_size, seed=seed, std=std, initialization="reference")
    with torch.no_grad():
        model.lm_head.bias[END] += end_bias
    return model


def sources(lengths, vocab_size=12, seed=0):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.zeros((len(lengths), max(lengths)), dtype=torch.long)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(3, vocab_size, (length,), generator=generator)
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def search(model, batch, *, num_beams, limits=None, plain=False, **settings):
    """Searches, by `generate` if asked; returns lists of (units, score) of the hypotheses that end."""
    limits = limits or [9] * len(batch["input_ids"])
    if plain:
        settings |= {"num_beams": num_beams, "num_return_sequences": num_beams, "max_new_tokens": max(limits) + 1}
        settings |= {"do_sample": False, "output_scores": True, "return_dict_in_generate": True}
        minimums = settings.pop("minimums", None)
        lengths = LogitsProcessorList([SentenceLengths(limits, num_beams, 1, [END], minimums)])
        output = model.generate(**batch, **settings, logits_processor=lengths)
        size = len(limits), num_beams
        units, scores = output.sequences[:, 1:].unflatten(0, size), output.sequences_scores.view(size)
    else:
        units, scores = fast_beam_search(model, **batch, num_beams=num_beams, limits=limits, ends=[END], **settings)
    return [
        [(tuple(row[: row.index(END) + 1]), score) for row, score in zip(*found, strict=True) if score > -1e4]
        for found in zip(units.tolist(), scores.tolist(), strict=True)
    ]


def assert_same(found, expected):
    for own, other in zip(found, expected, strict=True):
        assert [units for units, _ in own] == [units for units, _ in other]
        assert [score for _, score in own] == pytest.approx([score for _, score in other], abs=1e-4, rel=1e-6)


@pytest.mark.parametrize(("num_beams", "length_penalty"), [(2, 1.0), (3, 0.0), (7, -0.5), (50, 1.0)])
def test_lists_and_scores_equal_those_of_plain_generate(num_beams, length_penalty):
    lengths_found = set()
    for seed, lengths in enumerate([[3], [1, 5, 2], [4, 4], [7, 1, 1, 2, 6]]):
        model, batch = make(seed, end_bias=1.0), sources(lengths, seed=seed)
        limits = [3 + length for length in lengths]
        settings = {"num_beams": num_beams, "limits": limits, "length_penalty": length_penalty}
        expected = search(model, batch, plain=True, **settings)
        assert_same(search(model, batch, **settings), expected)
        lengths_found |= {len(units) for own in expected for units, _ in own}
    assert len(lengths_found) > 2


@pytest.mark.parametrize("num_beams", [1, 4])
def test_no_hypothesis_ends_before_the_minimum_of_its_sentence_and_generate_agrees(num_beams):
    model, batch = make(3, end_bias=30.0), sources([2, 5, 3])
    settings = {"num_beams": num_beams, "limits": [6, 9, 7], "minimums": [0, 4, 3], "length_penalty": 0.0}
    lists = search(model, batch, **settings)
    assert_same(lists, search(model, batch, plain=True, **settings) if num_beams > 1 else lists)
    assert [min(len(units) for units, _ in own) for own in lists] == [1, 5, 4]


@pytest.mark.parametrize("setting", [{"no_repeat_ngram_size": 2}, {"repetition_penalty": 1.3}, {"min_new_tokens": 3}])
def test_what_a_generation_config_asks_for_is_left_to_generate(setting):
    model = make()
    model.generation_config.update(
        num_beams=5, max_length=256, length_penalty=1.0, early_stopping=False, pad_token_id=0
    )
    assert fast_search.fast_search_applies(model)
    model.generation_config.update(**setting)
    assert not fast_search.fast_search_applies(model) and fast_search.unusual_settings(model) == [*setting]


def test_candidates_of_a_sentence_do_not_depend_on_its_neighbours():
    model, batch = make(2, end_bias=1.0), sources([3, 4, 2])
    own = [{5, 7}, {6}, {5, 8, 9, 10}]
    always, some = [0, START, END, 3], sorted(set.union(*own))
    excluded = torch.tensor([[unit not in units for unit in some] for units in own])
    together = StepwiseDecoder.for_search(model).restricted(torch.tensor(always + some), excluded)
    lists = search(model, batch, num_beams=6, steps=together)
    for row, units in enumerate(own):
        alone = StepwiseDecoder.for_search(model).restricted(torch.tensor([*always, *sorted(units)]))
        width = int(batch["attention_mask"][row].sum())
        single = {name: tensor[row : row + 1, :width] for name, tensor in batch.items()}
        assert_same([lists[row]], search(model, single, num_beams=6, steps=alone))


def test_a_width_of_one_is_greedy_search():
    for seed in range(4):
        model, batch = make(seed, end_bias=2.0), sources([3, 1, 6], seed=seed)
        plain = model.generate(**batch, num_beams=1, do_sample=False, max_new_tokens=9)[:, 1:].tolist()
        fast, _ = fast_beam_search(model, **batch, num_beams=1, limits=[9] * 3, ends=[END])
        expected = [row[: row.index(END) + 1] if END in row else row for row in plain]
        assert [row[: len(own)] for row, own in zip(fast[:, 0].tolist(), expected, strict=True)] == expected


@pytest.mark.parametrize("allowed", [range(6), [5, 2, 4]])
def test_a_beam_wide_enough_finds_the_best_of_all_hypotheses_of_the_units_that_may_be_used(allowed):
    model, batch = make(vocab_size=6, end_bias=1.0), sources([3], 6)
    expected = []
    banned = torch.full((6,), -torch.inf)
    banned[list(allowed)] = 0.0
    for size in (1, 2, 3):
        for body in itertools.product([unit for unit in allowed if unit != END], repeat=size - 1):
            with torch.no_grad():
                logits = model(batch["input_ids"], decoder_input_ids=torch.tensor([[START, *body]])).logits[0]
            units = (*body, END)
            steps = (logits + banned).log_softmax(-1)
            expected.append((units, steps[torch.arange(size), torch.tensor(units)].sum().item()))
    steps = StepwiseDecoder.for_search(model).restricted(torch.tensor(list(allowed)))
    (found,) = search(model, batch, steps=steps, num_beams=180, limits=[3], length_penalty=0.0)
    assert_same([found], [sorted(expected, key=lambda item: -item[1])])


def test_where_there_are_fewer_hypotheses_than_beams_copies_of_the_best_without_a_score_fill_the_list():
    batch = sources([2], 5)
    units, scores = fast_beam_search(make(0, vocab_size=5), **batch, num_beams=9, limits=[1], ends=[END])
    real = scores[0] > -torch.inf
    assert real.sum() == 5 and (scores[0, real] > CUT / 4).sum() == 1
    assert (units[0, ~real] == units[0, 0]).all()


def test_large_vocabularies_take_the_way_over_blocks_and_give_the_same_lists_also_in_bf16():
    model, batch = make(5, end_bias=3.0, vocab_size=1_003, std=0.4), sources([3, 7, 2], 1_003)
    exact = search(model, batch, num_beams=5)
    assert_same(exact, search(model, batch, plain=True, num_beams=5))
    with torch.autocast("cpu", torch.bfloat16):
        rounded = search(model, batch, num_beams=5)
    assert rounded != exact and model.dtype == torch.float32
    assert [own[0][0] for own in rounded] == [own[0][0] for own in exact]


# ----- the best continuations of a beam


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 90),
    st.integers(1, 12),
    st.sampled_from([1, 2, 4, 16]),
    st.integers(0, 2**20),
)
def test_the_way_over_blocks_finds_what_sorting_everything_finds(batch, width, columns, count, block, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn((batch * width, columns), generator=generator)
    offsets = torch.randn((batch, width), generator=generator)
    offsets[:, 2:] = -torch.inf
    found = best_continuations(logits, offsets, count, block)
    totals = (logits.view(batch, width, columns) + offsets.unsqueeze(2)).flatten(1)
    expected = totals.sort(dim=1, descending=True).values
    expected = torch.nn.functional.pad(expected, (0, count), value=-torch.inf)[:, :count]
    assert torch.equal(found.scores, expected)
    real = found.scores > -torch.inf
    places = found.parents * columns + found.columns
    assert torch.equal(totals.gather(1, places)[real], found.scores[real])
    for row, exists in zip(places, real, strict=True):
        chosen = row[exists].tolist()
        assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1 << 18), (700, 1_000)])
def test_normalizers_are_computed_in_fp32_whatever_the_arithmetic_of_the_logits(dtype, shape):
    torch.manual_seed(0)
    logits = (torch.randn(shape) * 20 + 50).to(dtype)
    logits[:, :1] -= 1e4 * (shape[1] > 1)
    assert log_normalizers(logits).double() == pytest.approx(logits.double().logsumexp(1), abs=2e-5)


def test_block_maxima_are_those_of_amax_however_many_rows_are_looked_at_together(monkeypatch):
    logits = torch.randn((13, 64, 7)).bfloat16()
    monkeypatch.setattr(fast_search, "_CHUNK", 2 * 64 * 7)
    assert torch.equal(fast_search._block_maxima(logits), logits.amax(1))


# ----- the decoder


def case():
    """Keys, queries and the vector of three sentences of five units, and a beam of four."""
    torch.manual_seed(0)
    return torch.randn((3, 5, 16)), torch.randn((3, 4, 16)), torch.randn(16)


def prepare(keys):
    return SourceProjections.for_search((keys, keys, keys[:, :, 0]), torch.float32)


@pytest.mark.parametrize(("key", "query", "doubled"), [(9.0, 9.0, True), (100.0, -100.5, False), (39.0, -40.5, True)])
def test_attention_weights_are_those_of_the_tanh_even_where_the_exponential_overflows(key, query, doubled):
    keys, queries, vector = case()
    keys[0, 0, 0], queries[0, :, 0] = key, query
    prepared = prepare(keys)
    assert (prepared.doubled is not None) == doubled
    expected = torch.softmax(torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ vector, dim=-1)
    assert torch.allclose(torch.softmax(prepared.energies(queries, vector), dim=-1), expected, atol=2e-6)


def test_energies_depend_neither_on_the_block_nor_on_the_other_sentences(monkeypatch):
    keys, query, vector = case()
    prepared = prepare(keys)
    expected = prepared.energies(query, vector)
    rows = torch.tensor([2, 0])
    assert torch.allclose(prepared.select(rows).energies(query[rows], vector), expected[rows], atol=1e-6)
    monkeypatch.setattr(stepwise_decoder, "_MAX_ELEMENTS", 2 * 4 * 5 * 16)
    assert torch.allclose(prepared.energies(query, vector), expected, atol=1e-6)


def test_steps_laid_out_once_serve_the_model_and_a_part_of_its_units():
    steps, chosen = StepwiseDecoder.for_search(make().to(torch.bfloat16)), torch.tensor([2, 5, 11])
    readout = torch.randn(5, steps.readout_size).bfloat16()
    assert torch.equal(steps.restricted(chosen).logits(readout), steps.logits(readout)[:, chosen])
