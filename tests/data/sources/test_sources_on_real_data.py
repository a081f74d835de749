"""Sources on the real files, where they are beside the checkout."""

from __future__ import annotations

import pytest
from datasets import load_dataset

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.evaluation.sts_files import find_sts_sets

pytestmark = pytest.mark.real_data


def prepare(words, output):
    assert main(["prepare", *map(str, words), "--output", str(output)]) == 0
    return output


def test_evaluate_finds_the_same_sets_in_prepared_folders_as_in_the_raw_files(real_data_dir, tmp_path):
    raw = {}
    for source, folder in (("sts", "sts"), ("sick", "sick"), ("stsbenchmark", "stsbenchmark"), ("pit2015", "pit2015")):
        prepare([source, "--data-dir", real_data_dir / folder], tmp_path / source)
        raw |= {graded.key: graded for graded in find_sts_sets(real_data_dir / folder).sets}
    found = find_sts_sets(tmp_path)
    assert {graded.key for graded in found.sets} == set(raw)
    for graded in found.sets:
        assert graded.sentences1 == raw[graded.key].sentences1
        assert graded.sentences2 == raw[graded.key].sentences2
        assert graded.scores.tolist() == raw[graded.key].scores.tolist()
    assert DataFolder(tmp_path / "sts").count("STS16") == 1186


def test_transfer_sets_have_the_published_sizes(real_data_dir, tmp_path):
    folder = prepare(["transfer", "--data-dir", real_data_dir / "transfer"], tmp_path / "out")
    sizes = {name: DataFolder(folder).count(name) for name in ("mr.train", "cr.train", "subj.train", "mpqa.train")}
    assert sizes == {"mr.train": 10_662, "cr.train": 3_775, "subj.train": 10_000, "mpqa.train": 10_606}
    trec = load_dataset(str(folder), "trec", cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in trec.items()} == {"train": 5_452, "test": 500}
