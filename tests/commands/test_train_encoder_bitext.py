"""An encoder of two languages, trained on a bitext by the margin loss with joint sub-words."""

from __future__ import annotations

import json

from hf_paraphrase.commands import main


def run(*words):
    return main([str(word) for word in words])


def test_an_encoder_of_two_languages_is_trained_on_a_bitext_and_chosen_by_retrieval(
    tmp_path, write_bitext, number_pairs, capsys
):
    folder = write_bitext(tmp_path / "bitext", train=number_pairs(80, 100), validation=number_pairs(12, 20))
    bpe = ["--kind", "bpe", "--pairs", folder, "--vocabulary-size", "80", "--output", tmp_path / "bpe"]
    assert run("train-tokenizer", *bpe) == 0
    words = ["--pairs", folder, "--tokenizer", tmp_path / "bpe", "--negatives-from", "opposite", "--hidden-size", "16"]
    words += ["--epochs", "3", "--batch-size", "20", "--learning-rate", "0.02", "--dev-data", folder]
    assert run("train-encoder", *words, "--output", tmp_path / "joint") == 0
    record = json.loads((tmp_path / "joint" / "provenance.json").read_text())
    scores = record["results"]["dev_scores"]
    assert {"source_to_target", "target_to_source"} <= set(scores[0])
    assert record["results"]["dev_best"] > record["results"]["dev_untrained"]
    card = (tmp_path / "joint" / "README.md").read_text()
    assert "the pairs are sentences and their translations" in card and "Finding translations" in card
    assert "precision at 1 (%" in card and "Pearson" not in card
    capsys.readouterr()
    assert run("train-encoder", *words[:-1], write_bitext(tmp_path / "b", train=[("a", "b")]), "--output", "x") == 2
    assert "no split `validation` to tune on" in capsys.readouterr().err
