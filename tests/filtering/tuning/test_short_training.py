from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.filtering.tuning.short_training import PairPool, TuningTrainer
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

ROWS = [("a b", "c"), ("", "a"), ("b b", "d e f"), ("c", "  "), ("zzz", "f a"), ("d", "e")]


@pytest.fixture(scope="module")
def tokenizer():
    return build_word_level_tokenizer("abcdef")


@pytest.mark.parametrize("labels", [None, [1, 1, 0, 1, 1, 1]])
def test_a_subset_equals_the_encoded_folder_of_its_rows(tokenizer, tmp_path, labels):
    paraphrases = None if labels is None else np.array(labels) == 1
    pool = PairPool(*zip(*ROWS, strict=True), tokenizer, paraphrases)
    rows = np.array([0, 1, 2, 4, 5])
    columns = {"sentence1": [ROWS[row][0] for row in rows], "sentence2": [ROWS[row][1] for row in rows]}
    if labels is not None:
        columns["label"] = [labels[row] for row in rows]
    table = pa.table(columns)
    write_split(tmp_path, "train", [table], table.schema)
    expected, found = encode_pairs(tmp_path, tokenizer), pool.subset(rows)
    for name in ("tokens", "offsets", "keys"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
    assert (found.dropped, found.not_paraphrases) == (expected.dropped, expected.not_paraphrases)
    assert len(pool.subset(np.array([1, 3]))) == 0


def test_tuning_ends_with_the_weights_and_scores_of_ordinary_training_and_writes_nothing(tokenizer, tmp_path):
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(list("abcdef"), size=3)) for _ in range(60)]
    pairs = PairPool(texts[:30], texts[30:], tokenizer).subset(np.arange(30))
    results = []
    for kind, saves in ((EncoderTrainer, "epoch"), (TuningTrainer, "no")):
        model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=4))
        with torch.no_grad():
            model.embeddings.copy_(torch.arange(32.0).reshape(8, 4).flip(0))
        folder = tmp_path / kind.__name__
        common = {"num_train_epochs": 5, "per_device_train_batch_size": 7, "report_to": "none", "use_cpu": True}
        arguments = EncoderTrainingArguments(output_dir=str(folder), save_strategy=saves, **common)
        # Best after the third epoch.
        marks = iter([50.0, 1.0, 2.0, 9.0, 3.0, 4.0])
        score = lambda encoder, marks=marks: {"dev_mean": next(marks)}  # noqa: E731
        trainer = kind(model, arguments, pairs, tokenizer, evaluator=score)
        trainer.train()
        vectors = SentenceEncoder(model, tokenizer).encode(["a b", "c d e"])
        results.append((vectors, trainer.scores(), trainer.best_scores()))
    (expected, scores, best), (found, own_scores, own_best) = results
    assert (expected == found).all() and scores == own_scores and best == own_best and best["epoch"] == 3
    assert not list((tmp_path / "TuningTrainer").glob("checkpoint-*"))
