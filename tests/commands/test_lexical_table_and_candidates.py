from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from small_runs import job, record

from hf_paraphrase import BeamSearchConfig
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation.bitext import are_different, check_languages
from hf_paraphrase.translation.lexical_table import LexicalTable, unit_fingerprint
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.translator import Translator


def back_translate(model, bitext, output, *words):
    return job(model, bitext, output, "--split", "test", *words)


@pytest.fixture(scope="session")
def table(tiny_model, tiny_bitext, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "lexical_table.safetensors"
    words = ["--model", str(tiny_model), "--bitext", str(tiny_bitext), "--output", str(path), "--iterations", "10"]
    assert main(["lexical-table", *words]) == 0
    return path


def rows(folder):
    return DataFolder(folder).table("train").to_pylist()


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
    words = ["--lexical-table", str(table), "--candidates-frequent", "5", "--candidates-per-unit", "2"]
    words.append("--no-reference-candidates")
    assert back_translate(tiny_model, tiny_bitext, tmp_path / "few", *words) == 0
    found = LexicalTable.load(table)
    sources = DataFolder(tiny_bitext).table("test")["source"].to_pylist()
    units = {unit for ids in tokenizer(sources)["input_ids"] for unit in ids}
    allowed = {target for unit in units for target, _ in found.translations(unit)[:2]}
    allowed |= set(np.argsort(-found.target_counts, kind="stable")[:5].tolist())
    letters = set("".join(tokenizer.decode([unit]) for unit in allowed)) | {" "}
    pairs = rows(tmp_path / "few")
    assert pairs and all(set(row["sentence2"]) <= letters for row in pairs)
    free = Translator(model, tokenizer, BeamSearchConfig(50, 50)).nbest_lists(sources)
    scores = {
        (source, item.text): item.log_prob for source, nbest in zip(sources, free, strict=True) for item in nbest
    }
    shared = [row for row in pairs if (row["source"], row["sentence2"]) in scores]
    assert shared, "the searches share no translation, so this test shows nothing"
    for row in shared:
        assert row["log_prob"] == pytest.approx(scores[row["source"], row["sentence2"]], abs=1e-3)
    made = record(tmp_path / "few")
    assert "lexical_table.safetensors" in [item["name"] for item in made["inputs"]]


def test_languages_that_are_unknown_or_the_same_pass_and_another_target_is_refused(tiny_bitext):
    for own, language in ((None, "fr"), ("fr", None), ("fr", ""), ("fr", "und"), ("fr", "fr-CA"), ("fra", "fr")):
        assert not are_different(own, language)
    model = SimpleNamespace(config=SimpleNamespace(source_lang="fr", target_lang="de"))
    with pytest.raises(InputError, match="the target side is en, but the model nmt translates into de"):
        check_languages("nmt", model, DataFolder(tiny_bitext), "train")


def test_a_table_of_another_model_with_as_many_units_is_refused_and_one_that_names_none_is_used(
    table, tiny_model, tiny_bitext, tmp_path, capsys
):
    other, words = tmp_path / "other.safetensors", ["--max-sentences", "2", "--lexical-table"]
    dataclasses.replace(LexicalTable.load(table), units="0" * 64).save(other)
    assert back_translate(tiny_model, tiny_bitext, tmp_path / "out", *words, str(other)) == 2
    assert f"{other}: the lexical table has the subwords of another model than" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    dataclasses.replace(LexicalTable.load(table), units=None).save(other)
    assert back_translate(tiny_model, tiny_bitext, tmp_path / "out", *words, str(other)) == 0
    # The fingerprint of units changes with their numbers.
    tokenizers = [train_bpe_tokenizer(["one two", "two three"], 20), train_bpe_tokenizer(["one two", "two four"], 20)]
    assert len({unit_fingerprint(tokenizer) for tokenizer in [*tokenizers, tokenizers[0]]}) == 2
