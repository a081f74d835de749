from __future__ import annotations

import copy
import pickle
import random
import shutil

import fsspec
import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, Value
from tiny_encoders import write_average

from hf_paraphrase import encode, search
from hf_paraphrase.encoders.search_embedder import SearchEmbedder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, InputError, ModelError, UsageError
from hf_paraphrase.searching.index import SearchIndex, build_index

WORDS = [f"w{number}" for number in range(40)]


def save_model(folder, seed=0, dimension=8):
    return write_average(folder, [*WORDS, "."], seed=seed, hidden_size=dimension)


def sentences(count, seed=0):
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(1, 5))) for _ in range(count)]


# The full stop is in the vocabulary and no word; a sentence in another language is like that.
CORPUS = [*sentences(400), "w1 w2 w3", "W1  w2 w3", "unheard of", "never known ."]
CORPUS += ["", " \u200b", "w1 w2 w3", None, "w3 w2 w1"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"))


def built(model, folder, *, size=37, corpus=CORPUS, **options):
    folder.mkdir(parents=True)
    blocks = (corpus[start : start + size] for start in range(0, len(corpus), size))
    build_index(SentenceEncoder.from_pretrained(model), blocks, folder, **options)
    shutil.copytree(model, folder / "encoder")
    return folder


def segment_of(folder):
    (segment,) = (folder / "segments").iterdir()
    return segment


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    return built(model, tmp_path_factory.mktemp("exact") / "index")


@pytest.fixture(scope="module")
def index(folder):
    return SearchIndex(folder)


@pytest.fixture(scope="module")
def approximate(model, tmp_path_factory):
    return SearchIndex(built(model, tmp_path_factory.mktemp("lists") / "index", method="approximate"))


# ----- what is in an index


def test_an_index_holds_each_sentence_once_with_its_position_and_its_unit_vector(index, model):
    expected = [text for text in dict.fromkeys(CORPUS) if text and text.strip(" \u200b")]
    table = index.sentences.take(np.arange(len(index)))
    assert table.column("sentence").to_pylist() == expected
    assert table.column("position").to_pylist() == [CORPUS.index(text) + 1 for text in expected]
    vectors = SentenceEncoder.from_pretrained(model).encode(expected, normalize=True)
    unknown = np.array([text in ("unheard of", "never known .") for text in expected])
    np.testing.assert_allclose(index.vectors[0 : len(index)][~unknown], vectors[~unknown], atol=1e-6)
    assert not index.vectors[0 : len(index)][unknown].any() and index.settings.zero_rows == 2


# ----- neighbours


def test_exact_search_equals_sorting_all_cosines(index):
    queries = [*sentences(30, seed=1), "w1 w2 w3", "w5 w5"]
    vectors = SearchEmbedder(index.encoder).embed(queries)
    corpus = index.vectors[0 : len(index)].astype(np.float64)
    for query, rows, scores in zip(vectors, *index.snapshot.search_vectors(vectors, 10), strict=True):
        cosines = corpus @ query
        order = np.argsort(-cosines.round(6), kind="stable")
        assert rows.tolist() == order[corpus[order].any(axis=1)][:10].tolist()
        np.testing.assert_allclose(scores, cosines[rows], atol=1e-6)


def test_the_answer_to_a_query_does_not_depend_on_the_others(index):
    queries = [*sentences(40, seed=2), "unheard .", ""]
    together = list(index.search(queries, 5))
    assert [next(index.search(query, 5)) for query in queries] == together
    assert [len(item) for item in together] == [5] * 40 + [0, 0]
    with pytest.raises(TypeError, match=r"^texts\[1\] is None, not a string"):
        next(index.search(["w1", None], 4))


def test_an_index_can_be_pickled_and_copied_before_and_after_use(folder):
    index = SearchIndex(folder)
    before = pickle.loads(pickle.dumps(index))
    expected = next(index.search("w1 w2", 3))
    for each in (before, pickle.loads(pickle.dumps(index)), copy.deepcopy(index)):
        assert next(each.search("w1 w2", 3)) == expected


# ----- approximate search


def test_approximate_search_with_all_lists_equals_exact_search(approximate, index):
    queries = sentences(30, seed=3)
    exact = list(index.search(queries, 8))
    assert list(approximate.search(queries, 8, method="exact")) == exact
    assert 0.3 < approximate.settings.recall <= 1
    assert approximate.settings.nlist == 9
    some = [len({*one} & {*two}) for one, two in zip(approximate.search(queries, 8, nprobe=1), exact, strict=True)]
    assert 0 < sum(some) < 8 * len(queries)
    for one, two in zip(approximate.search(queries, 8, nprobe=9), exact, strict=True):
        assert [item.score for item in one] == pytest.approx([item.score for item in two], abs=1e-7)
        # Of equal ones at the border faiss may take others.
        border = two[-1].score + 1e-7
        assert [item for item in one if item.score > border] == [item for item in two if item.score > border]


def test_without_faiss_an_index_is_searched_exactly(approximate, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    index = SearchIndex(approximate.folder)
    with pytest.raises(UsageError, match=r"needs the package faiss-cpu \(pip install"):
        next(index.search("w1"))
    assert len(next(index.search("w1", method="exact"))) == 10


# ----- bad input


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (["", " ", None], "no sentence"),
        (["unheard", "of"], "no word of the 2 sentences is in the encoder's vocabulary"),
    ],
)
def test_a_corpus_of_which_no_index_can_be_made_is_refused(model, tmp_path, corpus, message):
    with pytest.raises(InputError, match=message):
        built(model, tmp_path / "i", corpus=corpus)


