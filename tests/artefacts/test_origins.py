from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.artefacts.citations import _ENTRIES, bibtex
from hf_paraphrase.artefacts.origins import described, hub_datasets, is_url, languages_read, origin_of
from hf_paraphrase.errors import HfParaphraseError

URL = "https://huggingface.co/datasets/org/name"
TREE = [
    {
        "name": "pairs",
        "made_by": "hf-paraphrase filter",
        "license": ["cc-by-2.0"],
        "inputs": [{"name": "bitext", "url": URL, "language": ["fr", "en"]}, {"name": "raw.tsv"}],
    },
    {"name": "glove.txt", "sha256": "00"},
]


def test_inputs_are_laid_out_with_what_is_known_of_them_below_what_was_made_of_them():
    assert described(TREE) == [
        (0, "`pairs` (`hf-paraphrase filter`; licence: cc-by-2.0)"),
        (1, f"`bitext` (language: fr, en; <{URL}>)"),
        (1, "`raw.tsv`"),
        (0, "`glove.txt`"),
    ]
    assert hub_datasets(TREE) == ["org/name"]


def test_evaluation_data_that_was_kept_out_is_not_said_to_be_in_it():
    kept_out = [{"name": "sts", "kept_out": True, "url": URL}, {"name": "sick", "kept_out": True}]
    tree = [{"name": "bitext", "inputs": [{"name": "raw.tsv"}, *kept_out, {"name": "more.tsv"}]}, *kept_out[:1]]
    assert described(tree) == [
        (0, "`bitext`"),
        (1, "`raw.tsv`"),
        (1, "`more.tsv`"),
        (1, "decontaminated against `sts`, `sick`"),
        (0, "decontaminated against `sts`"),
    ]
    assert hub_datasets(tree) == []


def test_what_others_wrote_cannot_break_out_of_its_place_in_the_card():
    ((_, text),) = described(
        [{"name": "a`\n# Title\n<script>", "url": "javascript:alert(1)", "license": ["x\n---\n"]}]
    )
    assert "\n" not in text and text.count("`") == 2 and "javascript" not in text


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://example.org/a?b=c", True),
        ("http://example.org", True),
        ("ftp://example.org", False),
        ("https://example.org/a b", False),
        ("https://example.org/`", False),
        ("https://example.org/)", False),
        ("", False),
        (None, False),
    ],
)
def test_only_addresses_of_the_web_are_linked_to(url, good):
    assert is_url(url) is good
    assert hub_datasets([{"name": "x", "url": url}]) == []


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (URL, ["org/name"]),
        (URL + "/", ["org/name"]),
        ("https://huggingface.co/datasets/squad", ["squad"]),
        ("https://huggingface.co/org/name", []),
        (URL + "/tree/main", []),
    ],
)
def test_data_sets_of_the_hub_are_known_by_their_address(url, found):
    assert hub_datasets([{"url": url}, {"url": url}]) == found


def nested(depth):
    return {"name": f"level {depth}", "inputs": [nested(depth - 1)] if depth else []}


def test_a_tree_without_end_is_cut_off():
    assert len(described([nested(300)])) < 20
    assert len(described([{"name": str(number)} for number in range(100_000)])) == 50


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "url", "license", "inputs", "made_by"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@settings(deadline=None, max_examples=60)
@given(JSON)
def test_no_record_of_inputs_however_strange_raises(inputs):
    assert all(isinstance(depth, int) and text.startswith("`") for depth, text in described(inputs))
    assert hub_datasets(inputs) == []


@pytest.mark.parametrize(
    "record", ["[]", "{", '{"a": ' + "9" * 5_000 + "}", '{"a":' * 100_000, "\udcff"], ids=range(5)
)
def test_files_and_folders_without_a_record_or_with_a_damaged_one_have_no_origin(tmp_path, record):
    assert origin_of(tmp_path) == {} and origin_of(tmp_path / "absent") == {}
    (tmp_path / "provenance.json").write_bytes(record.encode("utf-8", "surrogateescape"))
    assert origin_of(tmp_path) == {}


@pytest.mark.parametrize(
    ("languages", "english", "expected"),
    [
        (None, True, ["en"]),
        (None, False, []),
        ("[en, fr]", True, ["en"]),
        ("[en, fr]", False, ["en", "fr"]),
        ("[fi]", True, ["fi"]),
    ],
)
def test_the_language_of_a_model_is_that_of_its_pairs(tmp_path, languages, english, expected):
    if languages:
        (tmp_path / "README.md").write_text(f"---\nlanguage: {languages}\n---\n")
    assert languages_read(tmp_path, english=english) == expected


def test_every_citation_is_whole_and_each_comes_once():
    text = bibtex(*_ENTRIES, *_ENTRIES)
    assert text.startswith("```bibtex\n@inproceedings{") and text.endswith("}\n```")
    assert text.count("@inproceedings{") == len(_ENTRIES)
    assert text.count("{") == text.count("}") and "{{" not in text
    with pytest.raises(HfParaphraseError, match="no citation"):
        bibtex("nobody-1900-nothing")
