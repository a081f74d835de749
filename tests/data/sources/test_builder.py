from __future__ import annotations

import os

import pytest
from datasets.exceptions import DatasetGenerationError

from hf_paraphrase.data.sources import SourceBuilder
from hf_paraphrase.errors import InputError, UsageError


@pytest.fixture
def tsv(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"phrase {i}\tsentence {i}\n" for i in range(40)))
    return path


def prepared(**settings):
    builder = SourceBuilder("bitext", source_lang="fr", target_lang="en", **settings)
    builder.download_and_prepare()
    return builder.as_dataset()


def test_a_changed_file_and_another_file_never_give_stale_rows(tmp_path, tsv, monkeypatch):
    cache = str(tmp_path / "cache")
    parts = prepared(tsv=str(tsv), test_size=5, shuffle=True, cache_dir=cache)
    assert {split: len(rows) for split, rows in parts.items()} == {"train": 35, "test": 5}
    assert len(prepared(tsv=str(tsv), cache_dir=cache)["train"]) == 40
    tsv.write_text("neuf\tnew\n")
    os.utime(tsv, ns=(1, 1))
    assert prepared(tsv=str(tsv), cache_dir=cache)["train"]["target"][:] == ["new"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.tsv").write_text("autre\tother\n")
    monkeypatch.chdir(other)
    assert prepared(tsv="a.tsv", cache_dir=cache)["train"]["target"][:] == ["other"]
    monkeypatch.chdir(tmp_path)
    assert prepared(tsv="a.tsv", cache_dir=cache)["train"]["target"][:] == ["new"]


def test_bad_input_is_the_cause_of_what_the_caller_sees(tmp_path, tsv):
    tsv.write_text("a\tb\nno tab\n")
    with pytest.raises(DatasetGenerationError) as caught:
        prepared(tsv=str(tsv), cache_dir=str(tmp_path / "cache"))
    assert isinstance(caught.value.__cause__, InputError) and caught.value.__cause__.line == 2
    with pytest.raises(UsageError, match="either --source-file"):
        prepared(cache_dir=str(tmp_path / "cache"))
