"""The corpus of a user: what is read of it, what is found in it, and the map of it."""

from __future__ import annotations

import gzip
import html
import re
from pathlib import Path

import numpy as np
import pytest

from hf_paraphrase.demo import corpora
from hf_paraphrase.demo.charts import MapPoints, histogram, point_map
from hf_paraphrase.demo.corpora import UserCorpus
from hf_paraphrase.demo.model_catalogue import ModelCatalogue
from hf_paraphrase.demo.neighbours_tab import chosen, shown, source_of, status_of
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError

LINES = ["the doctor bought a car .", "it is raining .", "", "the farmer sold the old horse .", "it is raining ."]


@pytest.fixture
def catalogue(models):
    return ModelCatalogue([str(models)])


@pytest.fixture
def text_file(tmp_path):
    path = tmp_path / "corpus.txt.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    return path


def test_neighbours_are_those_of_the_encoder_and_the_index_goes_with_the_corpus(catalogue, text_file, models):
    corpus, told = UserCorpus(catalogue, text_file), []
    assert (corpus.name, corpus.count, corpus.cut) == ("corpus.txt.gz", 5, False)
    found = corpus.search(
        "a physician purchased a car .", "avg", k=2, progress=lambda share, text: told.append((share, text))
    )
    encoder = SentenceEncoder.from_pretrained(models / "avg")
    cosines = encoder.similarity("a physician purchased a car .", [line for line in LINES[:4] if line])[0]
    assert [item.score for item in found.neighbours] == pytest.approx(sorted(cosines, reverse=True)[:2], abs=1e-6)
    assert found.seconds > 0 and found.recall is None
    assert told[-1] == (1.0, "avg: 5 of 5 sentences read")
    assert corpus.search("it is raining .", "avg", k=1, progress=lambda *given: pytest.fail("read twice")).neighbours
    folder = Path(corpus._folder.name)
    assert folder.is_dir()
    corpus.close()
    assert not folder.exists()


def test_a_larger_corpus_gets_lists_and_says_what_they_find(catalogue, text_file, monkeypatch):
    monkeypatch.setattr(corpora, "_EXACT_UP_TO", 2)
    told = []
    corpus = UserCorpus(catalogue, text_file)
    found = corpus.search("it is raining .", "avg", k=1, progress=lambda share, text: told.append(share))
    assert found.recall is not None and found.neighbours[0].sentence == "it is raining ."
    assert 0.5 in told and 0.5 < told[-1] <= 1
    assert "% of the true neighbours are found" in shown({"avg": found})


def test_what_is_behind_the_limit_is_left_out_and_that_is_logged(catalogue, text_file, monkeypatch):
    monkeypatch.setattr(corpora, "MOST_SENTENCES", 3)
    corpus = UserCorpus(catalogue, text_file)
    assert (corpus.count, corpus.cut) == (3, True) and "the others are left out" in status_of(corpus)
    assert len(corpus.search("it is raining .", "avg", k=9).neighbours) == 2


def test_a_data_folder_and_the_sample_are_corpora(catalogue, pairs):
    assert UserCorpus(catalogue, pairs).count == 80
    assert UserCorpus(catalogue).count == 31_600


@pytest.mark.parametrize(
    ("content", "said"), [(b"\x89PNG\r\n\x1a\n", "picture.png:1: not UTF-8"), (b"", "empty"), (b" \n", "no sentence")]
)
def test_a_file_that_is_no_text_is_refused_by_its_name_alone(catalogue, tmp_path, content, said):
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as error:
        UserCorpus(catalogue, path).read("avg")
    assert str(tmp_path) not in str(error.value)
    with pytest.raises(InputError):
        UserCorpus(catalogue, tmp_path / "absent")


def test_a_corpus_of_which_the_encoder_knows_nothing_and_a_damaged_model_are_refused(catalogue, tmp_path):
    path = tmp_path / "foreign.txt"
    path.write_text("ääkkönen\nõhtu\n")
    corpus = UserCorpus(catalogue, path)
    with pytest.raises(InputError, match="in the encoder's vocabulary"):
        corpus.read("avg")
    with pytest.raises(HfParaphraseError):
        corpus.read("damaged")
    with pytest.raises(InputError, match="in the encoder's vocabulary"):
        corpus.read("avg")


def test_a_map_shows_the_corpus_the_neighbours_and_the_query_and_escapes_them(catalogue, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([*LINES, '<b> the "car"']))
    corpus = UserCorpus(catalogue, path)
    picture = corpus.search("<i> the horse", "gran", k=2).picture
    groups = re.findall(r'<g class="hfp-(\w+)">(.*?)</g>', picture)
    assert [(kind, dots.count("<path")) for kind, dots in groups] == [("sentence", 4), ("neighbour", 2), ("query", 1)]
    assert "<b>" not in picture and "<i>" not in picture and "<i> the horse" in html.unescape(picture)
    assert "all sentences" in picture and "NaN" not in picture and "nan" not in picture


def test_places_on_the_map_keep_the_distances_of_two_dimensions():
    places = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    drawn = re.findall(r"M([\d.-]+) ([\d.-]+)h0", point_map([MapPoints("sentence", places, ["a", "b", "c"])], ""))
    found = np.array(drawn, float)
    distances = np.linalg.norm(found[:, None] - found[None], axis=2)
    assert distances[1, 2] / distances[0, 1] == pytest.approx(5 / 3, abs=0.01)
    assert (found >= 0).all() and (found <= [720, 480]).all()


def test_a_map_of_one_sentence_and_a_histogram_of_one_value_are_drawn(catalogue, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("it is raining .\n")
    assert "nan" not in UserCorpus(catalogue, path).search("it is", "avg", k=3).picture
    picture = histogram(np.array([5]), np.array([1.0, 1.0]), np.array([2]), "x & y")
    assert "2 of 5 kept" in picture and "x &amp; y" in picture


def test_uploads_and_paths_are_distinguished_and_encoders_counted():
    assert source_of(None, " ") is None and source_of("/a/b.txt", "") == Path("/a/b.txt")
    with pytest.raises(UsageError, match="an upload and a path"):
        source_of("/a/b.txt", "/c")
    assert chosen(["a", "b"]) == ["a", "b"]
    for names in ([], None, ["a", "b", "c", "d"]):
        with pytest.raises(UsageError, match="chosen"):
            chosen(names)
