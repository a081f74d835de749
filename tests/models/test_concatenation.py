from __future__ import annotations

import pytest
import torch
from padded_rows import padded
from tiny_encoders import new_model, write_average

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

SIZES = [20, 30]
ROWS = [[5, 6, 7, 25, 26], [8], [], [41, 21, 3, 49, 19, 20, 11], [30]]
TEXTS = ["The cat sat.", "a", "", "\u00fcber den", "the  hat", "never seen before"]


def make(**settings):
    sizes = {"vocab_sizes": SIZES, "part_size": 4, "initializer_range": 0.5}
    return new_model("concatenation", seed=3, **sizes, **settings).eval()


def means_by_hand(model, row):
    """The two means, one token at a time."""
    sums, counts = torch.zeros(2, 4), [0, 0]
    for token in row:
        part = int(token >= 20)
        sums[part] += model.embeddings[token].detach()
        counts[part] += 1
    return torch.stack([sums[part] / max(counts[part], 1) for part in (0, 1)])


def cosine(first, second):
    return float(torch.nn.functional.cosine_similarity(first, second, dim=0))


def test_the_cosine_of_weighted_parts_is_the_weighted_mean_of_their_cosines():
    model, rows = make(part_weights=[3.0, 1.0]), [[5, 6, 7, 25, 26], [41, 21, 3, 49, 19], [2, 45]]
    vectors = model(*padded(rows, 9)).pooler_output.detach()
    torch.testing.assert_close(make(part_weights=[6, 2])(*padded(rows, 9)).pooler_output, vectors)
    for one, first in zip(rows, vectors, strict=True):
        for other, second in zip(rows, vectors, strict=True):
            parts = [
                cosine(*pair) for pair in zip(means_by_hand(model, one), means_by_hand(model, other), strict=True)
            ]
            assert cosine(first, second) == pytest.approx((3 * parts[0] + parts[1]) / 4, abs=1e-6)


def test_an_embedding_is_the_means_of_both_parts_whatever_the_order_of_the_parts():
    model = make()
    embeddings = model(*padded(ROWS, 9)).pooler_output
    torch.testing.assert_close(embeddings, torch.stack([means_by_hand(model, row).flatten() for row in ROWS]))
    for weights in (None, [3.0, 1.0]):
        mixed, ordered = make(part_weights=weights)(torch.tensor([[25, 5, 26, 6, 7], ROWS[0]])).pooler_output
        assert torch.equal(mixed, ordered)


def test_names_of_tokens_tell_the_part_and_lead_back_to_the_ids():
    words = build_word_level_tokenizer(sentence_vocabulary(TEXTS[:5]))
    tokenizer = ConcatenationTokenizer(parts=[words, build_character_trigram_tokenizer(trigram_vocabulary(TEXTS[:5]))])
    names = tokenizer.tokenize("the cat")
    assert names == ["the", "cat", "[1] th", "[1]the", "[1]he ", "[1]e c", "[1] ca", "[1]cat", "[1]at "]
    assert tokenizer.convert_tokens_to_ids(names) == tokenizer("the cat")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(tokenizer("the cat")["input_ids"]) == names
    assert len(tokenizer) == len(tokenizer.get_vocab()) == tokenizer.vocab_size == sum(tokenizer.part_sizes)
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (0, 1)
    assert tokenizer.convert_tokens_to_ids("no such token") == 1
    assert tokenizer("a", text_pair="a")["input_ids"] == 2 * tokenizer("a")["input_ids"]


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    other = build_character_trigram_tokenizer(trigram_vocabulary(["entirely other characters", *TEXTS]))
    tokenizer = ConcatenationTokenizer(parts=[other, other])
    write_average(tmp_path, tokenizer, classes="concatenation", vocab_sizes=SIZES, part_size=4)
    with pytest.raises(ModelError, match="belong to another model"):
        SentenceEncoder.from_pretrained(tmp_path)
