from __future__ import annotations

import json

import pytest
import torch

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer, sentence_vocabulary

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize(("task", "measure", "least"), [("similarity", "pearson", 55), ("entailment", "accuracy", 65)])
def test_sick_is_learned_from_scratch_far_beyond_what_needs_no_model(real_data_dir, tmp_path, task, measure, least):
    assert (
        main(["prepare", "sick", "--data-dir", str(real_data_dir / "sick"), "--output", str(tmp_path / "sick")]) == 0
    )
    table = DataFolder(tmp_path / "sick").table("train", ["sentence1", "sentence2"])
    texts = [text for name in table.column_names for text in table.column(name).to_pylist()]
    tokenizer = build_word_level_tokenizer(sentence_vocabulary(texts))
    torch.manual_seed(0)
    AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=32, initializer_range=0.1)).save_pretrained(
        tmp_path / "avg"
    )
    save_tokenizer(tokenizer, tmp_path / "avg")
    words = ["--model", tmp_path / "avg", "--data", tmp_path / "sick", "--output", tmp_path / "model"]
    words += ["--task", task] if task == "similarity" else ["--target-column", task]
    words += ["--test-split", "validation", "--epochs", 3, "--batch-size", 50, "--learning-rate", "1e-2"]
    assert main(["train-supervised", *map(str, words)]) == 0
    results = json.loads((tmp_path / "model/provenance.json").read_text())["results"]
    assert results["rows"]["test"] == 500 and results["test"][measure] > least
    assert results["test"]["baseline"] < (60 if task == "entailment" else 1.1)
