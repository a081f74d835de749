from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.encoded_pairs import PairCollator, encode_pairs
from hf_paraphrase.encoders.losses import ContrastiveLoss, MarginLoss
from hf_paraphrase.encoders.negatives import choose_negatives
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.studies.expansion.expander import Expanded
from hf_paraphrase.studies.expansion.training_expansions import (
    VARIANTS,
    ExpansionWriter,
    compositionality_loss,
)
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

WORDS = [f"{letter}{number}" for letter in "abd" for number in range(20)]
SIZE = len(WORDS) + 2


class ToyExpander:
    """Replaces the first word aN of a sentence, which has one, by two words that depend on the epoch."""

    def expand_counted(self, sentences, epoch=0):
        texts, counts = [], []
        for sentence in sentences:
            words = sentence.split()
            places = [place for place, word in enumerate(words) if word[0] == "a" and int(word[1:]) % 3]
            counts.append(int(bool(places)))
            if places:
                number = int(words[places[0]][1:])
                words[places[0]] = f"d{(number + epoch) % 20} d{(number + 7) % 20}"
            texts.append(" ".join(words))
        return Expanded(texts, np.array(counts, np.int64), np.array(counts, np.int64))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("pairs")
    generator = np.random.default_rng(0)
    rows = [generator.integers(20, size=generator.integers(1, 5)) for _ in range(31)]
    sides = [[" ".join(f"{letter}{x}" for x in row) for row in rows] for letter in "ab"]
    sides[1][4], sides[0][6] = "", sides[0][5]
    sides[1][9] = "a1 a2 b3"
    sides[0][12] = "b4 b5"
    write_split(path, "train", [pa.table({"sentence1": sides[0], "sentence2": sides[1]}, schema=PAIRS)], PAIRS)
    return path


def read(folder, *, share=1.0, weight=1.0, seed=0):
    tokenizer = build_word_level_tokenizer(WORDS)
    writer = ExpansionWriter(ToyExpander(), tokenizer, share=share, weight=weight, seed=seed)
    texts = []

    def note(block):
        texts.extend(block)
        writer.add(block)

    pairs = encode_pairs(folder, tokenizer, read=note)
    return tokenizer, pairs, writer.finish(), texts


@pytest.fixture(scope="module")
def data(folder):
    return read(folder)


def row_of(arrays, number):
    return arrays.tokens[arrays.offsets[number] : arrays.offsets[number + 1]].tolist()


def test_every_sentence_that_can_be_expanded_has_the_expansions_of_its_variants(data):
    tokenizer, pairs, expansions, texts = data
    assert len(texts) == 2 * len(pairs) == len(expansions.numbers)
    seen = 0
    for row, text in enumerate(texts):
        assert row_of(pairs, row) == tokenizer(text)["input_ids"]
        found = [ToyExpander().expand_counted([text], epoch) for epoch in range(VARIANTS)]
        if not found[0].expanded[0]:
            assert expansions.numbers[row] == -1
            continue
        for epoch in range(6):
            (number,) = expansions.variant(np.array([row]), np.array([epoch]))
            assert row_of(expansions, number) == tokenizer(found[epoch % VARIANTS].texts[0])["input_ids"]
        seen += 1
    assert seen == expansions.num_expanded > 20


def test_the_share_draws_the_sentences_that_join_and_nothing_else_is_expanded_for_them(folder):
    _, _, every, _ = read(folder, share=2.0)
    assert sorted(every.joined.tolist()) == np.flatnonzero(every.numbers >= 0).tolist()
    _, _, some, _ = read(folder, share=0.8, weight=0.0, seed=3)
    assert 0 < len(some.joined) < len(every.joined)
    assert sorted(some.joined.tolist()) == np.flatnonzero(some.numbers >= 0).tolist()
    _, _, again, _ = read(folder, share=0.8, weight=0.0, seed=3)
    _, _, other, _ = read(folder, share=0.8, weight=0.0, seed=4)
    assert some.joined.tolist() == again.joined.tolist() != other.joined.tolist()
    _, _, none, _ = read(folder, share=0.0)
    assert len(none.joined) == 0 < none.num_expanded


def collator_of(data, weight=0.0, **options):
    _, pairs, expansions, _ = data
    return PairCollator(pairs, pad_token_id=0, augmentation=dataclasses.replace(expansions, weight=weight), **options)


def sentences_of(batch, prefix=""):
    ids, mask = batch[f"{prefix}input_ids"], batch[f"{prefix}attention_mask"]
    return [row[kept > 0].tolist() for row, kept in zip(ids, mask, strict=True)]


def test_pairs_that_join_are_a_sentence_and_its_expansion_of_the_epoch(data):
    tokenizer, pairs, expansions, texts = data
    collator = collator_of(data)
    assert collator.size == len(pairs) + len(expansions.joined)
    for number, row in enumerate(expansions.joined):
        for epoch in range(3):
            batch = collator([(epoch, 2), (epoch, len(pairs) + number), (epoch, 0)])
            expanded = ToyExpander().expand_counted([texts[row]], epoch).texts[0]
            expected = [texts[4], texts[row], texts[0], texts[5], expanded, texts[1]]
            assert sentences_of(batch) == tokenizer(expected)["input_ids"]
            assert batch["keys"].tolist() == pairs.keys[[4, row, 0, 5, row, 1]].tolist()


