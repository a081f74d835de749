"""Objects of Python in the place of folders."""

from __future__ import annotations

import json

from datasets import Dataset

from hf_paraphrase import SentenceEncoder, train_encoder

ROWS = [{"sentence1": f"the dog {n % 5} barks", "sentence2": f"a hound {n % 5} barked"} for n in range(12)]


def test_pairs_dev_data_and_the_encoder_to_begin_with_may_be_objects(tmp_path):
    dev = Dataset.from_list([{**row, "label": number % 2} for number, row in enumerate(ROWS)])
    encoder = train_encoder(
        pairs=Dataset.from_list(ROWS),
        initial_model=SentenceEncoder.from_pretrained(),
        dev_data=dev,
        output=tmp_path / "model",
        epochs=4,
        patience=1,
    )
    assert encoder.encode(["the dog"]).shape[0] == 1 and "dev_best" in encoder.results
    record = json.loads((tmp_path / "model/provenance.json").read_text())
    assert [item["name"] for item in record["inputs"]] == [
        "Dataset (pairs)",
        "SentenceEncoder (initial_model)",
        "Dataset (dev_data)",
    ]
    assert record["inputs"][1]["license"] and record["settings"]["pairs"] == "Dataset (pairs)"
    again = train_encoder(pairs=ROWS, output=tmp_path / "other", epochs=1)
    assert again.encode(["the dog"]).any()


def test_hard_negatives_are_searched_by_any_encoder_before_training(tmp_path, caplog):
    caplog.set_level("INFO")
    train_encoder(pairs=ROWS, hard_negatives="builtin", output=tmp_path / "model", epochs=1)
    assert "hard negatives: 12 of 12 pairs have one" in caplog.text
