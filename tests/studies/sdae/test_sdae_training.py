"""Sentences, batches and the Trainer of the denoising autoencoder."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tiny_encoders import new_model
from tiny_training import on_cpu
from torch.nn import functional

from hf_paraphrase.studies.sdae.trainer import DEV_EPOCH, SdaeCollator, SdaeTrainer, WordNoise, encode_sentences
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer
from hf_paraphrase.training.epoch_trainer import EpochTrainingArguments

WORDS = [f"w{number}" for number in range(30)]


@pytest.fixture
def tokenizer():
    return build_word_level_tokenizer(WORDS)


class Expanding:
    """Puts two words behind every sentence, other ones in every epoch."""

    def expand(self, sentences, epoch=0):
        return [f"{sentence} w{epoch % 7} w{len(sentence) % 5}" for sentence in sentences]


def encoded(tokenizer):
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(WORDS, generator.integers(2, 9))) for _ in range(60)]
    return encode_sentences(texts, tokenizer, max_words=20, keep_text=True)[0]


def test_sentences_are_kept_in_order_once_and_what_is_left_out_is_counted(tokenizer):
    texts = ["w1 w2", "", "w3", "W1  w2", "w4 " * 7, "w5 w6 é", " ", "w1 w2"]
    found, left_out = encode_sentences(iter(texts), tokenizer, max_words=6, keep_text=True)
    assert found.texts == ["w1 w2", "w5 w6 é"] and left_out == 6
    assert [found.ids(number).tolist() for number in range(2)] == tokenizer(found.texts)["input_ids"]


def test_words_are_deleted_and_bigrams_swapped_with_the_probabilities():
    words = np.arange(51, dtype=np.int32)
    generator = np.random.default_rng(0)
    assert 0.79 < np.mean([len(WordNoise(0.2, 0.0)(words, generator)) for _ in range(400)]) / 51 < 0.81
    noisy = np.stack([WordNoise(0.0, 0.3)(words, generator) for _ in range(400)])
    bigrams = noisy[:, :50].reshape(400, 25, 2)
    assert (noisy[:, 50] == 50).all() and (np.sort(bigrams, axis=2) == words[:50].reshape(25, 2)).all()
    assert 0.28 < (bigrams[:, :, 0] > bigrams[:, :, 1]).mean() < 0.32


def rows_of(batch):
    return [ids[mask == 1].tolist() for ids, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)]


def test_for_the_regulariser_originals_and_expansions_without_noise_follow(tokenizer):
    sentences = encoded(tokenizer)
    noise = WordNoise(0.5, 0.5)
    collate = SdaeCollator(sentences, tokenizer, noise, seed=0, expander=Expanding(), expansion_use="regulariser")
    batch = collate([(3, 1), (3, 2)])
    rows = rows_of(batch)
    assert rows[:2] == [noise(sentences.ids(row), np.random.default_rng([0, 3, row])).tolist() for row in (1, 2)]
    assert rows[2:4] == [sentences.ids(1).tolist(), sentences.ids(2).tolist()]
    texts = [sentences.texts[number] for number in (1, 2)]
    assert rows[4:] == [tokenizer(f"{text} w3 w{len(text) % 5}")["input_ids"] for text in texts]
    originals = [labels[labels >= 0].tolist() for labels in batch["labels"]]
    assert originals == rows[2:4]


def small_model(tokenizer):
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 12, "embedding_size": 6}
    return new_model("sdae", initialization="xavier", **sizes)


def trainer_of(tokenizer, folder, *, steps=6, interval=3, expander=None, use="noise", model=None, **options):
    sentences = encoded(tokenizer)
    noise = WordNoise(0.2, 0.2)
    train = SdaeCollator(sentences, tokenizer, noise, 0, expander, use)
    dev = SdaeCollator(sentences.take(np.arange(10)), tokenizer, noise, 0)
    settings = {"eval_strategy": "steps", "eval_steps": interval, "save_strategy": "steps", "save_steps": interval}
    settings |= {"max_steps": steps, "per_device_train_batch_size": 16, "load_best_model_at_end": False}
    arguments = on_cpu(EpochTrainingArguments, folder, **settings)
    return SdaeTrainer(model or small_model(tokenizer), arguments, train, dev, **options)


def test_the_loss_is_the_reconstruction_plus_the_weighted_distance_of_expanded_sentences(tokenizer, tmp_path):
    model = small_model(tokenizer)
    trainer = trainer_of(
        tokenizer, tmp_path, expander=Expanding(), use="regulariser", model=model, compositionality_weight=2.5
    )
    batch = next(iter(trainer.get_train_dataloader()))
    size = len(batch["labels"])
    found = trainer.compute_loss(model, batch)
    output = model(
        **{**batch, "input_ids": batch["input_ids"][:size], "attention_mask": batch["attention_mask"][:size]}
    )
    vectors = [model(torch.tensor([row])).pooler_output[0] for row in rows_of(batch)[size:]]
    distances = [
        1 - functional.cosine_similarity(vectors[place], vectors[place + size], dim=0) for place in range(size)
    ]
    assert torch.stack(distances).mean() > 0.01
    torch.testing.assert_close(found, output.loss + 2.5 * torch.stack(distances).mean())


def test_the_dev_loss_is_nats_a_word_of_all_dev_sentences_whatever_expansion_is_for(tokenizer, tmp_path):
    model = small_model(tokenizer).eval()
    lines = []
    trainer = trainer_of(tokenizer, tmp_path, expander=Expanding(), model=model, report=lines.append)
    found = trainer.evaluate()
    plain = trainer_of(tokenizer, tmp_path, model=model).evaluate()
    assert found == plain
    total = words = 0.0
    for number in range(10):
        batch = trainer.dev([(DEV_EPOCH, number)])
        output = model(**batch)
        total += output.loss.item()
        words += (batch["labels"] >= 0).sum().item() + 1
    assert found["eval_loss"] == pytest.approx(total / words, rel=1e-5)
    assert lines == [f"step 0: dev loss {total / words:.3f} nats per word (perplexity {math.exp(total / words):,.1f})"]


def test_the_last_update_is_measured_and_kept_whatever_the_interval(tokenizer, tmp_path):
    trainer = trainer_of(tokenizer, tmp_path, steps=10, interval=3)
    trainer.train()
    assert [entry["step"] for entry in trainer.scores()] == [3, 6, 9, 10]
    assert [path.name for path in tmp_path.glob("checkpoint-*")] == ["checkpoint-10"]
