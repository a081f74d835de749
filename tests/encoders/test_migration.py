"""Compares the calls of sentence-transformers and of this package, row by row of the table in the guide."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_encoders import write_average

from hf_paraphrase import SentenceEncoder, paraphrase_mining, quantize_embeddings, semantic_search
from hf_paraphrase.errors import UsageError

SENTENCE = "the doctor bought a new car and the farmer sold an old horse in town . rain falls , music stops"
WORDS = sorted(set(SENTENCE.split()))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "use" / "comparison.md"
TEXTS = [" ".join(np.random.default_rng(seed).choice(WORDS, 3 + seed % 5)) for seed in range(24)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("migration")
    plain = write_average(root / "plain", WORDS, hidden_size=20)
    return SentenceEncoder.from_pretrained(plain).save_pretrained(root / "my_avg")


def rows():
    """The code of both columns, a pair for each row."""
    found = []
    for line in PAGE.read_text("utf-8").partition("## Arguments")[0].splitlines():
        if line.startswith("| `"):
            theirs, ours = line.strip("| ").split(" | ")
            code = re.fullmatch("`(.*)`", theirs)[1]
            found += [(code, each) for each in re.findall("^`(.*?)`", ours)]
            found += [(code, code)] * ours.endswith("the same")
    return found


def run(code, names):
    """Runs a statement, or gives the value of an expression."""
    try:
        compiled = compile(code, "migration.md", "eval")
    except SyntaxError:
        exec(code, names)
        return None
    return eval(compiled, names)


def plain(value):
    """Any result as an array or a plain value."""
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, list) and value and isinstance(value[0], list) and isinstance(value[0][0], dict):
        return np.array([[item["score"], item["corpus_id"]] for found in value for item in found])
    return np.array(value) if isinstance(value, list) else value


def assert_same(ours, theirs, code):
    assert isinstance(ours, torch.Tensor) == isinstance(theirs, torch.Tensor) or "similarity" in code
    ours, theirs = plain(ours), plain(theirs)
    if not isinstance(theirs, np.ndarray):
        assert ours == theirs, code
        return
    assert ours.shape == theirs.shape and ours.size, code
    # A component may lie on the edge of a step of int8.
    tolerance = {"atol": 1} if theirs.dtype == np.int8 and 'precision="int8"' in code else {"atol": 1e-5}
    assert ours.dtype.kind == theirs.dtype.kind, code
    np.testing.assert_allclose(ours.astype(float), theirs.astype(float), rtol=0, err_msg=code, **tolerance)


def test_every_row_of_the_table_gives_the_same_on_both_sides(folder, tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers")
    namespaces = []
    for side in ("theirs", "ours"):
        shutil.copytree(folder, tmp_path / side / "my_avg")
        namespaces.append({"texts": TEXTS[:16], "others": TEXTS[8:]})
    compared = 0
    table = rows()
    assert len(table) > 25 and any("push_to_hub" in theirs for theirs, _ in table)
    for codes in table:
        if "push_to_hub" in codes[0]:
            continue  # in tests/hub
        results = []
        for side, names, code in zip(("theirs", "ours"), namespaces, codes, strict=True):
            monkeypatch.chdir(tmp_path / side)
            if "save_pretrained" in code and Path("a_copy").exists():
                continue
            results.append(run(code, names))
        if results[0] is not None:
            assert_same(results[1], results[0], codes[1])
            compared += 1
    assert compared > 20


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary"])
def test_quantised_embeddings_are_those_of_sentence_transformers(precision):
    theirs = pytest.importorskip("sentence_transformers.util").quantize_embeddings
    vectors = np.random.default_rng(0).normal(size=(200, 19)).astype(np.float32)
    vectors[:, 3] = 0.25
    ranges = np.stack([vectors.min(0), vectors.max(0)]) * 0.7
    for settings in ({}, {"ranges": ranges}, {"calibration_embeddings": vectors[:50]}):
        ours = quantize_embeddings(vectors, precision, **settings)
        expected = theirs(vectors, precision=precision, **settings)
        assert ours.dtype == expected.dtype
        np.testing.assert_array_equal(ours, expected)
    assert quantize_embeddings(vectors[:0], precision).dtype == expected.dtype


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": "int4"}, "precision `int4` is unknown .*did you mean int8"),
        ({"truncate_dim": 21}, "embeddings of 20 components cannot be truncated to 21"),
        ({"device": "nowhere"}, "cannot use the device nowhere"),
    ],
)
def test_an_option_that_does_not_fit_says_what_would(folder, options, said):
    with pytest.raises(UsageError, match=said):
        SentenceEncoder.from_pretrained(folder).encode(TEXTS, **options)


def test_what_cannot_be_compared_searched_or_mined_is_refused(folder):
    encoder = SentenceEncoder.from_pretrained(folder)
    assert encoder.similarity_pairwise(["", "the car"], ["the car", "the car"]) == pytest.approx([0, 1])
    with pytest.raises(ValueError, match="cannot be compared one by one"):
        encoder.similarity_pairwise(TEXTS[:2], TEXTS[:3])
    vectors = encoder.encode(TEXTS)
    # Such a step of a range goes through no queries at all.
    for name, value in (("top_k", 0), ("query_chunk_size", -1), ("corpus_chunk_size", 0)):
        for search, given in ((semantic_search, (vectors, vectors)), (paraphrase_mining, (encoder, TEXTS))):
            with pytest.raises(UsageError, match=f"{name} must be at least 1, not {value}"):
                search(*given, **{name: value})
    with pytest.raises(UsageError, match=r"the sentences are one string, 'the car' .give a list"):
        paraphrase_mining(encoder, "the car")