def test_another_encoder_and_one_that_gives_nan_are_refused(folder, tmp_path):
    for options in ({"dimension": 5}, {"seed": 1}):
        other = str(save_model(tmp_path / next(iter(options)), **options))
        with pytest.raises(ModelError, match="the encoder gives other vectors than those in the index"):
            next(SearchIndex(folder, other).search("w1"))
    encoder = SentenceEncoder.from_pretrained(tmp_path / "seed")
    with torch.no_grad():
        encoder.model.embeddings[5] = float("nan")
    with pytest.raises(ModelError, match="NaN"):
        build_index(encoder, [WORDS], tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "index.json").unlink(), "not an index folder"),
        (lambda folder: (folder / "index.json").write_text('{"format": "2"}'), "damaged: the format '2'"),
        (lambda folder: (segment_of(folder) / "vectors.npy").write_bytes(b"\x93NUMPY"), "not a readable NumPy file"),
        (lambda folder: np.save(segment_of(folder) / "vectors.npy", np.zeros((9, 8), np.float32)), "is expected"),
        (lambda folder: (segment_of(folder) / "index.faiss").write_bytes(b"IwFl"), "faiss can read"),
        (
            lambda folder: (segment_of(folder) / "index.faiss").rename(folder / "lists.safetensors"),
            "no file of faiss",
        ),
    ],
)
def test_a_damaged_index_is_refused(approximate, tmp_path, change, message):
    shutil.copytree(approximate.folder, tmp_path / "copy")
    change(tmp_path / "copy")
    with pytest.raises(HfParaphraseError, match=message):
        next(SearchIndex(tmp_path / "copy").search("w1"))


def test_classes_of_a_corpus_are_shown_and_filtered_by_their_names(model):
    features = Features({"text": Value("string"), "topic": ClassLabel(names=["law", "news"])})
    corpus = Dataset.from_dict({"text": ["w1 w2", "w1 w3"], "topic": [0, 1]}, features=features)
    ((_, found),) = search(model=str(model), corpus=corpus, query=["w1"], filter=["topic=news"]).neighbours
    assert [(neighbour.sentence, neighbour.columns) for neighbour in found] == [("w1 w3", {"topic": "news"})]


def test_a_corpus_and_queries_at_a_url_are_read_like_local_ones(model, tmp_path):
    memory = fsspec.filesystem("memory")
    memory.pipe("/texts/lines.txt", b"w1 w2\nw3\n")
    memory.pipe("/texts/rows.csv", b"text,year\nw4,2020\n")
    memory.pipe("/texts/more/train.csv", b"text,year\nw5,2021\n")
    output = str(tmp_path / "index")
    search(model=str(model), corpus="memory://texts/lines.txt", output=output)
    search(index=output, add="memory://texts/rows.csv")
    search(index=output, add="memory://texts/more")
    found = dict(search(index=output, query_file="memory://texts/lines.txt", top_k=9).neighbours)
    assert {hit.sentence for hit in found["w3"]} == {"w1 w2", "w3", "w4", "w5"}
    search(index=output, remove="memory://texts/lines.txt")
    assert len(SearchIndex(output)) == 2
    search(corpus="memory://texts/lines.txt", model=str(model), mine=True, threshold=0.01, output=str(tmp_path / "m"))
    with pytest.raises(InputError, match="no such file") as error:
        search(model=str(model), corpus="memory://texts/none.txt", query=["w1"])
    assert str(error.value.path) == "memory://texts/none.txt"
    encode(input="memory://texts/lines.txt", model=str(model), output=str(tmp_path / "v.npy"))
    expected = SentenceEncoder.from_pretrained(model).encode(["w1 w2", "w3"])
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, atol=1e-6)
