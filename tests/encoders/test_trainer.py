from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from killed_runs import KillAt, Killed

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.encoded_pairs import PairCollator, encode_pairs
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer
from hf_paraphrase.training.callbacks import last_checkpoint

SIZE = 62


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Tokenizer and 53 pairs: sentence 1 in words a…, sentence 2 the same sentence in words b…."""
    folder = tmp_path_factory.mktemp("pairs")
    generator = np.random.default_rng(0)
    sentences = [generator.integers(30, size=generator.integers(2, 7)) for _ in range(53)]
    table = pa.table(
        {
            f"sentence{side}": [" ".join(f"{letter}{x}" for x in row) for row in sentences]
            for side, letter in ((1, "a"), (2, "b"))
        }
    )
    write_split(folder, "train", [table], PAIRS)
    tokenizer = build_word_level_tokenizer([f"{letter}{x}" for letter in "ab" for x in range(30)])
    return tokenizer, encode_pairs(folder, tokenizer)


def make(kind="avg", **settings):
    torch.manual_seed(0)
    if kind == "avg":
        return AvgModel(AvgConfig(vocab_size=SIZE, hidden_size=8, initializer_range=0.5, **settings))
    return GranModel(GranConfig(vocab_size=SIZE, hidden_size=8, initializer_range=0.5, cell=kind, **settings))


def evaluate(encoder):
    """How often the b sentence nearest to an a word is its own translation, in percent."""
    first, second = (encoder.encode([f"{letter}{x}" for x in range(30)]) for letter in "ab")
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (first, second)]
    return {"dev_mean": float(((unit[0] @ unit[1].T).argmax(1) == np.arange(30)).mean() * 100)}


def trainer_of(folder, data, model=None, score=evaluate, **settings):
    tokenizer, pairs = data
    options = {"num_train_epochs": 3, "per_device_train_batch_size": 10, "learning_rate": 0.02, "use_cpu": True}
    options |= {"report_to": "none", "disable_tqdm": True, "seed": 5, **settings}
    arguments = EncoderTrainingArguments(output_dir=str(folder), **options)
    return EncoderTrainer(model or make(), arguments, pairs, tokenizer, evaluator=score)


def test_the_weights_of_the_best_epoch_are_kept_and_the_untrained_state_cannot_win(tmp_path, data):
    values = iter([99.0, 10.0, 30.0, 20.0, 30.0])
    states = []

    def score(encoder):
        states.append({name: value.clone() for name, value in trainer.model.state_dict().items()})
        return {"dev_mean": next(values)}

    trainer = trainer_of(tmp_path, data, make("lstm"), score, num_train_epochs=4)
    trainer.train()
    assert trainer.best_scores()["epoch"] == 2  # the first of equals
    for name, value in trainer.model.state_dict().items():
        assert torch.equal(value, states[2][name]), name
        assert name == "x" or not torch.equal(value, states[4][name])
    assert len(list(tmp_path.glob("checkpoint-*"))) == 2


def test_a_killed_and_resumed_run_ends_with_the_weights_of_an_undisturbed_one(tmp_path, data):
    kind, settings, options = "lstm", {"word_dropout": 0.3}, {"scramble": 0.5}
    undisturbed = trainer_of(tmp_path / "a", data, make(kind, **settings), **options)
    undisturbed.train()
    killed = trainer_of(tmp_path / "b", data, make(kind, **settings), **options)
    killed.add_callback(KillAt(11))
    with pytest.raises(Killed):
        killed.train()
    (tmp_path / "b" / "checkpoint-10").mkdir()  # one that was being written
    checkpoint = last_checkpoint(tmp_path / "b")
    assert checkpoint.name == "checkpoint-6"
    assert not (tmp_path / "b" / "checkpoint-10").exists()
    resumed = trainer_of(tmp_path / "b", data, make(kind, **settings), **options)
    resumed.train(resume_from_checkpoint=str(checkpoint))
    for name, value in undisturbed.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name]), name
    assert resumed.scores() == undisturbed.scores()
    assert resumed.best_scores() == undisturbed.best_scores()


def test_negatives_are_chosen_without_dropout(tmp_path, data):
    _, pairs = data
    model = make(dropout=0.9)
    trainer = trainer_of(tmp_path, data, model, None)
    batch = PairCollator(pairs, pad_token_id=0)([(0, pair) for pair in range(10)])
    tokens = {name: batch[name] for name in ("input_ids", "attention_mask")}
    model.eval()
    clean = model(**tokens).pooler_output
    model.train()
    noisy = model(**tokens).pooler_output
    assert torch.equal(trainer.vectors_without_dropout(model, *tokens.values(), noisy), clean) and model.training


def test_regularisation_adds_its_gradient(tmp_path, data):
    _, pairs = data
    batch = PairCollator(pairs, pad_token_id=0)([(0, pair) for pair in range(10)])
    plain = trainer_of(tmp_path / "a", data, make("lstm"), None)
    strong = trainer_of(tmp_path / "b", data, make("lstm"), None, lambda_c=0.1, lambda_w=0.2)
    with torch.no_grad():
        for trainer in (plain, strong):
            trainer.model.embeddings += 1
    difference = strong.compute_loss(strong.model, batch) - plain.compute_loss(plain.model, batch)
    squares = sum(value.square().sum() for name, value in strong.model.named_parameters() if name != "embeddings")
    torch.testing.assert_close(difference, 0.05 * squares + 0.1 * SIZE * 8, rtol=1e-4, atol=1e-3)


def test_word_vectors_get_sparse_gradients_unless_dense_ones_are_needed(tmp_path, data):
    for settings, sparse in (({}, True), ({"dense_optimizer": True}, False), ({"lambda_w": 0.1}, False)):
        trainer = trainer_of(tmp_path, data, score=None, **settings)
        assert trainer.model.sparse_gradients is sparse
        assert (type(trainer.create_optimizer()) is torch.optim.Adam) is not sparse
