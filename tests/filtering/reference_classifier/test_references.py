from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.filtering.reference_classifier.references import (
    draw_references,
    is_seen,
    read_seen,
    write_seen,
)


def write(folder, rows):
    columns = ("id", "sentence1", "sentence2")[-len(rows[0]) :]
    table = pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
    write_split(folder, "train", [table], table.schema)
    return folder


def n_best(count, translations=2):
    return [(f"n{i}", f"Reference {i}.", f"translation {i} {j}") for i in range(count) for j in range(translations)]


def everything(drawn):
    return [reference for part in drawn.values() for reference in part]


def test_the_parts_are_disjoint_of_the_sizes_asked_for_and_hold_whole_lists(tmp_path):
    folder = write(tmp_path, n_best(40, 3))
    drawn = draw_references(folder, (20, 5, 4))
    assert [len(part) for part in drawn.values()] == [20, 5, 4]
    assert len({item.text for item in everything(drawn)}) == 29
    for reference in everything(drawn):
        number = reference.text.removeprefix("Reference ").removesuffix(".")
        assert reference.translations == [f"translation {number} {j}" for j in range(3)]
    again, other = (everything(draw_references(folder, (20, 5, 4), seed=seed)) for seed in (0, 1))
    assert everything(drawn) == again != other
    fewer = draw_references(folder, (60, 10, 10))
    assert [len(part) for part in fewer.values()] == [30, 5, 5]


def test_the_same_text_under_two_ids_is_one_reference(tmp_path):
    rows = [*n_best(12), ("twin", "REFERENCE 3", "another wording")]
    drawn = draw_references(write(tmp_path, rows), (8, 2, 2))
    (twice,) = [item for item in everything(drawn) if item.text == "Reference 3."]
    assert len(everything(drawn)) == 12 and twice.translations[2:] == ["another wording"]


def test_translations_that_equal_their_reference_are_left_out(tmp_path):
    rows = [*n_best(15), ("n15", "Same  Words", "same words"), ("n16", "Half", "half"), ("n16", "Half", "a half")]
    drawn = draw_references(write(tmp_path, rows), (11, 3, 3))
    translations = {item.text: item.translations for item in everything(drawn)}
    assert "Same  Words" not in translations and translations["Half"] == ["a half"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (n_best(9), "9 references are there"),
        ([(f"n{i}", f"Reference {i}.", f"reference {i}.") for i in range(20)], "no translation of its"),
        ([("n", None, "x"), ("m", "  ", "y")] * 20, "0 references are there"),
    ],
)
def test_too_little_to_learn_from_is_an_error(tmp_path, rows, expected):
    with pytest.raises(InputError, match=expected):
        draw_references(write(tmp_path, rows), (8, 1, 1))


def test_the_list_of_seen_references_is_found_again(tmp_path):
    write_seen(tmp_path, {"train": ["Plain words."], "dev": ["Mr Ω"], "test": ["ok"]})
    texts, seen = ["plain words", "other", None, "OK!"], [True, False, False, True]
    assert is_seen(texts, read_seen(tmp_path)).tolist() == seen
    (path,) = tmp_path.iterdir()
    assert f"train\t{hashlib.sha256(b'plain words').hexdigest()[:16]}\n" in path.read_text()
    # That of version 0.1 has ids.
    path.write_text("\n".join("\tid 7\t".join(line.split("\t")) for line in path.read_text().splitlines()) + "\n")
    assert is_seen(texts, read_seen(tmp_path)).tolist() == seen


@pytest.mark.parametrize("content", [None, "part\tid\tfingerprint\ntrain\tn1\n", "part\tid\tfingerprint\na\tb\txyz\n"])
def test_a_damaged_list_of_seen_references_is_an_error(tmp_path, content):
    if content is not None:
        (tmp_path / "references.tsv").write_text(content)
    with pytest.raises(ModelError, match=r"references\.tsv"):
        read_seen(tmp_path)
