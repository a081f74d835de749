"""The page shows what a card says, and nothing in a card is markup but what the templates of cards use."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.artefacts.cards import template_path
from hf_paraphrase.artefacts.reports.markdown_page import as_page
from hf_paraphrase.tables import format_table, plain_markdown

TAGS = {
    "a": {"href", "rel"},
    "div": {"class"},
    "th": {"class"},
    "td": {"class"},
    "img": {"src", "alt"},
    **{
        name: set() for name in ("p", "ul", "ol", "li", "pre", "code", "strong", "em", "br", "table", "thead", "tbody")
    },
    **{name: set() for name in ("tr", "h1", "h2", "h3", "h4", "h5", "h6")},
}


class Reader(HTMLParser):
    """Collects the tags of a page, whether they close in order, and its text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.addresses = [], "", []

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS and {name for name, _ in attributes} <= TAGS[tag], (tag, attributes)
        self.addresses += [value for name, value in attributes if name in {"href", "src"}]
        if tag not in {"br", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(text, pictures=lambda place: None):
    page = as_page(text, pictures)
    reader = Reader()
    reader.feed(f"{page.lead}\n{page.body}")
    reader.close()
    assert not reader.open
    return reader


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a *b* **c** `d*e*`", "<p>a <em>b</em> <strong>c</strong> <code>d*e*</code></p>"),
        (r"2 \* 3 \<b\> \_x_ a_b_c 2*3*4", "<p>2 * 3 &lt;b&gt; _x_ a_b_c 2*3*4</p>"),
        ("&lt;unk> &#40; &copy; <br>", "<p>&lt;unk&gt; ( &amp;copy; <br></p>"),
        (
            "[a *b*](https://e.org/?x=1&y)",
            '<p><a href="https://e.org/?x=1&amp;y" rel="noreferrer">a <em>b</em></a></p>',
        ),
        ("[a](javascript:b) [c](d.md)", "<p>a c</p>"),
        ("## a\n\n### b", "<h2>a</h2>\n<h3>b</h3>"),
        ("* a\n  b\n* c\n  * d\n* e", "<ul><li>a\nb</li><li>c<ul><li>d</li></ul></li><li>e</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("```sh\n# <a> *b*\n```", "<pre><code># &lt;a&gt; *b*</code></pre>"),
        ("<!-- x: begin -->\na\n<!-- x: end -->", "<p>a</p>"),
        ("![p](no.png)", "<p>p</p>"),
        (
            "| a | b |\n|---|--:|\n| `x` \\| y | 1 |\n",
            '<div class="wide"><table><thead><tr><th>a</th><th class="number">b</th></tr></thead>'
            '<tbody><tr><td><code>x</code> | y</td><td class="number">1</td></tr></tbody></table></div>',
        ),
        (
            "| | |\n|---|---|\n| a | b |",
            '<div class="wide"><table><tbody><tr><td>a</td><td>b</td></tr></tbody></table></div>',
        ),
    ],
)
def test_what_cards_use_is_laid_out(text, expected):
    page = as_page(text)
    assert page.lead or page.body
    assert (page.lead or page.body) == expected


def test_the_first_heading_is_the_title_and_the_second_ends_the_lead():
    page = as_page("# a `<b>` & c\n\nd\n\n## e\n\nf\n")
    assert page.title == "a <b> & c" and page.lead == "<p>d</p>" and page.body == "<h2>e</h2>\n<p>f</p>"


def test_pictures_are_those_that_are_handed_out():
    found = read('![a "b"](plots/x.png) ![c](http://e.org/y.png)', {"plots/x.png": "data:image/png;base64,AA"}.get)
    assert found.addresses == ["data:image/png;base64,AA"] and "c" in found.text


def test_sentences_of_others_come_out_as_they_are():
    sentence = '<script>alert("1")</script> & *a* [b](javascript:c) | `d` ![e](f) <!-- g --> \\'
    shown = plain_markdown(sentence)
    assert sentence in read(f"# t\n\n1. R: {shown}<br>\n   T: {shown}\n").text.replace("\n", " ")
    assert sentence in read(format_table(["a", "b"], [[plain_markdown(sentence, in_table=True), "1"]])).text


@given(st.text(alphabet="<>&\"'`*_[]()!|\\#-+1.: \nab=/;", max_size=120) | st.text(max_size=80))
def test_whatever_a_card_holds_nothing_of_it_is_a_tag(text):
    found = read(text, lambda place: "data:,")
    assert all(re.match(r"https?://|data:,$", address) for address in found.addresses)


@pytest.mark.parametrize("kind", ["model_cards", "dataset_cards"])
def test_no_card_uses_what_the_page_does_not_know(kind):
    folder = template_path("model_cards", "encoder").parents[1] / kind
    for path in folder.glob("*.md"):
        body = re.sub(
            r"\A---\n.*?\n---\n|```.*?```|\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}",
            "",
            path.read_text("utf-8"),
            flags=re.DOTALL,
        )
        for line in body.splitlines():
            assert not re.match(r"\s*(?:>|===|\d+\) |___|\[\^)|.*(?<!\\)~~", line), (path.name, line)
            assert not re.search(r"(?<![\w`])_[^_`]+_(?!\w)|<(?!br)[a-z]+>", re.sub(r"`[^`]*`", "", line)), (
                path.name,
                line,
            )
