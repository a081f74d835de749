"""Files of others that are made to fill the memory or to wait for ever: each is refused, or read in little memory."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import save_file

from hf_paraphrase.artefacts import untrusted_files
from hf_paraphrase.artefacts.untrusted_files import most_unpacked
from hf_paraphrase.artefacts.untrusted_models import check_model_folder, read_header
from hf_paraphrase.data import sentences
from hf_paraphrase.data.evaluation_sets import load_fingerprints
from hf_paraphrase.data.line_errors import StrictLines
from hf_paraphrase.data.parquet_files import open_parquet
from hf_paraphrase.data.sentences import lines_of_standard_input
from hf_paraphrase.data.sources.graded_files import _lines
from hf_paraphrase.data.text_files import read_lines
from hf_paraphrase.errors import HfParaphraseError, InputError, ModelError
from hf_paraphrase.filtering.language_model.arpa import read_arpa
from hf_paraphrase.settings_file import _read_yaml
from hf_paraphrase.translation.lexical_table import LexicalTable

MEBIBYTE = 1 << 20


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(untrusted_files, "_UNPACKED_BYTES", MEBIBYTE)


def packed(path: Path, text: bytes) -> Path:
    path.write_bytes(gzip.compress(text))
    return path


def peak(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_text_becomes_when_it_is_unpacked_is_allowed_and_a_thousand_times_as_much_is_not(tmp_path, small_limit):
    path = packed(tmp_path / "a.gz", b"a line\n" * 100_000)
    assert sum(map(len, read_lines(path, StrictLines()))) == 100_000
    packed(path, b"a line\n" * 1_000_000)
    assert 7_000_000 > most_unpacked(path.stat().st_size) > 100 * path.stat().st_size - 1
    with pytest.raises(InputError, match=r"a\.gz: it unpacks to more than \d+ MiB"):
        list(read_lines(path, StrictLines()))
    # The same text that is not packed is as long as it is.
    (tmp_path / "a").write_bytes(b"a line\n" * 1_000_000)
    assert sum(map(len, read_lines(tmp_path / "a", StrictLines()))) == 1_000_000


def test_a_list_of_fingerprints_that_repeats_one_takes_the_memory_of_one(tmp_path):
    path = packed(tmp_path / "list.txt.gz", b"0123456789abcdef\n" * 700_000)
    found = []
    # All of them as texts would be 49 MB.
    assert peak(lambda: found.append(load_fingerprints([str(path)]))) < 45 * MEBIBYTE
    assert [values.tolist() for values in found[0].sets.values()] == [[0x0123456789ABCDEF]]


def test_a_packed_language_model_is_bounded_and_a_count_of_many_digits_is_an_error(tmp_path, small_limit):
    lines = b"\\data\\\nngram 1=1\nngram 2=9999999\n\n\\1-grams:\n0 a\n\n\\2-grams:\n" + b"0 a a\n" * 1_000_000
    with pytest.raises(InputError, match="unpacks to more than"):
        read_arpa(packed(tmp_path / "lm.arpa.gz", lines))
    (tmp_path / "lm.arpa").write_text("\\data\\\nngram 1=" + "9" * 6000 + "\n")
    with pytest.raises(InputError, match="expected `ngram 1=…`"):
        read_arpa(tmp_path / "lm.arpa")


def test_a_line_of_standard_input_has_an_end(monkeypatch):
    monkeypatch.setattr(sentences, "LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a" * 999 + b"\n" + b"b" * 1001)))
    with pytest.raises(InputError, match="standard input:2: a line of more than"):
        list(lines_of_standard_input())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\r\nb")))
    assert list(lines_of_standard_input()) == [["a", "b"]]


@pytest.mark.parametrize(
    "numbers",
    [
        {"num_labels": 10**12},
        {"num_labels": 2000},
        {"hidden_size": 10**12},
        {"unheard_of": 10**12},
        {"parts": [{"vocab_size": 10**12}]},
        {"text_config": {"inner": {"num_hidden_layers": 10**6}}},
        {"widths": [1, 10**12]},
    ],
)
def test_no_number_of_a_configuration_asks_for_more_than_the_weights_hold(tmp_path, numbers):
    save_file({"embeddings": np.zeros((30, 8), np.float32)}, tmp_path / "model.safetensors")
    usual = {"vocab_size": 30, "hidden_size": 8, "num_labels": 3, "rope_theta": 1_000_000, "text_config": {"dim": 8}}
    (tmp_path / "config.json").write_text(json.dumps(usual))
    check_model_folder(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(usual | numbers))
    with pytest.raises(ModelError, match="the weights do not fit the configuration"):
        check_model_folder(tmp_path)


READERS = {
    "model.safetensors": [lambda folder: read_header(folder / "model.safetensors")],
    "a.parquet": [lambda folder: open_parquet(folder / "a.parquet")],
    "a.arpa": [lambda folder: read_arpa(folder / "a.arpa")],
    "a.txt": [
        lambda folder: list(read_lines(folder / "a.txt", StrictLines())),
        lambda folder: _lines(folder / "a.txt", StrictLines()),
        lambda folder: load_fingerprints([str(folder / "a.txt")]),
    ],
}


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize(("name", "place"), [(name, place) for name in READERS for place in range(len(READERS[name]))])
def test_a_pipe_or_device_behind_a_known_name_is_neither_waited_for_nor_read(tmp_path, name, place, kind):
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to("/dev/zero")

    def attempt():
        try:
            # Where nothing hangs on a card, one that cannot be read says nothing.
            assert not any(READERS[name][place](tmp_path).values())
        except HfParaphraseError as error:
            assert name in str(error)

    assert peak(attempt) < 4 * MEBIBYTE


def test_files_that_the_user_names_are_not_read_without_end():
    with pytest.raises(InputError, match="/dev/zero"):
        _read_yaml(Path("/dev/zero"))
    with pytest.raises(InputError, match="not a plain file"):
        LexicalTable.load("/dev/zero")
