from __future__ import annotations

import json

import pyarrow as pa
import pytest
import torch

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation.int8_products import int8_is_fast

WORDS = ("un one", "deux two", "trois three", "quatre four", "cinq five", "six six")


@pytest.fixture
def model(tmp_path):
    """The folder of an untrained model that ends its sentences."""
    torch.manual_seed(1)
    tokenizer = train_bpe_tokenizer(list(WORDS) * 4, 40)
    network = RnnSearchForConditionalGeneration(
        RnnSearchConfig(vocab_size=len(tokenizer), embedding_size=6, hidden_size=8, initialization="xavier")
    )
    with torch.no_grad():
        network.lm_head.bias[:4] = torch.tensor([-100.0, -100.0, 2.0, -100.0])
    network.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def bitext(tmp_path):
    rows = [dict(zip(("source", "target"), pair.split(), strict=True)) for pair in WORDS]
    rows = [{**row, "id": str(n), "source_lang": "fr", "target_lang": "en"} for n, row in enumerate(rows)]
    write_split(tmp_path / "bitext", "validation", [pa.Table.from_pylist(rows, schema=BITEXT)], BITEXT)
    return tmp_path / "bitext"


def test_the_lists_of_fp32_agree_with_themselves_and_the_last_line_has_the_ratios(run_script, model, bitext, capsys):
    words = ["--model", model, "--bitext", bitext, "--sentences", 5, "--beams", 4]
    assert run_script("benchmarks/search_precision", *words, "--rounds", 1) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in lines[2:-1]}
    names = ["fp32", "bf16", "int8"] if int8_is_fast() else ["fp32", "bf16"]
    assert list(rows) == names and rows["fp32"][1:4] == ["1.00", "100.0", "100.0"]
    assert all(0 < float(row[2]) <= 100 for row in rows.values())
    assert list(json.loads(lines[-1])) == [f"search_{name}_vs_fp32" for name in names[1:]]


def test_lists_are_held_against_those_of_fp32_by_sentence(load_script):
    bench = load_script("benchmarks/search_precision")

    def row(text):
        return {"sentence2": text}

    expected = {"a": [row("x"), row("y")], "b": [row("z")], "c": [row("u"), row("v")]}
    found = {"a": [row("y"), row("w")], "b": [row("z"), row("q")]}
    common, best = bench.agreement(expected, found)
    assert (common, best) == (0.5, 1 / 3)


def test_a_beam_of_one_is_refused(run_script, model, bitext, capsys):
    assert run_script("benchmarks/search_precision", "--model", model, "--bitext", bitext, "--beams", 1) == 2
    assert "--beams must be at least 2" in capsys.readouterr().err
