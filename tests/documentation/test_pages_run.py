"""Each page runs as printed, from top to bottom, with the smaller sizes of its `quick:` comments."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from documented_blocks import commands_of, run_line, runnable_blocks

from hf_paraphrase.data.folder import DataFolder, write_split

DOCS = Path(__file__).resolve().parents[2] / "docs"
CONTINUES = {
    "train/on_my_pairs": ["data/make_paraphrase_data"],
    "data/mine_translations": ["data/make_paraphrase_data"],
    "train/new_language": ["data/make_paraphrase_data"],
    "train/publish": ["data/make_paraphrase_data", "train/on_my_pairs"],
    "use/serve": ["use/search"],
}
"""The pages whose folders a page needs."""
IN_OWN_PROCESSES = {"use/integrations", "use/vector_databases"}
"""Pages that import large libraries: each section runs in a new process."""
NOT_RUN = ("hf-paraphrase push", "hf-paraphrase demo", "hf-paraphrase serve", "bash ", "pip ", "source ")
"""Commands that need an account, install software or serve until they are interrupted."""
QUICKSTART = {"avg": "avg", "gran": "gran", "rnn_search": "translator", "pairs": "pairs"}
QUICKSTART |= {"paraphrases/validation": "graded", "paraphrases/test": "judged"}
"""The parts of the folder of the quickstart, and small outputs of the same kinds."""
BACK_TRANSLATED = {"id": "1", "source": "x", "source_lang": "fr", "rank": 0, "log_prob": -1.5, "num_tokens": 7}
TEXTS = {path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")}
STUDIES = {name for name in TEXTS if name.startswith("studies/")}
"""Pages with commands that take hours and the corpora."""
RUN = sorted({name for name, text in TEXTS.items() if list(runnable_blocks(text))} - IN_OWN_PROCESSES - STUDIES)


def write_quickstart(folder, artefacts):
    """Write a small folder like the output of `hf-paraphrase quickstart`."""
    for name, made in QUICKSTART.items():
        shutil.copytree(artefacts[made], folder / name)
    rows = DataFolder(artefacts["pairs"]).table().select(["sentence1", "sentence2"])
    for name, value in BACK_TRANSLATED.items():
        rows = rows.append_column(name, pa.array([value] * len(rows)))
    write_split(folder / "back_translated", "train", [rows], rows.schema)


def imported_packages(code):
    """Return the packages that a block imports."""
    return re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)


@pytest.fixture(scope="module")
def run_page(tmp_path_factory, artefacts):
    """Run a page once, after the pages that it continues, in one folder with them."""
    finished = {}

    def run(name, monkeypatch):
        first, *between = [*CONTINUES.get(name, []), name]
        if first not in finished:
            finished[first] = tmp_path_factory.mktemp("pages")
            if "quickstart/" in TEXTS[first]:
                write_quickstart(finished[first] / "quickstart", artefacts)
            run_blocks(first, finished[first], monkeypatch)
        for page in between:
            if page not in finished:
                finished[page] = finished[first]
                run_blocks(page, finished[first], monkeypatch)

    return run


def run_blocks(name, folder, monkeypatch):
    """Run the blocks of a page; those of Python share their names."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(folder / "cache"))
    names = {}
    for language, code in runnable_blocks(TEXTS[name]):
        if language == "bash":
            for line in commands_of(code):
                if not line.startswith(NOT_RUN):
                    run_line(line, monkeypatch)
        elif all(map(importlib.util.find_spec, imported_packages(code))):
            exec(compile(code, f"{name}.md", "exec"), names)


@pytest.mark.parametrize("name", RUN)
def test_a_page_runs_as_printed(name, run_page, monkeypatch, capsys):
    run_page(name, monkeypatch)


SECTIONS = {}
"""The Python of each section that runs in a process of its own."""
for page in sorted(IN_OWN_PROCESSES):
    for part in TEXTS[page].split("\n## ")[1:]:
        if programs := [code for language, code in runnable_blocks(part) if language == "python"]:
            SECTIONS[re.split("[:\n]", part)[0]] = "\n".join(programs)
CLUSTERS = dict.fromkeys(["Ray", "Spark"], pytest.mark.slow)


@pytest.mark.parametrize("name", [pytest.param(name, marks=CLUSTERS.get(name, ())) for name in SECTIONS])
def test_a_section_runs_where_its_packages_are_installed_and_prints_its_comments(name, tmp_path, run_python):
    code = SECTIONS[name]
    if name == "Spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    if missing := {package for package in imported_packages(code) if importlib.util.find_spec(package) is None}:
        pytest.skip(f"not installed: {', '.join(missing)}")
    done = run_python(code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    comments = re.findall(r"# (.+)$", code, re.MULTILINE)
    assert done.stdout and all(comment in done.stdout for comment in comments)
