from __future__ import annotations

import json
import re

import pytest
import sacrebleu

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.translation.beam_search import translate
from hf_paraphrase.translation.loading import load_translation_model


def evaluate(model, bitext, *words):
    return main(["evaluate-nmt", "--model", str(model), "--bitext", str(bitext), *words])


def test_scores_equal_sacrebleu_on_the_translations(tiny_model, tiny_bitext, tmp_path, capfd):
    words = ["--num-beams", "1", "3", "--output", str(tmp_path / "s.json"), "--translations", str(tmp_path / "t.txt")]
    assert evaluate(tiny_model, tiny_bitext, *words) == 0
    out, err = capfd.readouterr()
    model, tokenizer = load_translation_model(tiny_model)
    table = DataFolder(tiny_bitext).table("test")
    references = table["target"].to_pylist()
    scores = json.loads((tmp_path / "s.json").read_text())
    assert [entry["num_beams"] for entry in scores] == [1, 3]
    for entry in scores:
        translations = translate(model, tokenizer, table["source"].to_pylist(), num_beams=entry["num_beams"])
        assert entry["bleu"] == pytest.approx(sacrebleu.corpus_bleu(translations, [references], lowercase=True).score)
        assert entry["sentences"] == 8 and entry["sources_cut"] == 0 and "case:lc" in entry["bleu_signature"]
    assert (tmp_path / "t.txt").read_text().splitlines() == translations
    lines = out.splitlines()
    assert len(lines) == 4 and re.match(r"beam   1  BLEU +\d+\.\d\d  chrF2 +\d+\.\d\d$", lines[0])
    assert lines[2].startswith("BLEU  nrefs:1|case:lc") and lines[3].startswith("chrF2 nrefs:1")
    assert "scores: " in err and "8/8" not in out


def test_case_split_and_limit_are_followed(tiny_model, tiny_bitext, tmp_path):
    words = ["--split", "validation", "--max-sentences", "3", "--cased", "--output", str(tmp_path / "s.json")]
    assert evaluate(tiny_model, tiny_bitext, *words) == 0
    (entry,) = json.loads((tmp_path / "s.json").read_text())
    assert entry["sentences"] == 3 and "case:mixed" in entry["bleu_signature"] and entry["num_beams"] == 5


def test_empty_sources_have_no_translation_and_those_longer_than_the_model_reads_are_cut_and_counted_once(
    tiny_model, write_bitext, tmp_path, capsys
):
    pairs = [("", "nothing"), ("un " * 10_000, "ten thousand"), (None, "no source"), ("deux", None)]
    bitext = write_bitext(tmp_path / "bitext", test=pairs)
    outputs = ["--translations", str(tmp_path / "t.txt"), "--output", str(tmp_path / "s.json")]
    assert evaluate(tiny_model, bitext, "--num-beams", "1", "2", *outputs) == 0
    lines = (tmp_path / "t.txt").read_text().split("\n")
    assert len(lines) == 5 and lines[0] == lines[2] == ""
    assert [score["sources_cut"] for score in json.loads((tmp_path / "s.json").read_text())] == [1, 1]
    message = "1 of 4 sources have more than the 1,000 units that the model reads and are cut"
    assert capsys.readouterr().err.count(message) == 1
