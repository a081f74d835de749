from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_runs import bitext_of, write

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources.pivot import PIVOT
from hf_paraphrase.data.sources.pivot import pivot_pairs as pivot_pairs_of
from hf_paraphrase.errors import InputError
from hf_paraphrase.text.normalization import normalize_words


def bitext(folder, rows, *languages):
    table = bitext_of(rows, *languages)
    write_split(folder, "train", table.to_batches(max_chunksize=3), BITEXT, rows_per_shard=3)
    return folder


def pivot_pairs(folders, **options):
    return pivot_pairs_of([DataFolder(folder) for folder in folders], **options)


def as_tuples(table: pa.Table) -> list[tuple]:
    assert table.schema == PIVOT
    return [tuple(row.values())[:4] for row in table.to_pylist()]


def test_sentences_that_share_a_translation_are_paired_once_and_in_order(tmp_path):
    rows = [("x", "One."), ("y", "Two."), ("x", "Uno."), ("y", "2"), ("z", "Two"), ("x", "one")]
    folder = bitext(
        tmp_path / "a", [*rows, ("x", None), (None, "one"), (None, "two"), ("\u200b", "one"), ("\u200b", "two")]
    )
    pairs, left_out = pivot_pairs([folder])
    assert as_tuples(pairs) == [("One.", "Uno.", "x", "fr"), ("Two.", "2", "y", "fr")]
    assert left_out == {"repeated": 0}


def test_ranked_pairs_have_the_most_shared_translations_first_and_equal_ones_in_their_order(tmp_path):
    by_source = {"s": "ab", "t": ["c", "D"], "u": ["d!", "C", "e"], "v": "dc"}
    rows = [(source, target) for source, targets in by_source.items() for target in targets]
    folder = bitext(tmp_path / "fi", rows, "en", "fi")
    plain, counts = pivot_pairs([folder])
    assert [row[:2] for row in as_tuples(plain)] == [("a", "b"), ("c", "D"), ("d!", "e"), ("C", "e")]
    assert plain["num_pivots"].to_pylist() == [1, 3, 1, 1]
    ranked, same = pivot_pairs([folder], ranked=True)
    assert [row[:2] for row in as_tuples(ranked)] == [("c", "D"), ("a", "b"), ("d!", "e"), ("C", "e")]
    assert same == counts and ranked["num_pivots"].to_pylist() == [3, 1, 1, 1]


ROWS = st.lists(
    st.tuples(st.sampled_from("xyz"), st.sampled_from(["A", "a!", "b", "B.", "c", "d", "..."])), max_size=14
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=ROWS, second=ROWS)
def test_the_set_of_pairs_is_that_of_a_double_loop(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("pivot")
    folders = [bitext(folder / "fr", first, "fr"), bitext(folder / "de", second, "de")]
    expected: dict[frozenset, set] = {}
    for language, rows in enumerate((first, second)):
        for (source, target), (other_source, other) in combinations(rows, 2):
            forms = {normalize_words(target), normalize_words(other)} - {""}
            if source == other_source and len(forms) == 2:
                expected.setdefault(frozenset(forms), set()).add((language, source))
    pairs, left_out = pivot_pairs(folders)
    found = [frozenset((normalize_words(a), normalize_words(b))) for a, b, _, _ in as_tuples(pairs)]
    assert len(found) == len(set(found)) and set(found) == set(expected)
    numbers = dict(zip(found, pairs["num_pivots"].to_pylist(), strict=True))
    assert numbers == {pair: len(sources) for pair, sources in expected.items()}
    assert left_out["repeated"] == sum(numbers.values()) - len(numbers)


def test_mixed_target_languages_and_folders_of_another_kind_are_refused(tmp_path):
    folders = [bitext(tmp_path / "a", [("x", "one")]), bitext(tmp_path / "b", [("x", "un")], "fr", "fr")]
    with pytest.raises(InputError, match="target languages are en, fr"):
        pivot_pairs(folders)
    with pytest.raises(InputError, match="missing columns"):
        pivot_pairs([write(tmp_path / "pairs", sentence1=["a"], sentence2=["b"])])
