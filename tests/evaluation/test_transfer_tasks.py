from __future__ import annotations

import gzip

import numpy as np
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation.transfer import evaluate_tasks
from hf_paraphrase.evaluation.transfer_tasks import TASKS, find_transfer_tasks

LETTERS = "abcdefghij"


def words(seed, count):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(list(LETTERS), generator.integers(2, 7))) for _ in range(count)]


def encode(texts):
    """Counts letters; a text with many a's and few b's is far from its opposite."""
    return np.array([[text.count(letter) for letter in LETTERS] for text in texts], dtype=np.float32)


def write_binary(folder, negative="rt-polarity.neg", positive="rt-polarity.pos", count=40):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / negative).write_text("".join(f"{text} b b b\n" for text in words(1, count)))
    with gzip.open(folder / f"{positive}.gz", "wt") as file:
        file.writelines(f"{text} a a a\n" for text in words(2, count))


def write_msrp(folder, *parts):
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in parts:
        lines = ["\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for i, (a, b) in enumerate(zip(words(3, count), words(4, count), strict=True)):
            lines.append(f"{i % 2}\t{i}\t{i + 1000}\t{a}\t{a if i % 2 else b + ' h h'}")
        (folder / f"msr_paraphrase_{part}.txt").write_text("\n".join(lines) + "\n")


def write_trec(folder, train=60, test=20):
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {"NUM": "a a a", "LOC": "b b b", "HUM": "c c c"}
    for name, count in (("train_5500.label", train), ("TREC_10.label", test)):
        lines = []
        for i, text in enumerate(words(count, count)):
            kind = list(kinds)[i % 3]
            lines.append(f"{kind}:fine {text} {kinds[kind]} ?\n")
        (folder / name).write_bytes("".join(lines).encode("latin-1"))


def test_each_family_learns_what_its_vectors_show_and_gives_its_measures(tmp_path):
    write_binary(tmp_path / "MR")
    write_trec(tmp_path / "TREC")
    write_msrp(tmp_path / "MSRP", ("train", 80), ("test", 40))
    tasks = find_transfer_tasks(tmp_path, TASKS, folds=2)[0]
    results = {result["task"]: result for result in evaluate_tasks(encode, tasks, folds=2)}
    assert list(results) == ["MR", "TREC", "MRPC"]
    assert results["MR"]["metrics"]["accuracy"] > 90 and results["MR"]["majority"] == {"accuracy": 50.0}
    assert (results["MR"]["train"], results["MR"]["test"], results["MR"]["tested_on"]) == (40, 80, "2 folds")
    assert results["TREC"]["metrics"]["accuracy"] > 80 and results["TREC"]["test"] == 20
    assert results["MRPC"]["metrics"]["accuracy"] > 75 and results["MRPC"]["metrics"]["f1"] > 75
    assert results["MRPC"]["majority"]["accuracy"] == 50


def test_what_lacks_a_file_is_named_as_missing_and_the_others_are_there(tmp_path):
    write_binary(tmp_path / "CR", "custrev.neg", "custrev.pos")
    write_msrp(tmp_path, ("train", 40))
    tasks, missing, paths = find_transfer_tasks(tmp_path, TASKS, folds=2)
    assert list(tasks) == ["CR"]
    assert missing == {
        "MR": ["rt-polarity.neg", "rt-polarity.pos"],
        "SUBJ": ["subj.objective", "subj.subjective"],
        "MPQA": ["mpqa.neg", "mpqa.pos"],
        "TREC": ["train_5500.label", "TREC_10.label"],
        "MRPC": ["msr_paraphrase_test.txt"],
    }
    assert {path.name for path in paths} == {"custrev.neg", "custrev.pos.gz"}


def test_prepared_data_folders_give_the_tasks_that_their_raw_files_give(tmp_path):
    raw, prepared = tmp_path / "raw", tmp_path / "prepared"
    write_binary(raw / "MR")
    write_binary(raw / "SUBJ", "subj.objective", "subj.subjective")
    write_trec(raw / "TREC")
    write_msrp(raw / "MSRP", ("train", 80), ("test", 40))
    for source in ("transfer", "msrp"):
        assert main(["prepare", source, "--data-dir", str(raw), "--output", str(prepared / source)]) == 0
    both = [find_transfer_tasks(folder, TASKS, folds=2) for folder in (raw, prepared)]
    assert both[0][1] == both[1][1] and {path.suffix for path in both[1][2]} == {".parquet"}
    assert list(both[0][0]) == list(both[1][0]) == ["MR", "SUBJ", "TREC", "MRPC"]
    for name, task in both[0][0].items():
        for part, examples in task.items():
            assert both[1][0][name][part].sides == examples.sides
            np.testing.assert_array_equal(both[1][0][name][part].gold, examples.gold)
    assert {path.suffix for path in find_transfer_tasks(tmp_path, ["TREC"], folds=2)[2]} == {".label"}


def test_bad_files_are_named(tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        find_transfer_tasks(tmp_path / "absent", TASKS, folds=2)
    with pytest.raises(InputError, match="no transfer task is complete"):
        find_transfer_tasks(tmp_path, TASKS, folds=2)
    write_binary(tmp_path, count=3)
    with pytest.raises(InputError, match=r"rt-polarity\.neg: MR has 6 examples, 3 of the second largest class"):
        find_transfer_tasks(tmp_path, ["MR"], folds=2)
    (tmp_path / "custrev.neg").write_text("bad\n")
    with pytest.raises(InputError, match=r"custrev\.pos is not there"):
        find_transfer_tasks(tmp_path, ["CR"], folds=2)
    (tmp_path / "custrev.neg").unlink()
    write_trec(tmp_path)
    (tmp_path / "TREC_10.label").write_text("NUM:dist How far ?\nODD:x y\n")
    with pytest.raises(InputError, match=r"TREC_10\.label:2: not a question"):
        find_transfer_tasks(tmp_path, ["TREC"], folds=2)


@pytest.mark.real_data
def test_the_sets_at_hand_have_their_published_sizes(real_data_dir):
    tasks, missing, _ = find_transfer_tasks(real_data_dir, TASKS)
    sizes = {name: {part: len(examples) for part, examples in task.items()} for name, task in tasks.items()}
    assert sizes == {
        "MR": {"train": 10662}, "CR": {"train": 3775}, "SUBJ": {"train": 10000}, "MPQA": {"train": 10606},
        "TREC": {"train": 5452, "test": 500},
    }  # fmt: skip
    assert set(missing) == {"MRPC"}
