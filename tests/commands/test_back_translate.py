from __future__ import annotations

import json
import re
import shutil

import pyarrow.parquet as pq
import pytest
import torch
from back_translate_runs import files, job
from datasets import load_dataset
from huggingface_hub import DatasetCard

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.errors import UsageError
from hf_paraphrase.translation.back_translation import BackTranslationSettings
from hf_paraphrase.translation.int8_products import int8_is_fast
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.table_translator import SearchOptions, TableTranslator


def skipped(folder):
    return [json.loads(line) for line in (folder / "skipped.jsonl").read_text().splitlines()]


def test_the_output_is_a_complete_data_folder_and_nothing_else(translated):
    assert [path.name for path in translated.parent.iterdir()] == ["pairs"]
    shards_of_five = {f"data/train-{index:05d}-of-00005.parquet" for index in range(5)}
    assert set(files(translated)) == {"README.md", "provenance.json", "skipped.jsonl", *shards_of_five}


def test_load_dataset_opens_it_with_the_columns_and_types_of_the_contract(translated, tmp_path):
    dataset = load_dataset(str(translated), split="train", cache_dir=str(tmp_path))
    types = {name: feature.dtype for name, feature in dataset.features.items()}
    assert types == {
        "id": "string",
        "sentence1": "string",
        "sentence2": "string",
        "source": "string",
        "source_lang": "string",
        "rank": "int32",
        "log_prob": "float64",
        "num_tokens": "int32",
    }
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
        for row in own:
            assert (row["sentence1"], row["source"], row["source_lang"]) == (
                bitext[name]["target"],
                bitext[name]["source"],
                "fr",
            )


def test_log_prob_is_the_models_log_probability_of_the_translation(tiny_model, translated):
    model, tokenizer = load_translation_model(tiny_model)
    checked = 0
    for row in DataFolder(translated).table().to_pylist():
        ids = tokenizer(row["sentence2"])["input_ids"]
        if len(ids) != row["num_tokens"] + 1:
            continue  # the beam spelt the text with other units than the tokenizer does
        with torch.no_grad():
            source = torch.tensor([tokenizer(row["source"])["input_ids"]])
            loss = model(source, labels=torch.tensor([ids])).loss
        if abs(-loss.item() * len(ids) - row["log_prob"]) < 1e-3:
            checked += 1
    assert checked > 3


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


def test_a_source_of_a_thousand_units_is_translated_if_it_is_allowed(tiny_model, write_bitext, tmp_path):
    bitext = write_bitext(tmp_path / "bitext", train=[("un " * 1_000, "a thousand"), ("deux", "two")])
    assert job(tiny_model, bitext, tmp_path / "out", "--max-source-tokens", "1200", "--num-beams", "3") == 0
    rows = DataFolder(tmp_path / "out").table().to_pylist()
    assert {row["id"] for row in rows} | {entry["id"] for entry in skipped(tmp_path / "out")} == {"train-0", "train-1"}
    assert all(row["num_tokens"] <= 1_000 for row in rows)


def test_max_sentences_takes_the_first_rows(tiny_model, tiny_bitext, tmp_path):
    assert job(tiny_model, tiny_bitext, tmp_path / "five", "--max-sentences", "5") == 0
    found = {row["id"] for row in DataFolder(tmp_path / "five").table().to_pylist()}
    found |= {entry["id"] for entry in skipped(tmp_path / "five")}
    assert found == {f"train-{index}" for index in range(5)}
    assert len(list((tmp_path / "five" / "data").iterdir())) == 2


def test_another_split_and_a_beam_of_one(tiny_model, tiny_bitext, tmp_path):
    words = ["--split", "test", "--num-beams", "1", "--num-return-sequences", "1", "--shard-size", "1000"]
    assert job(tiny_model, tiny_bitext, tmp_path / "out", *words) == 0
    rows = DataFolder(tmp_path / "out").table().to_pylist()
    assert rows and all(row["id"].startswith("test-") and row["rank"] == 0 for row in rows)


