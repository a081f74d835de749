from __future__ import annotations

import dataclasses
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from datasets import load_dataset
from huggingface_hub import DatasetCard
from small_runs import bitext_of, job, number_pairs, record, run, write, write_bitext
from tiny_encoders import change_json, new_model

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation import translator as translators
from hf_paraphrase.translation.back_translation import back_translated
from hf_paraphrase.translation.bitext import are_different, check_languages, languages_of, open_bitext
from hf_paraphrase.translation.lexical_table import LexicalTable, tokenizer_fingerprint
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.search_settings import BeamSearchConfig

TEST = ("--split", "test")


def rows_of(folder):
    return DataFolder(folder).table().to_pylist()


def skipped(folder):
    return [json.loads(line) for line in (folder / "skipped.jsonl").read_text().splitlines()]


def test_load_dataset_opens_it_with_the_columns_and_types_of_the_contract(translated, tmp_path):
    dataset = load_dataset(str(translated), split="train", cache_dir=str(tmp_path))
    types = {name: feature.dtype for name, feature in dataset.features.items()}
    texts = dict.fromkeys(["id", "sentence1", "sentence2", "source", "source_lang"], "string")
    assert types == {**texts, "rank": "int32", "log_prob": "float64", "num_tokens": "int32"}
    assert list(types) == BACK_TRANSLATED.names
    assert DatasetCard.load(translated / "README.md").data.dataset_info["splits"][0]["num_examples"] == len(dataset)


def test_pairs_keep_the_order_of_the_bitext_and_ranks_follow_the_score(translated, awkward_bitext):
    rows = rows_of(translated)
    bitext = {row["id"]: row for row in rows_of(awkward_bitext)}
    order = [row["id"] for row in rows if row["rank"] == 0]
    left_out = {entry["id"] for entry in skipped(translated)}
    assert order == [name for name in bitext if name not in left_out]
    for name in order:
        own = [row for row in rows if row["id"] == name]
        assert [row["rank"] for row in own] == list(range(len(own))) and 1 <= len(own) <= 3
        scores = [row["log_prob"] / (row["num_tokens"] + 1) for row in own]
        assert scores == sorted(scores, reverse=True)
        assert len({row["sentence2"] for row in own}) == len(own) and all(row["sentence2"] for row in own)
        given = (bitext[name]["target"], bitext[name]["source"], "fr")
        assert {(row["sentence1"], row["source"], row["source_lang"]) for row in own} == {given}


def test_every_sentence_without_a_translation_is_recorded_with_its_reason(tiny_model, translated):
    _, tokenizer = load_translation_model(tiny_model)
    lengths = [len(tokenizer(text)["input_ids"]) for text in ("deux " * 60, "trois " * 500)]
    assert [(entry["id"], entry["reason"]) for entry in skipped(translated)][:7] == [
        ("train-2", "empty source"),
        ("train-3", "empty source"),
        ("train-4", "empty reference"),
        ("train-5", "empty source"),
        ("train-6", "empty reference"),
        ("train-9", f"source of {lengths[0]} subwords, more than 50"),
        ("train-10", f"source of {lengths[1]} subwords, more than 50"),
    ]
    made = record(translated)
    assert made["results"]["sentences"] == 17 and made["results"]["skipped_sentences"] == len(skipped(translated))
    assert made["results"]["pairs"] == DataFolder(translated).count()
    assert {item["name"] for item in made["inputs"]} == {"tiny", "awkward"}


def test_a_job_in_which_every_sentence_is_skipped_does_not_say_how_to_use_its_pairs(tiny_model, tmp_path, capsys):
    bitext = write_bitext(tmp_path / "bitext", train=[("un", ""), ("", "one")])
    assert job(tiny_model, bitext, tmp_path / "pairs") == 0
    message = capsys.readouterr().err
    assert "2 of 2 sentences have no pair" in message and "0 pairs saved" in message and "Use them" not in message


def test_a_rounded_search_finds_nearly_the_lists_of_fp32_and_scores_them_in_fp32(tiny_model, tiny_bitext, tmp_path):
    words = [*TEST, "--num-beams", "12", "--num-return-sequences", "8", "--precision"]
    found = []
    for name in ("bf16", "fp32"):
        assert job(tiny_model, tiny_bitext, tmp_path / name, *words, name) == 0
        rows = rows_of(tmp_path / name)
        found.append({(row["id"], row["sentence2"], row["num_tokens"]): row["log_prob"] for row in rows})
    rounded, exact = found
    common = rounded.keys() & exact.keys()
    assert len(common) >= 0.5 * len(exact)
    assert sum(abs(rounded[key] - exact[key]) < 1e-4 for key in common) >= 0.9 * len(common)
    assert record(tmp_path / "bf16")["results"]["search"]["bf16"]


