"""Calls and inputs of other libraries: LangChain, scikit-learn, pickle, pandas."""

from __future__ import annotations

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tiny_encoders import write_average
from tiny_transformers import write_model2vec, write_transformer

from hf_paraphrase import SentenceEmbedder, SentenceEncoder, paraphrase_mining, quantize_embeddings
from hf_paraphrase.errors import InputError, UsageError

TEXTS = ["w1 w2", "w3", "w4 w5 w1", "", "w9 w8", "w2"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("calls")
    return {
        "table": write_average(root / "avg"),
        "gran": write_average(root / "gran", classes="gran"),
        "bert": write_transformer(root / "bert"),
    }


@pytest.fixture(params=["table", "gran", "bert", "builtin"])
def encoder(request, folders):
    return SentenceEncoder.from_pretrained(folders.get(request.param, request.param))


@pytest.mark.parametrize(
    "column",
    [
        np.array,
        lambda texts: pd.Series(texts, dtype="string"),
        lambda texts: pa.chunked_array([texts[:2], texts[2:]]),
        lambda texts: datasets.Dataset.from_dict({"text": texts})["text"],
    ],
)
def test_texts_may_be_any_column(folders, column):
    encoder = SentenceEncoder.from_pretrained(folders["table"])
    np.testing.assert_array_equal(encoder.encode(column(TEXTS)), encoder.encode(TEXTS))
    np.testing.assert_array_equal(encoder.similarity(column(TEXTS), TEXTS), encoder.similarity(TEXTS, TEXTS))
    assert paraphrase_mining(encoder, column(TEXTS)) == paraphrase_mining(encoder, TEXTS)


@pytest.mark.parametrize("texts", [{"w1": "w2"}, None, ["w1", float("nan")], pa.array(["w1", None])])
def test_what_is_no_column_of_texts_is_a_type_error_everywhere(folders, texts):
    encoder = SentenceEncoder.from_pretrained(folders["table"])
    calls = [
        encoder.encode,
        encoder.encode_query,
        encoder.encode_document,
        encoder.tokenize,
        encoder.token_ids,
        encoder.transform,
        encoder.embed_documents,
        lambda given: encoder.similarity(given, ["w1"]),
        lambda given: encoder.similarity_pairwise(["w1"], given),
        lambda given: paraphrase_mining(encoder, given),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"^texts(\[\d\])? is .*, not a string"):
            call(texts)


def test_an_unknown_option_names_the_method_that_was_called_and_a_model_comes_with_its_tokenizer(folders):
    with pytest.raises(TypeError, match=r"^SentenceEncoder.encode\(\) got an unexpected keyword argument 'normalise'"):
        SentenceEncoder.from_pretrained(folders["table"]).encode(TEXTS, normalise=True)

    with pytest.raises(UsageError, match="needs its tokenizer"):
        SentenceEncoder(SentenceEncoder.from_pretrained(folders["gran"]).model)


def test_copies_give_the_same_vectors(encoder):
    expected = encoder.encode(TEXTS * 50)
    for made in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder), copy.copy(encoder)):
        np.testing.assert_array_equal(made.encode(TEXTS * 50), expected)
    assert datasets.fingerprint.Hasher.hash(encoder.encode) == datasets.fingerprint.Hasher.hash(encoder.encode)


def test_a_pipeline_of_scikit_learn_is_fitted_searched_and_cloned(encoder):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import Pipeline

    texts, labels = TEXTS * 4, [0, 1, 0, 1, 0, 1] * 4
    pipeline = Pipeline([("encoder", encoder), ("classifier", LogisticRegression())])
    predicted = pipeline.fit(texts, labels).predict(texts)
    expected = LogisticRegression().fit(encoder.encode(texts), labels).predict(encoder.encode(texts))
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(clone(encoder).encode(texts), encoder.encode(texts))
    assert len(cross_val_score(pipeline, texts, labels, cv=2)) == 2
    search = GridSearchCV(pipeline, {"encoder__truncate_dim": [2, 3]}, cv=2).fit(texts, labels)
    assert search.best_params_["encoder__truncate_dim"] in (2, 3) and encoder.truncate_dim is None
    assert search.best_estimator_[0].dimension == search.best_params_["encoder__truncate_dim"]


def test_a_vector_store_of_langchain_finds_the_nearest_text(encoder):
    store = pytest.importorskip("langchain_core.vectorstores").InMemoryVectorStore(encoder)
    texts = [text for text in TEXTS if text]
    store.add_texts(texts)
    assert [document.page_content for document in store.similarity_search("w9 w8", k=1)] == ["w9 w8"]
    # The browser of another test may leave a loop that runs in this thread.
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(asyncio.run, store.asimilarity_search("w9 w8", k=1)).result()
        assert [document.page_content for document in later] == ["w9 w8"]
        embedded = pool.submit(asyncio.run, encoder.aembed_documents(texts)).result()
    assert embedded == encoder.embed_documents(texts)
    assert isinstance(encoder.embed_query("w1"), list) and len(encoder.embed_documents(texts)) == len(texts)


