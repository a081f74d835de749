from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.configuration_sentence_classifier import SentenceClassifierConfig
from hf_paraphrase.models.modeling_sentence_classifier import SentenceClassifier
from hf_paraphrase.studies.supervised.sentence_classification import (
    ClassifierInputs,
    SupervisedTrainer,
    SupervisedTrainingArguments,
    predicted_logits,
)
from hf_paraphrase.studies.supervised.tasks import class_scores, criterion, graded_scores
from hf_paraphrase.tokenization.token_ids import TokenIds


def make():
    torch.manual_seed(0)
    encoder = GranConfig(vocab_size=50, hidden_size=4).to_diff_dict()
    model = SentenceClassifier(SentenceClassifierConfig(sentence_encoder=encoder, head_hidden_size=5, pairs=True))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def random_inputs(count):
    generator = np.random.default_rng(0)
    sides = (
        TokenIds.of_lists([generator.integers(50, size=generator.integers(6)).tolist() for _ in range(count)])
        for _ in range(2)
    )
    return ClassifierInputs(*sides, generator.integers(2, size=count))


def test_the_penalty_is_that_of_the_formula(tmp_path):
    model = make()
    inputs = random_inputs(40)
    arguments = SupervisedTrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, report_to="none", lambda_w=2.0, lambda_c=3.0
    )
    trainer = SupervisedTrainer(model, arguments, inputs, inputs)
    assert trainer.penalty().item() == 0
    with torch.no_grad():
        model.encoder.embeddings[3, 1] += 0.5
        model.encoder.gate_input.bias[2] -= 0.25
    assert trainer.penalty().item() == pytest.approx(0.5 * 2 * 0.25 + 0.5 * 3 * 0.0625, rel=1e-5)


def test_predictions_depend_on_neither_order_nor_company():
    model = make().eval()
    inputs = random_inputs(50)
    found = predicted_logits(model, inputs)
    for row in (0, 17, 49):
        batch = inputs.batch(np.array([row]), 0)
        batch.pop("labels")
        np.testing.assert_allclose(model(**batch).logits.detach().numpy()[0], found[row], atol=1e-5)
    model.train()
    assert np.array_equal(predicted_logits(model, inputs), found) and model.training


def test_classes_are_counted_by_hand():
    # The third class never occurs, and does not count.
    scores = class_scores(np.array([0, 1, 1, 1, 0]), np.array([0, 1, 0, 1, 1]), 3)
    assert (scores["accuracy"], scores["baseline"], scores["rows"]) == (60.0, 60.0, 5) and criterion(scores) == 60.0
    # Precision and recall of the first are 1/2, of the second both 2/3.
    assert scores["macro_f1"] == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)


def test_scores_are_those_of_the_formulas():
    found, right = np.array([1.0, 2.0, 3.5, 2.0]), np.array([1.0, 3.0, 5.0, 2.0])
    scores = graded_scores(found, right)
    assert scores["pearson"] == criterion(scores) == pytest.approx(100 * np.corrcoef(found, right)[0, 1])
    assert scores["spearman"] == pytest.approx(100 * spearmanr(found, right)[0])
    assert (scores["mse"], scores["baseline"]) == pytest.approx(((0 + 1 + 2.25 + 0) / 4, right.var()))
    equal = graded_scores(np.ones(3), np.array([1.0, 2.0, 3.0]))
    assert equal["pearson"] == equal["spearman"] == 0.0 and equal["mse"] == pytest.approx(5 / 3)
