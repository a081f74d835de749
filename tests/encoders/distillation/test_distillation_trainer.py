from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from tiny_encoders import new_model
from tiny_training import on_cpu
from tokenizers import Tokenizer, models

from hf_paraphrase.encoders.architectures import new_encoder
from hf_paraphrase.encoders.distillation import DistillationTrainer, DistillationTrainingArguments
from hf_paraphrase.encoders.distillation.char_ngrams import CharNgramEmbeddings, spell_tokens
from hf_paraphrase.encoders.distillation.objective import DistillationTexts, turn_to_principal_axes
from hf_paraphrase.encoders.distillation.teacher_vectors import TeacherVectors, UnitVectors
from hf_paraphrase.tokenization.ragged_ids import TokenIds
from hf_paraphrase.tokenization.word_level import as_fast_tokenizer, build_word_level_tokenizer
from hf_paraphrase.vectors.similarity import unit_rows

WORDS = [f"w{number}" for number in range(40)]
TEXTS, SIZE = 300, 6


def data_of(tokenizer, seed=0):
    """Texts whose targets are means of vectors of their words, so that an average can have them."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 7, TEXTS)
    ends = np.concatenate([[0], lengths.cumsum()])
    tokens = generator.integers(2, len(tokenizer), ends[-1]).astype(np.int32)
    vectors = generator.normal(size=(len(tokenizer), SIZE))
    means = np.stack([vectors[tokens[a:b]].mean(0) for a, b in pairwise(ends)])
    unit = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float16)
    return DistillationTexts(TokenIds(tokens, ends), TeacherVectors([UnitVectors(unit, np.arange(TEXTS))]))


@pytest.fixture(scope="module")
def tokenizer():
    return build_word_level_tokenizer(WORDS)


@pytest.fixture
def trainer_of(tokenizer, tmp_path):
    def make(kind="avg", *, letters=False, evaluator=None, name="run", size=SIZE, **settings):
        model = new_encoder(kind, tokenizer, hidden_size=size, seed=1)
        data = data_of(tokenizer)
        spelt = None
        if letters:
            spelt = CharNgramEmbeddings(spell_tokens(tokenizer), *model.embeddings.shape, buckets=64, seed=1)
        settings = {"num_train_epochs": 4, "learning_rate": 0.02, "per_device_train_batch_size": 32, **settings}
        arguments = on_cpu(DistillationTrainingArguments, tmp_path / name, **settings)
        return DistillationTrainer(model, arguments, data, tokenizer, evaluator=evaluator, letters=spelt)

    return make


def long(texts):
    return TokenIds(texts.ids.astype(np.int64), texts.offsets)


def test_a_word_without_text_gets_the_vector_of_its_letters(trainer_of, tokenizer):
    trainer = trainer_of(letters=True, num_train_epochs=2)
    with torch.no_grad():
        trainer.model.embeddings.zero_()
    data = trainer.training_objective.data
    data.texts.ids[data.texts.ids == len(tokenizer) - 1] = 2
    trainer.train()
    row = len(tokenizer) - 1
    buckets, _ = trainer.training_objective.letters.of_rows(np.array([row]))
    torch.testing.assert_close(trainer.model.embeddings[row], trainer.training_objective.letters.table[buckets].sum(0))
    assert trainer.model.embeddings[row].abs().max() > 0.01


def test_the_dense_optimizer_makes_the_updates_of_adam(trainer_of):
    tables = []
    for options in ({"dense_optimizer": True}, {"weight_decay": 1e-30}, {}):
        trainer = trainer_of(letters=True, name=f"run{len(tables)}", **options)
        trainer.train()
        tables.append(trainer.model.embeddings.detach())
    torch.testing.assert_close(tables[0], tables[1], atol=1e-4, rtol=1e-4)
    assert (tables[0] - tables[2]).abs().max() > 0.01


def test_the_best_weights_are_kept_with_their_letters(trainer_of):
    seen = []

    def evaluator(encoder):
        seen.append(encoder.model.embeddings.detach().clone())
        return float([0, 1, 5, 2, 3][len(seen) - 1])

    trainer = trainer_of(letters=True, evaluator=evaluator)
    trainer.train()
    assert len(seen) == 5 and torch.equal(trainer.model.embeddings, seen[2])
    assert trainer.best_scores()["dev_mean"] == 5
    with trainer.trained_encoder() as encoder:
        assert torch.equal(encoder.model.embeddings, seen[2])


def test_principal_axes_change_no_cosine_and_the_first_components_hold_most(trainer_of):
    trainer = trainer_of(num_train_epochs=2)
    trainer.train()
    encoder, texts = trainer.encoder, trainer.training_objective.data.texts
    lines = ["w1 w2", "w5", "w7 w8 w9 w1"]
    before = encoder.similarity(lines, lines)
    turn_to_principal_axes(encoder, texts)
    np.testing.assert_allclose(encoder.similarity(lines, lines), before, atol=1e-5)
    squares = np.square(unit_rows(encoder.encode_token_ids(long(texts)))).sum(0)
    assert (squares[:-1] >= squares[1:] - 1e-4).all()
    turn_to_principal_axes(encoder, texts, 3)
    assert encoder.encode(lines).shape == (3, 3)


def test_a_row_without_gradient_does_not_move_wherever_the_special_tokens_are(tmp_path):
    # The unknown word and the padding are the last of the vocabulary, as byte-level BPE has them.
    vocabulary = {**{word: number for number, word in enumerate(WORDS)}, "[UNK]": 40, "[PAD]": 41}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer = as_fast_tokenizer(backend, pad_token="[PAD]", unk_token="[UNK]")
    special = {"pad_token_id": 41, "unk_token_id": 40, "skip_unknown": True}
    model = new_model("avg", vocab_size=42, hidden_size=SIZE, **special)
    ids = [[40, 1, 2], [3], *[[number, number + 1] for number in range(4, 10)]]
    data = DistillationTexts(
        TokenIds.of_lists(ids),
        TeacherVectors([UnitVectors(np.eye(len(ids), SIZE, dtype=np.float16) + 1, np.arange(len(ids)))]),
    )
    sizes = {"per_device_train_batch_size": 2, "num_train_epochs": 2}
    arguments = on_cpu(DistillationTrainingArguments, tmp_path, **sizes)
    moved, before = [], model.embeddings.detach().clone()
    trainer = DistillationTrainer(model, arguments, data, tokenizer)
    assert trainer.training_objective.collate([(0, 0), (0, 1)])["rows"].tolist() == [1, 2, 3, 40]
    compute = type(trainer).compute_loss

    def computed(self, model, inputs, *rest, **options):
        nonlocal before
        now = model.embeddings.detach().clone()
        moved.append({*(now != before).any(1).nonzero()[:, 0].tolist()})
        before = now
        occurring.append({*inputs["rows"][inputs["input_ids"]][inputs["attention_mask"].bool()].tolist()} - {40})
        return compute(self, model, inputs, *rest, **options)

    occurring = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(trainer), "compute_loss", computed)
        trainer.train()
    assert moved[1:] == occurring[:-1] and len(moved) == 8 and model.config.unk_token_id == 40
