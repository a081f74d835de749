from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace

import numpy as np
import pytest
from tiny_teachers import Recorder, sentences, write_teacher

from hf_paraphrase.artefacts.files import locked
from hf_paraphrase.data.sentences import SentenceCorpus
from hf_paraphrase.encoders.distillation import teacher_vectors as module
from hf_paraphrase.encoders.distillation.teacher_vectors import (
    TeacherVectors,
    log_unsupported_languages,
    teacher_vectors,
)
from hf_paraphrase.encoders.distillation.texts import read_texts
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, ModelError


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    return str(write_teacher(tmp_path_factory.mktemp("teachers") / "bert"))


@pytest.fixture
def texts_of(tmp_path):
    def read(lines, **options):
        (tmp_path / "text.txt").write_text("\n".join(lines))
        return read_texts([SentenceCorpus(tmp_path / "text.txt")], max_characters=1000, **options)

    return read


def unit(teacher, lines):
    found = SentenceEncoder.from_pretrained(teacher).encode(lines)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_a_killed_run_continues_and_no_text_is_encoded_twice(teacher, texts_of, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "TEXTS_PER_BLOCK", 8)
    texts, kept = texts_of(sentences(60)), tmp_path / "kept"
    stopped = Recorder(SentenceEncoder.from_pretrained(teacher), fail_after=20)
    with pytest.raises(KeyboardInterrupt):
        teacher_vectors(kept, teacher, stopped, texts, bf16=False)
    assert len(stopped.asked) == 16
    # A part of a row, as a power cut leaves it.
    with next(kept.glob("bert-*/vectors.f16")).open("ab") as stream:
        stream.write(b"123")
    second = Recorder(SentenceEncoder.from_pretrained(teacher))
    vectors = teacher_vectors(kept, teacher, second, texts, bf16=False)
    assert sorted(stopped.asked + second.asked) == sorted(texts)
    np.testing.assert_allclose(vectors.take(np.arange(len(texts))), unit(teacher, list(texts)), atol=2e-3)
    # Later runs use what earlier ones have computed, whatever else their text is.
    third = Recorder(SentenceEncoder.from_pretrained(teacher))
    teacher_vectors(kept, teacher, third, texts_of([*sentences(70)[20:], "a1"]), bf16=False)
    assert set(third.asked) == {*sentences(70)[60:], "a1"} - {*sentences(60)}
    assert len(stopped.asked[0]) == max(map(len, texts))
    numbers = np.array([9, 3, 9])
    np.testing.assert_array_equal(vectors.take(numbers), vectors.take(np.arange(len(texts)))[numbers])


def test_a_teacher_that_changed_or_computes_otherwise_has_vectors_of_its_own(teacher, texts_of, tmp_path):
    kept, texts = tmp_path / "kept", texts_of(sentences(5))
    changed = str(write_teacher(tmp_path / "elsewhere" / "bert", seed=1))
    for path, bf16 in ((teacher, False), (changed, False), (teacher, True)):
        asked = Recorder(SentenceEncoder.from_pretrained(path))
        vectors = teacher_vectors(kept, path, asked, texts, bf16=bf16)
        assert len(asked.asked) == 5
        np.testing.assert_allclose(vectors.take(np.arange(5)), unit(path, list(texts)), atol=2e-3)
    assert len(list(kept.iterdir())) == 3


def test_a_text_for_which_the_teacher_gives_no_numbers_is_named(teacher, texts_of, tmp_path):
    lines = sentences(9)
    spoilt = Recorder(SentenceEncoder.from_pretrained(teacher), spoil=lines[4])
    with pytest.raises(ModelError, match=f"not finite for the text `{lines[4]}`") as caught:
        teacher_vectors(tmp_path / "kept", teacher, spoilt, texts_of(lines), bf16=False)
    assert caught.value.path == teacher


def test_a_second_run_waits_for_the_one_that_writes_the_folder_and_none_writes_through_a_link(
    teacher, texts_of, tmp_path
):
    kept, encoder = tmp_path / "kept", SentenceEncoder.from_pretrained(teacher)
    teacher_vectors(kept, teacher, encoder, texts_of(sentences(3)), bf16=False)
    (folder,) = kept.iterdir()
    texts, keys = texts_of(sentences(9)), folder / "keys.u64"
    with ThreadPoolExecutor() as pool:
        with locked(folder):
            second = pool.submit(teacher_vectors, kept, teacher, encoder, texts, bf16=False)
            assert wait([second], timeout=0.5).not_done and keys.stat().st_size == 3 * 8
        assert len(second.result().rows) == 9 and keys.stat().st_size == 9 * 8
    (tmp_path / "precious").write_text("precious")
    for path in folder.iterdir():
        path.unlink()
        path.symlink_to(tmp_path / "precious")
    with pytest.raises(InputError, match="a link"):
        teacher_vectors(kept, teacher, encoder, texts_of(sentences(3)), bf16=False)
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize(("weights", "shares"), [([], (0.5, 0.5)), ([1, 3], (0.25, 0.75))])
def test_a_cosine_to_several_teachers_is_the_weighted_mean_of_theirs(texts_of, tmp_path, weights, shares):
    texts, rows, parts, expected = texts_of(sentences(12)), np.arange(12), [], 0.0
    for seed, (size, share) in enumerate(zip((16, 8), shares, strict=True)):
        path = str(write_teacher(tmp_path / f"teacher{seed}", seed=seed, size=size))
        parts.append(teacher_vectors(tmp_path, path, SentenceEncoder.from_pretrained(path), texts, bf16=False))
        vectors = unit(path, list(texts))
        expected = expected + share * vectors @ vectors.T
    together = TeacherVectors(parts, weights)
    assert together.sizes == [16, 8] and len(together) == len(texts)
    found = together.take(rows)
    np.testing.assert_allclose(found @ found.T, expected, atol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=2e-3)


def test_a_teacher_of_one_language_gives_no_vector_of_other_texts_and_a_multilingual_one_of_all(
    teacher, texts_of, tmp_path
):
    texts = texts_of(sentences(9))
    texts = replace(texts, target_text_ids=np.where(np.arange(9) == 4, -1, np.arange(9)[::-1]))
    encoder = SentenceEncoder.from_pretrained(teacher)
    expected = unit(teacher, list(texts))
    vectors = teacher_vectors(tmp_path / "kept", teacher, encoder, texts, bf16=False)
    np.testing.assert_allclose(
        vectors.take(np.arange(9)), np.where(np.arange(9)[:, None] == 4, 0, expected[::-1]), atol=2e-3
    )
    assert TeacherVectors([vectors]).are_partial
    own = texts.multilingual_target_ids(lambda language: True)
    every = teacher_vectors(tmp_path / "kept", teacher, encoder, texts, bf16=False, target_text_ids=own)
    np.testing.assert_allclose(every.take(np.arange(9)), expected, atol=2e-3)
    assert not TeacherVectors([every]).are_partial


def test_a_language_that_the_teacher_does_not_support_is_named(teacher, texts_of, tmp_path, caplog):
    unknown = [f"xx{word} " * (1 + word % 3) for word in range(20)]
    texts = texts_of([*sentences(20), *unknown])
    texts = replace(texts, names=["en", "fi"], languages=(np.arange(len(texts)) >= len(texts) - 20).astype(np.int16))
    vectors = teacher_vectors(tmp_path / "kept", teacher, SentenceEncoder.from_pretrained(teacher), texts, bf16=False)
    log_unsupported_languages(teacher, vectors, texts)
    lines = [record.message for record in caplog.records if "does not seem to support" in record.message]
    assert len(lines) == 1 and "for 20 texts in fi" in lines[0]
