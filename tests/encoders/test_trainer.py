from __future__ import annotations

import pytest
import torch
from tiny_training import SIZE, KillAt, Killed, make, rows_of, sides, tokenizer, trainer_of

from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.training.callbacks import last_checkpoint


@pytest.fixture(scope="module")
def data():
    """Tokenizer and 53 pairs."""
    return tokenizer(), encode_pairs(rows_of(*sides(53)), tokenizer())


def test_a_killed_and_resumed_run_ends_with_the_weights_of_an_undisturbed_one(tmp_path, data):
    def trainer(folder):
        score = {"evaluator": lambda encoder: float(encoder.encode(["a1"])[0, 0])}
        return trainer_of(folder, data, make("lstm", word_dropout=0.3), **score, scramble=0.5, num_train_epochs=3)

    undisturbed = trainer(tmp_path / "a")
    undisturbed.train()
    killed = trainer(tmp_path / "b")
    killed.add_callback(KillAt(11))
    with pytest.raises(Killed):
        killed.train()
    (tmp_path / "b" / "checkpoint-10").mkdir()  # one that was being written
    checkpoint = last_checkpoint(tmp_path / "b")
    assert checkpoint.name == "checkpoint-6"
    assert not (tmp_path / "b" / "checkpoint-10").exists()
    resumed = trainer(tmp_path / "b")
    resumed.train(resume_from_checkpoint=str(checkpoint))
    for name, value in undisturbed.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    assert resumed.scores() == undisturbed.scores()
    assert resumed.best_scores() == undisturbed.best_scores()


def test_negatives_are_chosen_without_dropout(tmp_path, data):
    model = make(dropout=0.9)
    trainer = trainer_of(tmp_path, data, model)
    batch = trainer.training_objective.collate([(0, pair) for pair in range(10)])
    tokens = {name: batch[name] for name in ("input_ids", "attention_mask")}
    model.eval()
    clean = model(**tokens).pooler_output
    model.train()
    noisy = model(**tokens).pooler_output
    assert torch.equal(trainer.vectors_without_dropout(model, *tokens.values(), noisy), clean) and model.training


def test_regularisation_adds_its_gradient(tmp_path, data):
    plain = trainer_of(tmp_path / "a", data, make("lstm"))
    batch = plain.training_objective.collate([(0, pair) for pair in range(10)])
    strong = trainer_of(tmp_path / "b", data, make("lstm"), lambda_c=0.1, lambda_w=0.2)
    with torch.no_grad():
        for trainer in (plain, strong):
            trainer.model.embeddings += 1
    difference = strong.compute_loss(strong.model, batch) - plain.compute_loss(plain.model, batch)
    squares = sum(value.square().sum() for name, value in strong.model.named_parameters() if name != "embeddings")
    torch.testing.assert_close(difference, 0.05 * squares + 0.1 * SIZE * 8, rtol=1e-4, atol=1e-3)


def test_word_vectors_get_sparse_gradients_unless_dense_ones_are_needed(tmp_path, data):
    for settings, sparse in (({}, True), ({"dense_optimizer": True}, False), ({"lambda_w": 0.1}, False)):
        trainer = trainer_of(tmp_path, data, **settings)
        assert trainer.model.sparse_gradients is sparse
        assert (type(trainer.create_optimizer()) is torch.optim.Adam) is not sparse
