"""The corpus of a user: what is read of it, and what is found in it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hf_paraphrase.demo import neighbours_tab
from hf_paraphrase.demo.answers import answered
from hf_paraphrase.demo.model_catalogue import ModelCatalogue
from hf_paraphrase.demo.neighbours_tab import UserCorpus
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

LINES = ["the doctor bought a car .", "it is raining .", "", "the farmer sold the old horse .", "it is raining ."]


@pytest.fixture
def catalogue(models):
    return ModelCatalogue([str(models)])


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "corpus.txt.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    return path


def test_neighbours_are_those_of_the_encoder_and_the_index_is_deleted_with_the_corpus(catalogue, text_file, models):
    corpus = UserCorpus(catalogue, text_file)
    assert (corpus.name, corpus.sentences, corpus.cut) == ("corpus.txt.gz", LINES, False)
    query = "a physician purchased a car ."
    neighbours = corpus.search(query, "avg", k=2)
    encoder = SentenceEncoder.from_pretrained(models / "avg")
    cosines = encoder.similarity(query, [line for line in LINES[:4] if line])[0]
    assert [item.score for item in neighbours] == pytest.approx(sorted(cosines, reverse=True)[:2], abs=1e-6)
    assert corpus.search("it is raining .", "avg", k=1)[0].sentence == "it is raining ."
    folder = Path(corpus._folder.name)
    assert [path.name for path in folder.iterdir()] == ["0"], "read once"
    corpus.close()
    assert not folder.exists()


@pytest.mark.parametrize(("limit", "count", "is_cut"), [(4, 4, True), (5, 5, False)])
def test_a_file_above_the_limit_is_indexed_up_to_the_limit(catalogue, text_file, monkeypatch, limit, count, is_cut):
    monkeypatch.setattr("hf_paraphrase.data.sentences._BLOCK_LINES", 2)  # the limit is in the second or third block
    monkeypatch.setattr(neighbours_tab, "MOST_SENTENCES", limit)
    corpus = UserCorpus(catalogue, text_file)
    assert (len(corpus.sentences), corpus.cut) == (count, is_cut)
    nonempty = {line for line in LINES[:limit] if line}
    assert {item.sentence for item in corpus.search("it is", "avg", k=9)} == nonempty


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\x89PNG\r\n\x1a\n", "corpus.bin:1: not UTF-8"), (b" \n", "no sentence")],
)
def test_an_unreadable_file_is_refused_by_its_name_alone(catalogue, tmp_path, content, message):
    path = tmp_path / "corpus.bin"
    path.write_bytes(content)
    shown = answered()(lambda: UserCorpus(catalogue, path).search("it", "avg", k=1))()
    assert message in shown and str(tmp_path) not in shown
