"""The page as a person uses it, in a real browser; screenshots lie in the tests' temporary folder."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest


@pytest.fixture
def page(browser, page_url, tmp_path, request):
    """A page in a window of its own, with `shot(name)`; it asks no other machine for anything."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(20_000)
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


def test_similarity(page):
    page.get_by_label("Sentences, a line each").fill("the doctor bought a car\na car was purchased\nit is raining")
    page.get_by_role("button", name="Compare").click()
    text = said(page, "similarity-result", "it is raining", "What carries each score")
    assert text.count("Most of it") == 3 and "Gates" not in text
    page.locator("table.hfp-heat tbody tr").first.locator("a").nth(1).click()
    assert page.url.endswith("#pair-0-2")
    page.shot("similarity")
    page.get_by_label("Encoder").first.click()
    page.get_by_role("option", name="gran", exact=True).click()
    said(page, "similarity-result", "Gates", "The colours run from")
    page.shot("gates")
    page.get_by_label("Encoder").first.click()
    page.get_by_role("option", name="damaged", exact=True).click()
    said(page, "similarity-result", "damaged")
    for typed, answer in (("", "the text is empty"), ("x" * 100_000 + "\ny", "sentence 1 has 100,000 characters")):
        page.get_by_label("Sentences, a line each").fill(typed)
        page.get_by_role("button", name="Compare").click()
        said(page, "similarity-result", answer)
    page.get_by_label("Sentences, a line each").fill("<img src=x onerror=alert(1)> ${alert(2)}\n{{value}} <script>")
    page.get_by_label("Encoder").first.click()
    page.get_by_role("option", name="avg", exact=True).click()
    said(page, "similarity-result", "<img src=x onerror=alert(1)> ${alert(2)}", "{{value}}")
