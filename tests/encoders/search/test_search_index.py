from __future__ import annotations

import random
import shutil
import tracemalloc

import numpy as np
import pytest
import torch

from hf_paraphrase.encoders.known_texts import KnownTexts
from hf_paraphrase.encoders.search import index as search
from hf_paraphrase.encoders.search.build import IndexOptions, build_index
from hf_paraphrase.encoders.search.index import SearchIndex
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, InputError, ModelError, UsageError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(40)]


def save_model(folder, seed=0, dimension=8):
    torch.manual_seed(seed)
    config = AvgConfig(vocab_size=len(WORDS) + 3, hidden_size=dimension, initializer_range=0.5)
    AvgModel(config).save_pretrained(folder)
    save_tokenizer(build_word_level_tokenizer([*WORDS, "."]), folder)
    return folder


def sentences(count, seed=0):
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(1, 5))) for _ in range(count)]


# The full stop is in the vocabulary and no word; a sentence in another language is like that.
CORPUS = [*sentences(400), "w1 w2 w3", "W1  w2 w3", "unheard of", "never known .", "", "w1 w2 w3", None, "w3 w2 w1"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"))


def built(model, folder, *, size=37, corpus=CORPUS, **options):
    folder.mkdir(parents=True)
    blocks = (corpus[start : start + size] for start in range(0, len(corpus), size))
    build_index(SentenceEncoder.from_pretrained(model), blocks, folder, IndexOptions(**options))
    shutil.copytree(model, folder / "encoder")
    return folder


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    return built(model, tmp_path_factory.mktemp("exact") / "index")


@pytest.fixture(scope="module")
def index(folder):
    return SearchIndex(folder)


@pytest.fixture(scope="module")
def approximate(model, tmp_path_factory):
    return SearchIndex(built(model, tmp_path_factory.mktemp("lists") / "index", approximate=True, lists=9, probes=3))


def kept_corpus():
    return [text for text in dict.fromkeys(CORPUS) if text and text.strip()]


def by_sorting(index, query, k):
    """The rows of the k greatest cosines in double precision, ties in the order of the corpus."""
    corpus = index.vectors[0 : len(index)].astype(np.float64)
    scores = np.array([np.multiply(row, query, dtype=np.float64).sum() for row in corpus])
    order = np.argsort(-scores, kind="stable")
    order = order[corpus[order].any(axis=1)][:k]
    return order.tolist(), scores[order]


# ----- what is in an index


def test_an_index_holds_each_sentence_once_with_its_place_and_its_unit_vector(index, model):
    expected = kept_corpus()
    table = index.sentences.take(np.arange(len(index)))
    assert table.column("sentence").to_pylist() == expected
    assert table.column("position").to_pylist() == [CORPUS.index(text) + 1 for text in expected]
    vectors = SentenceEncoder.from_pretrained(model).encode(expected, normalize=True)
    unknown = np.array([text in ("unheard of", "never known .") for text in expected])
    np.testing.assert_allclose(index.vectors[0 : len(index)][~unknown], vectors[~unknown], atol=1e-6)
    assert not index.vectors[0 : len(index)][unknown].any() and index.settings.zero_rows == 2


def test_the_blocks_of_the_input_change_no_byte_of_the_index(model, folder, tmp_path):
    other = built(model, tmp_path / "other", size=1000)
    for name in ("keys.npy", "index.json", "data/train-00000-of-00001.parquet"):
        assert (other / name).read_bytes() == (folder / name).read_bytes()
    rows = slice(0, 500)
    np.testing.assert_allclose(SearchIndex(other).vectors[rows], SearchIndex(folder).vectors[rows], atol=1e-6)


def test_repeated_sentences_are_kept_on_demand(model, tmp_path):
    index = SearchIndex(built(model, tmp_path / "i", corpus=["w1", "w2", "w1"], keep_repeated=True))
    assert len(index) == 3
    (found,) = index.neighbours(["w1"], 2)
    assert [item.position for item in found] == [1, 3]


# ----- neighbours


def test_exact_search_equals_sorting_all_cosines(index):
    queries = [*sentences(30, seed=1), "w1 w2 w3", "w5 w5"]
    vectors = KnownTexts(index.encoder).embed(queries)
    for query, found in zip(vectors, index.nearest(vectors, 10), strict=True):
        rows, scores = by_sorting(index, query, 10)
        assert found[0].tolist() == rows
        np.testing.assert_allclose(found[1], scores, atol=1e-12)


def test_the_answer_to_a_query_does_not_depend_on_the_others_nor_on_their_order(index, monkeypatch):
    queries = sentences(40, seed=2)
    together = list(index.neighbours(queries, 5))
    assert [next(index.neighbours([query], 5)) for query in queries] == together
    assert list(index.neighbours(queries[::-1], 5)) == together[::-1]
    monkeypatch.setattr(search, "_QUERIES_PER_BLOCK", 7)
    assert list(index.neighbours(queries, 5)) == together


def test_a_single_query_is_a_list_of_one_and_not_its_letters(index):
    assert list(index.neighbours("w1 w2 w3", 4)) == list(index.neighbours(["w1 w2 w3"], 4))
    with pytest.raises(TypeError, match=r"^texts\[1\] is None, not a string"):
        next(index.neighbours(["w1", None], 4))


def test_very_many_equal_sentences_still_come_in_the_order_of_the_corpus(model, tmp_path):
    corpus = [f"w1 w{number % 3}" for number in range(900)]
    index = SearchIndex(built(model, tmp_path / "i", corpus=corpus, keep_repeated=True))
    (found,) = index.neighbours(["w1 w2"], 20)
    assert [item.row for item in found] == list(range(2, 62, 3))


def test_a_neighbour_carries_text_cosine_and_place(index):
    (found,) = index.neighbours(["w1 w2 w3"], 4)
    assert {item.sentence for item in found[:3]} == {"w1 w2 w3", "W1  w2 w3", "w3 w2 w1"}
    assert found[0].score == pytest.approx(1, abs=1e-6)
    assert all(CORPUS[item.position - 1] == item.sentence for item in found)
    (dropped,) = index.neighbours(["w1 W2 w3 "], 4, drop_identical=True)
    assert dropped[0].sentence == "w3 w2 w1" and len(dropped) == 4
    expected = [item for item in next(index.neighbours(["w1 w2 w3"], 6)) if item.sentence.lower() != "w1 w2 w3"]
    assert [item.row for item in dropped] == [item.row for item in expected if item.sentence != "W1  w2 w3"][:4]


def test_a_query_of_unknown_words_has_no_neighbours_and_harms_no_other(index):
    found = list(index.neighbours(["unheard .", "w1", ""], 3))
    assert [len(item) for item in found] == [0, 3, 0]
    assert found[1] == next(index.neighbours(["w1"], 3))


def test_more_neighbours_than_sentences_are_all_sentences_with_a_known_word(index, approximate):
    known = [row for row in range(len(index)) if index.vectors[row : row + 1].any()]
    assert len(known) == len(index) - 2
    for each, options in ((index, {}), (approximate, {"method": "exact"}), (approximate, {"probes": 9})):
        (found,) = each.neighbours(["w1 w7"], 10_000, **options)
        assert sorted(item.row for item in found) == known


# ----- approximate search


def test_approximate_search_with_all_lists_equals_exact_search(approximate, index):
    queries = sentences(30, seed=3)
    exact = list(index.neighbours(queries, 8))
    assert list(approximate.neighbours(queries, 8, probes=9)) == exact
    assert list(approximate.neighbours(queries, 8, method="exact")) == exact


def test_fewer_lists_find_a_part_and_the_recall_says_how_much(approximate):
    queries = sentences(60, seed=4)
    exact = list(approximate.neighbours(queries, 10, method="exact"))
    for probes, least in ((1, 0.2), (3, 0.5), (9, 1.0)):
        found = list(approximate.neighbours(queries, 10, probes=probes))
        shares = [
            len({item.row for item in one} & {item.row for item in two}) / 10
            for one, two in zip(exact, found, strict=True)
        ]
        assert np.mean(shares) >= least
    assert 0.3 < approximate.settings.recall <= 1
    assert (approximate.settings.lists, approximate.settings.probes) == (9, 3)


# ----- mining


def pairs_of(index, **options):
    mined = index.mine(0.75, **options)
    assert (np.diff(mined.scores) <= 0).all() and (mined.first < mined.second).all()
    return dict(zip(zip(mined.first.tolist(), mined.second.tolist(), strict=True), mined.scores, strict=True))


def brute_force(index, *, keep_identical=False):
    vectors = index.vectors[0 : len(index)].astype(np.float64)
    texts = [" ".join(text.lower().split()) for text in index.sentences.sentences(np.arange(len(index)))]
    scores = vectors @ vectors.T
    found = zip(*np.nonzero(np.triu(scores, 1) >= 0.75), strict=True)
    return {(int(i), int(j)): scores[i, j] for i, j in found if keep_identical or texts[i] != texts[j]}


@pytest.mark.parametrize("keep", [False, True])
def test_mining_equals_brute_force_each_pair_once(index, keep):
    expected = brute_force(index, keep_identical=keep)
    assert len(expected) > 100 and len(brute_force(index, keep_identical=True)) > len(brute_force(index))
    assert pairs_of(index, keep_identical=keep) == pytest.approx(expected)


def test_approximate_mining_with_all_lists_equals_brute_force_and_with_some_is_a_part_of_it(approximate):
    expected = brute_force(approximate)
    assert pairs_of(approximate, probes=9) == pairs_of(approximate, method="exact") == pytest.approx(expected)
    some = pairs_of(approximate)
    assert some.items() <= pairs_of(approximate, probes=9).items() and len(some) > len(expected) / 3


def test_only_the_best_pairs_are_kept_on_demand(index):
    whole, few = index.mine(0.6), index.mine(0.6, max_pairs=11)
    assert len(few) == 11 and few.found == whole.found == len(whole)
    for name in ("first", "second", "scores"):
        np.testing.assert_array_equal(getattr(few, name), getattr(whole, name)[:11])


def test_sentences_of_unknown_words_are_no_paraphrases_of_each_other(index):
    mined = index.mine(0.01)
    zero = {row for row in range(len(index)) if not index.vectors[row : row + 1].any()}
    assert len(zero) == 2 and not zero & {*mined.first.tolist(), *mined.second.tolist()}


# ----- bad input


@pytest.mark.parametrize(
    ("corpus", "options", "error", "message"),
    [
        ([], {}, InputError, "no sentence"),
        (["", " ", None], {}, InputError, "no sentence"),
        (["unheard", "of"], {}, InputError, "no word of the 2 sentences is in the encoder's vocabulary"),
        (["w1", "w2"], {"approximate": True, "lists": 3}, UsageError, "3 lists do not fit 2 sentences"),
        (["w1", "w2"], {"approximate": True, "lists": 2, "probes": 5}, UsageError, "5 of 2 lists"),
    ],
)
def test_a_corpus_or_settings_of_which_no_index_can_be_made_are_refused(
    model, tmp_path, corpus, options, error, message
):
    with pytest.raises(error, match=message):
        built(model, tmp_path / "i", corpus=corpus, **options)


def test_an_encoder_with_nan_is_refused(tmp_path):
    encoder = SentenceEncoder.from_pretrained(save_model(tmp_path))
    with torch.no_grad():
        encoder.model.embeddings[5] = float("nan")
    (tmp_path / "i").mkdir()
    with pytest.raises(ModelError, match="NaN"):
        build_index(encoder, [WORDS], tmp_path / "i")


@pytest.mark.parametrize(("seed", "dimension"), [(1, 8), (0, 5)])
def test_the_encoder_of_another_index_is_refused(folder, tmp_path, seed, dimension):
    other = SentenceEncoder.from_pretrained(save_model(tmp_path, seed, dimension))
    with pytest.raises(ModelError, match="encoder gives"):
        SearchIndex(folder, other)


def test_an_encoder_may_be_given_by_its_name(model, folder, index):
    by_name = SearchIndex(folder, str(model))
    assert list(by_name.neighbours(["w1 w2"], 3)) == list(index.neighbours(["w1 w2"], 3))
    with pytest.raises(ModelError, match="encoder gives"):
        SearchIndex(folder, "builtin")


def damaged(folder, tmp_path, change):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    change(copy)
    return copy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "index.json").unlink(), "not an index folder"),
        (lambda folder: (folder / "index.json").write_text("["), "damaged"),
        (lambda folder: (folder / "index.json").write_text("[]"), "not a JSON object"),
        (lambda folder: (folder / "index.json").write_text("{}"), "format 1 is expected"),
        (lambda folder: (folder / "index.json").write_text('{"format": 1}'), "damaged"),
        (
            lambda folder: (folder / "index.json").write_text(
                '{"format": 1, "rows": 10, "dimension": -1, "zero_rows": 0}'
            ),
            "not a number",
        ),
        (
            lambda folder: (folder / "index.json").write_text(
                '{"format": 1, "rows": 1000000000000, "dimension": 8, "zero_rows": 0}'
            ),
            "is expected",
        ),
        (
            lambda folder: (folder / "index.json").write_text(
                '{"format": 1, "rows": 404, "dimension": 8, "zero_rows": 0, "lists": 9, "probes": 0}'
            ),
            "0 of 9 lists cannot be read",
        ),
        (lambda folder: (folder / "vectors.npy").unlink(), "cannot read"),
        (lambda folder: (folder / "vectors.npy").write_bytes(b"\x93NUMPY"), "not a readable NumPy file"),
        (lambda folder: np.save(folder / "vectors.npy", np.zeros((9, 8), np.float32)), "is expected"),
        (lambda folder: shutil.rmtree(folder / "data"), "not a data folder"),
        (lambda folder: shutil.rmtree(folder / "encoder"), "no such model folder"),
    ],
)
def test_a_damaged_index_is_refused(folder, tmp_path, change, message):
    with pytest.raises(HfParaphraseError, match=message):
        SearchIndex(damaged(folder, tmp_path, change))


