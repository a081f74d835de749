from __future__ import annotations

import math

import pyarrow as pa
import pytest
import torch
from seq2seq_models import log_prob_of

from hf_paraphrase.filtering.measuring import Measures, add_measures
from hf_paraphrase.translation import forced_decoding
from hf_paraphrase.translation.forced_decoding import prefix_tree_scores, score_translations

SOURCES = ["un deux trois", "trois", "deux trois un deux un", "un", "trois un"]
TRANSLATIONS = ["one two", "three three three", "two", "", "three one two"]
START, END = 1, 2


@pytest.fixture
def opened(make_model, tiny_tokenizer):
    return make_model(), tiny_tokenizer


def naive(model, source, units):
    """Σ log p of the units, without batches or padding."""
    return log_prob_of(model, [START, *units], 1, input_ids=torch.tensor([source]))


def test_scores_equal_those_of_one_unit_at_a_time_however_they_are_batched(opened, monkeypatch):
    model, tokenizer = opened
    for logits in (forced_decoding._LOGITS_PER_BATCH, 1):
        monkeypatch.setattr(forced_decoding, "_LOGITS_PER_BATCH", logits)
        scores = score_translations(model, tokenizer, SOURCES, TRANSLATIONS)
        for source, translation, log_prob, tokens in zip(SOURCES, TRANSLATIONS, *scores, strict=True):
            units = tokenizer(text_target=translation)["input_ids"]
            expected = naive(model, tokenizer(source)["input_ids"], units) if translation else math.nan
            assert log_prob == pytest.approx(expected, abs=1e-4, nan_ok=True) and tokens == len(units) - 1
    assert len(score_translations(model, tokenizer, [], []).log_probs) == 0


def test_cost_fills_in_only_what_the_pairs_lack(opened, tmp_path):
    for part in opened:
        part.save_pretrained(tmp_path)
    columns = {"sentence1": TRANSLATIONS, "sentence2": TRANSLATIONS, "source": SOURCES}
    columns |= {"log_prob": [-6.0, None, -1.0, -1.0, float("nan")], "num_tokens": [3, 5, None, 0, 4]}
    measures = Measures(translation_model=str(tmp_path))
    found = add_measures(pa.table(columns), ["cost"], measures=measures).to_pydict()
    scores = score_translations(*opened, SOURCES, TRANSLATIONS)
    rescored = (-scores.log_probs / scores.num_tokens.clip(1)).tolist()
    expected = [2.0, rescored[1], rescored[2], math.nan, rescored[4]]
    assert found["cost"] == pytest.approx(expected, abs=1e-5, nan_ok=True)
    assert found["cost_with_end"][0] == 6.0 / 4
    unscored = add_measures(pa.table(columns), ["cost"]).to_pydict()["cost"]
    assert unscored == pytest.approx([2.0, *[math.nan] * 4], nan_ok=True)


# ----- lists of RNNsearch

UNITS = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0], [9, 9, 2, 0]])
MASK = (UNITS > 0).long()
# Shared beginnings, one a beginning of another, equal ones, an empty one, and sentences in no order.
HYPOTHESES = [
    (2, (4, 5, 6, END)),
    (0, (4, 5, 6, END)),
    (0, (4, 5, END)),
    (2, (4, 5, 6, 7, 8, 9, END)),
    (0, (4, 5)),
    (0, (END,)),
    (2, ()),
    (0, (4, 5, 6, END)),
    (2, (7,)),
]


def test_scores_of_lists_equal_teacher_forcing_of_each_hypothesis_alone(make_model, monkeypatch):
    model = make_model()
    expected = [naive(model, UNITS[row, : MASK[row].sum()].tolist(), units) for row, units in HYPOTHESES]
    for logits, energies in ((forced_decoding._LOGITS_AT_ONCE, forced_decoding._ENERGIES_AT_ONCE), (80, 64)):
        monkeypatch.setattr(forced_decoding, "_LOGITS_AT_ONCE", logits)
        monkeypatch.setattr(forced_decoding, "_ENERGIES_AT_ONCE", energies)
        found = prefix_tree_scores(model, UNITS, MASK, *zip(*HYPOTHESES, strict=True))
        assert found == pytest.approx(expected, abs=1e-4)
    assert prefix_tree_scores(model, UNITS, MASK, [], []) == []
