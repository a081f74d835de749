"""The README runs as printed; every command, link, name and figure of README and docs is right."""

from __future__ import annotations

import configparser
import contextlib
import pkgutil
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from documented_blocks import blocks, commands_of
from fresh_python import MAIN

from hf_paraphrase.commands.parser import parse
from hf_paraphrase.commands.verbs import VERBS, recipe_and_flags
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
README, DOCS, CONTRIBUTING = ROOT / "README.md", ROOT / "docs", ROOT / "CONTRIBUTING.md"
DOCUMENTS = [README, ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def section(document, heading):
    """Return the text under a heading of the second level."""
    text = re.search(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", document.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert text, f"{document.name} has no section {heading}"
    return text[1]


def commands(text):
    """The commands of this package in the shell blocks of a text, each as its words."""
    for language, code in blocks(text):
        if language in {"bash", "sh", ""}:
            for line in code.replace("\\\n", " ").splitlines():
                for call in re.findall(r"(?:^|&&|\||do) *hf-paraphrase (\S.*?)(?= && |; done|$)", line):
                    yield shlex.split(call.replace("$lang", "de"), comments=True)


def anchors(document):
    """The anchors that GitHub gives to the headings of a document."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_the_first_steps_of_the_readme_print_what_they_show(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    python, names = blocks(section(README, "First steps")), {}
    assert len(python) == 2
    for _, code in python:
        exec(compile(code, "README.md", "exec"), names)
        assert capsys.readouterr().out.strip() == code.rpartition("# ")[2].strip()


def test_each_task_of_the_readme_has_a_command():
    tasks = re.findall(r"`hf-paraphrase ([^`]+)`", section(README, "What you can do"))
    assert len(tasks) == 6
    for task in tasks:
        verb, recipe, flags = recipe_and_flags(shlex.split(task))
        parse(recipe.settings, verb, flags)


def table_rows(text):
    """Return the cells of the tables of a text by line, without their marks."""
    return [[cell.strip(" *`†") for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]


def test_the_figures_of_the_readme_are_figures_of_the_benchmarks():
    benchmarks = (DOCS / "benchmarks.md").read_text("utf-8")
    rows = table_rows(section(README, "Which encoder?"))[2:]
    assert len(rows) >= 5
    for name, _, size, *scores, use in rows:
        figures = {cell for row in table_rows(benchmarks) if row[0] == name for cell in row}
        assert {size.removesuffix(" MB"), *scores} <= figures, name
        assert all(figure in benchmarks for figure in re.findall(r"\d+,\d+", use)), name
    pitch = README.read_text("utf-8").partition("![")[0]
    assert all(figure in benchmarks for figure in re.findall(r"\d+ %", pitch))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_is_one_that_its_verb_understands(document):
    for verb, *rest in commands(document.read_text(encoding="utf-8")):
        assert verb in VERBS
        # Settings files are read from the repository, and no GPU is needed.
        verb, recipe, rest = recipe_and_flags([verb, *rest])
        rest = [str(ROOT / word) if word.startswith("scripts/configs/") else word for word in rest]
        rest = ["cpu" if word.startswith("cuda") else word for word in rest]
        settings = parse(recipe.settings, verb, rest)
        if isinstance(settings, Settings):
            # This checks the flags alone, as the files do not exist.
            with contextlib.suppress(InputError):
                settings.check()


def test_every_command_on_a_card_is_one_that_its_verb_understands():
    cards = [path.read_text(encoding="utf-8") for path in ROOT.glob("*_cards/*.md")]
    lines = [line for card in cards for line in re.findall(r"^ {4}hf-paraphrase (.+)$", card, re.MULTILINE)]
    assert len(lines) > 3
    for line in lines:
        verb, recipe, rest = recipe_and_flags(shlex.split(re.sub(r"{{.*?}}", "name", line)))
        parse(recipe.settings, verb, rest)


def test_every_link_leads_to_a_file_and_every_anchor_to_a_heading():
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if target.startswith(("http://", "https://")):
                continue
            path, _, anchor = target.partition("#")
            file = (document.parent / path).resolve() if path else document
            assert file.is_file(), f"{document.name}: {target}"
            assert not anchor or anchors(file).count(anchor) == 1, f"{document.name}: {target}"


def there_is(name):
    """Tells whether a dotted name is that of a module, or of something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize(
    "document",
    [*DOCUMENTS, CONTRIBUTING, *sorted(ROOT.glob("*_cards/*.md"))],
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_every_name_script_and_test_that_is_mentioned_exists(document):
    text = document.read_text(encoding="utf-8")
    names = set(re.findall(r"\bhf_paraphrase(?:\.\w+)+(?!\w*[/*])", text))
    for module, imported in re.findall(r"^from (hf_paraphrase[\w.]*) import (.+)$", text, re.MULTILINE):
        names |= {f"{module}.{name.strip()}" for name in imported.split(",")}
    assert not [name for name in sorted(names) if not there_is(name)]
    files = re.findall(r"(?<![\w/.])(?!\w*_cards)[a-z]\w*/[\w/]+\.(?:py|sh|yaml)\b", text)
    # Those of the package may be named as they lie in it; `x` stands for any name.
    places = {path: (ROOT / path, ROOT / "hf_paraphrase" / path) for path in files if not path.endswith("_x.py")}
    assert not [path for path, found in places.items() if not any(place.is_file() for place in found)]
    for path, word in re.findall(r"python -m pytest (\S+) -k (\w+)", text):
        assert re.search(rf"def test_\w*{word}", (ROOT / path).read_text(encoding="utf-8")), word


def test_the_table_names_every_extra():
    configuration = configparser.ConfigParser()
    configuration.read(ROOT / "setup.cfg", encoding="utf-8")
    table = (DOCS / "start" / "install.md").read_text("utf-8").splitlines()
    rows = {line.split("|")[1].strip() for line in table if line.startswith("| `")}
    assert rows == {f"`{name}`" for name in configuration["options.extras_require"]}


# ----- the page for contributors

REMARKS = {
    "the dog sleeps .": "the dog is asleep .",
    "a cat lies on the mat .": "there is a cat on the mat .",
    "where is he ?": "where did he go ?",
    "it rains today .": "it rains today .",
    "she reads .": "she is reading a book .",
}


def test_the_examples_run_as_they_are_printed_one_after_the_other(tmp_path, run_python):
    folder, code = tmp_path, dict(blocks(CONTRIBUTING.read_text("utf-8")))
    (folder / "mine.py").write_text(code["python"])
    (folder / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in REMARKS.items()))
    for command in commands_of(code["bash"]):
        done = run_python(MAIN, *shlex.split(command)[1:], folder=folder)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    scored = DataFolder(folder / "scored").table()
    assert scored.column("marks").to_pylist() == [0, 0, 1, 0, 0]
    # The question went by its mark, the repetition by its BLEU.
    kept = DataFolder(folder / "kept").table().column("sentence1").to_pylist()
    assert kept and set(kept) <= set(REMARKS) - {"where is he ?", "it rains today ."}
    assert "| loss | InBatchLoss |" in (folder / "my_encoder" / "README.md").read_text()
    assert np.isfinite(SentenceEncoder.from_pretrained(folder / "my_encoder").encode(list(REMARKS))).all()


def test_the_picture_has_every_package_and_every_module_at_its_top():
    (picture,) = re.findall(r"```\n(hf_paraphrase/\n.*?)```", CONTRIBUTING.read_text("utf-8"), re.DOTALL)
    package = ROOT / "hf_paraphrase"
    packages = {path.parent for path in package.rglob("__init__.py")} - {package}
    # A metric is a folder of its own, and is not shown.
    wanted = [f"{folder.name}/" for folder in packages if folder.parent.name != "metrics"]
    wanted += [path.name for path in package.glob("[!_]*.py")]
    assert len(wanted) > 20 and not [name for name in wanted if f" {name}" not in picture]
