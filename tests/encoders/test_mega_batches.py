from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from naive_negatives import chosen_negative
from tiny_training import KillAt, Killed, make, rows_of, sides, tokenizer, trainer_of

from hf_paraphrase.encoders.encoded_pairs import PairCollator, encode_pairs
from hf_paraphrase.encoders.negatives import NONE
from hf_paraphrase.training.callbacks import last_checkpoint

BATCH = 4
DENSE = {"per_device_train_batch_size": BATCH, "dense_optimizer": True}


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
            chosen = [
                chosen_negative(
                    sentence,
                    texts,
                    half,
                    lambda one, other, vectors=vectors: float(cosine(vectors[one], vectors[other])),
                    mode,
                )
                for sentence in range(2 * half)
            ]
            place = 0
            for batch in pool:
                loss = torch.zeros((), dtype=torch.float64)
                for pair in range(place, place + len(batch)):
                    one, other = embed(model, seen[pair]), embed(model, seen[pair + half])
                    for sentence, vector in ((pair, one), (pair + half, other)):
                        if chosen[sentence] != NONE:
                            negative = embed(model, seen[chosen[sentence]])
                            loss = loss + (margin - cosine(one, other) + cosine(vector, negative)).clamp_min(0)
                optimizer.zero_grad()
                if loss.requires_grad:
                    (loss / len(batch)).backward()
                else:
                    for parameter in model.parameters():
                        parameter.grad = torch.zeros_like(parameter)
                optimizer.step()
                losses.append(loss.item() / len(batch))
                place += len(batch)
    return losses


def assert_equal_models(model, reference, **tolerances):
    for name, value in reference.state_dict().items():
        torch.testing.assert_close(
            model.state_dict()[name], value, msg=lambda text, name=name: f"{name}: {text}", **tolerances
        )


@pytest.mark.parametrize(("mode", "mega"), [("both", 1), ("opposite", 2), ("both", 4), ("opposite", 9)])
def test_training_equals_a_naive_loop(tmp_path, data, mode, mega):
    epochs = 2 if mega == 4 else 1
    reference = make().double()
    losses = naive_training(reference, data[1], epochs=epochs, mode=mode, mega=mega)
    settings = {"negatives_from": mode, "mega_batch_size": mega, "num_train_epochs": epochs, **DENSE}
    model = make().double()
    trainer = trainer_of(tmp_path, data, model, **settings, logging_strategy="steps", logging_steps=1)
    trainer.train()
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert len(losses) == 6 * epochs and logged == pytest.approx(losses, abs=1e-6)  # summed in float32
    assert_equal_models(trainer.model, reference, rtol=1e-9, atol=1e-11)


def test_scrambled_training_of_a_recurrent_encoder_equals_a_naive_loop(tmp_path, data):
    settings = {"mega_batch_size": 3, "scramble": 0.7, "num_train_epochs": 1, **DENSE}
    reference = make("lstm").double()
    naive_training(reference, data[1], epochs=1, mode="both", mega=3, scramble=0.7)
    trainer = trainer_of(tmp_path, data, make("lstm").double(), **settings)
    trainer.train()
    assert_equal_models(trainer.model, reference, rtol=1e-8, atol=1e-10)


def test_a_run_killed_inside_a_mega_batch_resumes_to_the_same_weights(tmp_path, data):
    """The checkpoint is that of the last epoch: no mega-batch is running then."""
    settings = {"mega_batch_size": 4, "scramble": 0.5, "num_train_epochs": 3, "per_device_train_batch_size": BATCH}
    undisturbed = trainer_of(tmp_path / "a", data, make(dropout=0.3), **settings)
    undisturbed.train()
    killed = trainer_of(tmp_path / "b", data, make(dropout=0.3), **settings)
    killed.add_callback(KillAt(9))
    with pytest.raises(Killed):
        killed.train()
    resumed = trainer_of(tmp_path / "b", data, make(dropout=0.3), **settings)
    resumed.train(resume_from_checkpoint=str(last_checkpoint(tmp_path / "b")))
    assert resumed.state.global_step == 18
    assert_equal_models(resumed.model, undisturbed.model, rtol=0, atol=0)
