from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.configuration_sentence_classifier import SentenceClassifierConfig
from hf_paraphrase.models.modeling_sentence_classifier import SentenceClassifier
from hf_paraphrase.studies.supervised.sentence_classification import (
    ClassifierInputs,
    predicted_classes,
    predicted_logits,
    predicted_scores,
)
from hf_paraphrase.studies.supervised.tasks import SupervisedSettings, read_supervised
from hf_paraphrase.studies.supervised.trainer import SupervisedTrainer, SupervisedTrainingArguments
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


def test_the_weights_of_the_best_epoch_are_kept(tmp_path):
    model = make("avg")
    inputs, dev = random_inputs(model, 60), random_inputs(model, 30, seed=5)
    trainer = train(model, inputs, dev, tmp_path, num_train_epochs=6, learning_rate=0.2)
    scores = [entry["criterion"] for entry in trainer.scores()]
    assert len(scores) == 6 and trainer.best_scores()["epoch"] == 1 + scores.index(max(scores))
    assert trainer.measure(dev)["accuracy"] == pytest.approx(max(scores)) and max(scores) > 90


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


# ----- what is read


def write(folder, card="", **splits):
    for split, columns in splits.items():
        table = pa.table(columns)
        write_split(folder, split.replace("_dot_", "."), [table], table.schema)
    if card:
        (folder / "README.md").write_text(card)
    return folder


CARD = """---
dataset_info:
- config_name: other
  features:
  - name: label
    dtype:
      class_label:
        names: {'0': wrong, '1': names}
- config_name: mr
  features:
  - name: text
    dtype: string
  - name: label
    dtype:
      class_label:
        names:
          '0': negative
          '1': positive
          '2': mixed
---
"""


def rows(count, classes=2, start=0):
    return {"text": [f"t{start + i}" for i in range(count)], "label": [i % classes for i in range(count)]}


def read(folder, **settings):
    return read_supervised(SupervisedSettings(model="encoder", data=str(folder), output="model", **settings))


def sizes(data):
    return {part: len(rows) for part, rows in data.parts.items()}


def test_classes_have_the_names_of_the_card_of_their_configuration(tmp_path):
    folder = write(tmp_path / "data", CARD, mr_dot_train=rows(30, 3))
    data = read(folder, train_split="mr.train")
    assert data.classes == ["negative", "positive", "mixed"]


def test_numbers_keep_their_order_and_other_names_the_alphabet(tmp_path):
    folder = write(tmp_path / "a", train={"text": [f"t{i}" for i in range(24)], "label": [10, 9, 2, 10] * 6})
    assert read(folder).classes == ["2", "9", "10"]
    folder = write(tmp_path / "b", train={"text": [f"t{i}" for i in range(24)], "label": ["b", "a"] * 12})
    assert read(folder).classes == ["a", "b"]


def test_splits_are_found_or_drawn(tmp_path):
    folder = write(tmp_path / "data", train=rows(50), validation=rows(10, start=100), test=rows(6, start=200))
    assert sizes(read(folder)) == {"train": 50, "dev": 10}
    assert sizes(read(folder, test_split="test")) == {"train": 50, "dev": 10, "test": 6}
    found = read(folder, test_split="validation", dev_share=0.2)
    assert sizes(found) == {"train": 40, "dev": 10, "test": 10}
    assert found.sources == {"train": "train", "dev": "20% of train, drawn", "test": "validation"}
    assert read(folder).sources["dev"] == "validation"


def test_training_rows_that_are_test_rows_are_left_out_and_counted(tmp_path):
    folder = write(tmp_path / "data", train=rows(50), validation=rows(10), test=rows(6, start=200))
    found = read(folder)
    assert len(found.parts["train"]) == 40 and found.left_out == 10


PAIRS = {"sentence1": ["a"] * 20, "sentence2": [f"{i}" for i in range(20)]}


@pytest.mark.parametrize(
    ("task", "splits", "card", "expected"),
    [
        ("classification", {"train": rows(30, 1)}, "", "split `train`: .* nothing to learn"),
        ("classification", {"mr_dot_train": rows(30, 2)}, CARD, "no row of the class mixed"),
        ("classification", {"train": rows(9), "dev": rows(9)}, "", "0 rows are in no other part"),
        ("classification", {"train": {"text": ["a"], "kind": [1]}}, "", "no column label"),
        ("regression", {"train": {**rows(20), "score": [2.0] * 20}}, "", "with 1 classes or scores"),
        (
            "similarity",
            {"train": {**PAIRS, "score": [2.0] * 19 + [0.4]}},
            "",
            "split `train`: the score 0.4 is off the scale from 1 to 5",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(tmp_path, task, splits, card, expected):
    folder = write(tmp_path / "data", card, **splits)
    with pytest.raises(InputError, match=expected):
        read(folder, task=task, train_split="mr.train" if card else "train")


def test_a_class_that_training_lacks_is_refused(tmp_path):
    data = read(write(tmp_path / "data", train=rows(30), dev=rows(9, 3, 90)))
    with pytest.raises(InputError, match=r"split `dev`: the class 2 is unknown \(the classes are 0, 1"):
        data.parts["dev"].class_numbers(data.classes)
