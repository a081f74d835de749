"""The page as a person uses it, in a real browser; screenshots go to the tests' temporary folder."""

from __future__ import annotations

import re
import shlex
from urllib.parse import urlsplit

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder


@pytest.fixture
def page(browser, page_url, tmp_path, request):
    """A page in a window of its own, with `shot(name)`; it asks no other machine for anything."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(60_000)
    asked, wrong = set(), []
    page.on("request", lambda found: asked.add(urlsplit(found.url).netloc))
    page.on("dialog", lambda found: (wrong.append(found.message), found.dismiss()))
    page.on("pageerror", lambda found: wrong.append(str(found)))
    page.shot = lambda name: page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
    page.goto(page_url)
    page.wait_for_selector("table.hfp-heat")
    yield page
    context.close()
    assert asked - {"", urlsplit(page_url).netloc} == set()
    assert wrong == []


def said(page, part, *texts):
    """Waits until a part of the page says some texts, and returns all that it says."""
    for text in texts:
        page.locator(f"#{part}").filter(has_text=re.compile(re.escape(text))).wait_for()
    return page.locator(f"#{part}").inner_text()


def give_file(page, part, path):
    """Uploads a file to a part of the page, and waits until its name stands there.

    A field that was emptied just now may be drawn again after it has taken the file; a person would give it once more.
    """
    from playwright.sync_api import TimeoutError as TooLong

    name = page.locator(f"#{part}").get_by_text(path.stem).first
    for _ in range(3):
        try:
            page.locator(f"#{part} input[type=file]").set_input_files(path, timeout=10_000)
            name.wait_for(timeout=10_000)
            break
        except TooLong:
            continue
    name.wait_for()


def test_each_tab_shows_an_example_when_it_is_opened(page):
    said(page, "similarity-result", "A physician purchased an automobile.", "Most of it: doctor ~ physician")
    for tab, part, text in (
        ("Neighbours", "neighbours-result", "Give me a hand."),
        ("Paraphrase", "paraphrase-status", "candidates"),
        ("Back-translation", "translation-status", "translations"),
        ("Data", "data-result", "1,800 of 1,800 pairs are kept"),
    ):
        page.get_by_role("tab", name=tab, exact=True).click()
        said(page, part, text)
        page.shot(tab)


def test_similarity(page):
    page.get_by_label("Sentences, one per line").fill("the doctor bought a car\na car was purchased\nit is raining")
    page.get_by_role("button", name="Compare").click()
    text = said(page, "similarity-result", "it is raining", "What carries each score")
    assert text.count("Most of it") == 3
    page.locator("table.hfp-heat tbody tr").first.locator("a").nth(1).click()
    assert page.url.endswith("#pair-0-2")
    page.get_by_label("Sentences, one per line").fill("<img src=x onerror=alert(1)> ${alert(2)}\n{{value}} <script>")
    page.get_by_label("Encoder").first.click()
    page.get_by_role("option", name="avg", exact=True).click()
    said(page, "similarity-result", "<img src=x onerror=alert(1)> ${alert(2)}", "{{value}}")


def test_neighbours(page, tmp_path):
    page.get_by_role("tab", name="Neighbours").click()
    lines = ["the doctor bought a car .", "it is raining .", "the farmer sold the old horse ."]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(lines * 2))
    said(page, "neighbours-result", "Give me a hand.")
    page.screenshot(path=tmp_path / "no_text.png")
    give_file(page, "neighbours-file", tmp_path / "no_text.png")
    page.get_by_role("button", name="Search").click()
    assert str(tmp_path) not in said(page, "neighbours-status", "no_text.png:1: not UTF-8")
    page.get_by_text("Give me a hand.").wait_for(state="hidden")
    page.locator("#neighbours-file").get_by_label("Clear").click()
    # Before, clearing would remove this file too.
    page.locator("#neighbours-file").get_by_text("Drop File Here").wait_for()
    give_file(page, "neighbours-file", corpus)
    page.locator("#neighbours-models input").click()
    page.get_by_role("option", name="gran", exact=True).click()
    page.keyboard.press("Escape")
    page.locator("#neighbours-query textarea").fill("a physician purchased a car .")
    page.get_by_role("button", name="Search").click()
    said(page, "neighbours-status", "corpus.txt: 6 sentences")
    said(page, "neighbours-result", "builtin", "gran", *lines)


def test_data(page, pairs, tmp_path):
    page.get_by_role("tab", name="Data").click()
    said(page, "data-result", "1,800 of 1,800")
    page.get_by_label("A data folder of pairs").fill(str(pairs))
    page.get_by_role("button", name="Read the pairs").click()
    said(page, "data-status", "40 pairs")
    said(page, "data-result", "40 of 40 pairs are kept")
    titles = [bars.inner_html() for bars in page.locator("#data-ranges .hfp-bars").all()]
    assert [sum(map(int, re.findall(r": (\d+) pairs", bars))) for bars in titles] == [40] * len(titles) and titles
    highest = page.locator("#data-high-1 input[type=number]")  # of overlap_1
    highest.fill("0.5")
    highest.press("Enter")
    text = said(page, "data-result", "'overlap_1<=0.5'")
    kept = int(text.split(" of 40 pairs")[0])
    command = page.locator("#data-result .hfp-command").inner_text()
    assert main([*shlex.split(command)[1:-1], str(tmp_path / "kept")]) == 0
    assert DataFolder(tmp_path / "kept").count() == kept and 0 < kept < 40
    page.get_by_label("A data folder of pairs").fill("/nowhere")
    page.get_by_role("button", name="Read the pairs").click()
    said(page, "data-status", "/nowhere: no such")
    assert page.locator("#data-result .hfp-command").count() == 0 and not page.locator(".hfp-bars").first.is_visible()
