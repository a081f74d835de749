"""What takes ten lines in sentence-transformers takes ten lines here, and gives as good an encoder."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from datasets import Dataset

WORDS = [f"{letter}{number}" for letter in "ab" for number in range(20)]


@pytest.fixture(scope="module")
def pairs():
    generator = np.random.default_rng(0)
    rows = [generator.integers(20, size=4) for _ in range(400)]
    sides = [[" ".join(f"{letter}{x}" for x in row) for row in rows] for letter in "ab"]
    return Dataset.from_dict({"sentence1": sides[0], "sentence2": sides[1]})


def theirs(pairs, tokenizer, folder):
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers import SentenceTransformerTrainingArguments as Arguments
    from sentence_transformers.losses import MultipleNegativesRankingLoss
    from sentence_transformers.models import StaticEmbedding

    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu")
    arguments = Arguments(folder, num_train_epochs=6, learning_rate=0.05, report_to="none", use_cpu=True)
    loss = MultipleNegativesRankingLoss(model)
    trainer = SentenceTransformerTrainer(model, arguments, train_dataset=pairs, loss=loss)
    trainer.train()
    model.save_pretrained(f"{folder}/model")
    return SentenceTransformer(f"{folder}/model", device="cpu")


def ours(pairs, tokenizer, folder):
    from hf_paraphrase import AvgConfig, AvgModel, SentenceEncoder
    from hf_paraphrase.encoders import EncoderTrainer, MarginLoss
    from hf_paraphrase.encoders import EncoderTrainingArguments as Arguments

    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=16))
    arguments = Arguments(folder, num_train_epochs=6, learning_rate=0.05, report_to="none", use_cpu=True)
    loss = MarginLoss(0.4)
    trainer = EncoderTrainer(model, arguments, train_dataset=pairs, processing_class=tokenizer, loss=loss)
    trainer.train()
    trainer.save_model(f"{folder}/model")
    return SentenceEncoder.from_pretrained(f"{folder}/model")


def found(encoder):
    """The share of the words a… whose nearest word b… is their own translation."""
    first, second = (np.asarray(encoder.encode([f"{letter}{x}" for x in range(20)])) for letter in "ab")
    first, second = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second))
    return float(((first @ second.T).argmax(1) == np.arange(20)).mean())


def lines_of(function):
    lines = inspect.getsource(function).splitlines()
    return len([line for line in lines if line.strip()])


def test_as_many_lines_as_sentence_transformers_and_as_good(pairs, tmp_path):
    pytest.importorskip("sentence_transformers")
    from hf_paraphrase.tokenization import build_word_level_tokenizer

    assert lines_of(ours) <= lines_of(theirs) <= 12
    tokenizer = build_word_level_tokenizer(WORDS)
    scores = [found(make(pairs, tokenizer, str(tmp_path / make.__name__))) for make in (ours, theirs)]
    assert min(scores) > 0.8, scores
