from __future__ import annotations

import json

import pytest
import torch
from small_runs import job

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.errors import ModelError
from hf_paraphrase.translation import translator as translators
from hf_paraphrase.translation.back_translation import back_translated
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.search_settings import SearchOptions


@pytest.fixture(scope="module")
def bitext(write_bitext, number_pairs, tmp_path_factory):
    """Three shards of four sentences."""
    return write_bitext(tmp_path_factory.mktemp("bitext") / "numbers", train=number_pairs(12, 50))


@pytest.fixture(scope="module")
def undisturbed(tiny_model, bitext, tmp_path_factory):
    """An undisturbed job."""
    output = tmp_path_factory.mktemp("translated") / "pairs"
    assert job(tiny_model, bitext, output) == 0
    return output


def skipped(folder):
    return [json.loads(line) for line in (folder / "skipped.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("tried to allocate 3 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    ],
)
def test_a_sentence_that_is_too_much_for_the_memory_is_recorded_and_the_others_are_translated(
    tiny_model, bitext, undisturbed, tmp_path, monkeypatch, error
):
    rows = DataFolder(undisturbed).table().to_pylist()
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
        translator = translators.Translator(model, tokenizer, SearchOptions(num_beams, 1))
        with pytest.raises(ModelError, match="the model's probabilities are not finite"):
            back_translated(translator, DataFolder(bitext).table())


@pytest.mark.parametrize(
    ("bias", "reason", "num_beams"),
    [(-1e4, "no translation ends within the length limit", "4"), (1e4, "the model translates it into nothing", "1")],
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
