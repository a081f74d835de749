from __future__ import annotations

import numpy as np
import pytest
import torch

from hf_paraphrase.filtering.reference_classifier.classifier_trainer import (
    ClassifierTrainer,
    ReferenceExamples,
)
from hf_paraphrase.filtering.reference_classifier.reference_classification import (
    reference_probabilities,
    token_ids,
)
from hf_paraphrase.filtering.reference_classifier.references import Reference
from hf_paraphrase.models.configuration_reference_classifier import ReferenceClassifierConfig
from hf_paraphrase.models.modeling_reference_classifier import ReferenceClassifier
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer
from hf_paraphrase.training.epoch_trainer import EpochTrainingArguments

WORDS = [f"w{i}" for i in range(12)]


@pytest.fixture(scope="module")
def tokenizer():
    return build_word_level_tokenizer(WORDS)


def classifier(body="avg", seed=0):
    torch.manual_seed(seed)
    size = {"vocab_size": 14, "embedding_size": 5, "initializer_range": 1.0}
    return ReferenceClassifier(ReferenceClassifierConfig(body=body, **size)).eval()


def text_probabilities(model, tokenizer, texts):
    return reference_probabilities(model, token_ids(tokenizer, texts))


def lists(seed=0, count=12, most=4):
    """References begin with w0 to w4, translations with w5 to w9."""
    generator = np.random.default_rng(seed)

    def sentence(low, high):
        words = generator.integers(low, high, size=generator.integers(1, 6))
        return " ".join(f"w{i}" for i in [*words, *generator.integers(10, 12, size=2)])

    texts = [sentence(0, 5) for _ in range(count)]
    sizes = generator.integers(1, most + 1, size=count)
    return [Reference(texts[i], [sentence(5, 10) for _ in range(size)]) for i, size in enumerate(sizes)]


@pytest.mark.parametrize("body", ["avg", "lstm"])
def test_probabilities_are_those_of_each_sentence_alone(tokenizer, body, monkeypatch):
    texts = ["w1 w2 w3", "", "w9", "unknown w4 w4", " ".join(WORDS * 9), "w2 w1"]
    model = classifier(body)
    ids = token_ids(tokenizer, texts)
    monkeypatch.setattr("hf_paraphrase.filtering.reference_classifier.reference_classification._TOKENS_PER_BATCH", 7)
    rows = np.array([5, 0, 3, 1, 4, 2, 0])
    found = reference_probabilities(model, ids.take(rows))
    for row, value in zip(rows, found, strict=True):
        ids = tokenizer(texts[row], return_tensors="pt")["input_ids"].long().reshape(1, -1)
        assert value == pytest.approx(model(ids).logits.softmax(-1)[0, 1].item(), abs=2e-6)
    assert len(text_probabilities(model, tokenizer, [])) == 0
    # A single text is no list of letters.
    assert text_probabilities(model, tokenizer, texts[0]).tolist() == pytest.approx([found[1]], abs=1e-6)


def test_hardest_takes_from_every_list_what_looks_most_human(tokenizer):
    source, model = lists(), classifier()
    examples = ReferenceExamples.encode(source, tokenizer)
    chosen = examples.choose([0, 1], model)
    start = len(source)
    for row, reference in zip(chosen, source, strict=True):
        assert row - start == int(np.argmax(text_probabilities(model, tokenizer, reference.translations)))
        start += len(reference.translations)


def test_accuracy_equals_counting(tokenizer):
    source, model = lists(1, 30, most=1), classifier(seed=3)
    examples = ReferenceExamples.encode(source, tokenizer)
    found = examples.accuracy(model, examples.choose([0]))
    human = text_probabilities(model, tokenizer, [item.text for item in source]) > 0.5
    machine = text_probabilities(model, tokenizer, [item.translations[0] for item in source]) <= 0.5
    assert found["references"] == pytest.approx(100 * human.mean())
    assert found["translations"] == pytest.approx(100 * machine.mean())
    assert found["accuracy"] == pytest.approx(50 * (human.mean() + machine.mean())) and found["sentences"] == 60


def trainer(tokenizer, folder, hardest=False, embedding_penalty=0.0, **settings):
    arguments = {"num_train_epochs": 4.0, "per_device_train_batch_size": 5, "learning_rate": 0.01, **settings}
    train, dev = (ReferenceExamples.encode(lists(seed), tokenizer) for seed in (0, 1))
    return ClassifierTrainer(
        classifier(seed=5),
        EpochTrainingArguments(output_dir=str(folder), report_to="none", use_cpu=True, **arguments),
        train,
        dev,
        hardest=hardest,
        embedding_penalty=embedding_penalty,
    )


@pytest.mark.parametrize("hardest", [False, True])
def test_every_epoch_sees_each_reference_once_and_one_of_its_translations(tokenizer, tmp_path, hardest):
    made = trainer(tokenizer, tmp_path, hardest=hardest)
    seen = set()
    for epoch in (0, 1, 2):
        made.begin_epoch(epoch)
        rows = [number for batch in made.batches for _, number in batch]
        assert sorted(rows) == list(range(24))
        assert (made.chosen >= made.examples.lists[:-1]).all() and (made.chosen < made.examples.lists[1:]).all()
        seen.add(tuple(made.chosen))
        labels = torch.cat([made._collate(batch)["labels"] for batch in made.batches])
        assert labels.sum() == 12 and len(labels) == 24
    # Without training in between, the model's choice stays the same.
    assert len(seen) == (2 if hardest else 3)


def test_the_penalty_pulls_the_word_vectors_towards_zero(tokenizer, tmp_path):
    made = trainer(tokenizer, tmp_path, embedding_penalty=0.5)
    batch = made.examples.batch(np.array([0, 13]), 0)
    plain = made.model(**batch).loss
    embeddings = made.model.embeddings
    torch.testing.assert_close(made.compute_loss(made.model, batch), plain + 0.25 * (embeddings**2).sum())