def test_damaged_keys_are_refused_when_they_are_needed(folder, tmp_path):
    for content in (np.zeros(3, np.uint64), np.array([None], object)):
        copy = damaged(folder, tmp_path, lambda target, keys=content: np.save(target / "keys.npy", keys))
        with pytest.raises(InputError, match="keys"):
            SearchIndex(copy).mine(0.9)
        shutil.rmtree(copy)


def test_an_index_with_lists_of_an_earlier_version_is_searched_exactly_or_refused_with_the_remedy(
    approximate, tmp_path
):
    def as_before(folder):
        (folder / "lists.safetensors").unlink()
        for name in ("lists.faiss", "lists.bin"):
            (folder / name).write_bytes(b"IwFl")

    index = SearchIndex(damaged(approximate.folder, tmp_path, as_before))
    with pytest.raises(
        InputError, match=r"earlier version of this program \(build the index again, or search exactly"
    ):
        next(index.neighbours(["w1"], 3))
    exact = list(approximate.neighbours(["w1"], 3, method="exact"))
    assert list(index.neighbours(["w1"], 3, method="exact")) == exact


def changed(content, generator):
    """Flips, sets, cuts out, doubles or overwrites some bytes, or cuts the content off."""
    data = bytearray(content)
    for _ in range(generator.choice([1, 1, 4, 64])):
        # Half of the changes go to the beginning, where the headers are.
        place = generator.randrange(min(len(data), generator.choice([400, len(data)])) or 1)
        kind = generator.randrange(6)
        if kind == 0:
            data[place : place + 1] = bytes([generator.randrange(256)])
        elif kind == 1:
            data[place : place + 8] = generator.choice(
                [b"\xff" * 8, bytes(8), b"\xff" * 7 + b"\x7f", bytes(6) + b"\xf0\x7f"]
            )
        elif kind == 2:
            del data[place : place + generator.randrange(1, 200)]
        elif kind == 3:
            data[place:place] = data[place : place + generator.randrange(1, 200)]
        elif kind == 4:
            data[place : place + 4] = bytes(generator.randrange(256) for _ in range(4))
        else:
            data[place : place + 1] = str(10 ** generator.randrange(1, 20)).encode()
    return bytes(data)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["lists.safetensors", "vectors.npy", "keys.npy", "index.json"])
