from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import re
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.decontamination import Decontaminator
from hf_paraphrase.data.evaluation_sets import load_fingerprints
from hf_paraphrase.data.fingerprints import (
    Fingerprints,
    fingerprint_sentence,
    fingerprint_sentences,
    normalise,
    normalise_all,
)
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import InputError


def by_the_description(text: str) -> str | None:
    """The words of the description, one by one and slowly: NFKC, lower case, non-alphanumerics to a space, strip."""
    characters = [c if c.isalnum() else " " for c in unicodedata.normalize("NFKC", text).lower()]
    words = "".join(characters).split(" ")
    words = [word for word in words if word]
    return hashlib.sha256(" ".join(words).encode("utf-8")).hexdigest()[:16] if len(words) >= 4 else None


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text("aB 9_-.é\u0130ﬁ²\u00a0ß", max_size=30)


@settings(deadline=None, max_examples=300)
@given(TEXT)
@example("The ﬁrst İstanbul ², _tram_ (1914)!")
@example("a_b c-d")
def test_fingerprint_is_the_one_described(text):
    assert fingerprint_sentence(text) == by_the_description(text)


@settings(deadline=None, max_examples=100)
@given(st.lists(TEXT, max_size=12))
def test_fast_path_for_ascii_equals_the_definition(texts):
    assert normalise_all(pa.array(texts, pa.string())).to_pylist() == [normalise(text) for text in texts]
    numbers, mask = fingerprint_sentences(pa.array(texts, pa.string()))
    slow = [by_the_description(text) for text in texts]
    assert [f"{n:016x}" if m else None for n, m in zip(numbers.tolist(), mask.tolist(), strict=True)] == slow


def test_golden_fingerprint_of_a_sentence():
    digits = hashlib.sha256(b"two men s dogs run fast").hexdigest()[:16]
    assert fingerprint_sentence("  Two men's DOGS -- run_fast! ") == digits


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)), st.lists(st.integers(0, 40), max_size=20))
def test_rows_match_exactly_if_a_set_has_their_sentence(one, other, rows):
    text = "sentence number {} of all".format
    sets = {
        name: fingerprint_sentences(pa.array(map(text, chosen), pa.string()))[0]
        for name, chosen in (("a", one), ("b", other))
    }
    matched, counts = Fingerprints(sets).match([[text(row) for row in rows]])
    assert matched.tolist() == [row in one | other for row in rows]
    expected = {name: sum(row in chosen for row in rows) for name, chosen in (("a", one), ("b", other))}
    assert counts == {name: count for name, count in expected.items() if count}


def test_a_list_is_not_sorted_again_for_every_few_sentences_that_are_looked_up(monkeypatch):
    known = Fingerprints({"a": fingerprint_sentences(pa.array([f"sentence number {x} of all" for x in range(50)]))[0]})

    def refused(*arguments, **options):
        raise AssertionError("the list is sorted again")

    for name in ("isin", "unique", "sort", "argsort"):
        monkeypatch.setattr(np, name, refused)
    assert known.contains(["sentence number 7 of all", "sentence number 70 of all"]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "has"), [("one two three", False), ("one two three four", True), ("", False), ("...", False)]
)
def test_sentences_below_four_words_have_no_fingerprint(text, has):
    assert (fingerprint_sentence(text) is not None) is has


def test_case_and_punctuation_do_not_hide_a_sentence_but_a_word_does():
    sets = Fingerprints({"a": fingerprint_sentences(pa.array(["A man is eating food."]))[0]})
    texts = ["a man IS eating, food", "a man is eating", "A man is eating food .", "A man is not eating food."]
    assert sets.contains(texts).tolist() == [True, False, True, False]


def test_nulls_empty_input_and_chunked_arrays_are_accepted():
    sets = Fingerprints({"a": fingerprint_sentences(pa.array(["one two three four"]))[0]})
    assert sets.contains(pa.array([None, "One two three four"], pa.string())).tolist() == [False, True]
    assert sets.contains([]).tolist() == []
    assert sets.contains(pa.chunked_array([["x"], ["one two three four."]])).tolist() == [False, True]
    assert Fingerprints({}).contains(["one two three four"]).tolist() == [False]


