from __future__ import annotations

import itertools

import pytest
import torch
from transformers import MaxTimeCriteria, StoppingCriteriaList

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.translation.fast_search import CUT, fast_beam_search

START, END = 1, 2


def make(seed=0, end_bias=0.0, vocab_size=12, std=0.8, **settings):
    torch.manual_seed(seed)
    sizes = {"vocab_size": vocab_size, "embedding_size": 6, "hidden_size": 8}
    model = RnnSearchForConditionalGeneration(RnnSearchConfig(**{**sizes, **settings})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std)
        model.lm_head.bias[END] += end_bias
    return model


def sources(lengths, vocab_size=12, seed=0):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.zeros((len(lengths), max(lengths)), dtype=torch.long)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(3, vocab_size, (length,), generator=generator)
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def nbest(output, batch, end=END):
    """Reads lists of (units, score) without the copies that fill them up."""
    size = len(output.sequences) // batch
    lists = [[] for _ in range(batch)]
    for row, (units, score) in enumerate(
        zip(output.sequences.tolist(), output.sequences_scores.tolist(), strict=True)
    ):
        units = units[1:]
        units = tuple(units[: units.index(end) + 1] if end in units else units)
        if score > CUT * 2:
            lists[row // size].append((units, score))
    return lists


def search(model, batch, *, fast, num_beams, **settings):
    chosen = {"custom_generate": fast_beam_search} if fast else {"output_scores": True}
    settings = {"num_return_sequences": num_beams, "max_new_tokens": 9, "do_sample": False, **settings}
    output = model.generate(**batch, num_beams=num_beams, return_dict_in_generate=True, **chosen, **settings)
    return nbest(output, len(batch["input_ids"]))


def assert_same(found, expected):
    for own, other in zip(found, expected, strict=True):
        assert [units for units, _ in own] == [units for units, _ in other]
        assert [score for _, score in own] == pytest.approx([score for _, score in other], abs=1e-4, rel=1e-6)


BATCHES = [[3], [1, 5, 2], [4, 4], [7, 1, 1, 2, 6]]


@pytest.mark.parametrize("num_beams", [2, 3, 7, 50])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0, -0.5])
def test_lists_and_scores_equal_those_of_plain_generate(num_beams, length_penalty):
    for seed, lengths in enumerate(BATCHES):
        model, batch = make(seed, end_bias=2.0), sources(lengths, seed=seed)
        settings = {"num_beams": num_beams, "length_penalty": length_penalty}
        expected = search(model, batch, fast=False, **settings)
        assert any(len(units) > 2 for own in expected for units, _ in own)
        assert_same(search(model, batch, fast=True, **settings), expected)


def test_a_width_of_one_is_greedy_search():
    for seed in range(4):
        model, batch = make(seed, end_bias=2.0), sources([3, 1, 6], seed=seed)
        plain = model.generate(**batch, num_beams=1, do_sample=False, max_new_tokens=9)
        fast = model.generate(
            **batch, num_beams=1, do_sample=False, max_new_tokens=9, custom_generate=fast_beam_search
        )
        assert fast.tolist() == plain[:, : fast.shape[1]].tolist()


def all_hypotheses(model, source, length, allowed):
    """Scores every sequence of at most `length` allowed units with the end, the cut ones too, with separate passes."""
    scored = []
    for size in range(1, length + 1):
        for body in itertools.product([unit for unit in allowed if unit != END], repeat=size - 1):
            for last in allowed if size == length else [END]:
                units = (*body, last)
                with torch.no_grad():
                    logits = model(source, decoder_input_ids=torch.tensor([[START, *units[:-1]]])).logits[0]
                banned = torch.full((logits.shape[1],), -torch.inf)
                banned[list(allowed)] = 0.0
                steps = (logits + banned).log_softmax(-1)
                scored.append((units, steps[torch.arange(size), torch.tensor(units)].sum().item()))
    return sorted(scored, key=lambda item: -item[1])


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_wide_enough_finds_the_best_of_all_hypotheses(seed):
    # So wide that no prefix is lost: the list is the true one.
    model = make(seed, vocab_size=6, end_bias=1.0)
    batch = {"input_ids": torch.tensor([[3, 4, 2]])}
    expected = all_hypotheses(model, batch["input_ids"], 3, range(6))
    (found,) = search(model, batch, fast=True, num_beams=180, max_new_tokens=3, length_penalty=0.0)
    assert_same([found], [expected[:180]])