def test_both_sides_of_the_pairs_of_a_lower_cased_model_are_lower_cased_and_said_to_be(
    tiny_model, translated, tmp_path
):
    lower = shutil.copytree(tiny_model, tmp_path / "lower")
    change_json(lower / "config.json", lowercase=True)
    bitext = write_bitext(tmp_path / "bitext", train=[("un deux", "One, Élan"), ("deux", "TWO")])
    for model, expected in ((tiny_model, {"One, Élan", "TWO"}), (lower, {"one, élan", "two"})):
        output = tmp_path / f"pairs_{model.name}"
        assert job(model, bitext, output) == 0
        assert {row["sentence1"] for row in rows_of(output)} == expected
        card = (output / "README.md").read_text()
        assert record(output)["results"]["lower_case"] is (model == lower)
        assert ("both sides are lower-cased" in card) is (model == lower)
        assert ("Both sentences have capitals" in card) is (model != lower)


@pytest.mark.parametrize(("precision", "plain"), [({}, False), ({"bf16": True}, True)])
def test_the_number_of_threads_does_not_change_a_bit(precision, plain, monkeypatch):
    tokenizer = train_bpe_tokenizer([text for pair in number_pairs(64, 0) for text in pair], 60)
    # So large that several threads would share a product.
    sizes = {"vocab_size": len(tokenizer), "embedding_size": 64, "hidden_size": 256, "initialization": "xavier"}
    model = new_model("rnn_search", **sizes).eval()
    with torch.no_grad():
        model.lm_head.bias[tokenizer.eos_token_id] += 1.0
    if plain:
        for module in ("translator", "beam_search"):
            monkeypatch.setattr(f"hf_paraphrase.translation.{module}.fast_search_applies", lambda model: False)
    found, before = [], torch.get_num_threads()
    try:
        for count in (1, 4):
            torch.set_num_threads(count)
            translator = translators.Translator(model, tokenizer, BeamSearchConfig(40, 40, bf16=True))
            assert translator.threads == min(count, 2 if plain else 4)
            found.append(back_translated(translator, bitext_of(number_pairs(16, 50)))[0])
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(before)
    assert found[0].num_rows > 400 and found[0].equals(found[1])


