from __future__ import annotations

import json
import shutil

import pytest
import torch
from datasets import load_dataset
from huggingface_hub import DatasetCard
from small_runs import bitext_of, job, number_pairs, write_bitext
from tiny_encoders import change_json, new_model

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.errors import ModelError
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation import translator as translators
from hf_paraphrase.translation.back_translation import back_translated
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.search_settings import BeamSearchConfig


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
    rows = DataFolder(translated).table().to_pylist()
    bitext = {row["id"]: row for row in DataFolder(awkward_bitext).table().to_pylist()}
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
        ("train-9", f"source of {lengths[0]} units, more than 50"),
        ("train-10", f"source of {lengths[1]} units, more than 50"),
    ]
    record = json.loads((translated / "provenance.json").read_text())
    assert record["results"]["sentences"] == 17 and record["results"]["skipped_sentences"] == len(skipped(translated))
    assert record["results"]["pairs"] == DataFolder(translated).table().num_rows
    assert {item["name"] for item in record["inputs"]} == {"tiny", "awkward"}


def test_a_rounded_search_finds_nearly_the_lists_of_fp32_and_scores_them_in_fp32(tiny_model, tiny_bitext, tmp_path):
    words = ["--split", "test", "--num-beams", "12", "--num-return-sequences", "8", "--precision"]
    found = []
    for name in ("bf16", "fp32"):
        assert job(tiny_model, tiny_bitext, tmp_path / name, *words, name) == 0
        rows = DataFolder(tmp_path / name).table().to_pylist()
        found.append({(row["id"], row["sentence2"], row["num_tokens"]): row["log_prob"] for row in rows})
    rounded, exact = found
    common = rounded.keys() & exact.keys()
    assert len(common) >= 0.5 * len(exact)
    assert sum(abs(rounded[key] - exact[key]) < 1e-4 for key in common) >= 0.9 * len(common)
    assert json.loads((tmp_path / "bf16" / "provenance.json").read_text())["results"]["search"]["bf16"]


def test_both_sides_of_the_pairs_of_a_lower_cased_model_are_lower_cased_and_said_to_be(
    tiny_model, translated, tmp_path
):
    lower = shutil.copytree(tiny_model, tmp_path / "lower")
    change_json(lower / "config.json", lowercase=True)
    bitext = write_bitext(tmp_path / "bitext", train=[("un deux", "One, Élan"), ("deux", "TWO")])
    for model, expected in ((tiny_model, {"One, Élan", "TWO"}), (lower, {"one, élan", "two"})):
        output = tmp_path / f"pairs_{model.name}"
        assert job(model, bitext, output) == 0
        assert {row["sentence1"] for row in DataFolder(output).table().to_pylist()} == expected
        card, record = (output / "README.md").read_text(), json.loads((output / "provenance.json").read_text())
        assert record["results"]["lower_case"] is (model == lower)
        assert ("both sides are lower-cased" in card) is (model == lower)
        assert ("Both sides have capitals" in card) is (model != lower)


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
    rows = DataFolder(tmp_path / "undisturbed").table().to_pylist()
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
    found = DataFolder(tmp_path / "pairs").table().to_pylist()
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
