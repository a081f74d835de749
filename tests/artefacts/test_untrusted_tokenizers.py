"""Tokenizers made to fill the memory, which ends the process: none reaches the library that would open them."""

from __future__ import annotations

import base64
import json
import shutil
import struct

import numpy as np
import pytest
from tiny_encoders import write_average
from tokenizers import Tokenizer

from hf_paraphrase.artefacts.model_loading import load_model_folder
from hf_paraphrase.artefacts.untrusted_models import check_model_folder
from hf_paraphrase.artefacts.untrusted_tokenizers import check_tokenizer
from hf_paraphrase.encoders.distillation.teacher import Teacher
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.encoders.wordllama_folder import open_wordllama
from hf_paraphrase.errors import ModelError
from hf_paraphrase.models.modeling_avg import AvgModel

HUGE = 10**18
PADDING = {
    "strategy": "BatchLongest",
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "[PAD]",
}
DOUBLE = {"type": "Replace", "pattern": {"String": "e"}, "content": "ee"}
A = {"Sequence": {"id": "A", "type_id": 0}}
TEMPLATE = {"type": "TemplateProcessing", "single": [A] * 4, "pair": [A], "special_tokens": {}}
LIST_OF_ONES = {"id": "X", "ids": [1] * 10**6, "tokens": ["x"]}


def split(pattern):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def character_map(units, texts=b"x\0", size=None):
    content = struct.pack("<I", 4 * len(units) if size is None else size) + np.array(units, "<u4").tobytes() + texts
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(content).decode()}


GOOD_UNITS = [0] * 256
KINDS = {
    "`padding` is a list": {"padding": ["BatchLongest", "Right", HUGE, 0, 0, "[PAD]"]},
    "`normalizers` is a list": {"normalizer": {"type": "Sequence", "normalizers": [[{"String": "e"}, "ee"]]}},
    "Fixed": {"padding": {**PADDING, "strategy": {"Fixed": HUGE}}},
    "pad_to_multiple_of": {"padding": {**PADDING, "pad_to_multiple_of": 10**9}},
    "pad_token": {"padding": {**PADDING, "pad_token": "x" * 10**6}},
    "id": {"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[PAD]": 0, "[UNK]": 1, "x": 4 * 10**9}}},
    "vocab": {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["x", 0.0], ["y" * 10**7, 0.0]]}},
    "added_tokens": {
        "added_tokens": [{"id": 2 + place, "content": f"{place:0>1000}"} for place in range(10_000)],
    },
    "max_input_chars_per_word": {"model": {"type": "WordPiece", "vocab": {}, "max_input_chars_per_word": 10**9}},
    "normalizer": {"normalizer": {"type": "Sequence", "normalizers": [DOUBLE] * 60}},
    "normalizer` may": {"normalizer": {"normalizers": [{**DOUBLE, "type": None}] * 60}},
    "normalizer` may make": {"normalizer": {**DOUBLE, "content": "e" * 999, "normalizers": [DOUBLE]}},
    "decoder": {"decoder": {"type": "Sequence", "decoders": [DOUBLE] * 60}},
    "content": {"normalizer": {**DOUBLE, "content": "e" * 10**6}},
    "prepend": {"normalizer": {"type": "Prepend", "prepend": "e" * 10**6}},
    "Regex": {"pre_tokenizer": split(r"\p{L}" * 100_000)},
    "Regex has 240,000 characters in all": {
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split(r"\p{L}" * 1_600)] * 30}
    },
    "length": {"pre_tokenizer": {"type": "FixedLength", "length": 0}},
    "precompiled_charsmap": {"normalizer": character_map(GOOD_UNITS, size=0xFFFFFF00)},
    "points behind its end": {"normalizer": character_map([1 << 20] * 256)},
    "starts behind its end": {"normalizer": character_map([1 << 31 | 1000] * 256)},
    "has a text of": {"normalizer": character_map(GOOD_UNITS, b"x" * 10_000)},
    "single": {"post_processor": {**TEMPLATE, "single": [A] * 100}},
    "post_processor": {"post_processor": {"type": "Sequence", "processors": [TEMPLATE] * 10}},
    "ids": {"post_processor": {**TEMPLATE, "special_tokens": {"X": LIST_OF_ONES}}},
    "X": {"post_processor": {**TEMPLATE, "special_tokens": {"X": ["X", [1] * 10**6, ["x"]]}}},
}


def message(name):
    return "points behind its end" if name == "starts behind its end" else name.partition(" has")[0]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good") / "avg"
    return write_average(folder, ["the", "dog"], hidden_size=4)


@pytest.fixture
def folder(good, tmp_path):
    return shutil.copytree(good, tmp_path / "model")


