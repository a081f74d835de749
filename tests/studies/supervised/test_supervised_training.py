from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_paraphrase.artefacts.card_heads import class_names
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_concatenation import ConcatenationConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.configuration_recurrent import RecurrentConfig
from hf_paraphrase.models.configuration_sdae import SdaeConfig
from hf_paraphrase.models.configuration_sentence_classifier import SentenceClassifierConfig
from hf_paraphrase.models.modeling_sentence_classifier import SentenceClassifier
from hf_paraphrase.studies.supervised.compact_vocabulary import CompactVocabulary
from hf_paraphrase.studies.supervised.sentence_classification import (
    ClassifierInputs,
    predicted_classes,
    predicted_logits,
    predicted_scores,
)
from hf_paraphrase.studies.supervised.tasks import TASKS, SplitRequest, read_supervised
from hf_paraphrase.studies.supervised.trainer import SupervisedTrainer, SupervisedTrainingArguments, measured
from hf_paraphrase.tokenization.token_ids import TokenIds

ENCODERS = {
    # A padding token and an unknown word that are not the first ids, and must keep their meaning.
    "avg": AvgConfig(vocab_size=50, hidden_size=4, pad_token_id=7, unk_token_id=9, skip_unknown=True),
    "gran": GranConfig(vocab_size=50, hidden_size=4, unk_token_id=9),
    "recurrent": RecurrentConfig(vocab_size=50, hidden_size=4, embedding_size=3, pad_token_id=7, unk_token_id=9),
    "sdae": SdaeConfig(
        vocab_size=50, hidden_size=4, embedding_size=3, pad_token_id=7, unk_token_id=9, has_decoder=False
    ),
    "sdae with its decoder": SdaeConfig(
        vocab_size=50, hidden_size=4, embedding_size=3, readout_size=2, unk_token_id=9, share_embeddings=False
    ),
    "concatenation": ConcatenationConfig(vocab_sizes=[30, 20], part_size=3),
}


def make(encoder="avg", seed=0, **settings):
    torch.manual_seed(seed)
    config = SentenceClassifierConfig(ENCODERS[encoder].to_diff_dict(), head_hidden_size=5, **settings)
    model = SentenceClassifier(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def random_inputs(model, count, seed=0, highest=50):
    """Rows of few of the tokens; the class is whether the first sentence has the token 12."""
    generator = np.random.default_rng(seed)
    pad = model.config.pad_token_id

    def side():
        rows = [generator.choice([9, 12, 13, 14, 33, 34], size=generator.integers(0, 6)) for _ in range(count)]
        return [[int(item) for item in row if item != pad and item < highest] for row in rows]

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


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("settings", [{"pairs": True, "objective": "distribution"}, {}])
def test_a_compact_model_computes_the_same(encoder, settings):
    model = make(encoder, **settings).eval()
    inputs = random_inputs(model, 30)
    vocabulary = CompactVocabulary.of_inputs(model, [inputs])
    small = vocabulary.compacted(model).eval()
    assert small.config.vocab_size == len(vocabulary.rows) < 12
    np.testing.assert_allclose(
        predicted_logits(small, vocabulary.inputs(inputs)), predicted_logits(model, inputs), atol=1e-6
    )


@pytest.mark.parametrize("encoder", ENCODERS)
def test_training_the_words_in_use_alone_gives_what_training_all_of_them_gives(encoder, tmp_path):
    settings = {"num_train_epochs": 2, "per_device_train_batch_size": 8, "learning_rate": 0.05}
    settings |= {"lambda_w": 0.01, "lambda_c": 0.02, "lambda_head": 0.03}
    whole, model = (make(encoder, pairs=True) for _ in range(2))
    inputs, dev = random_inputs(whole, 40), random_inputs(whole, 20, seed=1)
    train(whole, inputs, dev, tmp_path / "whole", **settings)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    vocabulary = CompactVocabulary.of_inputs(model, [inputs, dev])
    small = train(
        vocabulary.compacted(model), vocabulary.inputs(inputs), vocabulary.inputs(dev), tmp_path / "small", **settings
    ).model
    vocabulary.restore(small, model)
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value, atol=1e-5, rtol=1e-4)
    changed = (model.encoder.embeddings != start["encoder.embeddings"]).any(1).nonzero().flatten()
    assert set(changed.tolist()) <= set(vocabulary.rows.tolist()) and len(changed) > 2