def test_bf16_search_reports_fp32_scores(tiny_model, tiny_bitext, tmp_path):
    words = ["--split", "test", "--precision", "bf16"]
    assert job(tiny_model, tiny_bitext, tmp_path / "bf16", *words) == 0
    assert job(tiny_model, tiny_bitext, tmp_path / "fp32", "--split", "test") == 0
    scores = [
        {
            (row["id"], row["sentence2"], row["num_tokens"]): row["log_prob"]
            for row in DataFolder(tmp_path / name).table().to_pylist()
        }
        for name in ("bf16", "fp32")
    ]
    common = scores[0].keys() & scores[1].keys()
    assert len(common) >= 5
    assert sum(abs(scores[0][key] - scores[1][key]) < 1e-4 for key in common) >= 0.9 * len(common)


@pytest.mark.skipif(not int8_is_fast(), reason="this processor has no instructions for products in 8 bits")
def test_an_int8_search_finds_nearly_the_lists_of_fp32_and_scores_them_in_fp32(tiny_model, tiny_bitext, tmp_path):
    for precision in ("int8", "fp32"):
        words = ["--split", "test", "--num-beams", "12", "--num-return-sequences", "8", "--precision", precision]
        assert job(tiny_model, tiny_bitext, tmp_path / precision, *words) == 0
    eight, exact = (
        {
            (row["id"], row["sentence2"], row["num_tokens"]): row["log_prob"]
            for row in DataFolder(tmp_path / name).table().to_pylist()
        }
        for name in ("int8", "fp32")
    )
    common = eight.keys() & exact.keys()
    assert len(common) >= 0.8 * len(exact)
    assert sum(abs(eight[key] - exact[key]) < 1e-4 for key in common) >= 0.9 * len(common)
    search = json.loads((tmp_path / "int8" / "provenance.json").read_text())["results"]["search"]
    assert search["bf16"] is search["int8"] is True


