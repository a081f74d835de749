from __future__ import annotations

import os
import pickle

import pytest

from hf_paraphrase.data.sources import SourceBuilder, SourceRows
from hf_paraphrase.data.sources.bitext import BitextSource
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


def test_builder_gives_the_rows_of_the_corpus_in_every_split(tmp_path, tsv):
    dataset = prepared(tsv=str(tsv), test_size=5, shuffle=True, cache_dir=str(tmp_path / "cache"))
    options = BitextSource(tsv=str(tsv), test_size=5, shuffle=True, source_lang="fr", target_lang="en")
    with SourceRows(options) as rows:
        for split in rows.parts:
            assert dataset[split].to_list() == [row for table in rows.tables(split) for row in table.to_pylist()]
    assert set(dataset) == {"train", "test"}


def test_a_slice_a_stream_and_a_copy_in_another_process_agree_with_the_whole(tmp_path, tsv):
    settings = {"tsv": str(tsv), "source_lang": "fr", "target_lang": "en"}
    builder = SourceBuilder("bitext", **settings, cache_dir=str(tmp_path / "cache"))
    builder.download_and_prepare()
    rows = builder.as_dataset(split="train").to_list()
    assert builder.as_dataset(split="train[:10%]").to_list() == rows[:4]
    assert list(builder.as_streaming_dataset()["train"]) == rows
    copy = pickle.loads(pickle.dumps(builder))
    assert [row for _, table in copy._generate_tables("train") for row in table.to_pylist()] == rows


def test_a_second_run_with_the_same_settings_comes_from_the_cache(tmp_path, tsv, monkeypatch):
    cache = str(tmp_path / "cache")
    sizes = [len(prepared(tsv=str(tsv), test_size=size, cache_dir=cache)["test"]) for size in (3, 7)]
    assert sizes == [3, 7]
    monkeypatch.setattr(SourceBuilder, "_opened", lambda self: pytest.fail("the files were parsed again"))
    assert len(prepared(tsv=str(tsv), test_size=7, cache_dir=cache)["test"]) == 7


def test_a_changed_file_and_another_file_never_give_stale_rows(tmp_path, tsv, monkeypatch):
    cache = str(tmp_path / "cache")
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


def test_bad_input_reaches_the_caller_as_it_is(tmp_path, tsv):
    tsv.write_text("a\tb\nno tab\n")
    with pytest.raises(InputError, match="no tab") as caught:
        prepared(tsv=str(tsv), cache_dir=str(tmp_path / "cache"))
    assert caught.value.line == 2
    with pytest.raises(UsageError, match="either --source-file"):
        prepared(cache_dir=str(tmp_path / "cache"))
    with pytest.raises(InputError, match="no such file"):
        prepared(tsv=str(tmp_path / "absent"), cache_dir=str(tmp_path / "cache"))
