from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from small_runs import run, write

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.filtering.reference_classifier.references import write_seen
from hf_paraphrase.models.configuration_reference_classifier import ReferenceClassifierConfig
from hf_paraphrase.models.modeling_reference_classifier import ReferenceClassifier
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """60 references of many words, each with two translations of few words that come again."""
    generator = np.random.default_rng(0)
    rows = []
    for i in range(60):
        reference = " ".join(f"human{x}" for x in generator.permutation(40)[: generator.integers(4, 9)])
        for rank in range(2):
            rows.append((f"n{i}", reference, " ".join(f"robot{x}" for x in generator.integers(4, size=7)), rank))
    columns = dict(zip(("id", "sentence1", "sentence2", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    return write(tmp_path_factory.mktemp("data") / "back", **columns)


def test_the_report_has_tables_and_numbers_without_a_classifier(pairs, tmp_path, capsys):
    output = tmp_path / "report"
    assert run("analyze", "--pairs", pairs, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and err.count("holds") >= 3 and "fails" not in err
    report = (output / "README.md").read_text()
    assert "60 references" in report and "No classifier was given" in report
    numbers = json.loads((output / "analysis.json").read_text())
    assert numbers["references"] == 60 and numbers["rows"] == 120 and numbers["table_10"] == {}


def test_with_a_classifier_both_sides_are_judged(pairs, tmp_path):
    folder = tmp_path / "classifier"
    words = [f"human{x}" for x in range(40)] + [f"robot{x}" for x in range(4)]
    tokenizer = build_word_level_tokenizer(words)
    torch.manual_seed(0)
    ReferenceClassifier(ReferenceClassifierConfig(vocab_size=len(tokenizer), embedding_size=4)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    texts = list(dict.fromkeys(DataFolder(pairs).table().column("sentence1").to_pylist()))[:20]
    write_seen(folder, {"train": texts})
    output = tmp_path / "report"
    words = ["--pairs", pairs, "--classifier", folder, "--examples", 3]
    assert run("analyze", *words, "--output", output) == 0
    report = (output / "README.md").read_text()
    assert "Spearman" in report and "looks like a machine's" in report and "robot" in report
    numbers = json.loads((output / "analysis.json").read_text())
    assert set(numbers["table_10"]) == {"references", "translations"} and numbers["seen_by_the_classifier"] == 20
    assert run("analyze", *words, "--output", tmp_path / "unseen", "--unseen-only") == 0
    numbers = json.loads((tmp_path / "unseen/analysis.json").read_text())
    assert numbers["references"] == 40 and numbers["seen_by_the_classifier"] == 0
