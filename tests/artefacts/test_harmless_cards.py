"""Whatever names, sentences and records say, a card shows it as text: no markup of others does anything in it."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.artefacts.card_heads import split_head
from hf_paraphrase.artefacts.cards import render_card, template_path, write_card
from hf_paraphrase.artefacts.evaluated_cards import add_results
from hf_paraphrase.artefacts.origins import described
from hf_paraphrase.artefacts.provenance import add_evaluation, read_provenance, write_provenance
from hf_paraphrase.settings import Settings, setting, settings_of
from hf_paraphrase.tables import format_table, harmless_markdown, without_tags_and_links

TOKEN = "hf_" + "a1B2" * 8 + "cD"
HOSTILE = (
    "x\n# Bought\n<img src=x onerror=alert(1)> ![a](http://evil/) [b](javascript:c) \x1b[31m\u202e \ud800 | y\r\n---"
)
URL = f"https://me:password@host/a?token=s3cret&b={TOKEN}"


def check(text):
    """Looks for whatever does something in a card, outside of what the card itself is made of."""
    assert not re.search(r"^# Bought|<img|\]\(http://evil|\]\(javascript|[\x1b\u202e\ud800]", text, re.MULTILINE), text
    assert TOKEN not in text and "password@" not in text and "s3cret" not in text
    text.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <b> 1 < 2 <unk>", "a &lt;b> 1 < 2 &lt;unk>"),
        (r"a \<b> \\<b> [x](y) \](z)", r"a \<b> \\&lt;b> [x]&#40;y) \](z)"),
        ("# a", "&#35; a"),
        ("#1 of `n_best` *x*", "#1 of `n_best` *x*"),
        ("> a", "&#62; a"),
        ("- a", "&#45; a"),
        ("-0.5", "-0.5"),
        ("```sh", "&#96;``sh"),
        ("a\n\n\tb\u2028c", "a b c"),
        (", ", ", "),
    ],
)
def test_markup_of_others_is_shown_as_it_is_spelt_and_the_rest_stays(text, shown):
    assert harmless_markdown(text) == shown


@given(st.text(alphabet="\\<]([a!/#>`|~ \n-"))
def test_nothing_is_left_to_do_after_it(text):
    line = harmless_markdown(text)
    assert "\n" not in line and harmless_markdown(line) == line == without_tags_and_links(line)


def templates():
    folder = template_path("model_cards", "encoder").parents[1]
    for kind in ("model_cards", "dataset_cards"):
        yield from ((kind, path.stem) for path in sorted((folder / kind).glob("*.md")))


@pytest.mark.parametrize(("kind", "name"), templates())
def test_templates_hand_on_as_markdown_only_what_this_package_lays_out(kind, name):
    text = template_path(kind, name).read_text(encoding="utf-8")
    trusted = set(re.findall(r"([\w.]+)(?:\([^{}]*\)|\))? \| markdown", text))
    ours = {"text", "summary", "description", "example", "funnel", "front_matter", "metadata", "source_text", "show"}
    ours |= {"item.text", "item.groups", "item.tests", "item.nearest", "known.", "found."}
    assert all(word in ours or word.endswith("table") for word in trusted - {""}), trusted


def test_a_card_shows_hostile_values_as_text(tmp_path):
    values = {
        "lang": HOSTILE,
        "license": HOSTILE,
        "title": HOSTILE,
        "splits": [{"name": "train", "num_bytes": 1, "num_examples": 2}],
        "columns": [{"name": HOSTILE, "dtype": HOSTILE}],
        "command": HOSTILE,
        "files": [HOSTILE, URL],
        "url": URL,
        "rules": {"lines": 3, HOSTILE: 4},
        "checked": [HOSTILE],
        "contamination": {},
    }
    write_provenance(tmp_path, command="prepare", settings={"url": URL, HOSTILE: HOSTILE}, results={"a": float("nan")})
    write_card(tmp_path, "dataset_cards", "pairs", values)
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    head, body = split_head(text)
    check(body)
    assert "&lt;img" in body and "<https://host/a?token=***&b=<token>>" in body
    found = yaml.safe_load(head)
    assert found["pretty_name"].startswith("x\n# Bought") and found["license"].startswith("x # Bought")
    assert list(found) == ["language", "license", "task_categories", "pretty_name", "tags", "configs", "dataset_info"]
    assert found["dataset_info"]["features"][0]["name"].startswith("x # Bought <img")


def test_a_missing_value_is_still_an_error():
    with pytest.raises(Exception, match="is undefined"):
        render_card("dataset_cards", "pairs", {"lang": "en"})


def test_origins_sections_and_tables_show_it_as_text(tmp_path):
    item = {"name": HOSTILE, "made_by": HOSTILE, "license": [HOSTILE], "language": [HOSTILE], "url": URL}
    check("\n".join(text for _, text in described([{**item, "url": None, "inputs": [item]}])).replace(URL, ""))
    table = format_table([HOSTILE, "b"], [[HOSTILE, "c"]])
    check(table)
    assert table.count("\n") == 3
    (tmp_path / "README.md").write_text("# Mine <img>\n")
    add_results(
        tmp_path, HOSTILE, {"a": HOSTILE}, section="s", text=f"## E\n\n{table}\na <img> --> <!-- s: end -->{URL}"
    )
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    check(text.replace("# Mine <img>", ""))
    assert text.startswith("# Mine <img>\n") and text.count("<!-- s: end -->") == 1


def test_a_record_takes_whatever_came_into_it_and_reads_back(tmp_path):
    (tmp_path / "made").mkdir()
    results = {
        "text": HOSTILE,
        "nan": float("nan"),
        "many": 10**4_000,
        7: {"set": {1}},
        "bytes": b"x",
        "path": tmp_path,
    }
    write_provenance(tmp_path / "made", command="x", settings={"url": URL}, results=results)
    add_evaluation(tmp_path / "made", HOSTILE, {"score": float("inf")})
    text = (tmp_path / "made" / "provenance.json").read_text(encoding="utf-8")
    check(text.replace("<img", "").replace("](", ""))
    record = read_provenance(tmp_path / "made")
    assert record["results"]["text"] == HOSTILE and record["results"]["nan"] is None
    assert record["evaluations"][HOSTILE] == {"score": None} and record["settings"]["url"].startswith("https://host/a")
    json.loads(text, parse_constant=pytest.fail)


def test_settings_are_recorded_without_credentials():
    from dataclasses import dataclass

    @dataclass
    class Place(Settings):
        url: str = setting("where")
        more: list[str] = setting("where else", [])

    assert settings_of(Place(URL, [URL])) == {
        "url": "https://host/a?token=***&b=<token>",
        "more": ["https://host/a?token=***&b=<token>"],
    }
