from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from datasets import Dataset

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.encoded_pairs import PairCollator, encode_pairs
from hf_paraphrase.errors import InputError, OutputError
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer
from hf_paraphrase.training.batches import PairItems

WORDS = [f"w{number}" for number in range(50)]
ROWS = [(" ".join(WORDS[i : i + 1 + i % 5]), " ".join(WORDS[i + 1 : i + 3 + i % 3])) for i in range(11)]


def pairs_of(rows, labels=None):
    pairs = [{"sentence1": one, "sentence2": other} for one, other in rows]
    return pairs if labels is None else [{**pair, "label": label} for pair, label in zip(pairs, labels, strict=True)]


def folder_of(path, rows, labels=None):
    """Writes pairs in several shards."""
    batches = Dataset.from_list(pairs_of(rows, labels)).data.table.to_batches(max_chunksize=3)
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    write_split(path, "train", tables, tables[0].schema, rows_per_shard=4)
    return path


@pytest.fixture
def tokenizer():
    return build_word_level_tokenizer(WORDS)


def rows_of(pairs):
    return [pairs.tokens[a:b].tolist() for a, b in zip(pairs.offsets[:-1], pairs.offsets[1:], strict=True)]


def test_pairs_are_tokenised_in_order_across_shards(tmp_path, tokenizer):
    pairs = encode_pairs(folder_of(tmp_path, ROWS), tokenizer)
    expected = [tokenizer(text)["input_ids"] for pair in ROWS for text in pair]
    assert rows_of(pairs) == expected and len(pairs) == 11
    for i, first in enumerate(expected):
        for j, second in enumerate(expected):
            assert (pairs.keys[i] == pairs.keys[j]) == (first == second)
    counts = pairs.counts(len(tokenizer))
    assert counts.sum() == sum(map(len, expected)) and counts[2] == sum(row.count(2) for row in expected)


def test_pairs_without_any_label_are_paraphrases_which_is_said_unless_the_labels_are_to_be_learnt(tokenizer, caplog):
    rows = pairs_of(ROWS[:5], [None] * 5)
    pairs = encode_pairs(rows, tokenizer)
    assert len(pairs) == 5 and pairs.not_paraphrases == 0
    assert "5 of 5 pairs have no label, so each of them counts as a paraphrase" in caplog.text
    with pytest.raises(InputError, match="has no label"):
        encode_pairs(rows, tokenizer, labelled=True)
    with pytest.raises(InputError, match="does not say whether"):
        encode_pairs(pairs_of(ROWS[:3], [1, 2, 0]), tokenizer)


def test_labels_stay_with_their_pairs_and_reach_the_batch(tmp_path, tokenizer):
    labels = [1, 0, 0, 1, 1, 0, 1]
    folder = folder_of(tmp_path, ROWS[:7], labels)
    pairs = encode_pairs(folder, tokenizer, labelled=True)
    assert pairs.labels.tolist() == labels and pairs.not_paraphrases == 0
    batch = PairCollator(pairs, pad_token_id=0)([(0, 5), (0, 0), (0, 3)])
    assert batch["labels"].tolist() == [0, 1, 1]
    sample = encode_pairs(folder, tokenizer, labelled=True, max_pairs=4, seed=3)
    everything = rows_of(pairs)
    indices = [everything[::2].index(row) for row in rows_of(sample)[::2]]
    assert sample.labels.tolist() == [labels[index] for index in indices]


@pytest.mark.parametrize("kind", [bool, float])
def test_without_labels_asked_for_pairs_that_are_no_paraphrases_are_left_out(tokenizer, kind):
    pairs = encode_pairs(pairs_of(ROWS[:5], map(kind, [1, 0, 0, 1, 1])), tokenizer)
    assert pairs.labels is None and len(pairs) == 3 and pairs.not_paraphrases == 2
    assert rows_of(pairs) == [tokenizer(text)["input_ids"] for row in (0, 3, 4) for text in ROWS[row]]


def test_token_ids_are_in_nameless_files_and_leave_nothing_behind(tmp_path, tokenizer):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    pairs = encode_pairs(folder_of(tmp_path / "pairs", ROWS), tokenizer, scratch=scratch)
    assert list(scratch.iterdir()) == [] and isinstance(pairs.tokens.base, np.memmap)
    with pytest.raises(OutputError, match="cannot write"):
        encode_pairs(tmp_path / "pairs", tokenizer, scratch=tmp_path / "absent")


def test_pairs_with_an_empty_side_are_dropped_and_a_set_without_others_is_an_input_error(tokenizer):
    pairs = encode_pairs(pairs_of([("w1", ""), (None, "w2"), ("  ", "w3"), *ROWS]), tokenizer)
    assert pairs.dropped == 3 and len(pairs) == 11
    with pytest.raises(InputError, match="every pair has an empty side"):
        encode_pairs(pairs_of([("", "w1")]), tokenizer)


def test_a_batch_holds_first_sentences_then_partners_padded_on_the_right(tokenizer):
    pairs = encode_pairs(pairs_of(ROWS), tokenizer)
    expected = rows_of(pairs)
    items = PairItems(11)
    batch = PairCollator(pairs, pad_token_id=0)([items[(0, pair)] for pair in (7, 2, 4)])
    for position, row in enumerate((14, 4, 8, 15, 5, 9)):
        length = len(expected[row])
        assert batch["input_ids"][position].tolist() == expected[row] + [0] * (batch["input_ids"].shape[1] - length)
        assert batch["attention_mask"][position].sum() == length == batch["attention_mask"][position, :length].sum()
        assert batch["keys"][position] == pairs.keys[row]


def test_scrambling_is_drawn_once_a_pair_and_epoch_for_both_sides(tokenizer):
    rows = [(" ".join(WORDS[i : i + 12]), " ".join(WORDS[i + 2 : i + 14])) for i in range(30)]
    pairs = encode_pairs(pairs_of(rows), tokenizer)
    collator = PairCollator(pairs, pad_token_id=0, scramble=0.5, seed=1)
    plain = PairCollator(pairs, pad_token_id=0)
    fired = []
    for epoch in range(20):
        items = [(epoch, pair) for pair in range(30)]
        ids, original = collator(items)["input_ids"], plain(items)["input_ids"]
        assert torch.equal(ids.sort(1).values, original.sort(1).values)
        assert np.array_equal(collator(items)["keys"], plain(items)["keys"])
        changed = (ids != original).any(1)
        assert torch.equal(changed[:30], changed[30:])
        fired.append(changed[:30])
        # the two sides overlap in ten words; a common permutation would move both alike
        assert not torch.equal((ids - original)[:30][changed[:30]], (ids - original)[30:][changed[30:]])
    fired = torch.stack(fired).double()
    assert abs(fired.mean() - 0.5) < 0.08 and fired.std(0).min() > 0
