from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
from huggingface_hub import ModelCard
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.artefacts import evaluated_cards
from hf_paraphrase.artefacts.evaluated_cards import add_results, replace_section
from hf_paraphrase.artefacts.measurements import Measurement, set_results
from hf_paraphrase.errors import InputError

CARD = "---\ntags:\n- x\n---\n\n# Title\n\ntext\n\n## Limits\n\nnone\n"
LINES = st.lists(st.sampled_from(["", "text", "# Title", "## Limits", "é | ü", "---"]), max_size=8)
DEV = Measurement("sentence-similarity", "dev set", "pearsonr", 60.5, "Pearson", "Similarity", split="dev")


def test_a_first_section_goes_before_the_heading_and_a_second_takes_its_place():
    once = replace_section(CARD, "results", "## Results\n\none\n", "## Limits")
    assert once == CARD.replace(
        "## Limits", "<!-- results: begin -->\n## Results\n\none\n<!-- results: end -->\n\n## Limits"
    )
    assert replace_section(once, "results", "two", "## Limits") == once.replace("## Results\n\none", "two")


@given(LINES, LINES)
def test_the_rest_of_the_text_stays_and_a_second_run_changes_nothing(lines, section):
    card, text = "\n".join([*lines, "end"]) + "\n", "\n".join(section)
    once = replace_section(card, "a", text, "## Limits")
    assert replace_section(once, "a", text, "## Limits") == once
    start, rest = once.split("<!-- a: begin -->\n")
    middle, stop = rest.split("<!-- a: end -->\n")
    assert middle.strip() == text.strip()
    assert (start + stop.removeprefix("\n")).split() == card.split()


@pytest.mark.parametrize("card", [b"<!-- a: begin -->\n", b"<!-- a: end -->\n<!-- a: begin -->\n", b"\xff", None])
def test_a_card_that_cannot_take_the_section_is_refused_and_unchanged(tmp_path, card):
    path = tmp_path / "README.md"
    if card is not None:
        path.write_bytes(card)
    with pytest.raises(InputError) as caught:
        add_results(tmp_path, "x", {}, section="a", text="b")
    assert caught.value.path == str(path)
    assert not path.exists() if card is None else path.read_bytes() == card


def measured(**values):
    return [replace(DEV, dataset="runs/data/", config=name, value=value) for name, value in values.items()]


def results_of(folder):
    found = ModelCard.load(folder / "README.md").data.eval_results
    return {(item.dataset_name, item.metric_value) for item in found}


@pytest.fixture
def model(tmp_path):
    """A model folder whose card has what was measured in training."""
    card = ModelCard(CARD)
    set_results(card, "model", [DEV])
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "README.md").write_text(str(card))
    return tmp_path / "model"


def test_an_evaluation_is_added_and_its_repetition_replaces_it(model):
    add_results(model, "sts", {"kind": "evaluate"}, measured(a=1.5, b=2.5), section="s", text="t")
    assert results_of(model) == {("dev set", 60.5), ("data a", 1.5), ("data b", 2.5)}
    add_results(model, "other", {}, [replace(DEV, dataset="elsewhere")], section="o", text="t")
    add_results(model, "sts", {"kind": "evaluate"}, measured(b=3.5), section="s", text="t")
    assert results_of(model) == {("dev set", 60.5), ("elsewhere", 60.5), ("data b", 3.5)}
    assert "runs" not in (model / "provenance.json").read_text()


def test_two_runs_that_record_at_the_same_time_are_both_in_card_record_and_report(model, monkeypatch):
    read_card = evaluated_cards._read_card

    def record(name):
        add_results(model, name, {}, measured(**{name: 1.5}), section=name, text=f"of {name}")

    def meanwhile(folder, section):
        card = read_card(folder, section)
        if not other.ident:
            other.start()
            # Long enough for a run that does not wait to be done.
            other.join(0.5)
        return card

    other = threading.Thread(target=record, args=("b",))
    monkeypatch.setattr(evaluated_cards, "_read_card", meanwhile)
    record("a")
    other.join()
    assert results_of(model) == {("dev set", 60.5), ("data a", 1.5), ("data b", 1.5)}
    assert set(json.loads((model / "provenance.json").read_text())["evaluations"]) == {"a", "b"}
    for name in ("README.md", "report.html"):
        text = (model / name).read_text()
        assert "of a" in text and "of b" in text


@pytest.mark.parametrize("record", [{"kind": "evaluate"}, {"measurements": [{"a": 1}]}])
def test_results_without_a_record_of_them_are_replaced_by_what_they_are_of(model, record):
    """Early versions recorded an evaluation, but not what the head of the card says of it."""
    add_results(model, "sts", {}, measured(a=1.5, b=2.5), section="s", text="t")
    (model / "provenance.json").write_text(json.dumps({"evaluations": {"sts": record}}))
    add_results(model, "sts", {}, measured(a=4.5), section="s", text="t")
    assert results_of(model) == {("dev set", 60.5), ("data a", 4.5), ("data b", 2.5)}
