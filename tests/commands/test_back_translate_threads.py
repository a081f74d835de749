from __future__ import annotations

import itertools
import threading

import pyarrow.parquet as pq
import pytest
import torch

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.training.threads import in_threads
from hf_paraphrase.translation.beam_search import translate_batch
from hf_paraphrase.translation.ensemble import RnnSearchEnsemble
from hf_paraphrase.translation.int8_products import int8_is_fast
from hf_paraphrase.translation.table_translator import SearchOptions, TableTranslator


@pytest.fixture(scope="module")
def tokenizer(number_pairs):
    return train_bpe_tokenizer([text for pair in number_pairs(64, 0) for text in pair], 60)


@pytest.fixture(scope="module")
def make_model(tokenizer):
    """Makes an untrained model whose matrices are large enough for several threads to share a product."""

    def make(seed):
        torch.manual_seed(seed)
        sizes = {"vocab_size": len(tokenizer), "embedding_size": 64, "hidden_size": 256, "initialization": "xavier"}
        model = RnnSearchForConditionalGeneration(RnnSearchConfig(**sizes)).eval()
        with torch.no_grad():
            model.lm_head.bias[tokenizer.eos_token_id] += 1.0
        return model

    return make


@pytest.fixture
def threads():
    """Sets the number of threads of PyTorch for a test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("members", "precision"),
    [
        *itertools.product([1, 2], [{}, {"bf16": True}]),
        pytest.param(
            1,
            {"bf16": True, "int8": True},
            marks=pytest.mark.skipif(not int8_is_fast(), reason="no instructions for products in 8 bits"),
        ),
    ],
)
def test_the_number_of_threads_does_not_change_a_bit(
    make_model, tokenizer, write_bitext, number_pairs, tmp_path, threads, members, precision
):
    bitext = write_bitext(tmp_path / "bitext", train=number_pairs(40, 50))
    table = pq.read_table(next((bitext / "data").glob("train-*")))
    models = [make_model(seed) for seed in range(members)]
    model = models[0] if members == 1 else RnnSearchEnsemble(models)
    found = []
    for count in (1, 4):
        threads(count)
        translator = TableTranslator(model, tokenizer, SearchOptions(40, 40, **precision))
        assert translator.threads == min(count, 4 if members == 1 else 2)
        found.append(translator.translate_table(table)[0])
        assert torch.get_num_threads() == count
    assert found[0].num_rows > 1_000 and found[0].equals(found[1])


def test_two_searches_of_an_ensemble_at_the_same_time_do_not_disturb_each_other(make_model, tokenizer, monkeypatch):
    ensemble = RnnSearchEnsemble([make_model(0), make_model(1)])
    with torch.no_grad():
        for member in ensemble.members:
            # Members that disagree: what is not renormalised is large and differs from step to step.
            member.lm_head.weight *= 40.0
    sources = [tokenizer(text)["input_ids"] for text in ("vingt deux", "trois")]
    own = threading.local()
    meeting = threading.Barrier(2, timeout=60)
    forward = RnnSearchEnsemble.forward

    def meet(self, *arguments, **settings):
        # Both have made a step before either ranks what came out of it.
        result = forward(self, *arguments, **settings)
        own.steps = getattr(own, "steps", 0) + 1
        if own.steps <= 3:
            meeting.wait()
        return result

    def search(source):
        return translate_batch(ensemble, tokenizer, [source], num_beams=40, num_return_sequences=40, scorer=ensemble)

    expected = [search(source) for source in sources]
    monkeypatch.setattr(RnnSearchEnsemble, "forward", meet)
    assert list(in_threads(search, sources, 2)) == expected


@pytest.mark.parametrize("members", [1, 2])
def test_an_interruption_ends_the_searches_under_way(
    make_model, tokenizer, write_bitext, number_pairs, tmp_path, threads, members
):
    bitext = write_bitext(tmp_path / "bitext", train=number_pairs(130, 50))
    table = pq.read_table(next((bitext / "data").glob("train-*")))
    threads(2)
    models = [make_model(seed) for seed in range(members)]
    model = models[0] if members == 1 else RnnSearchEnsemble(models)
    translator = TableTranslator(model, tokenizer, SearchOptions(2, 2))
    begun, ended = threading.Event(), threading.Event()
    search = translator._search

    def watched(input_ids, candidates):
        if threading.current_thread() is first[0]:
            return search(input_ids, candidates)
        begun.set()
        try:
            while True:
                search(input_ids, candidates)
        finally:
            ended.set()

    first = []
    attempt_once = translator._attempt

    def attempt(input_ids, candidates):
        first.append(threading.current_thread())
        return attempt_once(input_ids, candidates)

    translator._attempt, translator._search = attempt, watched

    def interrupting(count):
        if count:
            assert begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        translator.translate_table(table, interrupting)
    assert ended.wait(60), "the search goes on"
