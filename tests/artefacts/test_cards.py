"""Cards say what was recorded, in heads that the Hub reads, and nothing in them does anything."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard, ModelCard
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.artefacts import cards
from hf_paraphrase.artefacts.card_metadata import Measurement, read_card, set_results, split_card
from hf_paraphrase.artefacts.cards import Card, add_results, replace_section, template_path, write_card
from hf_paraphrase.artefacts.provenance import read_provenance, write_provenance
from hf_paraphrase.data.sample import BITEXT_FILE, PARAPHRASE_FILE
from hf_paraphrase.errors import InputError
from hf_paraphrase.metrics import METRICS
from hf_paraphrase.tables import format_table

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = sorted(
    (kind, path.stem) for kind in ("dataset_cards", "model_cards") for path in (ROOT / kind).glob("*.md")
)
PAIRS = {
    "front_matter": "language:\n- 'no'\n",
    "languages": ["no"],
    "license": "cc-by-2.0",
    "title": 'A "title": with # signs',
    "command": "prepare pairs",
    "files": ["a.txt"],
    "counts": {"train": {"lines": 3}},
    "example": "{}",
    "contamination": {},
    **dict.fromkeys(("skipped", "ngrams", "similarity", "checked")),
}
SPLITS = [{"name": "train", "num_bytes": 1, "num_examples": 2}]
PAIRS["infos"] = [{"config_name": "default", "features": [{"name": "sentence1", "dtype": "string"}], "splits": SPLITS}]
TOKEN = "hf_" + "a1B2" * 8 + "cD"
URL = f"https://me:password@host/a?token=s3cret&b={TOKEN}"
HOSTILE = "x\n# Bought\n<img src=x onerror=a> ![a](http://evil/) [b](javascript:c) \x1b[31m\u202e \ud800 | y\r\n---"
DEV = Measurement("sentence-similarity", "dev set", "pearsonr", 60.5, "Pearson", "Similarity", split="dev")
LINES = st.lists(st.sampled_from(["", "text", "# Title", "## Limits", "é | ü", "---"]), max_size=8)
CARD_TEXT = "---\ntags:\n- x\n---\n\n# Title\n\ntext\n\n## Limits\n\nnone\n"


def check_harmless(text):
    """Check that a card has no markup, links or credentials from its values."""
    assert not re.search(r"^# Bought|<img|\]\(http://evil|\]\(javascript|[\x1b\u202e\ud800]", text, re.MULTILINE), text
    assert TOKEN not in text and "password@" not in text and "s3cret" not in text
    text.encode("utf-8")


@pytest.mark.parametrize(("kind", "name"), TEMPLATES)
def test_free_text_in_the_head_of_a_template_is_quoted_so_that_norwegian_is_not_false(kind, name):
    _, head, *_ = f"{template_path(kind, name).read_text(encoding='utf-8')}---\n".split("---\n")
    unquoted = set(re.findall(r"\{\{ ((?!.*\| (?:yaml|tojson|markdown) \}\}).*?) \}\}", head))
    assert unquoted <= {"library_name", "model_type", "weights", "split"} | {
        f"split.{name}" for name in ("name", "num_bytes", "num_examples")
    }


def test_the_head_names_the_licence_and_the_hub_datasets_of_the_inputs(tmp_path, monkeypatch):
    (tmp_path / "made").mkdir()
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "README.md").write_text("---\nsource_datasets: [org/name]\nlicense: mit\n---\n")
    inputs = {str(tmp_path / "input"): "00"}
    write_provenance(tmp_path / "made", command="x", settings={"license": "cc-by-2.0"}, inputs=inputs)
    monkeypatch.setattr(cards, "render_card", lambda *words: f"---\ntags: []\n---\n{words}")
    write_card(tmp_path / "made", Card("any", {}, "model_cards"))
    monkeypatch.undo()
    card = ModelCard.load(tmp_path / "made" / "README.md")
    assert (card.data.license, card.data.datasets) == ("cc-by-2.0", ["org/name"])
    assert "`input` (licence: mit; <https://huggingface.co/datasets/org/name>)" in card.text
    write_card(tmp_path / "made", Card("pairs", PAIRS))
    assert DatasetCard.load(tmp_path / "made" / "README.md").data.source_datasets == ["org/name"]


def test_hostile_values_are_text_in_a_card_and_credentials_are_left_out(tmp_path):
    values = PAIRS | dict.fromkeys(("license", "title", "command"), HOSTILE)
    values |= {"infos": [PAIRS["infos"][0] | {"features": [{"name": HOSTILE}]}], "files": [HOSTILE, URL], "url": URL}
    values |= {"languages": [HOSTILE], "counts": {"train": {"lines": 3, HOSTILE: 4}}, "checked": [HOSTILE]}
    write_provenance(tmp_path, command="prepare", settings={"url": URL, HOSTILE: HOSTILE})
    write_card(tmp_path, Card("pairs", values))
    _, body = split_card((tmp_path / "README.md").read_text(encoding="utf-8"))
    check_harmless(body)
    assert "&lt;img" in body and "<https://host/a?token=***&b=<token>>" in body


def test_hostile_results_are_text_in_an_evaluated_card(tmp_path):
    table = format_table([HOSTILE, "b"], [[HOSTILE, "c"]])
    check_harmless(table)
    assert table.count("\n") == 3
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n# Mine <img>\n")
    text = f"## E\n\n{table}\na <img> --> <!-- s: end -->{URL}"
    add_results(tmp_path, HOSTILE, {"a": HOSTILE}, section="s", text=text)
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    check_harmless(card.replace("# Mine <img>", ""))
    assert "\n# Mine <img>\n" in card and card.count("<!-- s: end -->") == 1


# ----- heads


@pytest.mark.parametrize(("text", "line"), [(b"---\na: b: c\n---\n", 2), (b"---\n- a\n---\n", None), (b"\xff", None)])
def test_a_damaged_head_is_an_input_error_with_file_and_line(tmp_path, text, line):
    (tmp_path / "README.md").write_bytes(text)
    with pytest.raises(InputError) as caught:
        split_card(read_card(tmp_path), tmp_path / "README.md")
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "README.md"), line)


def test_a_result_names_the_data_without_the_folders_above_and_is_published_only_with_a_value():
    for path in ("/private/my set", "C:\\private\\my set\\"):
        found = replace(DEV, dataset=path).result()
        assert (found.dataset_name, found.dataset_type, found.metric_value) == ("my set", "my-set", 60.5)
    card = ModelCard(CARD_TEXT)
    set_results(card, "m", [replace(DEV, value=None), replace(DEV, dataset=None)])
    assert "model-index" not in str(card)


# ----- later evaluations


@given(LINES, LINES)
def test_the_rest_of_the_text_stays_and_a_second_run_changes_nothing(lines, section):
    card, text = "\n".join([*lines, "end"]) + "\n", "\n".join(section)
    once = replace_section(card, "a", text, "## Limits")
    assert replace_section(once, "a", text, "## Limits") == once
    start, rest = once.split("<!-- a: begin -->\n")
    middle, stop = rest.split("<!-- a: end -->\n")
    assert middle.strip() == text.strip()
    assert "## Limits" not in lines or stop.startswith("\n## Limits\n")
    assert (start + stop.removeprefix("\n")).split() == card.split()


def test_an_evaluation_is_added_and_replaces_results_on_the_same_data(tmp_path):
    card = ModelCard(CARD_TEXT)
    set_results(card, "model", [DEV])
    (tmp_path / "README.md").write_text(str(card))

    def added(name, **values):
        measured = [replace(DEV, dataset="runs/data/", config=config, value=value) for config, value in values.items()]
        add_results(tmp_path, name, {"kind": name}, measured, section=name, text="t")
        found = ModelCard.load(tmp_path / "README.md").data.eval_results
        return {item.dataset_name: item.metric_value for item in found}

    assert added("sts", a=1.5, b=2.5) == {"dev set": 60.5, "data a": 1.5, "data b": 2.5}
    assert added("other", c=4.5) == {"dev set": 60.5, "data a": 1.5, "data b": 2.5, "data c": 4.5}
    assert added("sts", b=3.5) == {"dev set": 60.5, "data a": 1.5, "data b": 3.5, "data c": 4.5}
    assert read_provenance(tmp_path)["evaluations"] == {"sts": {"kind": "sts"}, "other": {"kind": "other"}}


# ----- installed


def test_templates_sample_metrics_and_encoder_are_installed_with_the_package(tmp_path):
    pytest.importorskip("setuptools", minversion="77")
    # What a wheel holds, without the work of an isolated build.
    words = ["setup.py", "--quiet", "egg_info", "--egg-base", tmp_path, "build_py", "--build-lib", tmp_path / "lib"]
    result = subprocess.run([sys.executable, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    package = tmp_path / "lib" / "hf_paraphrase"
    wanted = [f"artefacts/{kind}/{name}.md" for kind, name in TEMPLATES]
    wanted += ["py.typed", "artefacts/papers.bib", "artefacts/report.html", "demo/page.css", "encoders/builtin/*"]
    wanted += [f"data/sample/{name}" for name in (BITEXT_FILE, PARAPHRASE_FILE, "ATTRIBUTION.md")]
    assert not [name for name in wanted if not list(package.glob(name))]
    for name in METRICS:
        names = {path.name for path in (package / "metrics" / name).iterdir()}
        assert names == {"README.md", "__init__.py", "app.py", "requirements.txt", f"{name}.py"}
    script = "from hf_paraphrase.artefacts.cards import template_path as t; print(t('model_cards', 'rnn_search'))"
    found = subprocess.check_output([sys.executable, "-c", script], cwd=package.parent, text=True)
    assert Path(found.strip()) == package / "artefacts" / "model_cards" / "rnn_search.md"
