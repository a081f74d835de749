from __future__ import annotations

import pytest
import yaml
from huggingface_hub import ModelCard
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.artefacts.card_heads import as_yaml, read_head, set_metadata, split_head

CARD = """---
# kept
tags:
- a
- b
license: mit  # mine
model-index:
- name: x
  results:
  - a: 1

last: 1
---

# Title

---

license: no key
"""


def head(card):
    return yaml.safe_load(card.split("---\n")[1])


def test_a_key_is_replaced_with_all_that_belongs_to_it_and_everything_else_stays():
    card = set_metadata(CARD, "model-index", [{"name": "y", "results": []}])
    assert card == CARD.replace("- name: x\n  results:\n  - a: 1\n\n", "- name: y\n  results: []\n")
    assert head(set_metadata(CARD, "tags", ["c"])) == {**head(CARD), "tags": ["c"]}
    assert "# kept\n" in card and card.endswith("\n\n# Title\n\n---\n\nlicense: no key\n")


def test_a_new_key_goes_to_the_end_of_the_head():
    card = set_metadata(CARD, "datasets", ["org/name"])
    assert card == CARD.replace("last: 1\n", "last: 1\ndatasets:\n- org/name\n")


@pytest.mark.parametrize("nothing", [None, [], {}, ""])
def test_nothing_to_say_removes_the_key(nothing):
    assert "model-index" not in set_metadata(CARD, "model-index", nothing)
    assert set_metadata(CARD, "datasets", nothing) == CARD


@pytest.mark.parametrize("card", ["# Title\n", "", "---\nno end\n", "text\n---\na: 1\n---\n", " ---\na: 1\n---\n"])
def test_a_card_without_a_head_stays_as_it_is(card):
    assert split_head(card) is None
    assert set_metadata(card, "license", "mit") == card


def test_line_ends_of_windows_stay():
    card = set_metadata("---\r\ntags:\r\n- a\r\n---\r\ntext\r\n", "license", "mit")
    assert card == "---\r\ntags:\r\n- a\r\nlicense: mit\r\n---\r\ntext\r\n"


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029", "\r", "\x0b", "\x1c", "\ufeff"])
def test_a_value_with_a_strange_end_of_line_comes_back_as_it_was(tmp_path, mark):
    value = {"before": f"a{mark}b", "license": "mit", "after": [f"{mark}c: d{mark}{mark}"]}
    card = set_metadata("---\nx: 1\n---\n# Title\n", "values", value)
    card = set_metadata(set_metadata(card, "license", "mit"), "x", None)
    (tmp_path / "README.md").write_bytes(card.encode())
    assert read_head(tmp_path) == {"values": value, "license": "mit"}
    assert ModelCard(card).data.to_dict()["values"] == value


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\x0b", "\x1c"])
def test_what_people_wrote_with_a_strange_end_of_line_stays_byte_for_byte(tmp_path, mark):
    card = f"---\nnote: 'one{mark} two'  # mine{mark}\nlicense: mit\n{mark}# odd\n---\nText{mark}\n"
    changed = set_metadata(card, "license", "apache-2.0")
    assert changed == card.replace("license: mit", "license: apache-2.0")


def test_a_value_that_yaml_would_read_otherwise_is_written_as_before():
    assert as_yaml({"a": "no", "b": ["x y", "é"], "c": None}) == "a: 'no'\nb:\n- x y\n- é\nc: null\n"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, max_examples=80)
@given(st.dictionaries(st.sampled_from(["a", "b", "model-index", "x y"]), VALUES, min_size=1), VALUES)
def test_whatever_the_head_holds_the_other_keys_are_read_as_before(values, new):
    card = f"---\n{as_yaml(values)}---\ntext\n"
    changed = set_metadata(card, "b", new)
    expected = {**values, "b": new}
    if new in (None, [], {}, "") and not isinstance(new, (bool, int, float)):
        expected.pop("b")
    found = head(changed) if changed.split("---\n")[1] else {}
    assert (found or {}) == expected and changed.endswith("---\ntext\n")
    assert set_metadata(changed, "b", new) == changed
