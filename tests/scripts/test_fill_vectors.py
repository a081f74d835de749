from __future__ import annotations

import gzip

import numpy as np
import pytest

from hf_paraphrase.training.word_vectors import WordVectors, read_word_vectors


@pytest.fixture
def script(load_script):
    return load_script("studies/fill_vectors")


def test_the_context_of_a_word_is_the_mean_of_a_loop_over_its_neighbours(script):
    generator = np.random.default_rng(0)
    ids = [list(generator.integers(-1, 8, size=length)) for length in (1, 3, 14, 0, 9)]
    matrix = generator.normal(size=(8, 3))
    known = np.array([True] * 6 + [False] * 2)
    matrix[~known] = 0
    means, seen = script.context_means(ids, matrix, known)
    for word in range(8):
        around = [
            matrix[other]
            for sentence in ids
            for place, each in enumerate(sentence)
            if each == word
            for there, other in enumerate(sentence)
            if there != place and abs(there - place) <= script.WINDOW and other >= 0 and known[other]
        ]
        assert seen[word] == bool(around)
        assert means[word] == pytest.approx(np.mean(around, axis=0) if around else np.zeros(3))


def test_words_that_stand_in_the_same_places_get_about_the_same_vector(script):
    generator = np.random.default_rng(1)
    words = [f"w{number}" for number in range(40)]
    contexts = {word: list(generator.choice(words[10:], size=4)) for word in words}
    sentences = [[word, *generator.permutation(contexts[word])] for word in words for _ in range(60)]
    # Every second w3 is called `lost`; none of the first three words has a vector.
    places = [sentence for sentence in sentences if sentence[0] == "w3"]
    for sentence in places[::2]:
        sentence[0] = "lost"
    vectors = WordVectors(words[4:], generator.normal(size=(36, 4)).astype(np.float32))
    found, added = script.missing_vectors(vectors, [" ".join(sentence) for sentence in sentences], 5)
    assert set(found) == {"w0", "w1", "w2", "w3", "lost"}
    of = dict(zip(found, added, strict=True))
    others = [np.linalg.norm(of["w3"] - of[word]) for word in ("w0", "w1", "w2")]
    assert np.linalg.norm(of["w3"] - of["lost"]) < min(others) / 3


def test_the_file_has_the_new_words_first_and_all_others_as_they_were(run_script, tmp_path, capsys):
    generator = np.random.default_rng(2)
    lines = [f"w{number} {' '.join(map(str, generator.normal(size=2).round(3)))}" for number in range(9)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    text = "\n".join(" ".join(generator.choice([*(f"w{n}" for n in range(9)), "A"], size=8)) for _ in range(80))
    (tmp_path / "text.txt").write_text(text + "\n")
    words = ["--vectors", tmp_path / "vectors.txt", "--text", tmp_path / "text.txt", "--least", 3]
    assert run_script("studies/fill_vectors", *words, "--output", tmp_path / "filled.txt.gz") == 0
    filled = gzip.decompress((tmp_path / "filled.txt.gz").read_bytes()).decode().splitlines()
    assert filled[0].startswith("a ") and len(filled) == 10
    before, after = read_word_vectors(tmp_path / "vectors.txt"), read_word_vectors(tmp_path / "filled.txt.gz")
    assert after.words[1:] == before.words and after.matrix[1:] == pytest.approx(before.matrix)
    assert "1 words more: a" in capsys.readouterr().err


def test_too_little_text_is_one_line(run_script, tmp_path, capsys):
    (tmp_path / "vectors.txt").write_text("x 1.0 2.0\ny 0.5 1.0\nz 1.0 1.5\n")
    (tmp_path / "text.txt").write_text("x y z\n")
    words = ["--vectors", tmp_path / "vectors.txt", "--text", tmp_path / "text.txt"]
    assert run_script("studies/fill_vectors", *words, "--output", tmp_path / "out.txt.gz") == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "give more text" in err and not (tmp_path / "out.txt.gz").exists()
