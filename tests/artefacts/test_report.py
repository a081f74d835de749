"""A report is self-contained, shows the record, and runs no script of its inputs."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser

import pytest

from hf_paraphrase.artefacts.provenance import fingerprint, write_provenance
from hf_paraphrase.artefacts.report import curve, recorded_plots, write_report

HOSTILE = "x</script><script>alert(1)</script>\"'><img src=//evil onerror=a> \x1b[31m\u202e\ud800 http://me:pw@host/"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
SCORES = [{"step": 0, "epoch": 0.0, "dev_mean": 1.0}, {"step": 5, "epoch": 1.0, "dev_mean": 2.5}]


class Reader(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def check_harmless(page):
    """Check that a page fetches and runs nothing."""
    tags = Reader(page).tags
    for tag, attributes in tags:
        assert tag not in {"link", "iframe", "object", "base", "form"}, tag
        assert not any(name.startswith("on") or name == "srcset" for name in attributes), attributes
        assert attributes.get("src", "data:").startswith("data:"), attributes
        assert not attributes.get("href", "").lower().startswith(("javascript", "data")), attributes
    assert "script" not in [tag for tag, _ in tags]
    assert not re.search(r"@import|url\(|[\x1b\u202e\ud800]|me:pw", page)
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'\"" in page
    page.encode("utf-8")


def made(folder, results):
    folder.mkdir()
    write_provenance(folder, command="train-toy", settings={"output": str(folder)}, results=results)
    return folder


def test_a_report_shows_card_and_plots(tmp_path):
    folder = made(tmp_path / "toy", {"dev_scores": SCORES, "log": [{"step": 5, "loss": 0.5}]})
    before = fingerprint(folder)
    card = (
        "---\ntags: []\n---\n# My `<toy>`\n\n<!-- x: begin -->\nWords.\n\n## Table\n\n| a | b |\n|--|--|\n| c | 1 |\n"
    )
    page = write_report(folder, card).read_text()
    check_harmless(page)
    assert "<title>My &lt;toy&gt;</title>" in page and "<p>Words.</p>" in page
    assert "tags: []" not in page and "x: begin" not in page
    assert page.index("Loss in training") < page.index("Words.") < page.index("<h2>Table")
    assert str(tmp_path) not in page and "hf-paraphrase train-toy" in page
    assert fingerprint(folder) == before and write_report(folder, card).read_text() == page


def test_only_pictures_inside_of_the_folder_are_in_a_report(tmp_path):
    folder = made(tmp_path / "toy", {})
    (folder / "plots").mkdir()
    for path in (folder / "plots" / "a.png", tmp_path / "b.png"):
        path.write_bytes(PIXEL)
    (folder / "link.png").symlink_to(tmp_path / "b.png")
    names = ["plots/a.png", "../b.png", tmp_path / "b.png", "link.png", "http://e.org/c.png", "absent.png"]
    page = write_report(folder, "# a\n\n" + " ".join(f"![of {name}]({name})" for name in names)).read_text()
    assert page.count("<img ") == 1 and base64.b64encode(PIXEL).decode() in page
    assert f"of {names[1]}" in page


def test_hostile_text_does_nothing_in_a_report(tmp_path):
    record = {"command": HOSTILE, "results": {"dev_scores": [{"epoch": 1, HOSTILE: 1.0}]}}
    assert len(recorded_plots(record)) == 1
    (tmp_path / "provenance.json").write_text(json.dumps(record))
    text = f"# {HOSTILE}\n\n{HOSTILE}\n\n| {HOSTILE} |\n|---|\n| {HOSTILE} |"
    check_harmless(write_report(tmp_path, text).read_text())


@pytest.mark.parametrize(
    "points", [[(1, 1)], [(0, 0), (1, 0)], [(0, 1e-9), (1, 2e-9)], [(i, i % 7 * 1e12) for i in range(5000)]]
)
def test_a_curve_stays_in_its_frame_and_round_numbers_enclose_it(points):
    plot = curve("loss", "epoch", points)
    assert len(plot["points"]) <= 402
    assert all(46 <= column <= 348 and 10 <= row <= 172 for column, row, _, _ in plot["points"])
    values = [value for _, value in plot["rows"]]
    tolerance = 1e-3 * (values[-1] - values[0])
    assert all(values[0] - tolerance <= y <= values[-1] + tolerance for _, _, _, y in plot["points"])