@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_the_only_units_and_share_the_whole_probability(seed):
    model = make(seed, end_bias=1.0)
    batch, allowed = {"input_ids": torch.tensor([[3, 4, 2]])}, [9, 2, 4, 11]
    expected = all_hypotheses(model, batch["input_ids"], 3, allowed)
    candidates = torch.tensor(allowed)
    settings = {"num_beams": 60, "max_new_tokens": 3, "length_penalty": 0.0}
    (found,) = search(model, batch, fast=True, candidates=candidates, **settings)
    assert_same([found], [expected[: len(found)]])
    assert len(found) == len(expected)


@pytest.mark.parametrize("lengths", BATCHES)
def test_lists_of_a_sentence_do_not_depend_on_the_batch(lengths):
    model, batch = make(2, end_bias=3.0), sources(lengths)
    limits = [2 * length for length in lengths]
    together = search(model, batch, fast=True, num_beams=6, limits=limits, max_new_tokens=20)
    for index, length in enumerate(lengths):
        alone = {name: tensor[index : index + 1, :length] for name, tensor in batch.items()}
        found = search(model, alone, fast=True, num_beams=6, limits=limits[index : index + 1], max_new_tokens=20)
        assert_same(found, together[index : index + 1])


def test_more_hypotheses_than_there_are_leave_copies_with_a_score_that_marks_them():
    model = make(0, vocab_size=5)
    output = model.generate(
        torch.tensor([[3, 2]]),
        num_beams=9,
        num_return_sequences=9,
        max_new_tokens=1,
        return_dict_in_generate=True,
        custom_generate=fast_beam_search,
    )
    real = output.sequences_scores > CUT
    assert real.sum() == 5
    assert (output.sequences_scores[~real] == -1e9).all()
    assert (output.sequences[~real] == output.sequences[0]).all()


def test_large_vocabularies_take_the_way_over_blocks_and_give_the_same_lists():
    model, batch = make(5, end_bias=3.0, vocab_size=1_003, std=0.4), sources([3, 7, 2], 1_003)
    for num_beams in (2, 5):
        expected = search(model, batch, fast=False, num_beams=num_beams)
        assert_same(search(model, batch, fast=True, num_beams=num_beams), expected)


def test_autocast_searches_in_its_arithmetic_and_leaves_the_model_alone():
    model, batch = make(6, end_bias=3.0, vocab_size=300, std=0.4), sources([3, 7], 300)
    exact = search(model, batch, fast=True, num_beams=8)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = search(model, batch, fast=True, num_beams=8)
    assert rounded != exact and model.dtype == torch.float32
    assert [own[0][0] for own in rounded] == [own[0][0] for own in exact]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"stopping_criteria": StoppingCriteriaList([MaxTimeCriteria(1.0)])}, "MaxTimeCriteria"),
        ({"no_repeat_ngram_size": 2}, "NoRepeatNGram"),
        ({"early_stopping": True}, "early_stopping"),
        ({"limits": [3, 4]}, "another number of sentences than 1"),
        ({"candidates": torch.tensor([3, 4])}, "end token"),
    ],
)
def test_settings_that_the_search_does_not_know_are_refused(settings, problem):
    common = {"num_beams": 2, "max_new_tokens": 3, "custom_generate": fast_beam_search}
    with pytest.raises(ValueError, match=problem):
        make().generate(**sources([2]), **common, **settings)
