"""The very steps of `designs/opusparcus.yaml`, run on a small archive in the layout of the real one."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import json
import shlex
from pathlib import Path
from string import Template

import pytest
import yaml

from hf_paraphrase.commands import main

pytest.importorskip("morfessor")

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
STEMS = ["talo", "auto", "kissa", "koira", "laiva"]
WHERE = {"ssa": "sisällä", "lla": "päällä", "sta": "sieltä"}


def pair(number):
    stem, (ending, word) = STEMS[number % 5], list(WHERE.items())[number % 3]
    return f"{stem}{ending} on {number % 8} .", f"{number % 8} on {word} {stem} ."


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive") / "opusparcus"
    for part in ("train", "dev", "test"):
        (folder / "fi" / part).mkdir(parents=True)
    lines = ["\t".join([f"fi-N{n}", *pair(n), f"{200 - n}.5", "0.5", str(1 + n % 5), "3"]) for n in range(120)]
    (folder / "fi/train/fi-train.txt.bz2").write_bytes(bz2.compress("\n".join(lines).encode()))
    for part, letter, first in (("dev", "D", 120), ("test", "T", 170)):
        judged = []
        for number in range(first, first + 40):
            sides = pair(number) if number % 2 else (pair(number)[0], pair(number + 7)[1])
            judged.append("\t".join([f"fi-{letter}{number}", *sides, "3.5" if number % 2 else "1.5"]))
        judged.append(f"fi-{letter}{first + 40}\tehkä .\tkai .\t2.5")
        (folder / f"fi/{part}/fi-{part}.txt").write_text("\n".join(judged) + "\n")
    rules = [f"[NP] ||| {a} ||| {b} ||| PPDB1.0Score=1.5 ||| 0-0" for a, b in map(pair, range(110))]
    (folder / "ppdb.gz").write_bytes(gzip.compress("\n".join(rules).encode()))
    return folder


@pytest.fixture(scope="module")
def work(archive):
    """The outputs of the steps."""
    folder = archive.parent / "work"
    folder.mkdir()
    row, ppdb = (
        yaml.safe_load((SCRIPTS / f"studies/designs/{name}.yaml").read_text())
        for name in ("opusparcus", "opusparcus_ppdb")
    )
    values = {**row["variables"], "FIRST": 80, "PPDB": archive / "ppdb.gz", "CONFIGS": SCRIPTS / "configs"}
    (folder / "data").symlink_to(archive)
    with contextlib.chdir(folder):
        for output, command in {**row["steps"], **ppdb["steps"]}.items():
            if "$TOKENS" in command:
                made, field = ppdb["results"]["TOKENS"].split()
                values["TOKENS"] = json.loads(Path(made, "provenance.json").read_text())["results"][field]
            words = [*shlex.split(Template(command).substitute(values)), "--output", output]
            # The sizes of the paper would take a minute.
            words += {"train-encoder": ["--hidden-size", "6", "--epochs", "1"], "evaluate": ["--seeds", "1"]}.get(
                words[0], []
            )
            assert main(words) == 0, command
    return folder


def test_the_steps_run_on_the_layout_of_the_archive(work):
    results = json.loads((work / "table_2.json").read_text())["results"]
    assert [Path(result["name"]).name for result in results] == ["wa_m", "wa", "gran", "multilingual"]
    for result in results:
        task = result["tasks"][0]
        assert task["test"] == {"pairs": 40, "paraphrases": 20} and task["undecided"] == 2
        assert 0 <= task["perceptron"]["accuracy"] <= 1 and task["all_paraphrases"] == 0.5
    assert len(json.loads((work / "table_6.json").read_text())["results"]) == 1


def test_the_models_are_those_of_the_paper(work):
    configurations = {name: json.loads((work / name / "config.json").read_text()) for name in ("wa_m", "wa", "gran")}
    assert configurations["wa"]["initial_distribution"] == "uniform" and configurations["gran"]["cell"] == "gru"
    assert configurations["gran"]["variational_dropout"] > 0
    training = json.loads((work / "gran" / "provenance.json").read_text())["settings"]
    assert (training["batch_size"], training["learning_rate"], training["loss"]) == (128, 0.001, "contrastive")
    kinds = {name: (work / name / "tokenizer.json").read_text() for name in configurations}
    assert '"WordLevel"' in kinds["wa_m"] and kinds["wa"] == kinds["gran"] and '"Unigram"' in kinds["wa"]