def test_a_vocabulary_in_full_use_is_left_as_it_is():
    model = make()
    rows = ClassifierInputs(TokenIds.of_lists([list(range(50))]), None)
    vocabulary = CompactVocabulary.of_inputs(model, [rows])
    small = vocabulary.compacted(model)
    other = make(seed=1)
    vocabulary.restore(small, other)
    for name, value in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)


def test_the_penalty_is_that_of_the_formula_and_pulls_to_the_start(tmp_path):
    model = make("gran", pairs=True)
    inputs = random_inputs(model, 40)
    arguments = SupervisedTrainingArguments(
        output_dir=str(tmp_path), use_cpu=True, report_to="none", lambda_w=2.0, lambda_c=3.0, lambda_head=5.0
    )
    trainer = SupervisedTrainer(model, arguments, inputs, inputs)
    head = 2.5 * sum(layer.weight.square().sum().item() for layer in (model.hidden, model.classifier))
    assert trainer.penalty().item() == pytest.approx(head, rel=1e-5)
    with torch.no_grad():
        model.encoder.embeddings[3, 1] += 0.5
        model.encoder.gate_input.bias[2] -= 0.25
    assert trainer.penalty().item() == pytest.approx(head + 0.5 * 2 * 0.25 + 0.5 * 3 * 0.0625, rel=1e-5)


def distance(one, two):
    return sum((one[name] - two[name]).square().sum().item() for name in one if name.startswith("encoder."))


def test_a_stronger_penalty_keeps_the_encoder_closer_to_its_start(tmp_path):
    found = []
    settings = {"num_train_epochs": 6, "learning_rate": 0.01}
    for number, weight in enumerate((0.0, 0.1, 10.0)):
        model = make("gran")
        start = {name: value.clone() for name, value in model.state_dict().items()}
        inputs = random_inputs(model, 60)
        train(model, inputs, inputs, tmp_path / str(number), lambda_w=weight, lambda_c=weight, **settings)
        found.append(distance(model.state_dict(), start))
    assert found[0] > 1.5 * found[1] and found[1] > 1.5 * found[2] > 0


def test_a_frozen_encoder_does_not_move_and_the_head_does(tmp_path):
    model = make("gran")
    model.encoder.requires_grad_(False)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    inputs = random_inputs(model, 40)
    train(model, inputs, inputs, tmp_path, lambda_w=1.0, lambda_c=1.0, num_train_epochs=1)
    assert distance(model.state_dict(), start) == 0
    assert not torch.equal(model.classifier.weight, start["classifier.weight"])


def test_the_weights_of_the_best_epoch_are_kept(tmp_path):
    model = make("avg")
    inputs, dev = random_inputs(model, 60), random_inputs(model, 30, seed=5)
    trainer = train(model, inputs, dev, tmp_path, num_train_epochs=6, learning_rate=0.2)
    scores = [entry["criterion"] for entry in trainer.scores()]
    assert len(scores) == 6 and trainer.best_scores()["epoch"] == 1 + scores.index(max(scores))
    assert trainer.measure(dev).accuracy == pytest.approx(max(scores)) and max(scores) > 90


@pytest.mark.parametrize("objective", ["distribution", "regression"])
def test_scores_are_learned(objective, tmp_path):
    model = make("avg", objective=objective, score_mean=2.5, score_deviation=1.5)
    inputs, dev = random_inputs(model, 200), random_inputs(model, 50, seed=5)
    trainer = train(model, inputs, dev, tmp_path, num_train_epochs=15, learning_rate=0.05)
    assert trainer.measure(dev).pearson > 70 and trainer.measure(dev).mse < 0.6 * trainer.measure(dev).floor


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


def test_a_split_that_lacks_a_class_is_measured_on_the_others():
    model = make(id2label={0: "a", 1: "b"}).eval()
    inputs = random_inputs(model, 20)
    inputs.targets = np.zeros(20, np.int64)
    assert measured(model, inputs).classes[1]["found"] is None


@pytest.mark.parametrize("name", ["lambda_w", "lambda_c", "lambda_head"])
def test_a_negative_penalty_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name} must not be negative"):
        SupervisedTrainingArguments(output_dir=str(tmp_path), **{name: -1.0})


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