def test_int8_is_refused_where_the_processor_has_no_instruction_for_it(
    tiny_model, tiny_bitext, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("hf_paraphrase.translation.table_translator.int8_is_fast", lambda device: False)
    assert job(tiny_model, tiny_bitext, tmp_path / "out", "--precision", "int8") == 2
    assert "no instructions for products in 8 bits" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_int8_is_refused_for_a_device_that_is_no_processor(monkeypatch):
    monkeypatch.setattr("hf_paraphrase.translation.search_settings.check_device", lambda device: None)
    settings = {"model": ["m"], "bitext": "b", "output": "o", "precision": "int8"}
    BackTranslationSettings(**settings, device="cpu").check()
    with pytest.raises(UsageError, match="for processors, not for --device cuda"):
        BackTranslationSettings(**settings, device="cuda").check()


def test_a_search_that_has_no_8_bits_is_not_taken_for_one_in_8_bits(tiny_model):
    model, tokenizer = load_translation_model(tiny_model, device="cpu")
    with pytest.raises(ValueError, match="one RNNsearch model, and bf16"):
        TableTranslator(model, tokenizer, SearchOptions(int8=True))


def test_the_beam_alone_sets_the_length_of_the_lists(tiny_model, tiny_bitext, tmp_path):
    words = ["back-translate", "--model", str(tiny_model), "--bitext", str(tiny_bitext), "--split", "test"]
    assert main([*words, "--num-beams", "3", "--output", str(tmp_path / "three")]) == 0
    assert max(DataFolder(tmp_path / "three").table()["rank"].to_pylist()) == 2
    record = json.loads((tmp_path / "three" / "provenance.json").read_text())
    assert record["settings"]["num_return_sequences"] == record["results"]["search"]["num_return_sequences"] == 3


def test_the_record_says_how_the_machine_searched(tiny_model, tiny_bitext, tmp_path, monkeypatch):
    monkeypatch.setattr("hf_paraphrase.training.arguments.bf16_is_fast", lambda device: device == "cpu")
    assert job(tiny_model, tiny_bitext, tmp_path / "out", "--split", "test", "--precision", "auto") == 0
    search = json.loads((tmp_path / "out" / "provenance.json").read_text())["results"]["search"]
    assert search["bf16"] is True and search["device"] == "cpu" and search["constraints"]["max_length_ratio"] == 3.0


def test_standard_output_stays_empty(tiny_model, tiny_bitext, tmp_path, capfd):
    assert job(tiny_model, tiny_bitext, tmp_path / "out", "--split", "test") == 0
    out, err = capfd.readouterr()
    assert out == "" and "load_dataset(" in err


# ----- parts


def test_a_shard_depends_on_its_sentences_alone(tiny_model, awkward_bitext):
    model, tokenizer = load_translation_model(tiny_model)
    translator = TableTranslator(model, tokenizer, SearchOptions(4, 3))
    table = DataFolder(awkward_bitext).table()
    first, _ = translator.translate_table(table.slice(0, 4))
    translator.translate_table(table.slice(4))
    again, _ = translator.translate_table(table.slice(0, 4))
    assert first.equals(again)
    empty, none = translator.translate_table(table.slice(0, 0))
    assert empty.num_rows == 0 and none == [] and empty.schema == BACK_TRANSLATED


def test_a_shard_without_a_single_pair_is_still_a_shard(tiny_model, write_bitext, tmp_path):
    bitext = write_bitext(tmp_path / "bitext", train=[("", "x")] * 4 + [("un deux", "one two")] * 4)
    assert job(tiny_model, bitext, tmp_path / "out") == 0
    first, second = sorted((tmp_path / "out" / "data").iterdir())
    assert pq.read_table(first).num_rows == 0 and pq.read_schema(first).remove_metadata() == BACK_TRANSLATED
    assert pq.read_table(second).num_rows > 0
    dataset = load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert len(dataset) == pq.read_table(second).num_rows


def test_a_job_of_which_nothing_can_be_translated_says_so_and_opens(tiny_model, write_bitext, tmp_path, capsys):
    bitext = write_bitext(tmp_path / "bitext", train=[("", "x"), ("un", "")])
    assert job(tiny_model, bitext, tmp_path / "out") == 0
    assert "2 of 2 sentences have no translation" in capsys.readouterr().err
    assert DataFolder(tmp_path / "out").table().num_rows == 0


# ----- errors


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--num-return-sequences", "5"], "--num-return-sequences 5 must be 1 to --num-beams 4"),
        (["--num-return-sequences", "0"], "--num-return-sequences must be at least 1, not 0"),
        (["--shard-size", "0"], "--shard-size must be at least 1"),
        (["--max-sentences", "-3"], "--max-sentences must be at least 1"),
        (["--split", "dev"], "no split `dev`"),
        (["--precision", "fp8"], "invalid choice"),
        (["--bitext", "absent"], "no such data folder"),
        (["--model", "absent"], "no such model folder"),
    ],
)
def test_bad_settings_are_one_line_and_leave_nothing_behind(
    tiny_model, tiny_bitext, tmp_path, capsys, monkeypatch, words, problem
):
    monkeypatch.chdir(tmp_path)
    assert job(tiny_model, tiny_bitext, tmp_path / "out", *words) == 2
    err = capsys.readouterr().err
    assert problem in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("another type", "a model of type `avg` is not a translation model"),
        ("cut weights", "the model cannot be opened"),
        ("no weights", "the model has no weights"),
        ("no tokenizer", "the model cannot be opened"),
        ("another tokenizer", "the tokenizer has ids up to"),
        ("no config", "it has no config.json"),
        ("bad config", "config.json is damaged"),
        ("impossible config", "the model cannot be opened"),
        ("no end", "the end unit of the translation model is None"),
        ("no start", "the start unit of the translation model is None"),
        ("weights of another model", "the weights do not fit the configuration|the model cannot be opened"),
    ],
)
def test_an_unusable_model_is_one_line_and_leaves_nothing_behind(
    tiny_model, tiny_bitext, tmp_path, capsys, kind, problem
):

    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    config = json.loads((model / "config.json").read_text())
    if kind == "another type":
        (model / "config.json").write_text('{"model_type": "avg"}')
    elif kind == "cut weights":
        content = (model / "model.safetensors").read_bytes()
        (model / "model.safetensors").write_bytes(content[: len(content) // 2])
    elif kind == "no weights":
        (model / "model.safetensors").unlink()
    elif kind == "no tokenizer":
        (model / "tokenizer.json").unlink()
    elif kind == "another tokenizer":
        text = (model / "tokenizer.json").read_text()
        tokenizer = json.loads(text)
        tokenizer["model"]["vocab"]["zzz"] = 5_000
        (model / "tokenizer.json").write_text(json.dumps(tokenizer))
    elif kind == "no config":
        (model / "config.json").unlink()
    elif kind == "bad config":
        (model / "config.json").write_text("{")
    elif kind == "impossible config":
        (model / "config.json").write_text(json.dumps({**config, "readout_size": 7}))
    elif kind == "no end":
        settings = json.loads((model / "tokenizer_config.json").read_text())
        settings["eos_token"] = None
        (model / "tokenizer_config.json").write_text(json.dumps(settings))
    elif kind == "no start":
        (model / "generation_config.json").write_text("{}")
    else:
        (model / "config.json").write_text(
            json.dumps({**config, "hidden_size": 10, "attention_size": 8, "readout_size": 8})
        )
    assert job(model, tiny_bitext, tmp_path / "out") == 2
    err = capsys.readouterr().err
    lines = [line for line in err.splitlines() if line.startswith("hf-paraphrase: error: ")]
    assert len(lines) == 1 and re.search(problem, lines[0]) and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_settings_of_generation_that_the_model_does_not_know_do_not_reach_it(tiny_model, tiny_bitext, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    settings = json.loads((model / "generation_config.json").read_text())
    more = {
        "output_hidden_states": True,
        "output_attentions": {"a": 1},
        "do_sample": True,
        "temperature": 0.1,
        "pad_token_id": 1 << 31,
    }
    (model / "generation_config.json").write_text(json.dumps(settings | more))
    made = []
    for folder, output in ((tiny_model, "plain"), (model, "more")):
        assert job(folder, tiny_bitext, tmp_path / output, *["--num-beams", "1", "--num-return-sequences", "1"]) == 0
        made.append(pq.read_table(tmp_path / output / "data"))
    assert made[0].equals(made[1])


def test_missing_columns_are_one_line(tiny_model, tiny_bitext, tmp_path, capsys):
    shutil.copytree(tiny_bitext, tmp_path / "bitext")
    for path in (tmp_path / "bitext" / "data").iterdir():
        pq.write_table(pq.read_table(path).drop_columns(["target", "id"]), path)
    assert job(tiny_model, tmp_path / "bitext", tmp_path / "out") == 2
    assert "missing columns id, target" in capsys.readouterr().err


def test_the_card_and_the_arguments_agree_on_the_defaults():
    arguments = BackTranslationSettings(model=["m"], bitext="b", output="o")
    assert (arguments.num_beams, arguments.num_return_sequences, arguments.shard_size) == (50, None, 1_000)


def test_both_sides_of_the_pairs_of_a_lower_cased_model_are_lower_cased_and_said_to_be(
    tiny_model, translated, write_bitext, tmp_path
):
    lower = shutil.copytree(tiny_model, tmp_path / "lower")
    config = json.loads((lower / "config.json").read_text())
    (lower / "config.json").write_text(json.dumps({**config, "lowercase": True}))
    bitext = write_bitext(tmp_path / "bitext", train=[("un deux", "One, Élan"), ("deux", "TWO")])
    for model, expected in ((tiny_model, {"One, Élan", "TWO"}), (lower, {"one, élan", "two"})):
        output = tmp_path / f"pairs_{model.name}"
        assert job(model, bitext, output) == 0
        assert {row["sentence1"] for row in DataFolder(output).table().to_pylist()} == expected
        card, record = (output / "README.md").read_text(), json.loads((output / "provenance.json").read_text())
        assert record["results"]["lower_case"] is (model == lower)
        assert ("both sides are lower-cased" in card) is (model == lower)
        assert ("Both sides have their capitals" in card) is (model != lower)
