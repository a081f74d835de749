from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.data.sentences import SentenceCorpus
from hf_paraphrase.encoders.distillation.texts import encode_texts, open_bitexts, read_texts
from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer


def corpora(*sources):
    return [SentenceCorpus(Path(source)) for source in sources]


def read(*sources, **settings):
    return read_texts(corpora(*sources), **{"max_characters": 100, **settings})


@pytest.fixture
def file(tmp_path):
    def write(*lines, name="text.txt"):
        path = tmp_path / name
        text = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return write


def test_repeats_empty_and_long_lines_are_left_out_and_counted_and_the_order_is_that_of_the_files(file):
    first = file("b one", "a two", "", "  ", "b one ", "x" * 101)
    second = file("a two", "é três 三", name="second.txt.gz")
    texts = read(first, second)
    assert list(texts) == ["b one", "a two", "é três 三"] and len(texts) == 3
    assert dict(texts.left_out) == {"empty": 2, "long": 1, "repeated": 2, "contaminated": 0, "untaught": 0}
    assert texts.take(texts.keys.argsort()) == [list(texts)[row] for row in texts.keys.argsort()]
    assert texts.lengths.tolist() == [len(text.encode()) for text in texts]
    assert len(set(texts.keys.tolist())) == 3


def test_text_of_which_nothing_is_left_is_refused(file):
    with pytest.raises(InputError, match=r"no text to learn from.*1 empty, 2 too long") as caught:
        read(file("y" * 200, "", "z" * 101))
    assert caught.value.path is not None


def test_texts_become_the_ids_that_the_tokenizer_gives(file):
    tokenizer = build_word_level_tokenizer(["one", "two", "three"])
    lines = ["one two", "three strange one", "TWO"] + [f"one {number}" for number in range(50)]
    encoded = encode_texts(read(file(*lines)), tokenizer)
    expected = tokenizer(lines)["input_ids"]
    assert encoded.take(np.array([1, 0, 1])).ids.tolist() == expected[1] + expected[0] + expected[1]
    assert encoded.lengths.tolist() == [len(row) for row in expected]


def bitext(folder, rows):
    names = ("source", "target", "source_lang", "target_lang")
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    write_split(folder, "train", [table], table.schema)
    return str(folder)


def test_of_several_translations_the_first_counts_and_those_of_missing_texts_are_left_out(tmp_path, file):
    rows = [("un", "one"), ("un", "a"), ("one", "un deux"), ("long", "z" * 200), ("", "two"), ("trois", "")]
    bitexts = open_bitexts([bitext(tmp_path / "bitext", [(*row, "fr", "en") for row in rows])], "en")
    texts = read(bitexts=bitexts)
    found = {text: list(texts)[teacher] for text, teacher in zip(texts, texts.target_text_ids, strict=True)}
    # `one` is a text that the teachers know, so it is not taught by what it translates in another row.
    assert found == {"one": "one", "a": "a", "un deux": "un deux", "two": "two", "un": "one"}
    assert texts.left_out["untaught"] == 2 and texts.count_by_language() == {"en": 4, "fr": 1}
    numbers = texts.balance_languages(0.5, 0)
    assert np.bincount(numbers).tolist() == [1, 1, 1, 1, 2], "sqrt(4) times as often"
    # Those of whom a multilingual teacher knows more stay.
    texts = read(bitexts=bitexts, multilingual=corpora(file("drei", "un")))
    untaught = [text for text, teacher in zip(texts, texts.target_text_ids, strict=True) if teacher < 0]
    assert untaught == ["long", "trois", "drei"]
    assert texts.left_out["untaught"] == 0 and texts.count_by_language() == {"en": 4, "fr": 3, "other": 1}


@pytest.mark.parametrize("second", [("two", "deux", "en", "fr"), ("deux", "two", None, "en")])
def test_bitext_of_several_languages_or_swapped_rows_is_refused(tmp_path, second):
    folder = bitext(tmp_path / "mixed", [("un", "one", "fr", "en"), second])
    with pytest.raises(InputError, match="several languages, or none"):
        open_bitexts([folder], "en")


@pytest.mark.parametrize(
    ("language", "swapped", "message"),
    [
        ("fr", False, None),
        ("fr", True, "the text in fr and en looks exchanged"),
        ("it", False, "the text in en and it looks like en and fr"),
        ("xx", True, None),
    ],
)
def test_bitext_with_the_wrong_language_in_a_column_is_named(tmp_path, caplog, language, swapped, message):
    pytest.importorskip("py3langid")
    pairs = sample_bitext(300)["train"]
    columns = {"source": [pair.french for pair in pairs], "target": [pair.english for pair in pairs]}
    if swapped:
        columns = {"source": columns["target"], "target": columns["source"]}
    columns |= {"source_lang": [language] * len(pairs), "target_lang": ["en"] * len(pairs)}
    table = pa.table(columns)
    write_split(tmp_path / "bitext", "train", [table], table.schema)
    with caplog.at_level("INFO", logger="hf_paraphrase"):
        open_bitexts([tmp_path / "bitext"], "en")
    logged = [record.getMessage() for record in caplog.records if "looks" in record.getMessage()]
    assert len(logged) == (message is not None) and all(message in text for text in logged)


def test_a_multilingual_teacher_reads_the_other_side_in_languages_it_does_not_support(tmp_path, file):
    rows = [[f"{language}{word}", word, language, "en"] for language in ("fi", "fr") for word in ("one", "two")]
    folders = [bitext(tmp_path / row[2], [row, more]) for row, more in (rows[:2], rows[2:])]
    # The translation of "fi..." is too long to learn from, so that no teacher has a vector for it.
    folders.append(bitext(tmp_path / "long", [["filong", "z" * 101, "fi", "en"], ["fithree", "three", "fi", "en"]]))
    options = {"bitexts": open_bitexts(folders, "en"), "multilingual": []}
    texts = read(file("one"), **options, supports=lambda language: language in ("en", "fr"))
    assert texts.left_out["untaught"] == 1
    targets = texts.multilingual_target_ids(lambda language: language in ("en", "fr"))
    learned = dict(zip(texts, texts.take(targets), strict=True))
    assert learned == {"one": "one", "two": "two", "three": "three"} | {
        "fione": "one",
        "fitwo": "two",
        "fithree": "three",
        "frone": "frone",
        "frtwo": "frtwo",
    }
    # A teacher of all languages has a vector even where the translation is left out.
    every = read(file("one"), **options)
    assert every.left_out["untaught"] == 0
    assert every.take(every.multilingual_target_ids(lambda language: True)) == list(every)
