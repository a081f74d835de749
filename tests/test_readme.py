"""The blocks of the README and the guide run in the order in which a reader meets them; their links lead somewhere."""

from __future__ import annotations

import configparser
import contextlib
import importlib
import importlib.util
import pkgutil
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from documented_blocks import blocks, commands_of, quick_blocks, run_line
from fresh_python import MAIN
from small_runs import write_sts

from hf_paraphrase.commands.parser import parse
from hf_paraphrase.commands.verbs import VERBS, recipe_and_flags
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.sample import sample_bitext, sample_paraphrases
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
README, GUIDE, CONTRIBUTING = ROOT / "README.md", ROOT / "docs" / "guide", ROOT / "CONTRIBUTING.md"
DOCUMENTS = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOT_RUN = ("hf-paraphrase push", "hf-paraphrase demo", "hf-paraphrase serve")
"""What would need an account, and what serves until it is interrupted."""
SENTENCES = [
    ("the doctor bought a car.", "a car was purchased by the physician."),
    ("a physician purchased a car.", "the doctor bought a car for his wife."),
    ("it is raining.", "the rain is falling."),
    ("the farmer sold the old horse.", "the old horse was sold by the farmer."),
]


def section(document, heading):
    """What stands under a heading of the second level."""
    text = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", document.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert text, f"{document.name} has no section {heading}"
    return text[1]


def imported_packages(code):
    """What a block imports."""
    return re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)


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


QUICKSTART = {"avg": "avg", "gran": "gran", "rnn_search": "translator", "pairs": "pairs"}
QUICKSTART |= {"paraphrases/validation": "graded", "paraphrases/test": "judged"}
"""The parts of the quickstart's folder, and the small outputs of verbs that are like them."""
BACK_TRANSLATED = {"id": "1", "source": "x", "source_lang": "fr", "rank": 0, "log_prob": -1.5, "num_tokens": 7}


def test_the_first_lines_of_the_readme_print_what_they_say(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    *python, (_, shell) = blocks(section(README, "Five lines"))
    names = {}
    for _, code in python:
        exec(compile(code, "README.md", "exec"), names)
        assert capsys.readouterr().out.strip() == code.rpartition("# ")[2].strip()
    assert len(python) == 2 and shell.count("hf-paraphrase") == 2


def test_both_journeys_of_the_readme_run_as_they_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    bitext = sample_bitext(600)["train"]
    Path("fra.txt").write_text("".join(f"{pair.english}\t{pair.french}\tsomebody\n" for pair in bitext), "utf-8")
    for split, judged in sample_paraphrases().items():
        names = ["sentence1", "sentence2", "label"]
        rows = pa.Table.from_pylist([{name: getattr(pair, name) for name in names} for pair in judged[:60]])
        rows = rows.append_column("score", rows["label"].cast(pa.float64()))
        write_split(Path("quickstart/paraphrases") / split, split, [rows], rows.schema)
    Path("pairs.tsv").write_text("".join(f"{first}\t{second}\n" for first, second in SENTENCES))
    Path("sentences.txt").write_text("".join(f"{first}\n" for first, _ in SENTENCES))
    write_sts(Path("sts/STS16-en-test"), "headlines", map("\t".join, SENTENCES), [5, 4, 1, 2])
    for heading in ("I have bitext and want paraphrase data", "I want a sentence encoder of my own"):
        ((language, code),) = quick_blocks(section(README, heading))
        assert language == "bash"
        for line in commands_of(code):
            run_line(line, monkeypatch)
    for name in ("my_encoder", "my_avg", "my_builtin"):
        assert SentenceEncoder.from_pretrained(name).encode("the doctor").ndim == 1
    assert "my_encoder" in capsys.readouterr().out


def test_every_block_of_the_quick_tour_runs(artefacts, tmp_path, monkeypatch, capsys):
    for name, made in QUICKSTART.items():
        shutil.copytree(artefacts[made], tmp_path / "quickstart" / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    rows = DataFolder(artefacts["pairs"]).table().select(["sentence1", "sentence2"])
    for name, value in BACK_TRANSLATED.items():
        rows = rows.append_column(name, pa.array([value] * len(rows)))
    write_split(Path("quickstart/back_translated"), "train", [rows], rows.schema)
    # Those of the other pages go on with its folders.
    pages = [blocks((GUIDE / page).read_text("utf-8")) for page in ("python.md", "search.md", "commands.md")]
    assert sum(language == "python" for page in pages for language, _ in page) >= 6
    for language, code in (block for page in pages for block in page):
        capsys.readouterr()
        if language == "bash":
            for line in code.strip().splitlines():
                if not line.startswith(NOT_RUN):
                    run_line(line, monkeypatch)
        elif language == "python" and all(map(importlib.util.find_spec, imported_packages(code))):
            exec(compile(code, "README.md", "exec"), {})
            assert capsys.readouterr().out.strip(), f"the block prints nothing:\n{code}"
    assert Path("vectors.npy").is_file() and Path("mined/README.md").is_file()


RECIPES = {}
"""The recipes of each section: one process runs those of one, as importing a package takes longest."""
for part in (GUIDE / "recipes.md").read_text("utf-8").split("\n## ")[1:]:
    if programs := [code for language, code in blocks(part) if language == "python"]:
        RECIPES[re.split("[:\n]", part)[0]] = "\n".join(programs)
CLUSTERS = dict.fromkeys(["Ray", "Spark"], pytest.mark.slow)


@pytest.mark.parametrize("name", [pytest.param(name, marks=CLUSTERS.get(name, ())) for name in RECIPES])
def test_a_recipe_runs_as_it_is_printed_where_its_packages_are_installed(name, tmp_path, run_python):
    code = RECIPES[name]
    if name == "Spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    if missing := {package for package in imported_packages(code) if importlib.util.find_spec(package) is None}:
        pytest.skip(f"not installed: {', '.join(missing)}")
    done = run_python(code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"# (.+)$", code, re.MULTILINE)
    assert done.stdout and all(line in done.stdout for line in said)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_is_one_that_its_verb_understands(document):
    for verb, *rest in commands(document.read_text(encoding="utf-8")):
        assert verb in VERBS
        # A file of settings is read, and it lies in the repository.
        verb, recipe, rest = recipe_and_flags([verb, *rest])
        rest = [str(ROOT / word) if word.startswith("scripts/configs/") else word for word in rest]
        settings = parse(recipe.settings, verb, rest)
        if isinstance(settings, Settings):
            # What it checks of flags alone; the files are not here.
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
    table = (GUIDE / "install.md").read_text("utf-8").splitlines()
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
