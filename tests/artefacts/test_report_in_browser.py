"""The report as a person sees it, in a real browser."""

from __future__ import annotations

import pytest

from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.artefacts.report import write_report
from hf_paraphrase.tables import format_table

ROWS = [["b", "9.5", "–"], ["<i>a</i>", "10.25", "1,200"], ["c " * 40, "-3", "30"]]
CARD = f"# A report\n\n## Table\n\n{format_table(['name', 'score', 'pairs'], ROWS)}\n```sh\n{'long ' * 60}\n```\n"


@pytest.fixture
def open_report(browser, tmp_path):
    """Opens a report in a window of a kind; it must load nothing and log no error."""
    scores = [{"epoch": epoch, "dev_mean": 50.0 + epoch, "loss": 1 / (1 + epoch)} for epoch in range(5)]
    write_provenance(tmp_path, command="train-toy", settings={"data": "a" * 300}, results={"dev_scores": scores})
    report = write_report(tmp_path, CARD)
    contexts, wrong = [], []

    def opened(width=1100, **settings):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **settings))
        page = contexts[-1].new_page()
        page.on("request", lambda found: found.url.startswith("file:") or wrong.append(found.url))
        page.on("console", lambda found: wrong.append(found.text))
        page.on("pageerror", lambda found: wrong.append(str(found)))
        page.goto(report.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def test_tables_sort_by_words_and_numbers_with_unknown_values_last(open_report):
    page = open_report()
    cells = page.locator("table").first.locator("tbody td:first-child")
    before = ["b", "<i>a</i>", "c c c c"]
    for name, orders in (
        ("score", (["c c c c", "b", "<i>a</i>"], ["<i>a</i>", "b", "c c c c"], before)),
        ("pairs", (["c c c c", "<i>a</i>", "b"], ["<i>a</i>", "c c c c", "b"], before)),
        ("name", (["<i>a</i>", "b", "c c c c"],)),
    ):
        for order in orders:
            page.get_by_role("button", name=name, exact=True).click()
            assert [text[:8].strip() for text in cells.all_inner_texts()] == order


def test_nothing_is_wider_than_a_phone(open_report):
    page = open_report(390, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    boxes = [plot.bounding_box() for plot in page.locator("figure > svg").all()]
    assert len(boxes) == 2 and all(box["width"] > 330 for box in boxes)


def test_dark_and_light_differ_and_paper_is_light(open_report):
    def colours(page):
        return page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )

    light, dark = (open_report(color_scheme=scheme) for scheme in ("light", "dark"))
    assert colours(light)[0] == "rgb(255, 255, 255)" != colours(dark)[0]
    dark.emulate_media(media="print", color_scheme="dark")
    assert colours(dark) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
