from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase import BeamSearchConfig
from hf_paraphrase.errors import UsageError
from hf_paraphrase.translation import beam_search
from hf_paraphrase.translation.beam_search import search_batches, translate_batch
from hf_paraphrase.translation.translator import translate

SOURCES = ["un", "deux trois un deux trois un deux", "trois un"]


def search(model, tokenizer, texts=SOURCES, *, num_beams=4, n=4, scorer=True, **settings):
    ids, options = [list(ids) for ids in tokenizer(texts)["input_ids"]], BeamSearchConfig(num_beams, n, **settings)
    return translate_batch(model, tokenizer, ids, options, scorer=model if scorer is True else scorer)


@torch.no_grad()
def naive_beam_search(model, tokenizer, text, *, num_beams, limit, length_penalty):
    """Beam search over plain Python lists: at most `limit` units with the end; cut hypotheses are lost."""
    end = tokenizer.eos_token_id
    source = torch.tensor([tokenizer(text)["input_ids"]])
    running, finished = [((), 0.0)], []
    for length in range(1, limit + 1):
        candidates = []
        prefixes = torch.tensor([[model.config.decoder_start_token_id, *units] for units, _ in running])
        logits = model(source.expand(len(running), -1), decoder_input_ids=prefixes).logits[:, -1]
        for (units, score), log_probs in zip(running, logits.log_softmax(-1).tolist(), strict=True):
            candidates += [((*units, unit), score + value) for unit, value in enumerate(log_probs)]
        candidates.sort(key=lambda item: -item[1])
        # As in `generate`, only the best `num_beams` candidates may finish. The rest fills the beam up.
        for units, score in candidates[:num_beams]:
            if units[-1] == end:
                finished.append((units[:-1], score, score / length**length_penalty))
        running = [item for item in candidates[: 2 * num_beams] if item[0][-1] != end][:num_beams]
        finished = sorted(finished, key=lambda item: -item[2])[:num_beams]
        if len(finished) == num_beams and running[0][1] / length**length_penalty < finished[-1][2]:
            break
    return finished


@pytest.mark.parametrize(
    ("seed", "num_beams", "end_bias", "length_penalty"),
    [(2, 4, 20.0, 0.0), (5, 4, 20.0, 1.0), (0, 6, 15.0, 1.0), (1, 6, 15.0, 1.0)],
)
def test_nbest_lists_equal_a_naive_beam_search_and_cut_hypotheses_never_displace_finished_ones(
    make_model, tiny_tokenizer, seed, num_beams, end_bias, length_penalty
):
    # With the smaller bias a model repeats itself with near certainty once it has not ended: normalised by length, the
    # endless hypotheses would outrank all that end.
    model = make_model(seed, end_bias=end_bias)
    found = search(model, tiny_tokenizer, num_beams=num_beams, n=num_beams, length_penalty=length_penalty)
    for text, nbest in zip(SOURCES, found, strict=True):
        limit = 3 * len(tiny_tokenizer(text)["input_ids"])
        settings = {"num_beams": num_beams, "limit": limit, "length_penalty": length_penalty}
        expected = naive_beam_search(model, tiny_tokenizer, text, **settings)
        if not expected:
            assert [item.finished for item in nbest] == [False]
            continue
        assert [item.num_tokens for item in nbest] == [len(units) for units, _, _ in expected]
        assert [item.log_prob for item in nbest] == pytest.approx([score for _, score, _ in expected], abs=1e-4)
        texts = tiny_tokenizer.batch_decode([list(units) for units, _, _ in expected], skip_special_tokens=True)
        assert [item.text for item in nbest] == [text.strip() for text in texts]
        assert all(item.finished for item in nbest)


@pytest.mark.parametrize(("num_beams", "ratio"), [(1, 3.0), (4, 3.0), (4, 1.5)])
def test_a_model_that_never_ends_is_cut_at_the_limit_of_each_sentence(make_model, tiny_tokenizer, num_beams, ratio):
    found = search(make_model(end_bias=-1e4), tiny_tokenizer, num_beams=num_beams, n=num_beams, max_length_ratio=ratio)
    for text, (only,) in zip(SOURCES, found, strict=True):
        assert not only.finished and math.isfinite(only.log_prob)
        assert only.num_tokens == int(ratio * len(tiny_tokenizer(text)["input_ids"]))


def test_duplicates_that_generate_fills_up_with_are_removed(make_model, tiny_tokenizer):
    model = make_model(end_bias=1e3)
    # One unit with the end token, then two: there are fewer hypotheses than asked for.
    for units, expected in ((1, [0]), (2, [0] + [1] * (len(tiny_tokenizer) - 1))):
        ratio = (units + 0.5) / len(tiny_tokenizer("un")["input_ids"])
        (nbest,) = search(model, tiny_tokenizer, ["un"], num_beams=60, n=60, max_length_ratio=ratio)
        assert [item.num_tokens for item in nbest] == expected


def test_the_list_is_ranked_by_the_scorers_arithmetic_and_without_a_scorer_there_is_no_log_prob(
    make_model, tiny_tokenizer
):
    model, scorer = make_model(2, end_bias=20.0), make_model(7, end_bias=6.0)
    for length_penalty in (0.0, 1.0):
        for nbest in search(model, tiny_tokenizer, scorer=scorer, length_penalty=length_penalty):
            ranks = [item.log_prob / (item.num_tokens + 1) ** length_penalty for item in nbest]
            assert ranks == sorted(ranks, reverse=True)
    (nbest, *_) = search(model, tiny_tokenizer, scorer=None)
    assert math.isnan(nbest[0].log_prob)


def test_translate_gives_the_model_back_in_its_mode_even_if_interrupted(make_model, tiny_tokenizer):
    def interrupt(count):
        raise KeyboardInterrupt

    model = make_model(dropout=0.5).train()
    first = translate(model, tiny_tokenizer, SOURCES)
    assert model.training
    assert translate(model, tiny_tokenizer, SOURCES[0]) == first[:1], "a single text is a list of one"
    with pytest.raises(KeyboardInterrupt):
        translate(model, tiny_tokenizer, SOURCES, progress=interrupt)
    assert model.training


@pytest.mark.parametrize("num_beams", [0, -1, 2.5])
def test_a_beam_narrower_than_1_is_refused(num_beams):
    for sizes in ((num_beams, 1), (1, num_beams)):
        with pytest.raises(UsageError, match=rf"num_\w+ (must be at least 1, not|is) {num_beams}"):
            BeamSearchConfig(*sizes)


@given(st.lists(st.integers(1, 2_000), max_size=50), st.integers(1, 700), st.booleans(), st.sampled_from([640, 3]))
def test_batches_hold_every_sentence_once_and_bound_rows_and_source_units(lengths, num_beams, plain, sentences):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beam_search, "fast_search_applies", lambda model: not plain)
        patch.setattr(beam_search, "_SOURCE_UNITS_PER_BATCH", 5_000)
        model = SimpleNamespace(config=SimpleNamespace(vocab_size=1 << 17))
        batches = list(search_batches(model, lengths, num_beams, max_sentences=sentences))
    flat = [index for batch in batches for index in batch]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[index] for index in flat] == sorted(lengths, reverse=True)
    for batch in batches:
        rows = len(batch) * num_beams
        units = max(lengths[index] for index in batch) * (rows if plain else len(batch))
        assert len(batch) == 1 or (rows <= (512 if plain else 640) and units <= 5_000 and len(batch) <= sentences)