def test_a_changed_file_of_an_index_gives_an_error_or_an_answer_in_little_memory(approximate, tmp_path, name):
    copy = damaged(approximate.folder, tmp_path, lambda folder: None)
    content = (copy / name).read_bytes()
    generator = random.Random(name)
    query = np.ones((1, 8), np.float32) / np.sqrt(np.float32(8))
    refused = 0
    # What is imported when it is needed first is not the index's.
    warm = SearchIndex(copy, approximate.encoder)
    list(warm.nearest(query, 5))
    warm.mine(0.95, max_pairs=100)
    tracemalloc.start()
    try:
        for _ in range(70):
            (copy / name).write_bytes(changed(content, generator))
            tracemalloc.reset_peak()
            try:
                index = SearchIndex(copy, approximate.encoder)
                for method in ("exact", None):
                    for rows, scores in index.nearest(query, 5, method=method):
                        assert len(rows) <= 5 and (rows < len(index)).all() and np.isfinite(scores).all()
                assert np.isfinite(index.mine(0.95, max_pairs=100).scores).all()
            except HfParaphraseError:
                refused += 1
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert refused > 20


def test_senseless_arguments_are_refused(index):
    for k, message in ((0, "k must be at least 1, not 0"), (-2, "not -2"), (2.0, "k is 2.0, not a whole number")):
        with pytest.raises(UsageError, match=message):
            list(index.neighbours(["w1"], k))
    with pytest.raises(UsageError, match="method `fast` is unknown"):
        list(index.neighbours(["w1"], 1, method="fast"))
    with pytest.raises(UsageError, match="no lists"):
        list(index.neighbours(["w1"], 1, method="approximate"))
    with pytest.raises(UsageError, match="threshold must be above 0 and at most 1, not 0"):
        index.mine(0.0)
    with pytest.raises(UsageError, match="max_pairs must be at least 1, not 0"):
        index.mine(0.5, max_pairs=0)


def test_a_number_of_lists_that_is_invalid_is_refused(approximate):
    for probes, message in ((0, "probes must be at least 1, not 0"), ("2", "probes is '2', not a whole number")):
        with pytest.raises(UsageError, match=message):
            list(approximate.neighbours(["w1"], probes=probes))
