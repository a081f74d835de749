"""The report as a person sees it, in a real browser; screenshots lie in the tests' temporary folder."""

from __future__ import annotations

import pytest

from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.artefacts.reports.report import write_report
from hf_paraphrase.tables import format_table

ROWS = [["b", "9.5", "–"], ["<i>a</i>", "10.25", "1,200"], ["c " * 40, "-3", "30"]]
CARD = f"# A report\n\n## Table\n\n{format_table(['name', 'score', 'pairs'], ROWS)}\n```sh\n{'long ' * 60}\n```\n"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    settings = {"data": "a" * 300, "rate": 0.1}
    scores = [{"epoch": epoch, "dev_mean": 50.0 + epoch, "loss": 1 / (1 + epoch)} for epoch in range(5)]
    splits = {"train": [3, 5, 1], "test": [1, 2, 3]}
    results = {"dev_scores": scores, "histograms": {"length": {"edges": [0, 1, 2, 3], "splits": splits}}}
    write_provenance(folder, command="train-toy", settings=settings, results=results)
    return write_report(folder, CARD)


@pytest.fixture
def open_report(browser, report, tmp_path):
    """Opens it in a window of a kind, and gives its page; no page asks for anything or complains."""
    contexts, wrong = [], []

    def opened(width=1100, **settings):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **settings))
        page = contexts[-1].new_page()
        page.on("request", lambda found: found.url.startswith("file:") or wrong.append(found.url))
        page.on("console", lambda found: wrong.append(found.text))
        page.on("pageerror", lambda found: wrong.append(str(found)))
        page.goto(report.as_uri())
        page.screenshot(path=tmp_path / f"{width}-{len(contexts)}.png", full_page=True)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def first_column(page):
    return [
        text[:8].strip() for text in page.locator("table").nth(3).locator("tbody td:first-child").all_inner_texts()
    ]


def test_tables_sort_by_words_and_numbers_with_what_is_unknown_last(open_report):
    page = open_report()
    heads = page.locator("table").nth(3).locator("th")
    assert heads.all_inner_texts() == ["name", "score", "pairs"]
    before = first_column(page)
    assert before == ["b", "<i>a</i>", "c c c c"]
    for name, orders in (
        ("score", (["c c c c", "b", "<i>a</i>"], ["<i>a</i>", "b", "c c c c"], before)),
        ("pairs", (["c c c c", "<i>a</i>", "b"], ["<i>a</i>", "c c c c", "b"], before)),
        ("name", (["<i>a</i>", "b", "c c c c"],)),
    ):
        for order in orders:
            page.get_by_role("button", name=name, exact=True).click()
            assert first_column(page) == order
    assert heads.first.get_attribute("aria-sort") == "ascending"


def test_nothing_is_wider_than_a_phone(open_report):
    page = open_report(390, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    boxes = [plot.bounding_box() for plot in page.locator("figure > svg").all()]
    assert len(boxes) == 3 and all(box["width"] > 330 for box in boxes)


def test_dark_and_light_are_told_apart_and_paper_is_light(open_report, tmp_path):
    def colours(page):
        return page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )

    light, dark = (open_report(color_scheme=scheme) for scheme in ("light", "dark"))
    assert colours(light)[0] == "rgb(255, 255, 255)" != colours(dark)[0]
    dark.emulate_media(media="print", color_scheme="dark")
    assert colours(dark) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    assert not dark.locator("summary").first.is_visible() and dark.locator("figure > svg").first.is_visible()
    dark.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_the_numbers_of_a_plot_unfold_and_its_picture_has_words(open_report):
    page = open_report()
    page.get_by_text("The numbers").first.click()
    assert page.locator("figure table").first.locator("tbody tr").count() == 5
    assert "from 50 at epoch 0 to 54 at 4" in page.get_by_role("img").first.get_attribute("aria-label")
    assert page.locator(".legend li").all_inner_texts() == ["train", "test"]
