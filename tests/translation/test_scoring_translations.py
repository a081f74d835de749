from __future__ import annotations

import math

import pyarrow as pa
import pytest
import torch

from hf_paraphrase.filtering.measuring import Measures, add_measures
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation.scoring import score_translations

SOURCES = ["un deux trois", "quatre", "cinq six sept huit un deux", "trois", "sept six"]
TRANSLATIONS = ["one two", "four four four", "five", "", "seven six five"]


@pytest.fixture(scope="module")
def opened():
    torch.manual_seed(0)
    tokenizer = train_bpe_tokenizer([*SOURCES, *TRANSLATIONS] * 4, 60)
    config = RnnSearchConfig(vocab_size=len(tokenizer), embedding_size=6, hidden_size=8, initialization="xavier")
    model = RnnSearchForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model, tokenizer


def naive(model, tokenizer, source, translation):
    """Unit by unit, without batches or padding."""
    sources = torch.tensor([tokenizer(source)["input_ids"]])
    labels = tokenizer(text_target=translation)["input_ids"]
    total, prefix = 0.0, [model.config.decoder_start_token_id]
    for unit in labels:
        with torch.inference_mode():
            logits = model(input_ids=sources, decoder_input_ids=torch.tensor([prefix]), use_cache=False).logits
        total += float(logits[0, -1].double().log_softmax(-1)[unit])
        prefix.append(unit)
    return total, len(labels) - 1


def test_scores_equal_those_of_one_unit_at_a_time(opened):
    scores = score_translations(*opened, SOURCES, TRANSLATIONS)
    for place, (source, translation) in enumerate(zip(SOURCES, TRANSLATIONS, strict=True)):
        log_prob, tokens = naive(*opened, source, translation)
        assert scores.num_tokens[place] == tokens
        if translation:
            assert scores.log_probs[place] == pytest.approx(log_prob, abs=1e-4)
        else:
            assert math.isnan(scores.log_probs[place])


def test_batches_that_are_cut_for_memory_change_nothing(opened, monkeypatch):
    whole = score_translations(*opened, SOURCES, TRANSLATIONS)
    monkeypatch.setattr("hf_paraphrase.translation.scoring._LOGITS_PER_BATCH", 1)
    alone = score_translations(*opened, SOURCES, TRANSLATIONS)
    assert alone.log_probs == pytest.approx(whole.log_probs, abs=1e-4, nan_ok=True)
    empty = score_translations(*opened, [], [])
    assert len(empty.log_probs) == len(empty.num_tokens) == 0


def test_cost_fills_in_only_what_the_pairs_lack(opened, tmp_path):
    model, tokenizer = opened
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    table = pa.table(
        {
            "sentence1": TRANSLATIONS,
            "sentence2": TRANSLATIONS,
            "source": SOURCES,
            "log_prob": [-6.0, None, -1.0, -1.0, float("nan")],
            "num_tokens": pa.array([3, 5, None, 0, 4], pa.int32()),
        }
    )
    measures = Measures(translation_model=str(tmp_path))
    found = add_measures(table, ["cost"], measures=measures).to_pydict()
    scores = score_translations(model, tokenizer, SOURCES, TRANSLATIONS)
    rescored = (-scores.log_probs / scores.num_tokens.clip(1)).tolist()
    expected = [2.0, rescored[1], rescored[2], math.nan, rescored[4]]
    assert found["cost"] == pytest.approx(expected, abs=1e-5, nan_ok=True)
    assert found["cost_with_end"][0] == 6.0 / 4
    bare = add_measures(table.drop(["log_prob", "num_tokens"]), ["cost"], measures=measures).to_pydict()
    assert bare["cost"][0] == pytest.approx(rescored[0], abs=1e-5)
