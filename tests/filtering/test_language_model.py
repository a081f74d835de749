from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering import language_model
from hf_paraphrase.filtering.language_model import (
    FALLBACK,
    count_trigrams,
    draw_held_out,
    estimate,
    estimate_discounts,
    write_arpa,
)

WORDS = ["a", "b", "c", "d", "e"]
SENTENCE = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


def counted(sentences, chunk=1000):
    blocks = [sentences[start : start + chunk] for start in range(0, len(sentences), chunk)]
    return count_trigrams(blocks, "text")


def random_text(size=400, seed=0, vocabulary=600):
    generator = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(vocabulary)]
    weights = 1 / np.arange(1, vocabulary + 1)
    weights /= weights.sum()
    return [" ".join(generator.choice(words, size=generator.integers(0, 9), p=weights)) for _ in range(size)]


class NaiveModel:
    """The same definition with dictionaries, word by word."""

    def __init__(self, sentences):
        raw = [Counter(), Counter(), Counter()]
        for sentence in sentences:
            if sentence.split():
                words = ["<s>", *sentence.lower().split(), "</s>"]
                for order in (1, 2, 3):
                    for place in range(len(words) - order + 1):
                        raw[order - 1][tuple(words[place : place + order])] += 1
        lefts = [defaultdict(set), defaultdict(set)]
        for order in (2, 3):
            for gram in raw[order - 1]:
                lefts[order - 2][gram[1:]].add(gram[0])
        adjusted = [
            {gram: len(lefts[0][gram]) for gram in raw[0] if gram != ("<s>",)},
            {gram: raw[1][gram] if gram[0] == "<s>" else len(lefts[1][gram]) for gram in raw[1]},
            dict(raw[2]),
        ]
        self.vocabulary = sorted({gram[0] for gram in adjusted[0]} | {"<unk>"})
        self.tables, self.totals, self.gammas = adjusted, [], []
        self.discounts = [self.estimate(table.values()) for table in adjusted]
        for table, discounts in zip(adjusted, self.discounts, strict=True):
            totals, gammas = Counter(), defaultdict(float)
            for gram, count in table.items():
                totals[gram[:-1]] += count
                gammas[gram[:-1]] += discounts[min(count, 3)]
            self.totals.append(totals)
            self.gammas.append({history: gammas[history] / totals[history] for history in totals})

    @staticmethod
    def estimate(counts):
        n = Counter(counts)
        if not (n[1] and n[2] and n[3]):
            return (0.0, *FALLBACK)
        y = n[1] / (n[1] + 2 * n[2])
        found = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        return (0.0, *found) if all(0 < d <= k for k, d in enumerate(found, 1)) else (0.0, *FALLBACK)

    def probability(self, word, history):
        if history is None:
            return 1 / len(self.vocabulary)
        order = len(history)
        shorter = self.probability(word, history[1:] if history else None)
        if history not in self.totals[order]:
            return shorter
        count = self.tables[order].get((*history, word), 0)
        own = (count - self.discounts[order][min(count, 3)]) / self.totals[order][history]
        return own + self.gammas[order][history] * shorter

    def log10(self, sentence):
        words = [word if word in self.vocabulary else "<unk>" for word in sentence.lower().split()]
        words = ["<s>", *words, "</s>"]
        return sum(
            math.log10(self.probability(words[place], tuple(words[max(0, place - 2) : place])))
            for place in range(1, len(words))
        )


def test_discounts_follow_chen_and_goodman():
    counts = np.repeat([1, 2, 3, 4, 5, 9], [100, 40, 20, 12, 5, 5])
    y = 100 / (100 + 2 * 40)
    expected = (1 - 2 * y * 40 / 100, 2 - 3 * y * 20 / 40, 3 - 4 * y * 12 / 20)
    assert estimate_discounts(counts) == pytest.approx(expected)
    assert estimate_discounts(np.array([1, 1, 2])) == FALLBACK
    assert estimate_discounts(np.repeat([1, 2, 3, 4], [10, 1, 9, 100])) == FALLBACK


@settings(max_examples=20, deadline=None)
@given(st.lists(SENTENCE, min_size=1, max_size=12).filter(lambda text: any(text)), st.lists(SENTENCE, max_size=5))
@example(random_text(), random_text(100, seed=1))
def test_queries_equal_a_model_of_dictionaries(tmp_path_factory, text, queries):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed")
    path, naive = tmp_path_factory.mktemp("model") / "model.arpa", NaiveModel(text)
    write_arpa(path, estimate(counted(text)))
    queries, model = [*queries, "a unseen b", "unseen", ""], kenlm.Model(str(path))
    expected = [naive.log10(query) for query in queries]
    assert [model.score(query) for query in queries] == pytest.approx(expected, abs=2e-5)


def test_the_pieces_in_which_a_text_comes_do_not_change_the_model():
    whole, pieces = estimate(counted(random_text(60))), estimate(counted(random_text(60), 7))
    assert whole.words == pieces.words
    for one, two in zip(whole.keys + whole.probabilities, pieces.keys + pieces.probabilities, strict=True):
        np.testing.assert_array_equal(one, two)


def test_words_beyond_the_vocabulary_are_unknown_words(monkeypatch):
    text = random_text(100)
    every = count_trigrams([text], "text")
    monkeypatch.setattr(language_model, "_MOST_WORDS", 9)
    trigrams = count_trigrams([text], "text")
    assert trigrams.words == every.words[:9] and trigrams.counts.sum() == every.counts.sum()
    model = estimate(trigrams)
    assert model.probabilities[0].sum() - 1.0 == pytest.approx(1.0), "with 1 for the begin mark"
    assert 0.1 < model.probabilities[0][0] < 1


def write(folder, references):
    table = pa.table({"sentence1": references, "sentence2": [f"t{i}" for i in range(len(references))]})
    write_split(folder, "train", table.to_batches(max_chunksize=7), table.schema)
    return DataFolder(folder)


def test_distinct_references_are_drawn_in_their_order_by_the_seed_whatever_the_order_of_the_pairs(tmp_path):
    references = [*(f"reference {i % 40}" for i in range(200)), "", None]
    folder, backward = write(tmp_path / "one", references), write(tmp_path / "two", references[::-1])
    drawn = draw_held_out(folder, "train", 15, seed=0)
    assert len(drawn) == len(set(drawn)) == 15 and drawn == [text for text in references[:40] if text in drawn]
    assert {*draw_held_out(backward, "train", 15, seed=0)} == {*drawn} != {*draw_held_out(folder, "train", 15, seed=1)}
    for count in (40, 100):
        with pytest.raises(InputError, match=f"40 distinct references, and {count} are to be held out"):
            draw_held_out(folder, "train", count, seed=0)
