from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import BITEXT


def write_bitext(folder, count=600, source_lang="fr", seed=0):
    random = np.random.default_rng(seed)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    texts = [[" ".join("".join(random.choice(letters, 6)) for _ in range(5)) for _ in range(count)] for _ in range(2)]
    columns = [[f"{seed}-{row}" for row in range(count)], *texts, [source_lang] * count, ["en"] * count]
    write_split(folder, "train", [pa.table(columns, schema=BITEXT)], BITEXT)
    return folder


def prepare(*words):
    return main(["prepare", "comparable", *map(str, words)])


SIZES = ("--sentences", 80, "--sample-sentences", 40, "--share", 0.1, "--validation-size", 20)


def test_a_task_is_in_the_layout_of_bucc_and_its_bitext_opens(tmp_path, capsys):
    write_bitext(tmp_path / "one"), write_bitext(tmp_path / "two", seed=1)
    output = tmp_path / "task"
    assert prepare("--bitext", tmp_path / "one", tmp_path / "two", "--output", output, *SIZES) == 0
    names = {path.name for path in output.iterdir()}
    assert {f"fr-en.{part}.{end}" for part in ("sample", "training", "test") for end in ("fr", "en", "gold")} < names
    gold = [line.split("\t") for line in (output / "fr-en.test.gold").read_text().splitlines()]
    sides = [
        dict(line.split("\t") for line in (output / f"fr-en.test.{end}").read_text().splitlines())
        for end in ("fr", "en")
    ]
    known = {
        (row["source"], row["target"])
        for name in ("one", "two")
        for row in DataFolder(tmp_path / name).table().to_pylist()
    }
    assert len(gold) == 8 and all((sides[0][one], sides[1][two]) in known for one, two in gold)
    train = DataFolder(output / "bitext").table("train")
    assert not set(train.column("source").to_pylist()) & set(sides[0].values())
    assert DataFolder(output / "bitext").table("validation").num_rows == 20
    record = json.loads((output / "provenance.json").read_text())
    assert record["results"]["parts"]["test"]["gold"] == 8 and len(record["inputs"]) == 2
    assert "near-duplicates" in (output / "README.md").read_text()
    assert "8 pairs hidden in them" in capsys.readouterr().err


def test_prepare_bucc_reads_the_task(tmp_path):
    write_bitext(tmp_path / "one", 900)
    assert prepare("--bitext", tmp_path / "one", "--output", tmp_path / "task", *SIZES) == 0
    words = ["prepare", "bucc", "--data-dir", tmp_path / "task", "--lang", "fr", "--output", tmp_path / "bucc"]
    assert main(list(map(str, words))) == 0
    assert DataFolder(tmp_path / "bucc").table("test").num_rows == 8


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--sentences", 3000), "groups of translations"),
        (("--share", 2), "must be above 0 and below 1"),
        (("--license", "No Such Licence"), "not spelt"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing(tmp_path, capfd, words, text):
    write_bitext(tmp_path / "one")
    assert prepare("--bitext", tmp_path / "one", "--output", tmp_path / "task", *words) == 2
    assert text in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_bitexts_of_several_languages_are_refused(tmp_path, capfd):
    write_bitext(tmp_path / "one"), write_bitext(tmp_path / "two", source_lang="de")
    assert prepare("--bitext", tmp_path / "one", tmp_path / "two", "--output", tmp_path / "task", *SIZES) == 2
    assert "2 languages: fr, de" in capfd.readouterr().err
