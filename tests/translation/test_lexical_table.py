from __future__ import annotations

import math
import random
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import InputError
from hf_paraphrase.translation import lexical_table
from hf_paraphrase.translation.lexical_table import CandidateVocabulary, LexicalTable, estimate_from_batches

NULL = -1


def naive(sources, targets, *, iterations, tension):
    """The same expectation maximisation over dictionaries."""
    pairs = [
        (list(source), list(target)) for source, target in zip(sources, targets, strict=True) if source and target
    ]
    seen = {(unit, target) for source, targets in pairs for unit in [NULL, *source] for target in targets}
    sizes = defaultdict(int)
    for unit, _ in seen:
        sizes[unit] += 1
    table = {(unit, target): 1 / sizes[unit] for unit, target in seen}
    for _ in range(iterations):
        counts = defaultdict(float)
        for source, target in pairs:
            for i, target_unit in enumerate(target, 1):
                near = [math.exp(-tension * abs(j / len(source) - i / len(target))) for j in range(1, len(source) + 1)]
                prior = [0.08, *(0.92 * weight / sum(near) for weight in near)]
                posterior = [
                    weight * table[unit, target_unit] for weight, unit in zip(prior, [NULL, *source], strict=True)
                ]
                for unit, weight in zip([NULL, *source], posterior, strict=True):
                    counts[unit, target_unit] += weight / sum(posterior)
        totals = defaultdict(float)
        for (unit, _), count in counts.items():
            totals[unit] += count
        table = {(unit, target): count / totals[unit] for (unit, target), count in counts.items()}
    return table


sentences = st.lists(
    st.tuples(st.lists(st.integers(0, 5), max_size=5), st.lists(st.integers(0, 6), max_size=5)), min_size=1, max_size=8
).filter(lambda pairs: any(source and target for source, target in pairs))


@settings(max_examples=25, deadline=None)
@given(pairs=sentences, tension=st.sampled_from([0.0, 4.0]), iterations=st.integers(0, 4))
def test_the_table_equals_that_of_a_naive_expectation_maximisation(pairs, tension, iterations):
    sources, targets = [list(side) for side in zip(*pairs, strict=True)]
    sizes, options = {"source_vocab_size": 6, "target_vocab_size": 7}, {"iterations": iterations, "tension": tension}
    table = estimate_from_batches(lambda: [(sources, targets)], **sizes, **options, min_probability=0.0)
    expected = naive(sources, targets, **options)
    found = {(unit, target): value for unit in range(6) for target, value in table.translations(unit)}
    assert found.keys() == {key for key in expected if key[0] != NULL}
    for key, value in found.items():
        assert value == pytest.approx(expected[key], abs=1e-6)


def dictionary_corpus(count=300, seed=0):
    """Source token u translates to target token 10 + u in any order, and 19 occurs in every target sentence."""
    generator = random.Random(seed)
    sources = [[generator.randrange(8) for _ in range(generator.randint(2, 5))] for _ in range(count)]
    targets = [[10 + unit for unit in generator.sample(source, len(source))] + [19] for source in sources]
    return sources, targets


def test_rows_are_sorted_cut_and_sum_to_one_where_they_are_whole(monkeypatch):
    sources, targets = dictionary_corpus()
    sizes = {"source_vocab_size": 9, "target_vocab_size": 20}
    whole = estimate_from_batches(lambda: [(sources, targets)], **sizes, min_probability=0.0)
    monkeypatch.setattr(lexical_table, "_MAX_TRANSLATIONS", 3)
    cut = estimate_from_batches(lambda: [(sources, targets)], **sizes, min_probability=0.01)
    for unit in range(8):
        values = [value for _, value in whole.translations(unit)]
        assert values == sorted(values, reverse=True) and sum(values) == pytest.approx(1.0, abs=1e-5)
        assert cut.translations(unit) == [item for item in whole.translations(unit)[:3] if item[1] >= 0.01]
    counts = np.bincount([unit for target in targets for unit in target], minlength=20)
    assert whole.target_counts.tolist() == counts.tolist()


def test_a_table_is_saved_and_read_unchanged_and_a_damaged_file_is_an_input_error(tmp_path):
    path = tmp_path / "new" / "table.safetensors"
    table = estimate_from_batches(
        lambda: [dictionary_corpus()], source_vocab_size=9, target_vocab_size=20, units="abc"
    )
    table.save(path)
    again = LexicalTable.load(path)
    assert again.units == "abc"
    for name in ("offsets", "targets", "probabilities", "target_counts"):
        value, read = getattr(table, name), getattr(again, name)
        assert read.dtype == value.dtype and np.array_equal(read, value)
    path.write_bytes(path.read_bytes()[:-5])
    for file, message in {path: "not a lexical table", tmp_path / "none": "none: no such file"}.items():
        with pytest.raises(InputError, match=message):
            LexicalTable.load(file)


def test_candidates_are_the_union_of_frequent_special_and_translated_units():
    table = LexicalTable(
        offsets=np.array([0, 0, 3, 4]),
        targets=np.array([7, 5, 6, 8], dtype=np.int32),
        probabilities=np.array([0.6, 0.3, 0.1, 1.0], dtype=np.float32),
        target_counts=np.array([0, 0, 0, 0, 9, 1, 1, 1, 1, 9, 2]),
    )
    choice = CandidateVocabulary(table, frequent=2, per_unit=2, always=[0, 1])
    assert choice.always.tolist() == [0, 1, 4, 9]
    own = [choice.for_sentence(ids) for ids in ([1], [1, 2], [0])] + [choice.for_sentence([0], [9, 8, 3])]
    assert [ids.tolist() for ids in own] == [[5, 7], [5, 7, 8], [], [3, 8]]
    candidates, excluded = choice.for_batch(own[:3])
    assert candidates.tolist() == [0, 1, 4, 9, 5, 7, 8]
    assert excluded.tolist() == [[False, False, True], [False, False, False], [True, True, True]]
    everything = CandidateVocabulary(table, frequent=99, per_unit=0, always=[0])
    assert everything.always.tolist() == list(range(11)) and not everything.for_sentence([1]).size
