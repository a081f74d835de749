from __future__ import annotations

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.studies.expansion.collator import ExpandingCollator
from hf_paraphrase.studies.expansion.expanded_pairs import EXPANDED, ExpandedPairs, distinct, expanded_tables
from hf_paraphrase.studies.expansion.expander import Expander
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

LINES = ["The boy saw a dog.", "The boy saw a dog.", "nothing of this", "", "She is a teacher."]


@pytest.fixture(scope="module")
def expander(wordnet, tagger):
    return Expander(wordnet, tagger, share=0.5, at_least=1)


@pytest.fixture
def pairs(tmp_path):
    rows = [(LINES[0], "The dog was there."), (LINES[4], None), (LINES[4], "nothing of this")]
    for split, chosen in (("train", rows), ("test", rows[1:])):
        table = pa.table({"sentence1": [a for a, _ in chosen], "sentence2": [b for _, b in chosen]}, schema=PAIRS)
        write_split(tmp_path / "pairs", split, [table], PAIRS)
    return tmp_path / "pairs"


def test_tables_hold_the_sentences_that_changed_with_their_expansions(expander):
    blocks = [(block, expander.expand_counted(block)) for block in (LINES, ["the of"])]
    tables = list(expanded_tables(blocks))
    assert [table.schema for table in tables] == [EXPANDED, EXPANDED]
    rows = pa.concat_tables(tables).to_pylist()
    assert [row["sentence1"] for row in rows] == [LINES[0], LINES[1], LINES[4]]
    assert [row["sentence2"] for row in rows] == expander.expand([LINES[0], LINES[1], LINES[4]])
    assert all(row["expanded_words"] >= 1 for row in rows)


def test_sentences_that_came_before_are_left_out():
    assert list(distinct([["a", "b", "a"], ["b"], ["c", "a", "\ud800"]])) == [["a", "b"], ["c", "\ud800"]]


def test_the_builder_makes_pairs_of_a_text(tmp_path, tiny_wordnet, tagger):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(LINES) + "\n")
    options = {"text": str(text), "wordnet": str(tiny_wordnet), "share": 1.0, "cache_dir": str(tmp_path / "cache")}
    builder = ExpandedPairs(**options)
    builder.download_and_prepare()
    rows = list(builder.as_dataset(split="train"))
    assert [row["sentence1"] for row in rows] == [LINES[0], LINES[4]]
    assert rows[1]["sentence2"] == "She is a person whose occupation is teaching."
    text.write_text("The old boys\n")
    again = ExpandedPairs(**options)
    again.download_and_prepare()
    assert [row["sentence1"] for row in again.as_dataset(split="train")] == ["The old boys"]


def test_the_builder_makes_the_splits_of_pairs(tmp_path, pairs, tiny_wordnet, tagger):
    builder = ExpandedPairs(pairs=str(pairs), wordnet=str(tiny_wordnet), share=1.0, cache_dir=str(tmp_path / "cache"))
    builder.download_and_prepare()
    found = builder.as_dataset()
    assert [row["sentence1"] for row in found["train"]] == [LINES[0], LINES[4], "The dog was there."]
    assert [row["sentence1"] for row in found["test"]] == [LINES[4]]


def test_the_builder_refuses_what_does_not_fit(tmp_path, pairs, tiny_wordnet):
    with pytest.raises(UsageError, match="one of"):
        ExpandedPairs(wordnet=str(tiny_wordnet))
    with pytest.raises(UsageError, match="one of"):
        ExpandedPairs(text="a", pairs=str(pairs), wordnet=str(tiny_wordnet))
    options = {"pairs": str(pairs), "cache_dir": str(tmp_path / "cache")}
    with pytest.raises(InputError, match="lacks"):
        ExpandedPairs(wordnet=str(pairs), **options).download_and_prepare()
    with pytest.raises(UsageError, match="the share"):
        ExpandedPairs(wordnet=str(tiny_wordnet), share=3.0, **options).download_and_prepare()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"text\.txt: no such file"),
        (b"", r"text\.txt: the file is empty"),
        (b"a\n\xff\xfe\n", r"text\.txt:2: not"),
    ],
)
def test_a_text_that_cannot_be_read_is_an_error_of_ours_before_any_row_is_made(
    tmp_path, tiny_wordnet, tagger, content, message
):
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    builder = ExpandedPairs(text=str(text), wordnet=str(tiny_wordnet), cache_dir=str(tmp_path / "cache"))
    with pytest.raises(InputError, match=message):
        builder.download_and_prepare()


def test_pairs_without_sentences_in_one_of_their_splits_are_an_error_of_ours(tmp_path, pairs, tiny_wordnet, tagger):
    options = {"pairs": str(pairs), "wordnet": str(tiny_wordnet), "cache_dir": str(tmp_path / "cache")}
    for table, message in (
        (pa.table({"sentence1": ["a"]}), "missing column sentence2"),
        (pa.table({"sentence1": ["a"], "sentence2": [1]}), "sentence2"),
    ):
        write_split(pairs, "validation", [table], table.schema)
        with pytest.raises(InputError, match=message):
            ExpandedPairs(**options).download_and_prepare()
        for path in pairs.rglob("*validation*"):
            path.unlink()
    with pytest.raises(InputError, match="absent"):
        ExpandedPairs(**{**options, "pairs": str(tmp_path / "absent")}).download_and_prepare()


def test_the_collator_gives_sentences_and_their_expansions_of_the_epoch(expander):
    words = "the boy saw a dog . she is teacher person whose occupation teaching member of genus canis".split()  # noqa: SIM905
    tokenizer = build_word_level_tokenizer(words)
    collator = ExpandingCollator(tokenizer, expander, column="sentence")
    texts = [LINES[0], LINES[4], "nothing of this"]
    examples = [{"sentence": texts[0], "epoch": 3}, texts[1], {"sentence": texts[2], "epoch": 1}]
    batch = collator(examples)
    expanded = [expander.expand([texts[0]], 3)[0], expander.expand([texts[1]], 0)[0], texts[2]]
    for prefix, expected in (("", texts), ("expanded_", expanded)):
        encoded = tokenizer(expected, padding=True, return_tensors="pt")
        assert batch[prefix + "input_ids"].tolist() == encoded["input_ids"].tolist()
        assert batch[prefix + "attention_mask"].tolist() == encoded["attention_mask"].tolist()
    short = ExpandingCollator(tokenizer, expander, column="sentence", max_length=3)(examples)
    assert short["input_ids"].shape[1] == 3 == short["expanded_input_ids"].shape[1]
