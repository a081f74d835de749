from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.filtering.reference_classifier.reference_lists import draw_reference_lists
from hf_paraphrase.filtering.reference_classifier.seen_references import (
    is_seen,
    read_seen,
    text_fingerprints,
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
    return [reference.text for part in drawn.parts.values() for reference in part]


def test_the_parts_are_disjoint_of_the_sizes_asked_for_and_hold_whole_lists(tmp_path):
    drawn = draw_reference_lists(write(tmp_path, n_best(40, 3)), (20, 5, 4))
    assert [len(part) for part in drawn.parts.values()] == [20, 5, 4]
    assert len(set(everything(drawn))) == 29 and drawn.share == 1 and drawn.available == 40
    for reference in (item for part in drawn.parts.values() for item in part):
        number = reference.text.removeprefix("Reference ").removesuffix(".")
        assert reference.ids == [f"n{number}"]
        assert reference.translations == [f"translation {number} {j}" for j in range(3)]


def test_sizes_shrink_alike_where_there_are_too_few(tmp_path):
    drawn = draw_reference_lists(write(tmp_path, n_best(30)), (40, 10, 10))
    assert drawn.share == 0.5 and [len(part) for part in drawn.parts.values()] == [20, 5, 5]


def test_the_draw_depends_on_the_seed_alone(tmp_path):
    folder = write(tmp_path, n_best(40))
    first, again, other = (everything(draw_reference_lists(folder, (8, 2, 2), seed=seed)) for seed in (0, 0, 1))
    assert first == again != other


def test_the_same_text_under_two_ids_is_one_reference(tmp_path):
    rows = [*n_best(12), ("twin", "REFERENCE 3", "another wording")]
    drawn = draw_reference_lists(write(tmp_path, rows), (8, 2, 2))
    assert drawn.available == 12
    for reference in (item for part in drawn.parts.values() for item in part):
        if reference.text == "Reference 3.":
            assert reference.ids == ["n3", "twin"] and len(reference.translations) == 3
            assert reference.translations[-1] == "another wording"


def test_translations_that_equal_their_reference_are_left_out(tmp_path):
    rows = [*n_best(15), ("n15", "Same  Words", "same words"), ("n16", "Half", "half"), ("n16", "Half", "a half")]
    drawn = draw_reference_lists(write(tmp_path, rows), (11, 3, 3))
    assert drawn.without_translation == 1 and "Same  Words" not in everything(drawn)
    halves = [item.translations for part in drawn.parts.values() for item in part if item.text == "Half"]
    assert halves == [["a half"]]


def test_mined_references_are_left_out_by_id_and_by_text(tmp_path):
    folder = write(tmp_path / "pairs", [*n_best(20), ("x", "reference 5", "t")])
    by_id = write(tmp_path / "a", [("n3", "as it was rewritten later", "x")])
    by_text = write(tmp_path / "b", [("REFERENCE 5!", "x")])
    drawn = draw_reference_lists(folder, (12, 3, 3), mined=[by_id, by_text])
    assert drawn.excluded == 2 and drawn.available == 18
    assert not {"Reference 3.", "Reference 5.", "reference 5"} & set(everything(drawn))


def test_pairs_without_ids_will_do(tmp_path):
    drawn = draw_reference_lists(write(tmp_path, [row[1:] for row in n_best(20)]), (12, 3, 3))
    assert len(everything(drawn)) == 18 and drawn.parts["train"][0].ids == []


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
        draw_reference_lists(write(tmp_path, rows), (8, 1, 1))


def test_fingerprints_ignore_case_and_punctuation_and_are_those_of_decontamination():
    first, second, third, dots, stars, empty = text_fingerprints(["A b, c!", "a B c", "a b", "...", "***", None])
    assert first == second != third and len({dots, stars, empty}) == 3
    assert int(first) == int(hashlib.sha256(b"a b c").hexdigest()[:16], 16)


def test_the_list_of_seen_references_is_found_again(tmp_path):
    texts = ["Plain words.", "Mr Ω", "ok"]
    write_seen(
        tmp_path, zip(["train", "dev", "test"], ["a\tb", "", "c"], map(int, text_fingerprints(texts)), strict=True)
    )
    assert is_seen(["plain words", "other", None, "OK!"], read_seen(tmp_path)).tolist() == [True, False, False, True]


@pytest.mark.parametrize("content", [None, "part\tid\tfingerprint\ntrain\tn1\n", "part\tid\tfingerprint\na\tb\txyz\n"])
def test_a_damaged_list_of_seen_references_is_an_error(tmp_path, content):
    if content is not None:
        (tmp_path / "references.tsv").write_text(content)
    with pytest.raises(ModelError, match=r"references\.tsv"):
        read_seen(tmp_path)


def test_an_id_with_another_line_break_in_it_does_not_break_the_line(tmp_path):
    """As in a list that somebody else wrote: lines end at a line feed and nowhere else."""
    write_seen(tmp_path, [("train", "a", 1), ("train", "b", 2)])
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes().replace(b"\ta\t", "\ta\u2028\x85\x0b\t".encode()))
    assert read_seen(tmp_path).tolist() == [1, 2]
