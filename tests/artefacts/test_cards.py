from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import jinja2
import pytest
from card_values import ROOT, VALUES
from huggingface_hub import DatasetCard, ModelCard

from hf_paraphrase.artefacts.cards import render_card, template_path, write_card
from hf_paraphrase.artefacts.hub_models import BUILTIN_FOLDER
from hf_paraphrase.data.sample.tatoeba import BITEXT_FILE, FOLDER, PARAPHRASE_FILE
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.metrics import METRICS

REPORTS = {
    ("dataset_cards", name)
    for name in (
        "analysis",
        "analysis_gates",
        "analysis_human_scores",
        "analysis_neighbours",
        "analysis_similarities",
        "mining_report",
        "tuning",
    )
}
"""Reports that lie beside data but are no cards; tests of `analyze`, `tune` and `evaluate-mining` render them."""
DATA_PATHS = {"comparable": "bitext/data/train-*"}
"""Where the data of a folder are that are not at its top."""
TEMPLATES = sorted(
    {(kind, path.stem) for kind in ("dataset_cards", "model_cards") for path in (ROOT / kind).glob("*.md")} - REPORTS
)


@pytest.mark.parametrize(("kind", "name"), TEMPLATES)
def test_every_template_renders_and_the_hub_can_read_its_front_matter(kind, name):
    text = render_card(kind, name, VALUES[kind, name])
    card = (DatasetCard if kind == "dataset_cards" else ModelCard)(text)
    languages = card.data.to_dict()["language"]
    assert set(languages) <= {"no", "en"} and "no" in languages
    assert "{{" not in text and "{%" not in text and "# " in card.text
    assert not re.search(r"[^\n]\n## |\n## .*\n[^\n]", text)  # a heading stands by itself
    if kind == "dataset_cards":
        assert card.data.configs[0]["default"] is True
        assert card.data.configs[0]["data_files"][0] == {
            "split": "train",
            "path": DATA_PATHS.get(name, "data/train-*"),
        }


def test_the_digest_in_the_head_of_a_card_is_what_it_says_it_is(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("train-0.parquet", "dev-0.parquet"):
        (tmp_path / "data" / name).write_bytes(name.encode())
    write_card(tmp_path, "dataset_cards", "pairs", VALUES["dataset_cards", "pairs"])
    files = sorted((tmp_path / "data").iterdir())
    digest = sha256(b"".join(sha256(path.read_bytes()).digest() for path in files)).hexdigest()
    said = DatasetCard.load(tmp_path / "README.md").data.configs[0]["description"]
    assert said == f"SHA-256 over those of the Parquet files: {digest}"


@pytest.mark.parametrize("name", [path.stem for path in sorted((ROOT / "model_cards").glob("*.md"))])
def test_a_card_that_offers_the_code_of_the_folder_names_the_transformers_that_it_needs(name):
    text = (ROOT / "model_cards" / f"{name}.md").read_text()
    # One mention is for the kind of folder of which the code is a part only, e.g. an average.
    assert text.count("transformers 5") >= (text.count("trust_remote_code=True") > 0)
    assert text.count("transformers.AutoModel.from_pretrained(") <= text.count("transformers 5")


@pytest.mark.parametrize(("kind", "name"), TEMPLATES)
def test_a_value_that_is_missing_is_an_error_and_never_an_empty_place(kind, name):
    for missing in VALUES[kind, name]:
        values = {key: value for key, value in VALUES[kind, name].items() if key != missing}
        uses = re.search(rf"\b{missing}\b", template_path(kind, name).read_text())
        if uses is None:
            continue
        try:
            text = render_card(kind, name, values)
        except (jinja2.UndefinedError, TypeError):  # the latter from a filter
            continue
        # It may stand in a branch that was not taken.
        assert text == render_card(kind, name, VALUES[kind, name])


def test_examples_cannot_break_the_table_of_the_card():
    text = render_card("dataset_cards", "back_translated", VALUES["dataset_cards", "back_translated"])
    assert "| a \\| b | c |" in text


def test_an_unknown_template_is_an_error():
    with pytest.raises(HfParaphraseError, match=r"no card template model_cards/none\.md"):
        template_path("model_cards", "none")


def test_a_card_ends_in_one_line_break(tmp_path):
    path = write_card(tmp_path, "model_cards", "rnn_search", VALUES["model_cards", "rnn_search"])
    assert path == tmp_path / "README.md"
    assert path.read_text().endswith("\n```\n") and list(tmp_path.iterdir()) == [path]


def test_the_templates_and_the_sample_are_in_a_built_wheel(tmp_path):
    source = tmp_path / "source"
    wanted = (
        "hf_paraphrase",
        "model_cards",
        "dataset_cards",
        "setup.py",
        "setup.cfg",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    )
    source.mkdir()
    for name in wanted:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "dist"),
        str(source),
    ]
    pytest.importorskip("setuptools", minversion="77")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    for kind, name in TEMPLATES:
        assert (tmp_path / "installed" / "hf_paraphrase" / "artefacts" / kind / f"{name}.md").is_file()
    for name in ("report.html", "sort.js"):
        assert (tmp_path / "installed" / "hf_paraphrase" / "artefacts" / "reports" / name).is_file()
    for name in METRICS:
        folder = tmp_path / "installed" / "hf_paraphrase" / "metrics" / name
        names = {path.name for path in folder.iterdir()}
        assert names == {"README.md", "__init__.py", "app.py", "requirements.txt", f"{name}.py"}
    for name in ("page.css", "page.js"):
        assert (tmp_path / "installed" / "hf_paraphrase" / "demo" / name).is_file()
    for name in (BITEXT_FILE, PARAPHRASE_FILE, "ATTRIBUTION.md"):
        installed = tmp_path / "installed" / "hf_paraphrase" / "data" / "sample" / name
        assert installed.read_bytes() == (FOLDER / name).read_bytes()
    # The built-in encoder, where there is one.
    installed = tmp_path / "installed" / "hf_paraphrase" / "encoders" / "builtin"
    files = {path.name: path.read_bytes() for path in BUILTIN_FOLDER.glob("*")}
    assert {path.name: path.read_bytes() for path in installed.glob("*")} == files
    script = "from hf_paraphrase.artefacts.cards import template_path as t; print(t('model_cards', 'rnn_search'))"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path / "installed", capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()) == tmp_path / "installed/hf_paraphrase/artefacts/model_cards/rnn_search.md"