def test_classes_have_the_names_of_the_card_of_their_configuration(tmp_path):
    folder = write(tmp_path / "data", CARD, mr_dot_train=rows(30, 3))
    assert class_names(folder, "label", "mr.train") == ["negative", "positive", "mixed"]
    assert class_names(folder, "other", "mr.train") == []
    names = ["negative", "positive", "mixed"]
    data = read_supervised(folder, TASKS["classification"], SplitRequest(train="mr.train"), names=names)
    assert data.classes == ["negative", "positive", "mixed"] and data.counts()["dev"].keys() == set(data.classes)


def test_numbers_keep_their_order_and_other_names_the_alphabet(tmp_path):
    folder = write(tmp_path / "a", train={"text": [f"t{i}" for i in range(24)], "label": [10, 9, 2, 10] * 6})
    assert read_supervised(folder, TASKS["classification"], SplitRequest()).classes == ["2", "9", "10"]
    folder = write(tmp_path / "b", train={"text": [f"t{i}" for i in range(24)], "label": ["b", "a"] * 12})
    assert read_supervised(folder, TASKS["classification"], SplitRequest()).classes == ["a", "b"]


def test_splits_are_found_or_drawn(tmp_path):
    folder = write(tmp_path / "data", train=rows(50), validation=rows(10, start=100), test=rows(6, start=200))
    task = TASKS["classification"]
    found = read_supervised(folder, task, SplitRequest())
    assert {part: len(item) for part, item in found.parts.items()} == {"train": 50, "dev": 10}
    found = read_supervised(folder, task, SplitRequest(test="test"))
    assert {part: len(item) for part, item in found.parts.items()} == {"train": 50, "dev": 10, "test": 6}
    found = read_supervised(folder, task, SplitRequest(test="validation", dev_share=0.2))
    assert {part: len(item) for part, item in found.parts.items()} == {"train": 40, "dev": 10, "test": 10}
    alone = write(tmp_path / "alone", train=rows(50))
    found = read_supervised(alone, task, SplitRequest(dev_share=0.1, test_share=0.2))
    assert {part: len(item) for part, item in found.parts.items()} == {"train": 35, "dev": 5, "test": 10}
    assert found.names["dev"] == "10% of train, drawn"
    again = read_supervised(alone, task, SplitRequest(dev_share=0.1, test_share=0.2, seed=1))
    assert again.parts["test"].first != found.parts["test"].first


def test_training_rows_that_are_test_rows_are_left_out_and_counted(tmp_path):
    folder = write(tmp_path / "data", train=rows(50), validation=rows(10), test=rows(6, start=200))
    found = read_supervised(folder, TASKS["classification"], SplitRequest())
    assert len(found.parts["train"]) == 40 and found.left_out == 10


@pytest.mark.parametrize(
    ("task", "splits", "card", "expected"),
    [
        ("classification", {"train": rows(30, 1)}, "", "all rows of split `train` are of the class 0"),
        ("classification", {"mr_dot_train": rows(30, 2)}, CARD, "no row of the class mixed"),
        (
            "classification",
            {"train": rows(30), "dev": rows(9, 3, 90)},
            "",
            "split `dev`, row 2: the class 2 is unknown",
        ),
        ("classification", {"train": rows(9), "dev": rows(9)}, "", "all rows of split `train` are in the other parts"),
        ("classification", {"train": {"text": ["a"], "kind": [1]}}, "", "no column label"),
        (
            "regression",
            {"train": {"text": [f"t{i}" for i in range(20)], "score": [2.0] * 20}},
            "",
            "scores .* are equal",
        ),
        (
            "similarity",
            {
                "train": {
                    "sentence1": ["a"] * 20,
                    "sentence2": [f"{i}" for i in range(20)],
                    "score": [2.0] * 19 + [0.4],
                }
            },
            "",
            "row 19: the score is 0.4, off the scale from 1 to 5",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(tmp_path, task, splits, card, expected):
    folder = write(tmp_path / "data", card, **splits)
    train_split = "mr.train" if card else "train"
    with pytest.raises(InputError, match=expected):
        read_supervised(
            folder, TASKS[task], SplitRequest(train=train_split), names=class_names(folder, "label", train_split)
        )


@pytest.mark.parametrize("task", ["entailment", "similarity"])
def test_a_task_of_pairs_wants_pairs(tmp_path, task):
    folder = write(tmp_path / "data", train={**rows(20), "score": [1.0, 2.0] * 10})
    with pytest.raises(UsageError, match="single sentences, and this task needs pairs"):
        read_supervised(folder, TASKS[task], SplitRequest())
