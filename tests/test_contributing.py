from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from fresh_python import MAIN

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders import SentenceEncoder

PAGE = Path(__file__).resolve().parents[1] / "CONTRIBUTING.md"
PAIRS = {
    "the dog sleeps .": "the dog is asleep .",
    "a cat lies on the mat .": "there is a cat on the mat .",
    "where is he ?": "where did he go ?",
    "it rains today .": "it rains today .",
    "she reads .": "she is reading a book .",
}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, run_python):
    """Where the commands of the page have run, in their order, with the file that it shows beside them."""
    path = tmp_path_factory.mktemp("newcomer")
    for code in blocks("python"):
        (path / code.split()[1]).write_text(code)
    (path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS.items()))
    for command in "".join(blocks("bash")).splitlines():
        program, *words = shlex.split(command, comments=True)
        if program == "hf-paraphrase":
            done = run_python(MAIN, *words, folder=path)
            assert done.returncode == 0, f"{command}\n{done.stderr}"
    return path


def test_the_examples_run_as_they_are_printed_one_after_the_other(folder):
    scored = DataFolder(folder / "scored").table()
    assert scored.column("marks").to_pylist() == [0, 0, 1, 0, 0]
    # The question went by its mark, the repetition by its BLEU.
    kept = DataFolder(folder / "kept").table().column("sentence1").to_pylist()
    assert kept and set(kept) <= set(PAIRS) - {"where is he ?", "it rains today ."}
    assert "| loss | InBatchLoss |" in (folder / "my_encoder" / "README.md").read_text()
    assert np.isfinite(SentenceEncoder.from_pretrained(folder / "my_encoder").encode(list(PAIRS))).all()


def test_the_picture_has_every_package_and_every_module_at_its_top():
    (picture,) = re.findall(r"```\n(hf_paraphrase/\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    package = PAGE.parent / "hf_paraphrase"
    packages = {path.parent for path in package.rglob("__init__.py")} - {package}
    # A metric is a folder of its own, and is not shown.
    wanted = [f"{folder.name}/" for folder in packages if folder.parent.name != "metrics"]
    wanted += [path.name for path in package.glob("[!_]*.py")]
    assert len(wanted) > 20 and not [name for name in wanted if f" {name}" not in picture]
