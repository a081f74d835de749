from __future__ import annotations

import pytest

from hf_paraphrase.artefacts.inherited_cards import inherited_model_metadata, inherited_sections

CARD = """---
language: 'no'
license: cc-by-2.0
tags:
- avg
model-index:
- name: x
---

# The title

An introduction.

## How to use it

```python
# a comment
```

### In another way

Text.

## Training

Words.

### Details

```bash
# no heading
```
"""


def test_the_sections_go_one_level_down_and_the_use_of_the_model_is_left_out(tmp_path):
    (tmp_path / "README.md").write_text(CARD)
    assert inherited_sections(tmp_path) == "### Training\n\nWords.\n\n#### Details\n\n```bash\n# no heading\n```"


def test_licence_and_language_are_kept_and_scores_are_not(tmp_path):
    (tmp_path / "README.md").write_text(CARD)
    assert inherited_model_metadata(tmp_path) == {"language": ["no"], "license": "cc-by-2.0"}


@pytest.mark.parametrize(
    "card", [None, b"", b"\xff\xfe", b"---\nlanguage: [\n---\n", b"---\n- a\n---\n", b"---\nno end"]
)
def test_a_card_that_is_missing_or_damaged_gives_nothing(tmp_path, card):
    if card is not None:
        (tmp_path / "README.md").write_bytes(card)
    assert inherited_model_metadata(tmp_path) == {} and inherited_sections(tmp_path) == ""
