from __future__ import annotations

import operator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.data.schema import class_metadata
from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering.selections import (
    apply_selection,
    check_selections,
    different,
    parse_selection,
    quote_column,
)
from hf_paraphrase.searching.filters import select_rows

OPERATORS = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
NUMBER = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 4))
SPACE = st.sampled_from(["", " ", "  "])
VALUES = np.array([-1e6, -2.5, -1.0, 0.0, 0.5, 0.7, 1.0, 5.0, 30.0, 1e6, np.nan])


@given(st.sampled_from(sorted(OPERATORS)), NUMBER, SPACE)
def test_one_comparison_means_what_python_means(name, number, space):
    expected = [bool(OPERATORS[name](value, number)) and not np.isnan(value) for value in VALUES]
    assert parse_selection(f"x{space}{name}{space}{number!r}").mask(VALUES).tolist() == expected
    mirrored = [bool(OPERATORS[name](number, value)) and not np.isnan(value) for value in VALUES]
    assert parse_selection(f"{space}{number!r}{name}{space}x").mask(VALUES).tolist() == mirrored


@given(NUMBER, NUMBER, st.tuples(st.sampled_from(sorted(OPERATORS)), st.sampled_from(sorted(OPERATORS))))
def test_a_chain_means_what_python_means(low, high, names):
    left, right = (OPERATORS[name] for name in names)
    expected = [bool(left(low, value) and right(value, high)) and not np.isnan(value) for value in VALUES]
    assert parse_selection(f"{low!r}{names[0]}x{names[1]}{high!r}").mask(VALUES).tolist() == expected


@pytest.mark.parametrize(
    "text",
    ["", "length", "length<", "x<y", "x<=0x10", "x<nan", "a.b<1",
     "x<1,y<2", "1<x<2<3", "x=", "x in", "in a,b", "x=<3", "x==1==2", "x<٣", "``<1", "`x<1"],
)  # fmt: skip
def test_what_is_not_in_the_grammar_is_refused(text):
    with pytest.raises(UsageError, match="--keep"):
        parse_selection(text)


@pytest.mark.parametrize("name", ["my score", "größe", "length-2", "a<b", "x"])
def test_a_column_of_any_name_is_compared(name):
    decimals = pa.array([1, 3, None, 5]).cast(pa.decimal128(21, 2))
    table = pa.table({name: decimals, "my text": ["en", "de", "en", None]})
    column = quote_column(name)
    assert (column == name) is (name in ("größe", "x"))
    kept = {f"{column}>=3": [1, 3], f"1<={column} < 5": [0, 1], f"{column}=3.0": [1], f"`{name}` in 1,5": [0, 3]}
    for text, rows in {**kept, "`my text`=en": [0, 2], "`my text` not in en": [1]}.items():
        selection = parse_selection(text)
        check_selections([selection], table.schema)
        assert np.flatnonzero(apply_selection(selection, table)).tolist() == rows, text


def test_columns_of_text_are_compared_with_text_and_missing_ones_are_never_kept():
    table = pa.table({"language": ["en", "fr", None, "007", "a,b", "c"], "rank": [0, 1, 2, 7, None, None]})
    kept = {
        "language=en": [0], "language == 'en'": [0], "language!=en": [1, 3, 4, 5], "language in en, fr": [0, 1],
        "language not in en": [1, 3, 4, 5], "language==007": [3], "rank in 0,7": [0, 3], "rank not in 0": [1, 2, 3],
        "rank=7": [3], "language=7": [], "language in 'a,b', \"c\"": [4, 5], "language in en,'a,b'": [0, 4],
        "language in ('en', 'fr')": [0, 1], "language not in [en, fr]": [3, 4, 5],
    }  # fmt: skip
    for text, rows in kept.items():
        check_selections([parse_selection(text)], table.schema)
        assert np.flatnonzero(apply_selection(parse_selection(text), table)).tolist() == rows, text
    for text, problem in {"rank=en": "holds numbers, not text", "language<3": "not numbers"}.items():
        with pytest.raises(UsageError, match=problem):
            check_selections([parse_selection(text)], table.schema)