def test_functions_use_tables_and_graphs_as_they_are(folders, tmp_path):
    pytest.importorskip("onnxruntime")
    from hf_paraphrase import encode, export

    backend = SentenceEncoder.from_pretrained(folders["table"]).backend.rust_tokenizer
    write_model2vec(tmp_path / "normalised", backend, normalize=True)
    export(model=folders["table"], output=tmp_path / "graph", format="onnx")
    (tmp_path / "texts").write_text("\n".join(TEXTS) + "\n")
    for name in ("normalised", "graph"):
        encoder = SentenceEncoder.from_pretrained(tmp_path / name)
        made = encode(model=encoder, input=tmp_path / "texts", output=tmp_path / f"{name}.npy")
        np.testing.assert_allclose(np.load(made), encoder.encode(TEXTS), atol=1e-6)


def test_the_builtin_encoder_opens_in_sentence_transformers_with_this_package(library):
    from hf_paraphrase.artefacts.hub_models import BUILTIN_FOLDERS

    theirs = library.SentenceTransformer(str(BUILTIN_FOLDERS["builtin"]), device="cpu", trust_remote_code=True)
    encoder = SentenceEncoder.from_pretrained()
    np.testing.assert_array_equal(theirs.encode(TEXTS, prompt="w1 "), encoder.encode(TEXTS, prompt="w1 "))
    assert theirs.get_sentence_embedding_dimension() == encoder.dimension


def test_a_dataset_is_mapped_without_the_arrow_format(folders):
    rows = datasets.Dataset.from_dict({"text": TEXTS})
    embedder = SentenceEmbedder(str(folders["table"]), columns="text")
    mapped = rows.map(embedder, batched=True, batch_size=4).with_format("numpy")
    expected = SentenceEncoder.from_pretrained(folders["table"]).encode(TEXTS)
    np.testing.assert_allclose(mapped["text_embedding"], expected, atol=1e-6)


def test_a_text_that_shows_nothing_embeds_to_zeros(folders):
    texts = ["w1\u200b", "\u200b", "\ufeff\u00ad", " \u2060\n", "\u3164\u3164", "\u2800", "\u00a0\u200b"]
    for name in ("table", "gran", "builtin"):
        vectors = SentenceEncoder.from_pretrained(folders.get(name, name)).encode(texts)
        assert vectors[0].any() and not vectors[1:].any()


@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_a_vector_of_any_length_has_the_cosine_1_with_itself(folders, scale):
    encoder = SentenceEncoder.from_pretrained(folders["table"])
    vectors = np.array([[3, 4, 0], [0, 0, 0], [1, -1, 2]], np.float32) * np.float32(scale)
    np.testing.assert_allclose(np.diag(encoder.similarity(vectors, vectors)), [1, 0, 1], atol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_embedding_that_is_not_finite_is_named(folders, value):
    encoder, vectors = SentenceEncoder.from_pretrained(folders["table"]), np.ones((4, 5), np.float32)
    broken = np.where(np.eye(4, 5, -2), value, vectors)
    sides = [(vectors, broken), (broken, vectors)]
    calls = [(compare, given) for compare in (encoder.similarity, encoder.similarity_pairwise) for given in sides]
    calls += [(quantize_embeddings, (broken, precision)) for precision in ("int8", "binary")]
    for call, given in calls:
        with pytest.raises(InputError, match=r"^embeddings with NaN or infinity, the first in row 2 "):
            call(*given)
    with pytest.raises(InputError, match=r"^ranges with NaN or infinity, the first in row 2 "):
        quantize_embeddings(vectors[:2], "int8", ranges=broken)


@pytest.mark.parametrize("name", ["table", "gran"])
def test_encoding_leaves_a_model_in_training_as_it_was_also_when_it_is_interrupted(folders, name, monkeypatch):
    encoder = SentenceEncoder.from_pretrained(folders[name]).to_torch()
    expected = encoder.encode(TEXTS)
    encoder.model.train()
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)
    assert encoder.model.training

    def interrupt(*_):
        assert not encoder.model.training
        raise KeyboardInterrupt

    monkeypatch.setattr("hf_paraphrase.encoders.backends.torch_module.in_threads", interrupt)
    monkeypatch.setattr("hf_paraphrase.encoders.backends.mean_pooler.map", interrupt, raising=False)
    with pytest.raises(KeyboardInterrupt):
        encoder.encode(TEXTS)
    assert encoder.model.training


FORKING = """
import signal, sys, datasets, torch
from hf_paraphrase import SentenceEncoder
signal.alarm(120)
torch.set_num_threads(2)
encoder = SentenceEncoder.from_pretrained(sys.argv[1])
texts = ["the cat sat on a mat"] * 64
encoder.encode(texts)
rows = datasets.Dataset.from_dict({"text": texts})
rows = rows.map(lambda row: {"vector": encoder.encode(row["text"])}, batched=True, batch_size=8, num_proc=2)
print(len(rows["vector"][63]))
"""


def test_processes_forked_after_pytorch_has_computed_go_on(folders, run_python):
    done = run_python(FORKING, folders["bert"])
    assert done.stdout.split() == ["16"], done.stderr[-2000:]
