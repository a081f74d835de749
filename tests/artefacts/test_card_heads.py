from __future__ import annotations

import pytest

from hf_paraphrase.artefacts.card_heads import class_names, read_head, split_card, texts
from hf_paraphrase.errors import InputError


def test_a_card_is_split_into_its_head_and_its_text():
    assert split_card("---\nlicense: mit\n---\n# Title\n\n---\n") == ({"license": "mit"}, "# Title\n\n---\n")


@pytest.mark.parametrize("text", [None, "", "# Title\n---\na: 1\n---\n", "---\n---\n", "---\n# comment\n---\n"])
def test_a_card_without_a_head_has_no_entries(tmp_path, text):
    if text is not None:
        (tmp_path / "README.md").write_text(text)
    assert read_head(tmp_path) == {}


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path):
    (tmp_path / "README.md").write_bytes(b"\xef\xbb\xbf---\r\nlicense: mit\r\n---\r\n")
    assert read_head(tmp_path) == {"license": "mit"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"---\na: b: c\n---\n", 2),
        (b"---\n- a\n---\n", None),
        (b"---\ndate: 2020-13-45\n---\n", None),
        (b"\xff", None),
    ],
)
def test_a_damaged_head_is_an_input_error_with_file_and_line(tmp_path, text, line):
    (tmp_path / "README.md").write_bytes(text)
    with pytest.raises(InputError) as caught:
        read_head(tmp_path)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "README.md"), line)


def test_an_entry_is_one_value_or_a_list():
    assert texts(None) == texts([{}]) == []
    assert (texts("mit"), texts(["mit", 2]), texts([{"a": 1}])) == (["mit"], ["mit", "2"], ["dict"])


@pytest.mark.parametrize("information", ["[x]", "{features: x}"])
def test_damaged_dataset_info_is_an_input_error(tmp_path, information):
    (tmp_path / "README.md").write_text(f"---\ndataset_info: {information}\n---\n")
    with pytest.raises(InputError, match=r"README\.md"):
        class_names(tmp_path, "label", "train")
