from __future__ import annotations

import json

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.translation.lexical_table import LexicalTable
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.scoring import score_translations

SMALL = ["--num-beams", "4", "--num-return-sequences", "3", "--shard-size", "8", "--precision", "fp32"]


def back_translate(model, bitext, output, *words):
    command = ["back-translate", "--model", str(model), "--bitext", str(bitext), "--output", str(output)]
    return main([*command, "--split", "test", *SMALL, *words])


@pytest.fixture(scope="session")
def table(tiny_model, tiny_bitext, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "lexical_table.safetensors"
    words = ["--model", str(tiny_model), "--bitext", str(tiny_bitext), "--output", str(path), "--iterations", "10"]
    assert main(["lexical-table", *words]) == 0
    return path


def rows(folder):
    return DataFolder(folder).table("train").to_pylist()


def test_the_table_finds_the_translations_of_the_numbers(table, tiny_model):
    _, tokenizer = load_translation_model(tiny_model)
    found = LexicalTable.load(table)
    assert len(found.offsets) - 1 == len(found.target_counts) == len(tokenizer)
    assert sum(found.target_counts[:4]) == 0, "special units are not counted"
    for source, target in (("deux", "two"), ("cinq", "five"), ("sept", "seven")):
        (unit,) = tokenizer(source, add_special_tokens=False)["input_ids"][:1]
        expected = tokenizer(text_target=target, add_special_tokens=False)["input_ids"]
        assert found.translations(unit)[0][0] in expected


def test_all_units_as_candidates_give_the_same_pairs(table, tiny_model, tiny_bitext, tmp_path):
    assert back_translate(tiny_model, tiny_bitext, tmp_path / "free") == 0
    words = ["--lexical-table", str(table), "--candidates-frequent", "1000", "--candidates-per-unit", "0"]
    assert back_translate(tiny_model, tiny_bitext, tmp_path / "all", *words) == 0
    assert rows(tmp_path / "all") == rows(tmp_path / "free")
    assert "candidate vocabulary" in (tmp_path / "all" / "README.md").read_text()
    assert "candidate vocabulary" not in (tmp_path / "free" / "README.md").read_text()


def test_few_candidates_limit_the_translations_and_their_scores_are_those_of_the_whole_model(
    table, tiny_model, tiny_bitext, tmp_path
):
    model, tokenizer = load_translation_model(tiny_model)
    words = ["--lexical-table", str(table), "--candidates-frequent", "0", "--candidates-per-unit", "2"]
    assert back_translate(tiny_model, tiny_bitext, tmp_path / "few", *words) == 0
    found = LexicalTable.load(table)
    sources = DataFolder(tiny_bitext).table("test")["source"].to_pylist()
    allowed = {
        target for ids in tokenizer(sources)["input_ids"] for unit in ids for target, _ in found.translations(unit)[:2]
    }
    letters = set("".join(tokenizer.decode([unit]) for unit in allowed)) | {" "}
    pairs = rows(tmp_path / "few")
    assert pairs and all(set(row["sentence2"]) <= letters for row in pairs)
    scores = score_translations(
        model, tokenizer, [row["source"] for row in pairs], [row["sentence2"] for row in pairs]
    )
    # Other segmentations of the same text have other scores.
    alike = [abs(row["log_prob"] - score) < 1e-3 for row, score in zip(pairs, scores.log_probs, strict=True)]
    assert sum(alike) >= 0.5 * len(pairs)
    record = json.loads((tmp_path / "few" / "provenance.json").read_text())
    assert "lexical_table.safetensors" in [item["name"] for item in record["inputs"]]
