from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.artefacts.card_section import read_card, replace_section, update_section
from hf_paraphrase.errors import InputError

CARD = "---\ntags:\n- x\n---\n\n# Title\n\ntext\n\n## Limits\n\nnone\n"
LINES = st.lists(st.sampled_from(["", "text", "# Title", "## Limits", "é | ü", "---"]), max_size=8)


def test_a_first_section_goes_before_the_heading_and_a_second_takes_its_place():
    once = replace_section(CARD, "results", "## Results\n\none\n", "## Limits")
    assert once == CARD.replace(
        "## Limits", "<!-- results: begin -->\n## Results\n\none\n<!-- results: end -->\n\n## Limits"
    )
    assert replace_section(once, "results", "two", "## Limits") == once.replace("## Results\n\none", "two")


def test_without_the_heading_the_section_ends_the_card():
    assert replace_section("# Title\n\n### Limits\n", "a", "b", "## Limits").endswith(
        "### Limits\n\n<!-- a: begin -->\nb\n<!-- a: end -->\n"
    )


@given(LINES, LINES)
def test_all_that_people_wrote_stays_and_a_second_run_changes_nothing(lines, section):
    card, text = "\n".join([*lines, "end"]) + "\n", "\n".join(section)
    once = replace_section(card, "a", text, "## Limits")
    assert replace_section(once, "a", text, "## Limits") == once
    start, rest = once.split("<!-- a: begin -->\n")
    middle, stop = rest.split("<!-- a: end -->\n")
    assert middle.strip() == text.strip()
    assert (start + stop.removeprefix("\n")).split() == card.split()


@pytest.mark.parametrize(
    "card",
    [
        b"<!-- a: begin -->\n",
        b"<!-- a: end -->\n",
        b"<!-- a: end -->\n<!-- a: begin -->\n",
        b"<!-- a: begin --><!-- a: end -->" * 2,
        b"\xff",
        None,
    ],
)
def test_a_card_that_cannot_take_the_section_is_refused_and_stays_as_it_is(tmp_path, card):
    path = tmp_path / "README.md"
    if card is not None:
        path.write_bytes(card)
    with pytest.raises(InputError) as caught:
        update_section(tmp_path, "a", "b", "## Limits")
    assert caught.value.path == str(path)
    assert not path.exists() if card is None else path.read_bytes() == card


def test_line_ends_of_windows_are_kept(tmp_path):
    (tmp_path / "README.md").write_bytes(b"# Title\r\ntext\r\n")
    assert read_card(tmp_path, "a") == "# Title\r\ntext\r\n"