def test_integers_and_truth_values_are_numbers_and_missing_ones_are_never_kept_not_even_by_unequal():
    table = pa.table(
        {
            "x": pa.array([1.0, None, float("nan")]),
            "rank": pa.array([0, 1, None], pa.int32()),
            "same": pa.array([True, False, None]),
        }
    )
    for text in ("x!=0", "x<=5", "x==1", "rank==0", "same==1", "same=true", "same != False", "same in TRUE"):
        check_selections([parse_selection(text)], table.schema)
        assert apply_selection(parse_selection(text), table).tolist() == [True, False, False]
    with pytest.raises(UsageError, match=r"no class `yes` .one of false, true"):
        check_selections([parse_selection("same=yes")], table.schema)


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_numbers_are_compared_in_the_precision_of_the_column(kind):
    table = pa.table({"x": pa.array([0.1, 0.7, None]).cast(kind)})
    for text, rows in {"x=0.1": [0], "x!=0.1": [1], "x<=0.1": [0], "x>=0.7": [1], "x in 0.1,3": [0]}.items():
        assert np.flatnonzero(apply_selection(parse_selection(text), table)).tolist() == rows, text
        if " in " not in text:
            assert select_rows(table, text).tolist() == rows, text


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_large_integers_are_compared_exactly(kind):
    table = pa.table({"id": pa.array([2**53, 2**53 + 1, None, 7], kind)})
    kept = {
        f"id={2**53 + 1}": [1], f"id!={2**53}": [1, 3], f"id>{2**53}": [1], f"id in 7,{2**53 + 1}": [1, 3],
        f"id not in {2**53}": [1, 3], "id>=7.5": [0, 1], f"7<id<={2**53}": [0],
    }  # fmt: skip
    for text, rows in kept.items():
        assert np.flatnonzero(apply_selection(parse_selection(text), table)).tolist() == rows, text


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("topic=law", [1]),
        ("topic != law", [0, 2, 3]),
        ("topic in law,7", [1, 3]),
        ("topic='at sea'", [2]),
        ("topic=2", [2]),
        ("topic=7", [3]),
        ("topic<=1", [0, 1]),
    ],
)
def test_a_column_of_classes_is_compared_with_their_names_or_numbers(text, rows):
    schema = pa.schema([("topic", pa.int64())])
    metadata = class_metadata({"topic": ["news", "law", "at sea", "7"]}, schema)
    table = pa.table({"topic": [0, 1, 2, 3, -1]}, schema=schema.with_metadata(metadata))
    selection = parse_selection(text)
    check_selections([selection], table.schema)
    assert np.flatnonzero(apply_selection(selection, table)).tolist() == rows
    with pytest.raises(UsageError, match=r"no class `lwa` .did you mean law. One of news, law, at sea, 7"):
        check_selections([parse_selection("topic=lwa")], table.schema)


def test_unknown_columns_are_refused_and_the_choices_named():
    schema = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("rank", pa.int32())])
    known = ["rank==0", "overlap_1<=0.7", "edit_distance>0.2", "repetition_3==0"]
    check_selections([parse_selection(text) for text in known], schema)
    with pytest.raises(UsageError, match="no column foo") as caught:
        check_selections([parse_selection("foo<1")], schema)
    assert "rank" in caught.value.remedy and "overlap_1" in caught.value.remedy
    assert "cost" not in caught.value.remedy
    for text in ("perplexity<100", "similarity>0.4", "cost<1", "language==1"):
        with pytest.raises(UsageError, match="no column") as caught:
            check_selections([parse_selection(text)], schema)
        assert "hf-paraphrase score can add it" in caught.value.remedy
    with pytest.raises(UsageError, match="holds string"):
        check_selections([parse_selection("sentence1<1")], schema)


def test_sides_that_are_the_same_text_or_the_same_tokens_do_not_differ():
    first = ["İstanbul", "caf\u00e9", "a\u200bb", "Well , so", "करता", "a b", ""]
    second = ["istanbul", "CAFE\u0301", "ab", "well,  so", "करती", "ab", "\ufeff"]
    assert different(first, second).tolist() == [False, False, False, False, True, True, False]