@pytest.fixture(scope="module")
def bitext(tmp_path_factory):
    """Three shards of four sentences."""
    return write_bitext(tmp_path_factory.mktemp("bitext") / "numbers", train=number_pairs(12, 50))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("tried to allocate 3 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    ],
)
def test_a_sentence_that_is_too_much_for_the_memory_is_recorded_and_the_others_are_translated(
    tiny_model, bitext, tmp_path, monkeypatch, error
):
    assert job(tiny_model, bitext, tmp_path / "undisturbed") == 0
    rows = rows_of(tmp_path / "undisturbed")
    bad = rows[len(rows) // 2]
    _, tokenizer = load_translation_model(tiny_model)
    ids = list(tokenizer(bad["source"])["input_ids"])
    search = translators.translate_batch

    def translate_batch(model, tokenizer, batch, *options, **settings):
        if ids in [list(item) for item in batch]:
            raise error
        return search(model, tokenizer, batch, *options, **settings)

    monkeypatch.setattr(translators, "translate_batch", translate_batch)
    assert job(tiny_model, bitext, tmp_path / "pairs") == 0
    assert {"id": bad["id"], "reason": "the search ran out of memory"} in skipped(tmp_path / "pairs")
    found = rows_of(tmp_path / "pairs")
    expected = [row for row in rows if row["id"] != bad["id"]]
    # Another number of sentences in a batch is another rounding.
    assert [row.pop("log_prob") for row in found] == pytest.approx([row.pop("log_prob") for row in expected], abs=1e-4)
    assert found == expected


def test_probabilities_that_are_not_finite_are_an_error(tiny_model, bitext):
    model, tokenizer = load_translation_model(tiny_model, device="cpu")
    with torch.no_grad():
        model.lm_head.bias.fill_(float("nan"))
    for num_beams in (1, 3):
        translator = translators.Translator(model, tokenizer, BeamSearchConfig(num_beams, 1))
        with pytest.raises(ModelError, match="the model's probabilities are not finite"):
            back_translated(translator, DataFolder(bitext).table())


@pytest.mark.parametrize(
    ("bias", "reason", "num_beams"),
    [(-1e4, "no translation ends within the length limit", "4"), (1e4, "the model's translation is empty", "1")],
)
def test_translations_without_an_end_or_without_a_word_are_recorded_and_no_pairs(
    tiny_model, bitext, tmp_path, bias, reason, num_beams, capsys
):
    model, tokenizer = load_translation_model(tiny_model, device="cpu")
    with torch.no_grad():
        model.lm_head.bias[tokenizer.eos_token_id] = bias
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    words = ["--num-beams", num_beams, "--num-return-sequences", "1"]
    assert job(tmp_path / "model", bitext, tmp_path / "pairs", *words) == 0
    assert DataFolder(tmp_path / "pairs").table().num_rows == 0
    assert skipped(tmp_path / "pairs") == [{"id": f"train-{index}", "reason": reason} for index in range(12)]
    assert "12 of 12 sentences have no pair" in capsys.readouterr().err


# ----- lexical tables and candidates


@pytest.fixture(scope="session")
def table(tiny_model, tiny_bitext, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "lexical_table.safetensors"
    words = ["--model", tiny_model, "--bitext", tiny_bitext, "--output", path, "--iterations", 10]
    assert run("lexical-table", *words) == 0
    return path


def test_all_units_as_candidates_give_the_same_pairs(table, tiny_model, tiny_bitext, tmp_path):
    assert job(tiny_model, tiny_bitext, tmp_path / "free", *TEST) == 0
    words = ["--lexical-table", str(table), "--candidates-frequent", "1000", "--candidates-per-unit", "0"]
    assert job(tiny_model, tiny_bitext, tmp_path / "all", *TEST, *words) == 0
    assert rows_of(tmp_path / "all") == rows_of(tmp_path / "free")
    assert "candidate vocabulary" in (tmp_path / "all" / "README.md").read_text()
    assert "candidate vocabulary" not in (tmp_path / "free" / "README.md").read_text()


def test_few_candidates_limit_the_translations_and_their_scores_are_those_of_the_whole_model(
    table, tiny_model, tiny_bitext, tmp_path
):
    model, tokenizer = load_translation_model(tiny_model)
    words = ["--lexical-table", str(table), "--candidates-frequent", "5", "--candidates-per-unit", "2"]
    words.append("--no-reference-candidates")
    assert job(tiny_model, tiny_bitext, tmp_path / "few", *TEST, *words) == 0
    found = LexicalTable.load(table)
    sources = DataFolder(tiny_bitext).table("test")["source"].to_pylist()
    units = {unit for ids in tokenizer(sources)["input_ids"] for unit in ids}
    allowed = {target for unit in units for target, _ in found.translations(unit)[:2]}
    allowed |= set(np.argsort(-found.target_counts, kind="stable")[:5].tolist())
    letters = set("".join(tokenizer.decode([unit]) for unit in allowed)) | {" "}
    pairs = rows_of(tmp_path / "few")
    assert pairs and all(set(row["sentence2"]) <= letters for row in pairs)
    free = translators.Translator(model, tokenizer, BeamSearchConfig(50, 50)).nbest_lists(sources)
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
    with pytest.raises(InputError, match="the target is en, but the model nmt translates into de"):
        check_languages("nmt", model, open_bitext(tiny_bitext, "train"))


def test_a_later_row_in_another_language_is_refused_like_the_first_one(tmp_path):
    languages = {"source_lang": ["fr", None, "fr-CA", "de"], "target_lang": ["en"] * 4}
    mixed = write(tmp_path / "mixed", source=list("abcd"), target=list("abcd"), **languages)
    rows = open_bitext(str(mixed), "train")
    model = SimpleNamespace(config=SimpleNamespace(source_lang="fr", target_lang="en"))
    check_languages("nmt", model, rows, 3)
    with pytest.raises(InputError, match="the source has rows in de, but the model nmt translates fr"):
        check_languages("nmt", model, rows)
    undefined = pa.array([None], pa.string())
    first = write(tmp_path / "und", source=["a"], target=["a"], source_lang=undefined, target_lang=["en"])
    other = write(tmp_path / "other", source=["a"], target=["a"], source_lang=["fr"], target_lang=["de"])
    with pytest.raises(InputError, match="this bitext is fr→de, but the first one is und→en"):
        languages_of([open_bitext(str(folder), "train") for folder in (first, other)])


def test_a_table_of_another_model_with_as_many_units_is_refused_and_one_that_names_none_is_used(
    table, tiny_model, tiny_bitext, tmp_path, capsys
):
    other, words = tmp_path / "other.safetensors", ["--max-sentences", "2", "--lexical-table"]
    dataclasses.replace(LexicalTable.load(table), units="0" * 64).save(other)
    assert job(tiny_model, tiny_bitext, tmp_path / "out", *TEST, *words, str(other)) == 2
    assert f"{other}: the lexical table has the subwords of another model than" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    dataclasses.replace(LexicalTable.load(table), units=None).save(other)
    assert job(tiny_model, tiny_bitext, tmp_path / "out", *TEST, *words, str(other)) == 0
    # The fingerprint of units changes with their numbers.
    tokenizers = [train_bpe_tokenizer(["one two", "two three"], 20), train_bpe_tokenizer(["one two", "two four"], 20)]
    assert len({tokenizer_fingerprint(tokenizer) for tokenizer in [*tokenizers, tokenizers[0]]}) == 2
