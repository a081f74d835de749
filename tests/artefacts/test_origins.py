from __future__ import annotations

import json

import pytest

from hf_paraphrase.artefacts.origins import (
    described,
    hub_datasets,
    inherited_metadata,
    inherited_model_metadata,
    inherited_sections,
    is_url,
    languages_read,
    origin_of,
)

URL = "https://huggingface.co/datasets/org/name"
INPUTS = [
    {"name": "pairs", "made_by": "hf-paraphrase filter", "license": ["cc-by-2.0"], "datasets": ["squad", "org/name"]},
    {"name": "bitext", "url": URL, "language": ["fr", "en"]},
    {"name": "sts", "kept_out": True, "url": f"{URL}-sts"},
    {"name": "glove.txt", "sha256": "00"},
]
CARD = """---
language: 'no'
license: cc-by-2.0
source_datasets:
- original
- org/name
model-index:
- name: x
---

# The title

An introduction.

## How to use it

```python
# a comment
```

## Training

Words.

### Details

```bash
# no heading
```
"""


def test_inputs_are_listed_with_what_is_known_of_them():
    assert described(INPUTS) == [
        f"`pairs` (`hf-paraphrase filter`; licence: cc-by-2.0; <https://huggingface.co/datasets/squad>; <{URL}>)",
        f"`bitext` (language: fr, en; <{URL}>)",
        "`glove.txt`",
        "decontaminated against `sts`",
    ]


def test_hub_datasets_are_those_of_the_inputs_and_not_of_what_was_kept_out():
    assert hub_datasets(INPUTS) == ["squad", "org/name"]


def test_text_of_a_record_stays_within_its_line_of_the_card():
    (text,) = described([{"name": "a`\n# Title\n<script>", "url": "javascript:alert(1)", "license": ["x\n---\n"]}])
    assert "\n" not in text and text.count("`") == 2 and "javascript" not in text and "<script" not in text


@pytest.mark.parametrize(
    ("url", "valid"),
    [
        ("https://example.org/a?b=c", True),
        ("ftp://example.org", False),
        ("https://example.org/a b", False),
        ("https://example.org/)", False),
        (None, False),
    ],
)
def test_only_web_addresses_are_linked(url, valid):
    assert is_url(url) is valid


def test_the_origin_of_an_input_is_what_its_card_and_record_say(tmp_path):
    (tmp_path / "README.md").write_text(CARD)
    record = {"command": "hf-paraphrase prepare", "settings": {"url": URL}, "inputs": [{"name": "deeper"}]}
    (tmp_path / "provenance.json").write_text(json.dumps(record))
    assert origin_of(tmp_path) == {
        "license": ["cc-by-2.0"],
        "language": ["no"],
        "datasets": ["org/name"],
        "made_by": "hf-paraphrase prepare",
        "url": URL,
    }


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff"])
def test_a_damaged_record_or_card_knows_nothing(tmp_path, content):
    (tmp_path / "provenance.json").write_bytes(content)
    (tmp_path / "README.md").write_bytes(b"---\n" + content + b"\n---\n")
    assert origin_of(tmp_path) == {} == origin_of(tmp_path / "absent")


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


def test_an_export_inherits_licence_language_and_the_sections_but_no_scores(tmp_path):
    (tmp_path / "README.md").write_text(CARD)
    assert inherited_metadata(tmp_path) == {"license": ["cc-by-2.0"], "language": ["no"]}
    assert inherited_model_metadata(tmp_path) == {"language": ["no"], "license": "cc-by-2.0"}
    assert inherited_sections(tmp_path) == "### Training\n\nWords.\n\n#### Details\n\n```bash\n# no heading\n```"
    (tmp_path / "README.md").write_bytes(b"---\nlanguage: [\n---\n## Training\n")
    assert inherited_model_metadata(tmp_path) == {} and inherited_sections(tmp_path) == ""
