from __future__ import annotations

import pytest
import torch

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.translation import scoring
from hf_paraphrase.translation.scoring import prefix_tree_scores

START, END = 1, 2


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = RnnSearchForConditionalGeneration(RnnSearchConfig(vocab_size=40, embedding_size=6, hidden_size=8)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model


SOURCES = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0], [9, 9, 2, 0]])
MASK = (SOURCES > 0).long()
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


@torch.no_grad()
def teacher_forced(model, sentence, units):
    if not units:
        return 0.0
    source = SOURCES[sentence, : MASK[sentence].sum()].unsqueeze(0)
    logits = model(source, decoder_input_ids=torch.tensor([[START, *units[:-1]]])).logits[0]
    return logits.log_softmax(-1)[torch.arange(len(units)), torch.tensor(units)].sum().item()


def scores(model):
    return prefix_tree_scores(model, SOURCES, MASK, *zip(*HYPOTHESES, strict=True))


def test_scores_equal_teacher_forcing_of_each_hypothesis_alone(model):
    expected = [teacher_forced(model, *item) for item in HYPOTHESES]
    assert scores(model) == pytest.approx(expected, abs=1e-4)


def test_scores_do_not_depend_on_how_many_rows_are_computed_together(model, monkeypatch):
    expected = scores(model)
    monkeypatch.setattr(scoring, "_LOGITS_AT_ONCE", 80)
    monkeypatch.setattr(scoring, "_ENERGIES_AT_ONCE", 64)
    assert scores(model) == pytest.approx(expected, abs=1e-5)


def test_no_hypotheses_have_no_scores(model):
    assert prefix_tree_scores(model, SOURCES, MASK, [], []) == []