def test_the_expansions_of_a_batch_are_those_of_its_own_pairs_alone(data):
    tokenizer, pairs, expansions, texts = data
    batch = collator_of(data, weight=1.0)([(1, 3), (1, len(pairs) + 1), (1, 8)])
    rows = [6, None, 16, 7, None, 17]
    have = [place for place, row in enumerate(rows) if row is not None and expansions.numbers[row] >= 0]
    assert batch["expanded_rows"].tolist() == have and 5 in have
    expected = ToyExpander().expand_counted([texts[rows[place]] for place in have], 1).texts
    assert sentences_of(batch, "expanded_") == tokenizer(expected)["input_ids"]


def test_the_compositionality_loss_has_the_value_of_its_formula():
    vectors = torch.tensor([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0], [0.0, 0.0]], requires_grad=True)
    expanded = torch.tensor([[1.0, 1.0], [0.0, -1.0], [1.0, 0.0]])
    loss = compositionality_loss(vectors, expanded, torch.tensor([0, 1, 3]))
    expected = ((1 - 1 / math.sqrt(2)) + (1 + 0.8) + 1.0) / 4
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    loss.backward()
    assert vectors.grad[2].abs().sum() == 0 < vectors.grad[0].abs().sum()
    assert torch.isfinite(vectors.grad).all()
    same = compositionality_loss(vectors[:3], vectors[:3].detach(), torch.arange(3))
    assert same.item() == pytest.approx(0.0, abs=1e-6)


def make(kind="avg"):
    torch.manual_seed(0)
    if kind == "avg":
        return AvgModel(AvgConfig(vocab_size=SIZE, hidden_size=8, initializer_range=0.5))
    return GranModel(GranConfig(vocab_size=SIZE, hidden_size=8, initializer_range=0.5, cell=kind))


def trainer_of(path, data, model=None, *, expansion_weight=0.0, **settings):
    tokenizer, pairs, expansions, _ = data
    options = {"num_train_epochs": 2, "per_device_train_batch_size": 10, "learning_rate": 0.02, "use_cpu": True}
    options |= {"report_to": "none", "disable_tqdm": True, "seed": 5, "dense_optimizer": True, **settings}
    arguments = EncoderTrainingArguments(output_dir=str(path), **options)
    augmentation = dataclasses.replace(expansions, weight=expansion_weight)
    return EncoderTrainer(model or make(), arguments, pairs, tokenizer, augmentation=augmentation)


@pytest.mark.parametrize("kind", ["avg", "lstm"])
@pytest.mark.parametrize("labelled", [False, True])
def test_training_takes_the_steps_of_a_plain_loop_with_both_losses(tmp_path, data, kind, labelled):
    tokenizer, pairs, expansions, texts = data
    settings = {"loss": "contrastive", "margin": 1.1} if labelled else {}
    if labelled:
        pairs = dataclasses.replace(pairs, labels=(np.arange(len(pairs)) % 2).astype(np.int8))
    model, reference = make(kind), make(kind)
    trainer = trainer_of(tmp_path, (tokenizer, pairs, expansions, texts), model, expansion_weight=0.6, **settings)
    trainer.train()
    assert trainer.state.global_step == 2 * -(-(len(pairs) + len(expansions.joined)) // 10)
    collator = PairCollator(pairs, pad_token_id=0, augmentation=expansions)
    optimizer = torch.optim.Adam(reference.parameters(), lr=0.02)
    for epoch in range(2):
        trainer.batches.set_epoch(epoch)
        for items in trainer.batches:
            batch = collator(items)
            optimizer.zero_grad()
            vectors = reference(batch["input_ids"], batch["attention_mask"]).pooler_output
            if labelled:
                loss = ContrastiveLoss(1.1)(vectors, batch["labels"])
            else:
                loss = MarginLoss(0.4)(vectors, choose_negatives(vectors.detach(), batch["keys"]))
            distances = []
            for side in range(2):
                for place, (_, pair) in enumerate(items):
                    if pair >= len(pairs):
                        continue
                    found = ToyExpander().expand_counted([texts[2 * pair + side]], epoch)
                    if found.expanded[0]:
                        ids = torch.tensor([tokenizer(found.texts[0])["input_ids"]])
                        alone = reference(ids, torch.ones_like(ids)).pooler_output[0]
                        cosine = torch.cosine_similarity(vectors[side * len(items) + place], alone, dim=0)
                        distances.append(1 - cosine)
            loss = loss + 0.6 * sum(distances, torch.zeros(())) / (2 * len(items))
            loss.backward()
            optimizer.step()
    for name, value in model.named_parameters():
        torch.testing.assert_close(value, dict(reference.named_parameters())[name], rtol=1e-4, atol=1e-5)
