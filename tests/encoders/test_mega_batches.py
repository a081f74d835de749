from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from naive_negatives import chosen_negative
from tiny_training import make, rows_of, sides, tokenizer, trainer_of

from hf_paraphrase.encoders.encoded_pairs import PairCollator, encode_pairs
from hf_paraphrase.encoders.negatives import NO_NEGATIVE

BATCH = 4


@pytest.fixture(scope="module")
def data():
    """Tokenizer and 23 pairs, so that the last batch of an epoch is short; five pairs repeat sentences of others."""
    first, second = sides(18)
    first += [*first[:2], first[3], second[5], first[6]]
    second += [*second[:2], second[4], first[5], first[6]]
    return tokenizer(), encode_pairs(rows_of(first, second), tokenizer())


def cosine(a, b):
    return (a @ b) / (a.norm() * b.norm())


def embed(model, ids):
    """One sentence (dim,), alone in its batch."""
    return model(torch.from_numpy(np.asarray(ids, np.int64))[None]).pooler_output[0]


def naive_training(model, pairs, *, epochs, mode, mega, seed=5, scramble=0.0, margin=0.4):
    """Trains sentence by sentence: no batches of sentences, no blocks, no sparse anything."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    every = [tuple(pairs.tokens[a:b].tolist()) for a, b in itertools.pairwise(pairs.offsets)]
    collator = PairCollator(pairs, pad_token_id=0, scramble=scramble, seed=seed)
    losses = []
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(pairs)).tolist()
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        while batches:
            pool, batches = batches[:mega], batches[mega:]
            numbers = list(itertools.chain.from_iterable(pool))
            half = len(numbers)
            rows = [2 * number for number in numbers] + [2 * number + 1 for number in numbers]
            texts = [every[row] for row in rows]
            seen = []  # the texts with their words in the order of this epoch
            for side in range(2):
                for number in numbers:
                    alone = collator([(epoch, number)])
                    seen.append(alone["input_ids"][side][alone["attention_mask"][side] > 0].numpy())
            with torch.no_grad():
                vectors = [embed(model, ids) for ids in seen]
            compare = lambda one, other, vectors=vectors: float(cosine(vectors[one], vectors[other]))  # noqa: E731
            chosen = [chosen_negative(sentence, texts, half, compare, mode) for sentence in range(2 * half)]
            place = 0
            for batch in pool:
                loss = torch.zeros((), dtype=torch.float64)
                for pair in range(place, place + len(batch)):
                    one, other = embed(model, seen[pair]), embed(model, seen[pair + half])
                    for sentence, vector in ((pair, one), (pair + half, other)):
                        if chosen[sentence] != NO_NEGATIVE:
                            negative = embed(model, seen[chosen[sentence]])
                            loss = loss + (margin - cosine(one, other) + cosine(vector, negative)).clamp_min(0)
                optimizer.zero_grad()
                # Without any negative the gradient is zero, and Adam goes on by its momentum.
                (loss / len(batch) + sum(0 * parameter.sum() for parameter in model.parameters())).backward()
                optimizer.step()
                losses.append(loss.item() / len(batch))
                place += len(batch)
    return losses


@pytest.mark.parametrize(
    ("mode", "mega", "kind", "scramble"),
    [
        *[("both", 1, "avg", 0), ("opposite", 2, "avg", 0), ("both", 4, "avg", 0), ("opposite", 9, "avg", 0)],
        ("both", 3, "lstm", 0.7),
    ],
)
def test_training_equals_a_naive_loop(tmp_path, data, mode, mega, kind, scramble):
    epochs = 2 if mega == 4 else 1
    reference = make(kind).double()
    losses = naive_training(reference, data[1], epochs=epochs, mode=mode, mega=mega, scramble=scramble)
    settings = {"negatives_from": mode, "mega_batch_size": mega, "num_train_epochs": epochs, "scramble": scramble}
    settings |= {"per_device_train_batch_size": BATCH, "dense_optimizer": True}
    settings |= {"logging_strategy": "steps", "logging_steps": 1}
    trainer = trainer_of(tmp_path, data, make(kind).double(), **settings)
    trainer.train()
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 6 * epochs and logged == pytest.approx(losses, abs=1e-6)  # summed in float32
    for name, value in reference.state_dict().items():
        found = trainer.model.state_dict()[name]
        torch.testing.assert_close(found, value, msg=lambda text, name=name: name + text, rtol=1e-9, atol=1e-11)
