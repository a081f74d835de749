"""The blocks of the README's quick tour are run in the order in which a reader meets them."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shlex
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from hf_paraphrase.commands import main
from hf_paraphrase.data.parquet import write_split
from hf_paraphrase.data.schema import BACK_TRANSLATED, PAIRS
from hf_paraphrase.models.avg import AvgConfig, AvgModel
from hf_paraphrase.models.gran import GranConfig, GranModel
from hf_paraphrase.models.rnn_search import RnnSearchConfig, RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

README = Path(__file__).resolve().parents[1] / "README.md"
NOT_RUN = ("hf-paraphrase push",)
"""What would need an account."""
SENTENCES = [
    ("the doctor bought a car.", "a car was purchased by the physician."),
    ("a physician purchased a car.", "the doctor bought a car for his wife."),
    ("it is raining.", "the rain is falling."),
    ("the farmer sold the old horse.", "the old horse was sold by the farmer."),
]


def tour():
    """The fenced blocks of the section, each as its language and its text."""
    section = re.search(r"^## A quick tour\n(.*?)^## ", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return re.findall(r"```(\w+)\n(.*?)```", section[1], re.DOTALL)


@pytest.fixture
def quickstart(tmp_path):
    """A folder like that of the quickstart, with untrained models and four pairs."""
    folder = tmp_path / "quickstart"
    torch.manual_seed(0)
    words = build_word_level_tokenizer(
        {word for pair in SENTENCES for text in pair for word in re.findall(r"\w+|\.", text)}
    )
    avg = AvgModel(AvgConfig(vocab_size=len(words), hidden_size=6, initializer_range=0.5))
    gran = GranModel(GranConfig(vocab_size=len(words), hidden_size=6, initializer_range=0.5))
    for name, model in (("avg", avg), ("gran", gran)):
        model.save_pretrained(folder / name)
        save_tokenizer(words, folder / name)
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (folder / "avg" / "modules.json").write_text(json.dumps([module]))
    pieces = train_bpe_tokenizer(
        ["Le médecin a acheté une voiture.", *(text for pair in SENTENCES for text in pair)], 80
    )
    translator = RnnSearchForConditionalGeneration(
        RnnSearchConfig(vocab_size=len(pieces), embedding_size=6, hidden_size=8)
    )
    translator.save_pretrained(folder / "rnn_search")
    pieces.save_pretrained(folder / "rnn_search")
    first, second = ([pair[side] for pair in SENTENCES] for side in range(2))
    write_split(folder / "pairs", "train", [pa.table({"sentence1": first, "sentence2": second}, schema=PAIRS)], PAIRS)
    rows = {
        "id": ["1", "2", "3", "4"],
        "sentence1": first,
        "sentence2": second,
        "source": ["une phrase"] * 4,
        "source_lang": ["fr"] * 4,
        "rank": [0] * 4,
        "log_prob": [-1.5] * 4,
        "num_tokens": [7] * 4,
    }
    write_split(folder / "back_translated", "train", [pa.table(rows, schema=BACK_TRANSLATED)], BACK_TRANSLATED)
    return folder


def run_line(line, monkeypatch):
    """Runs one line of a shell block through the command line's own entry point."""
    text, _, line = line.rpartition(" | ")
    if text:
        given = " ".join(shlex.split(text)[1:]) + "\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    words = shlex.split(line)
    assert words[0] == "hf-paraphrase"
    assert main(words[1:]) == 0, line


def test_every_block_of_the_quick_tour_runs(quickstart, monkeypatch, capsys):
    monkeypatch.chdir(quickstart.parent)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(quickstart.parent / "cache"))
    blocks = tour()
    assert [language for language, _ in blocks].count("python") >= 6
    for language, code in blocks:
        capsys.readouterr()
        if language == "bash":
            for line in code.strip().splitlines():
                if not line.startswith(NOT_RUN):
                    run_line(line, monkeypatch)
        elif "sentence_transformers" not in code or importlib.util.find_spec("sentence_transformers"):
            exec(compile(code, "README.md", "exec"), {})
            assert capsys.readouterr().out.strip(), f"the block prints nothing:\n{code}"
    assert (quickstart.parent / "vectors.npy").is_file() and (quickstart.parent / "mined" / "README.md").is_file()


def test_the_tour_shows_each_thing_that_it_promises():
    text = "".join(code for _, code in tour())
    for name in ("SentenceEncoder", "load_dataset", "train-encoder", "push", "similarity", "AutoModel", "generate"):
        assert name in text
