from __future__ import annotations

import math

import pyarrow as pa
import pytest

from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.errors import InputError
from hf_paraphrase.translation.bitext import normalize_punctuation, trainable_rows
from hf_paraphrase.translation.evaluate import corpus_scores


def bitext(rows, source_lang="fr", target_lang="en"):
    columns = {
        "id": [str(index) for index in range(len(rows))],
        "source": [row[0] for row in rows],
        "target": [row[1] for row in rows],
        "source_lang": [source_lang] * len(rows),
        "target_lang": [target_lang] * len(rows),
    }
    return pa.Table.from_pydict(columns, schema=BITEXT)


def test_bleu_equals_its_formula():
    # Precisions 5/6, 3/5, 2/4, 1/3, lengths 6 and 7: worked out by hand from Papineni et al. 2002.
    score = corpus_scores(["the cat sat on a mat"], ["the cat sat on the big mat"])
    precisions = [5 / 6, 3 / 5, 2 / 4, 1 / 3]
    expected = 100 * math.exp(1 - 7 / 6) * math.prod(precisions) ** 0.25
    assert score["bleu"] == pytest.approx(expected)


def test_typographic_characters_become_plain_ones_as_in_moses():
    assert normalize_punctuation(["“Yes” – it’s…", "", "a"], "en") == ['"Yes" - it\'s...', "", "a"]
    assert normalize_punctuation(["«\u00a0oui\u00a0»"], "fr") == ['"oui"']


def test_empty_and_too_long_pairs_are_left_out_and_counted():
    rows = [("un", "one"), ("", "two"), ("trois", None), ("a b c d", "four"), ("  ", "x"), ("cinq", "f i v")]
    assert trainable_rows(bitext(rows), max_words=3) == (["un", "cinq"], ["one", "f i v"], 4)


def test_each_side_is_normalised_by_its_own_language():
    # English puts the comma inside the quotes, other languages leave it outside.
    sources, targets, _ = trainable_rows(bitext([("« oui », dit-il", "“yes”, he says")]), max_words=9)
    assert (sources, targets) == (['" oui ", dit-il'], ['"yes," he says'])


@pytest.mark.parametrize("rows", [[], [("", "one")], [("un deux trois quatre", "one")]])
def test_a_bitext_with_nothing_to_train_on_is_an_error_that_gives_the_count(rows):
    with pytest.raises(InputError, match=f"none of the {len(rows)} sentence pairs has 1 to 3 words"):
        trainable_rows(bitext(rows), max_words=3)
