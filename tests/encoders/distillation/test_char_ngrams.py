from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xxhash
from tokenizers import Tokenizer, models

from hf_paraphrase.encoders.architectures import new_encoder
from hf_paraphrase.encoders.distillation.char_ngrams import CharNgramEmbeddings, character_ngrams, spell_tokens
from hf_paraphrase.encoders.distillation.objective import (
    DistillationObjective,
    DistillationTexts,
    embed_with_local_table,
)
from hf_paraphrase.encoders.distillation.teacher_vectors import TeacherVectors, UnitVectors
from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.ragged_ids import TokenIds
from hf_paraphrase.tokenization.word_level import as_fast_tokenizer, build_word_level_tokenizer


def test_the_ngrams_are_those_of_the_spelling_with_its_marks():
    assert character_ngrams("<cat>") == ["<ca", "cat", "at>", "<cat", "cat>", "<cat>"]
    assert character_ngrams("<a>") == ["<a>"] and character_ngrams("<>") == ["<>"]


def test_pieces_inside_a_word_have_no_opening_mark():
    assert spell_tokens(build_word_level_tokenizer(["dog", "."])) == [None, None, "<dog>", "<.>"]
    for kind, pieces, expected in (
        (models.WordPiece, ["sing", "##ing"], ["<sing>", "ing>"]),
        (models.WordLevel, ["▁sing", "ing", "▁"], ["<sing", "ing", None]),
    ):
        vocabulary = {piece: number for number, piece in enumerate(["[PAD]", "[UNK]", *pieces])}
        backend = Tokenizer(kind(vocabulary, unk_token="[UNK]"))
        found = spell_tokens(as_fast_tokenizer(backend, pad_token="[PAD]", unk_token="[UNK]"))
        assert found == [None, None, *expected]


def test_the_folded_table_is_the_sum_that_a_loop_computes():
    letters = CharNgramEmbeddings([None, None, "<cat>", "<cats>", "<dog>"], 7, 4, buckets=11, seed=3)
    embeddings = torch.randn(7, 4, generator=torch.Generator().manual_seed(0))
    expected = embeddings.clone()
    for row, word in ((2, "<cat>"), (3, "<cats>"), (4, "<dog>")):
        for size in (3, 4, 5):
            for start in range(len(word) - size + 1):
                bucket = xxhash.xxh3_64_intdigest(word[start : start + size].encode()) % 11
                expected[row] += letters.table[bucket].detach()
    before = embeddings.clone()
    torch.testing.assert_close(letters.folded(embeddings), expected)
    assert torch.equal(embeddings, before)


KINDS = [("avg", {}, False), ("avg", {"skip_unknown": True}, True), ("gran", {}, False), ("word-trigram", {}, True)]


@pytest.mark.parametrize(("kind", "settings", "with_letters"), KINDS)
def test_a_batch_with_its_local_table_is_the_model_with_the_folded_table(kind, settings, with_letters):
    words = build_word_level_tokenizer(["cat", "cats", "dog", "dogs", "unused", "bird"])
    tokenizer = words
    if kind == "word-trigram":
        trigrams = build_character_trigram_tokenizer(trigram_vocabulary(["cat cats dog"]))
        tokenizer = ConcatenationTokenizer(parts=[words, trigrams])
        assert spell_tokens(tokenizer) == spell_tokens(words)
    model = new_encoder(kind, tokenizer, hidden_size=6, **settings).eval()
    with torch.no_grad():
        model.embeddings.normal_(generator=torch.Generator().manual_seed(1))
    letters = CharNgramEmbeddings(spell_tokens(words), *model.embeddings.shape, buckets=50) if with_letters else None
    lines = ["dog cat dog", "cats", "a dog strange", "", "dogs bird"]
    encoded = TokenIds.of_lists([row or [] for row in tokenizer(lines)["input_ids"]])
    targets = TeacherVectors([UnitVectors(np.ones((5, 2), np.float16), np.arange(5))])
    args = SimpleNamespace(per_device_train_batch_size=5, seed=0, matryoshka=[])
    objective = DistillationObjective(model, args, DistillationTexts(encoded, targets), letters)
    inputs = objective.collate([(0, number) for number in range(5)])
    assert len(inputs["rows"]) < len(model.embeddings) and inputs["targets"].shape == (5, 2)
    sizes = getattr(model.config, "vocab_sizes", None)
    found = embed_with_local_table(model, model, inputs, letters)
    assert getattr(model.config, "vocab_sizes", None) == sizes
    found.square().sum().backward()
    gradient = model.embeddings.grad
    assert gradient.is_sparse and (torch.diff(gradient._indices()[0]) > 0).all()

    # The same with the whole table, which knows nothing of local ids.
    plain = model.embeddings.detach().clone()
    whole = torch.nn.Parameter(plain if letters is None else letters.folded(plain))
    model.embeddings = whole
    padded, mask = encoded.padded(np.arange(5), tokenizer.pad_token_id)
    expected = model(torch.from_numpy(padded), attention_mask=torch.from_numpy(mask)).pooler_output
    torch.testing.assert_close(found, expected)
    expected.square().sum().backward()
    torch.testing.assert_close(gradient.to_dense(), whole.grad)
    if letters is not None:
        summed = torch.zeros_like(letters.table)
        for row, change in enumerate(whole.grad):
            for bucket in letters.of_rows(np.array([row]))[0]:
                summed[bucket] += change
        torch.testing.assert_close(letters.table.grad.to_dense(), summed)
        assert (torch.diff(letters.table.grad._indices()[0]) > 0).all()
