from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.configuration_sentence_classifier import SentenceClassifierConfig
from hf_paraphrase.models.modeling_sentence_classifier import SentenceClassifier
from hf_paraphrase.studies.supervised.sentence_classification import (
    ClassifierInputs,
    SupervisedTrainer,
    SupervisedTrainingArguments,
    predicted_classes,
    predicted_logits,
    predicted_scores,
)
from hf_paraphrase.studies.supervised.tasks import class_scores, criterion, graded_scores
from hf_paraphrase.tokenization.token_ids import TokenIds

ENCODERS = {"avg": AvgConfig(vocab_size=50, hidden_size=4), "gran": GranConfig(vocab_size=50, hidden_size=4)}


def make(encoder="avg", seed=0, **settings):
    torch.manual_seed(seed)
    config = SentenceClassifierConfig(
        sentence_encoder=ENCODERS[encoder].to_diff_dict(), head_hidden_size=5, **settings
    )
    model = SentenceClassifier(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def random_inputs(model, count, seed=0):
    """Rows of few of the tokens; the class is whether the first sentence has the token 12."""
    generator = np.random.default_rng(seed)

    def side():
        return [generator.choice([9, 12, 13, 14, 33], size=generator.integers(0, 6)).tolist() for _ in range(count)]

    first, second = side(), side() if model.config.pairs else None
    targets = np.array([12 in row for row in first], np.int64)
    if model.config.objective != "classification":
        targets = (1 + 3 * targets + generator.random(count)).astype(np.float32)
    tokens = None if second is None else TokenIds.of_lists(second)
    return ClassifierInputs(TokenIds.of_lists(first), tokens, targets)


def train(model, inputs, dev, folder, **settings):
    arguments = SupervisedTrainingArguments(
        output_dir=str(folder), use_cpu=True, report_to="none", disable_tqdm=True, **settings
    )
    trainer = SupervisedTrainer(model, arguments, inputs, dev)
    trainer.train()
    return trainer


def test_the_penalty_is_that_of_the_formula(tmp_path):
    model = make("gran", pairs=True)
    inputs = random_inputs(model, 40)
    arguments = SupervisedTrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, report_to="none", lambda_w=2.0, lambda_c=3.0
    )
    trainer = SupervisedTrainer(model, arguments, inputs, inputs)
    assert trainer.penalty().item() == 0
    with torch.no_grad():
        model.encoder.embeddings[3, 1] += 0.5
        model.encoder.gate_input.bias[2] -= 0.25
    assert trainer.penalty().item() == pytest.approx(0.5 * 2 * 0.25 + 0.5 * 3 * 0.0625, rel=1e-5)


def test_a_frozen_encoder_does_not_move_and_the_head_does(tmp_path):
    model = make("gran")
    model.encoder.requires_grad_(False)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    inputs = random_inputs(model, 40)
    train(model, inputs, inputs, tmp_path, lambda_w=1.0, lambda_c=1.0, num_train_epochs=1)
    assert all(torch.equal(value, start[name]) for name, value in model.state_dict().items() if "encoder" in name)
    assert not torch.equal(model.classifier.weight, start["classifier.weight"])


def test_predictions_depend_on_neither_order_nor_company():
    model = make("gran", pairs=True).eval()
    inputs = random_inputs(model, 50)
    found = predicted_logits(model, inputs)
    for row in (0, 17, 49):
        batch = inputs.batch(np.array([row]), 0)
        batch.pop("labels")
        np.testing.assert_allclose(model(**batch).logits.detach().numpy()[0], found[row], atol=1e-5)
    classes, probabilities = predicted_classes(found)
    assert np.array_equal(classes, found.argmax(1)) and ((probabilities >= 0.5) & (probabilities <= 1)).all()
    model.train()
    assert np.array_equal(predicted_logits(model, inputs), found) and model.training
    graded = make(objective="distribution").eval()
    scores = predicted_scores(graded, predicted_logits(graded, random_inputs(graded, 20)))
    assert scores.shape == (20,) and ((scores >= 1) & (scores <= 5)).all()


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