def test_rows_are_dropped_if_any_column_matches_and_each_set_counts_its_own(tmp_path):
    (tmp_path / "one.txt").write_text("the cat sat down\tthe dog sat down\n")
    (tmp_path / "two.txt").write_text("the cat sat down\nthe cow sat down\n")
    (tmp_path / "three.txt").write_text("nobody ever says this\n")
    table = pa.table(
        {
            "id": [1, 2, 3, 4],
            "sentence1": [
                "The cat sat down!",
                "A clean sentence is here.",
                "The cow sat down.",
                "Clean one is this too.",
            ],
            "sentence2": ["The dog sat down.", "The dog, sat down", "x", "y"],
        }
    )
    paths = tuple(str(tmp_path / f"{name}.txt") for name in ("one", "two", "three"))
    kept, report = Decontaminator(paths).reported(table)
    assert kept["id"].to_pylist() == [4]
    assert report["contamination"] == {"one.txt": 2, "two.txt": 2}
    kept, report = Decontaminator(paths, ("sentence1",)).reported(table)
    assert kept["id"].to_pylist() == [2, 4]
    assert report["contamination"] == {"one.txt": 1, "two.txt": 2}
    sets = load_fingerprints(paths)
    assert sets.sizes == {"one.txt": 2, "two.txt": 2, "three.txt": 1}
    assert sets.match([["The cat sat down", "the cow sat down"]])[1] == {"one.txt": 1, "two.txt": 2}
    assert len(sets) == 4


@pytest.mark.parametrize("packed", [False, True])
def test_a_list_of_fingerprints_is_recognised_and_works_without_the_sentences(tmp_path, packed):
    digits = [fingerprint_sentence(f"sentence number {i} is here") for i in range(5)]
    data = "".join(f"{d}\n" for d in digits).encode()
    path = tmp_path / ("held.txt.gz" if packed else "held.txt")
    path.write_bytes(gzip.compress(data) if packed else data)
    sets = load_fingerprints([path])
    assert sets.contains([f"Sentence number {i} is here!" for i in range(6)]).tolist() == [True] * 5 + [False]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("STS.input.MSRvid.txt", "The man plays a guitar.\tA girl is styling hair.\n"),
        ("sts-dev.csv", "main\tMSRvid\t2012\t1\t2.5\tThe man plays a guitar.\tA girl is styling hair.\n"),
        ("SICK_test.txt", "pair_ID\tsentence_A\n1\tThe man plays a guitar\tA girl is styling hair\t3.5\tNEUTRAL\r\n"),
        ("test.data", "17\tTopic\tThe man plays a guitar\tA girl is styling hair\t(1, 4)\ttags\ttags\n"),
        ("quoted.csv", 'a,b\n"The man plays a guitar.","A girl is styling hair, or so."\n'),
        ("lines.en", "The man plays a guitar.\nA girl is styling hair.\n"),
        ("sets.jsonl", json.dumps({"a": "The man plays a guitar.", "b": ["A girl is styling hair."]}) + "\n"),
    ],
)
def test_evaluation_files_are_read_in_their_raw_layouts(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    sets = load_fingerprints([tmp_path / name])
    assert sets.contains(["the man plays a guitar"]).all()
    girl = "a girl is styling hair, or so" if name == "quoted.csv" else "a girl is styling hair"
    assert sets.contains([girl]).all()


def test_a_folder_is_searched_throughout_and_cards_and_binary_files_are_left_out(tmp_path):
    root = tmp_path / "eval"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "a.txt.bz2").write_bytes(bz2.compress(b"this one is deep inside\n"))
    (root / "deep" / "b.tsv").write_text("x\tthis one is not so deep\n")
    (root / "README.md").write_text("this is only a card\n")
    (root / "LICENSE.txt").write_text("this is only a licence\n")
    (root / "x.bin").write_bytes(b"\0\1this is a binary file\n")
    (root / "scores.txt").write_text("1.5\n2.0\n")
    sets = load_fingerprints([root])
    assert sets.sizes == {"eval/deep/b.tsv": 1, "eval/deep/er/a.txt.bz2": 1}
    assert not sets.contains(["this is only a card", "this is only a licence", "this is a binary file"]).any()


