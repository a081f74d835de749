"""A report holds all that it shows, shows what was recorded, and obeys nobody's text."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.artefacts.cards import write_card
from hf_paraphrase.artefacts.evaluated_cards import add_results
from hf_paraphrase.artefacts.measurements import Measurement
from hf_paraphrase.artefacts.provenance import fingerprint, write_provenance
from hf_paraphrase.artefacts.reports.plots import bars, curves, histogram
from hf_paraphrase.artefacts.reports.recorded_plots import measured_bars, recorded_plots
from hf_paraphrase.artefacts.reports.report import render_report, write_report
from hf_paraphrase.hub.published_card import published_files
from hf_paraphrase.hub.travelling_files import list_files

HOSTILE = "x</script><script>alert(1)</script>\"'><img src=//evil onerror=a> \x1b[31m\u202e\ud800 http://me:pw@host/"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
SCORES = [{"step": 0, "epoch": 0.0, "dev_mean": 1.0}, {"step": 5, "epoch": 1.0, "dev_mean": 2.5}]


def elements(page):
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.append((tag, dict(attributes)))

    Reader().feed(page)
    return found


def check_harmless(page):
    """Looks for whatever is fetched or run."""
    for tag, attributes in elements(page):
        assert tag not in {"link", "iframe", "object", "base", "form"}, tag
        assert not any(name.startswith("on") or name == "srcset" for name in attributes), attributes
        assert attributes.get("src", "data:").startswith("data:"), attributes
    assert [tag for tag, _ in elements(page)].count("script") == 1
    assert not re.search(r"@import|url\(|[\x1b\u202e\ud800]|me:pw", page)
    script = page.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page
    page.encode("utf-8")


def made(folder, results, given=None):
    folder.mkdir()
    write_provenance(folder, command="train-toy", settings={"output": str(folder), **(given or {})}, results=results)
    return folder


def test_a_folder_shows_its_card_its_plots_its_settings_and_its_provenance(tmp_path):
    folder = made(
        tmp_path / "toy", {"dev_scores": SCORES, "log": [{"step": 5, "loss": 0.5}]}, {"rate": 0.1, "a": None}
    )
    (folder / "plots").mkdir()
    (folder / "plots" / "a.png").write_bytes(PIXEL)
    (tmp_path / "b.png").write_bytes(PIXEL)
    card = (
        "---\ntags: []\n---\n# My toy\n\nWords.\n\n![A](plots/a.png) ![B](../b.png) ![C](/etc/c.png)\n\n## Table\n\n"
    )
    write_report(folder, f"{card}| a | b |\n|---|--:|\n| c | 1 |\n")
    page = (folder / "report.html").read_text()
    check_harmless(page)
    assert "<title>My toy</title>" in page and "<p>Words.</p>" in page and "tags: []" not in page
    assert page.count("<img ") == 1 and base64.b64encode(PIXEL).decode() in page
    assert page.index("Words.") < page.index("Loss in training") < page.index("<h2>Table") < page.index(">Settings<")
    assert "<td>rate</td><td>0.1</td>" in page and "<td>a</td><td>–</td>" in page and ">torch<" in page
    assert str(tmp_path) not in page and "hf-paraphrase train-toy" in page
    assert fingerprint(folder) == fingerprint(folder) and "report.html" in {item.name for item in folder.iterdir()}


def test_a_report_is_no_part_of_a_folder_s_fingerprint(tmp_path):
    folder = made(tmp_path / "toy", {})
    before = fingerprint(folder)
    write_report(folder, "# a\n")
    assert fingerprint(folder) == before


def test_nobody_s_text_does_anything_in_a_report(tmp_path):
    given = {HOSTILE: HOSTILE, "list": [HOSTILE, 1], "deep": {"a": [HOSTILE]}}
    results = {
        "dev_scores": [{"epoch": 1, HOSTILE: 1.0}],
        "histograms": {HOSTILE: {"edges": [0, 1, 2], "splits": {HOSTILE: [1, 2], "b": [3, 4]}}},
    }
    record = {"command": HOSTILE, "settings": given, "results": results, "versions": {HOSTILE: HOSTILE}}
    record["inputs"] = [{"name": HOSTILE, "sha256": HOSTILE}]
    measured = Measurement("a", HOSTILE, "b", 1.0, HOSTILE, "c")
    record["evaluations"] = {HOSTILE: {"measurements": [measured.record()]}}
    plots = recorded_plots(record)
    assert len(plots) == 3
    check_harmless(
        render_report(f"# {HOSTILE}\n\n{HOSTILE}\n\n| {HOSTILE} |\n|---|\n| {HOSTILE} |", record, plots=plots)
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("settings", "inputs", "versions", "results", "evaluations"), json_values)
    )
    | st.fixed_dictionaries(
        {
            "results": st.dictionaries(
                st.sampled_from(["log", "dev_scores", "epochs", "dev_by_components", "histograms"]),
                json_values
                | st.lists(st.dictionaries(st.sampled_from(["epoch", "step", "loss", "eval_a", "b"]), json_values))
                | st.dictionaries(
                    st.text(max_size=3), st.dictionaries(st.sampled_from(["edges", "splits"]), json_values)
                ),
            )
        }
    )
)
@settings(max_examples=40)
def test_a_record_of_whatever_kind_makes_a_report(record):
    check_harmless(render_report("# a\n", record, plots=recorded_plots(record)))


def test_the_loss_the_scores_and_the_columns_are_drawn():
    results = {
        "dev_scores": [{**entry, "graded": entry["dev_mean"]} for entry in SCORES],
        "log": [
            {"step": 5, "epoch": 1.0, "loss": 0.5, "learning_rate": 1.0},
            {"step": 5, "epoch": 1.0, "eval_x": 1.0},
        ],
        "dev_by_components": {"32": 50.0, "64": 51.0},
        "histograms": {"length": {"edges": [0, 1, 2], "splits": {"train": [1, 3], "test": [0, 0]}}},
        "steps": 5,
    }
    plots = {plot.title: plot for plot in recorded_plots({"results": results})}
    # The mean of a single set is drawn once.
    assert list(plots) == ["Loss in training", "Dev mean", "Dev score by components", "length"]
    assert plots["Dev mean"].rows == (("0", "1"), ("1", "2.5"))
    assert plots["length"].rows == (("up to 1", "1"), ("1 and more", "3")) and plots["length"].legend == ()
    without = recorded_plots({"results": {"log": [{"step": 1, "eval_bleu": 2.0}, {"step": 2, "eval_bleu": 3.0}]}})
    assert [plot.title for plot in without] == ["Bleu"]


def test_a_resumed_training_whose_scores_come_in_another_order_is_drawn_alike():
    epochs = [{"epoch": 1, "dev_mean": 1.0, "b": 2.0, "A": 1.0}, {"epoch": 2, "dev_mean": 3.0, "b": 2.5, "A": 3.0}]
    turned = [dict(reversed(entry.items())) for entry in epochs]
    assert recorded_plots({"results": {"epochs": epochs}}) == recorded_plots({"results": {"epochs": turned}})
    assert [plot.title for plot in recorded_plots({"results": {"epochs": turned}})] == ["Dev mean", "B"]


def test_measurements_are_bars_beside_those_of_other_models():
    def measured(value):
        return [Measurement("a", f"set {place}", "b", value + place, name, "c") for name in "PS" for place in (0, 1)]

    pearson, spearman = measured_bars("STS", {"one": measured(10.0), "two": measured(20.0)})
    assert pearson.title == "STS: P" and pearson.legend == ("one", "two") and spearman.svg.count("<rect") == 4
    assert pearson.rows == (("set 0", "10", "20"), ("set 1", "11", "21"))
    (single,) = measured_bars("x", {"": [Measurement("a", "d", "b", float("nan"), "P", "c"), measured(1.0)[0]][1:]})
    assert single.rows == (("P", "1"),)


def numbers_in(svg):
    root = ElementTree.fromstring(svg)  # it is well-formed
    return root, [float(word) for word in re.findall(r"-?\d+\.?\d*", " ".join(root.itertext()))]


@pytest.mark.parametrize(
    "points",
    [[(1, 1)], [(0, 0), (1, 0)], [(0, 1e-9), (1, 2e-9)], [(0, -1e12), (1, 1e12)], [(i, i % 7) for i in range(5000)]],
)
def test_curves_stay_in_their_frame(points):
    plot = curves("loss", "epoch", {"loss": points, "gone": [(0, math.nan)]})
    root, _ = numbers_in(plot.svg)
    (line,) = root.iter("polyline")
    places = [tuple(map(float, pair.split(","))) for pair in line.get("points").split()]
    assert len(places) <= 402 and all(0 <= x <= 360 and 0 <= y <= 210 for x, y in places)
    assert plot.svg == curves("loss", "epoch", {"loss": points}).svg and root.get("aria-label").startswith("loss. ")


def test_higher_values_lie_higher_and_ticks_enclose_them():
    root, shown = numbers_in(curves("a", "epoch", {"a": [(0, 48.9), (1, 55.8), (2, 52.0)]}).svg)
    heights = [float(item.get("cy")) for item in root.iter("circle")]
    assert heights[1] < heights[2] < heights[0] and {48.0, 56.0} <= set(shown)
    assert "lowest 48.9 at 0, highest 55.8 at 1" in root.get("aria-label")


def test_nothing_to_draw_is_no_plot():
    assert curves("a", "b", {"c": []}) is None and histogram("a", [0, 1], {"b": [0]}) is None
    assert bars("a", "b", ["c"], {"d": [None]}) is None and bars("a", "b", ["c"] * 999, {"d": [1.0] * 999}) is None
    assert recorded_plots({}) == []


def test_negative_bars_end_where_positive_ones_begin():
    root, _ = numbers_in(bars("a", "b", ["c", "d"], {"e": [-5.0, 10.0]}).svg)
    negative, positive = root.iter("rect")
    assert float(negative.get("x")) + float(negative.get("width")) == pytest.approx(float(positive.get("x")), abs=0.11)


def test_a_later_evaluation_is_in_the_report(tmp_path):
    folder = made(tmp_path / "toy", {})
    (folder / "README.md").write_text("---\ntags: []\n---\n# Toy\n\n## Limits\n\nMany.\n")
    measured = Measurement("sts", "SICK", "pearson", 61.25, "Pearson", "Similarity")
    add_results(folder, "evaluate sts", {}, [measured], section="s", text="## Evaluation\n\nFine.\n")
    page = (folder / "report.html").read_text()
    check_harmless(page)
    assert page.index("evaluate sts") < page.index("<p>Fine.</p>") < page.index("Limits") and "61.25" in page


def test_a_report_that_travels_names_the_repository_as_the_card_does(tmp_path):
    folder = made(tmp_path / "toy", {}, {"pairs": "/srv/me/secret/pairs"})
    (folder / "README.md").write_text('# toy\n\n```python\nAutoModel.from_pretrained("toy")\n```\n')
    write_report(folder, (folder / "README.md").read_text())
    files = {file.name: file for file in published_files(folder, list_files(folder), "ann/best", "model").files}
    page = files["report.html"].read().decode()
    assert 'from_pretrained("ann/best")' in page and "/srv/me" not in page and "<td>pairs</td>" in page
    check_harmless(page)


def test_the_report_lies_there_before_the_card_which_says_that_all_is_written(tmp_path, monkeypatch):
    folder = made(tmp_path / "toy", {})
    monkeypatch.setattr("hf_paraphrase.artefacts.cards.render_card", lambda *words: "# Toy\n")
    monkeypatch.setattr(
        "hf_paraphrase.artefacts.cards.write_text_whole", lambda path, text: (_ for _ in ()).throw(OSError)
    )
    with pytest.raises(OSError):
        write_card(folder, "dataset_cards", "scored", {}, report=True)
    assert {item.name for item in folder.iterdir()} == {"provenance.json", "report.html"}
    assert json.loads((folder / "provenance.json").read_text())["command"] == "hf-paraphrase train-toy"