def write(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("name", KINDS)
def test_what_asks_for_more_than_tokenizers_need_is_refused_with_its_file_key_and_remedy(folder, name):
    path = folder / "tokenizer.json"
    write(path, **KINDS[name])
    with pytest.raises(ModelError, match=message(name)) as caught:
        check_model_folder(folder)
    assert str(caught.value).startswith(f"{path}: ")
    assert "copy the tokenizer again" in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


PROGRAM = """
import resource, sys
from hf_paraphrase.commands import main
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (3 << 30)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["id", "normalizer", "precompiled_charsmap"])
def test_no_tokenizer_ends_the_process(folder, tmp_path, run_python, name):
    # Without the check, each of them ends it, or is ended for the memory that it takes.
    write(folder / "tokenizer.json", **KINDS[name])
    text = tmp_path / "text.txt"
    text.write_text("the dog\n")
    ended = run_python(PROGRAM, "encode", "--model", folder, "--input", text, "--output", tmp_path / "a.npy")
    assert ended.returncode == 2, ended.stderr
    assert name in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_all_ways_to_a_tokenizer_pass_the_check(folder, tmp_path_factory):
    bad = {"normalizer": KINDS["normalizer"]["normalizer"]}
    write(folder / "tokenizer.json", **bad)
    static = tmp_path_factory.mktemp("static")
    shutil.copytree(folder, static / "0_StaticEmbedding")
    kind = "sentence_transformers.models.StaticEmbedding"
    (static / "modules.json").write_text(json.dumps([{"idx": 0, "type": kind, "path": "0_StaticEmbedding"}]))
    llama = tmp_path_factory.mktemp("llama")
    (llama / "a_tokenizer_config.json").write_text((folder / "tokenizer.json").read_text())
    import torch
    from safetensors.torch import save_file

    save_file({"embedding.weight": torch.zeros(4, 4)}, llama / "a_4.safetensors")
    for open_it in (
        lambda: SentenceEncoder.from_pretrained(folder),
        lambda: SentenceEncoder.from_pretrained(static),
        lambda: load_model_folder(folder, AvgModel),
        lambda: Teacher.from_pretrained(folder),
        lambda: open_wordllama(llama),
    ):
        with pytest.raises(ModelError, match=r"`normalizer` may make a text 1\.15e\+18 times as long"):
            open_it()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("source_tokenizer.json", {"model": {"vocab": {"x": HUGE}}}),
        ("tokenizer.2.0.json", {"model": {"vocab": {"x": HUGE}}}),
        ("tokenizers.json", {"parts": [{"model": {"vocab": {}}}, {"model": {"vocab": {"x": HUGE}}}]}),
        ("vocab.json", {"x": HUGE}),
        ("added_tokens.json", {"x": HUGE}),
        ("tokenizer_config.json", {"vocab": {"x": HUGE}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {str(HUGE): {"content": "x"}}}),
        ("tokenizer_config.json", {"added_tokens_decoder": {str(HUGE) + "0" * 5_000: {"content": "x"}}}),
    ],
)
def test_tables_of_ids_in_other_files_are_checked(tmp_path, name, content):
    (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(ModelError, match=rf"{name}: `id` is {HUGE}"):
        check_model_folder(tmp_path)


def test_a_key_that_is_there_twice_is_refused_since_the_library_reads_both(folder):
    path = folder / "tokenizer.json"
    path.write_text('{"padding": {"strategy": {"Fixed": 1000000000}},' + path.read_text()[1:])
    with pytest.raises(ModelError, match="`padding` is there twice"):
        check_model_folder(folder)


def test_a_tokenizer_without_a_model_is_checked_since_its_parts_are_opened_first(folder):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", **KINDS["precompiled_charsmap"]}))
    with pytest.raises(ModelError, match=r"`precompiled_charsmap` claims 4,294,967,040 bytes"):
        check_model_folder(folder)


@pytest.mark.parametrize("depth", [200, 700, 900, 5_000])
def test_lists_in_lists_without_end_are_an_error(folder, depth):
    path = folder / "tokenizer.json"
    path.write_text(f'{json.dumps(json.loads(path.read_text()))[:-1]}, "x": {"[" * depth}{"]" * depth}}}')
    with pytest.raises(ModelError, match=r"lists in lists without end|cannot be opened"):
        load_model_folder(folder, AvgModel)


def test_what_tokenizers_have_passes(folder):
    path = folder / "tokenizer.json"
    write(
        path,
        padding={**PADDING, "strategy": {"Fixed": 512}},
        truncation={"direction": "Right", "max_length": HUGE, "strategy": "LongestFirst", "stride": 0},
        post_processor={**TEMPLATE, "single": [A]},
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, character_map(GOOD_UNITS)]},
    )
    write(folder / "tokenizer_config.json", model_max_length=10**30, chat_template="x" * 10_000)
    check_tokenizer(path)
    check_model_folder(folder)
    assert Tokenizer.from_file(str(path)).encode("the dog").ids[:2] == [2, 3]