@pytest.mark.parametrize("columns", [["sentence1", "sentence2"], ["source", "target"], ["name", "text"]])
def test_prepared_data_folders_are_read_in_all_splits(tmp_path, columns):
    for split in ("dev", "test"):
        table = pa.table(
            {columns[0]: [f"the first {split} sentence here"], columns[1]: [f"the second {split} sentence"]}
        )
        write_split(tmp_path / "eval", split, [table], table.schema)
    sets = load_fingerprints([tmp_path / "eval"])
    assert sets.contains(["the second dev sentence", "the second test sentence"]).all()
    assert sets.contains(["the first test sentence here"])[0] == (columns[0] == "sentence1")


def test_data_folders_below_a_folder_are_checked_against_as_its_files_are(tmp_path):
    for number, split in enumerate(("validation", "test")):
        table = pa.table({"sentence1": [f"a sentence of evaluation set {number}"], "sentence2": ["and what it means"]})
        write_split(tmp_path / "sets" / split, split, [table], table.schema)
    (tmp_path / "sets" / "more.txt").write_text("this one is in a file\n")
    (tmp_path / "sets" / ".unfinished.partial" / "data").mkdir(parents=True)
    (tmp_path / "sets" / ".unfinished.partial" / "data" / "test-00000.parquet").write_bytes(b"PAR1")
    sets = load_fingerprints([tmp_path / "sets"]).sets
    assert {name: len(values) for name, values in sets.items()} == {
        "sets/more.txt": 1,
        "sets/test": 2,
        "sets/validation": 2,
    }


def test_a_latin1_evaluation_file_is_still_checked_against(tmp_path):
    (tmp_path / "a.txt").write_bytes("caf\xe9 au lait encore\n".encode("latin-1"))
    assert load_fingerprints([tmp_path / "a.txt"]).contains(["Café au lait encore"]).all()


def test_what_cannot_be_checked_against_is_an_error_not_a_silent_pass(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_fingerprints([tmp_path / "absent"])
    (tmp_path / "scores.txt").write_text("1.0\n2.0\n")
    (tmp_path / "folder").mkdir()
    for name in ("scores.txt", "folder"):
        with pytest.raises(InputError, match="nothing to check against"):
            load_fingerprints([tmp_path / name])
    (tmp_path / "binary.npy").write_bytes(b"\x93NUMPY\0\0")
    with pytest.raises(InputError, match="not a text file"):
        load_fingerprints([tmp_path / "binary.npy"])
    table = pa.table({"other": ["this has other columns only"]})
    write_split(tmp_path / "other", "train", [table], table.schema)
    with pytest.raises(InputError, match="neither sentence1"):
        load_fingerprints([tmp_path / "other"])


@pytest.mark.real_data
def test_held_out_list_matches_the_multi30k_sentences_that_it_was_made_to_find(real_data_dir):
    path = real_data_dir / "held_out.sha256-16.txt.gz"
    sets = load_fingerprints([path])
    with gzip.open(path, "rt", encoding="ascii") as stream:
        listed = {line.strip() for line in stream}
    with gzip.open(real_data_dir / "multi30k" / "train.en.gz", "rt", encoding="utf-8") as stream:
        texts = [line.rstrip("\n") for line in stream]
    # As the list says that it was made, of sentences of four words or more.
    plain = [re.sub(r"[\W_]+", " ", unicodedata.normalize("NFKC", text).lower()).strip() for text in texts]
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in plain]
    expected = [len(text.split()) >= 4 and digest in listed for text, digest in zip(plain, digests, strict=True)]
    assert len(sets) == len(listed) and sets.contains(texts).tolist() == expected
    assert sum(expected) >= 533


def test_sentences_of_a_csv_file_may_have_line_ends_and_carriage_returns_in_them(tmp_path):
    path = tmp_path / "sets.csv"
    path.write_bytes(b'id,text\n1,"this sentence goes\non in here"\n2,and another\rone is here\n')
    texts = ["This sentence goes on in here.", "And another one is here!", "This one is nowhere."]
    table = pa.table({"target": texts})
    kept = Decontaminator((str(path),), ("target",))(table)
    assert kept["target"].to_pylist() == texts[2:]
