from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from hf_paraphrase.encoders import sentence_encoder, text_tokens, word_averages
from hf_paraphrase.encoders.padded_batches import embed_by_model
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import ModelError, UsageError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(30)]
TEXTS = ["w1 w2 w3", "", "w4", "nothing known", "w5 w6 w7 w8 w9", "  ", "w4"]


def make(kind):
    torch.manual_seed(0)
    size = {"vocab_size": 32, "hidden_size": 8, "initializer_range": 0.5}
    model = AvgModel(AvgConfig(**size)) if kind == "avg" else GranModel(GranConfig(cell=kind, **size))
    return SentenceEncoder(model, build_word_level_tokenizer(WORDS))


def save(encoder, folder):
    encoder.model.save_pretrained(folder)
    save_tokenizer(encoder.tokenizer, folder)
    return folder


@pytest.fixture(params=["avg", "lstm", "gru"])
def encoder(request):
    return make(request.param)


def test_vectors_come_in_input_order_whatever_the_batch_size(encoder):
    alone = np.stack([encoder.encode(text) for text in TEXTS])
    assert alone.dtype == np.float32 and alone.shape == (7, 8)
    for size in (1, 2, 3, 100):
        np.testing.assert_allclose(encoder.encode(TEXTS, batch_size=size), alone, atol=1e-6)
    np.testing.assert_allclose(encoder.encode(TEXTS[::-1])[::-1], alone, atol=1e-6)
    assert not alone[[1, 5]].any() and alone[3].any()


def test_encode_equals_the_models_own_output(encoder):
    ids = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
    expected = encoder.model.eval()(**ids).pooler_output.detach().numpy()
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-6)


def test_a_single_text_gives_a_vector_and_no_text_an_empty_matrix(encoder):
    assert encoder.encode("w1").shape == (8,) and encoder.encode("").shape == (8,)
    assert encoder.encode([]).shape == (0, 8) and encoder.encode(["w1"]).shape == (1, 8)


def test_normalising_gives_unit_vectors_and_keeps_zeros(encoder):
    norms = np.linalg.norm(encoder.encode(TEXTS, normalize=True), axis=1)
    np.testing.assert_allclose(norms, [1, 0, 1, 1, 1, 0, 1], atol=1e-6)


def test_similarity_is_the_cosine(encoder):
    vectors = encoder.encode(TEXTS)
    similarity = encoder.similarity(TEXTS, TEXTS[:3])
    for i in range(7):
        for j in range(3):
            norms = np.linalg.norm(vectors[i]) * np.linalg.norm(vectors[j])
            expected = vectors[i] @ vectors[j] / norms if norms else 0.0
            assert similarity[i, j] == pytest.approx(expected, abs=1e-6)


def test_similarity_takes_embeddings_for_texts(encoder):
    expected = encoder.similarity(TEXTS, TEXTS[:3])
    vectors = encoder.encode(TEXTS)
    for first in (vectors, vectors.astype(np.float64), torch.from_numpy(vectors), TEXTS, np.array(TEXTS)):
        found = encoder.similarity(first, 3 * vectors[:3])
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(encoder.similarity(vectors[2], TEXTS[:3]), expected[2:3], atol=1e-6)
    with pytest.raises(ValueError, match="vectors of 8 components cannot be compared with vectors of 5"):
        encoder.similarity(vectors, vectors[:, :5])
    with pytest.raises(ValueError, match=r"not \(1, 7, 8\)"):
        encoder.similarity(vectors[None], vectors)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_embeddings_of_half_precision_are_compared_in_single_precision(encoder, scale):
    vectors = np.ones((2, 8), np.float16) * np.float16(scale)
    np.testing.assert_allclose(encoder.similarity(vectors, vectors), np.ones((2, 2)), atol=1e-6)
    tensor = torch.full((2, 8), scale, dtype=torch.bfloat16, requires_grad=True)
    np.testing.assert_allclose(encoder.similarity(tensor, vectors), np.ones((2, 2)), atol=1e-6)


def test_encoding_ignores_what_others_set_on_the_tokenizer_and_training_mode():
    encoder = make("avg")
    expected = encoder.encode(TEXTS)
    encoder.tokenizer(TEXTS, padding="max_length", max_length=2, truncation=True)
    encoder.model.config.dropout = 0.5
    encoder.model.train()
    np.testing.assert_array_equal(encoder.encode(TEXTS), expected)


def test_ten_thousand_tokens_work_beside_short_texts(encoder):
    long = " ".join(WORDS[number % 30] for number in range(10_000))
    vectors = encoder.encode(["w1", long, "w2"])
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors[0], encoder.encode("w1"), atol=1e-6)


def long_enough():
    """More characters than the vocabulary has words, so that the array operations do the work, and several blocks."""
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice([*WORDS, "other", "caf\u00e9", "W3's,"], size)) for size in range(60)]
    return [*TEXTS, *texts, "", *texts[::-1], " "]


def test_word_averages_equal_padded_batches_to_the_last_bit():
    encoder, texts = make("avg"), long_enough()
    expected = np.zeros((len(texts), 8), np.float32)
    for size in (1, 7, 200):
        expected[:] = 0
        ids = encoder.token_ids(texts)
        assert sum(embed_by_model(encoder.model, ids, expected, batch_size=size, pad_token_id=0)) > 0
        np.testing.assert_array_equal(encoder.encode(texts), expected)


def test_padded_batches_on_several_threads_give_the_same_vectors_in_the_same_order(monkeypatch):
    encoder, texts = make("lstm"), long_enough()
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    alone = encoder.encode(texts, batch_size=5)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    np.testing.assert_allclose(encoder.encode(texts, batch_size=5), alone, atol=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_change_no_vector_and_no_order(encoder, monkeypatch, threads):
    texts = long_enough()
    whole = encoder.encode(texts)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(text_tokens, "CHARACTERS_PER_BLOCK", 100)
    monkeypatch.setattr(text_tokens, "CHARACTERS_OF_A_THREAD", 50)
    monkeypatch.setattr(word_averages, "_ROWS_PER_MEAN", 3)
    monkeypatch.setattr(sentence_encoder, "_ROWS_PER_BLOCK", 5)
    np.testing.assert_array_equal(encoder.encode(texts), whole)
    np.testing.assert_array_equal(encoder.encode_token_ids(encoder.token_ids(texts)), whole)
    assert encoder.encode_token_ids(encoder.token_ids([])).shape == (0, 8)


def test_a_token_added_between_two_calls_is_seen(encoder):
    texts = long_enough()
    before = encoder.encode(texts)
    encoder.tokenizer.add_special_tokens({"mask_token": "other"})
    encoder.tokenizer.backend_tokenizer.add_special_tokens(["w2 w3"])
    encoder.model.embeddings = torch.nn.Parameter(torch.cat([encoder.model.embeddings, torch.ones(2, 8)]))
    after = encoder.encode(texts)
    assert not np.array_equal(after, before)
    np.testing.assert_allclose(after, np.stack([encoder.encode(text) for text in texts]), atol=1e-6)


def test_a_tokenizer_that_is_not_word_level_gives_what_it_always_gave():
    encoder, texts = make("avg"), long_enough()
    encoder.tokenizer.backend_tokenizer.normalizer = None
    np.testing.assert_array_equal(encoder.encode(texts), np.stack([encoder.encode(text) for text in texts]))
    assert encoder.encode(["W3"] * 99)[0].tolist() == encoder.model.embeddings[1].tolist()


def test_half_precision_weights_give_single_precision_vectors():
    encoder, texts = make("avg"), long_enough()
    exact = encoder.encode(texts)
    encoder.model.to(torch.bfloat16)
    vectors = encoder.encode(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, exact, atol=0.02)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["w1", None], r"texts\[1\] is None, not a string"),
        (["w1", float("nan")], r"texts\[1\] is nan \(float\), not a string"),
        # The tokenizer would join them, as the two sentences of a pair.
        ([("w1", "w2 w3")], r"texts\[0\] is \('w1', 'w2 w3'\) \(tuple\), not a string"),
        (["w1", "w2", ["w3", "w4"]], r"texts\[2\] is \['w3', 'w4'\] \(list\), not a string"),
        (np.array([["w1", "w2"]]), r"texts\[0\] is .* \(ndarray\), not a string"),
        (None, "texts is None, not a string or a sequence of strings"),
        (b"w1 w2", r"texts is b'w1 w2' \(bytes\), not a string or a sequence"),
    ],
)
@pytest.mark.parametrize("method", ["encode", "tokenize", "token_ids"])
def test_the_error_for_what_is_no_text_says_where_and_what_it_is(method, texts, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        getattr(make("avg"), method)(texts)


def test_a_single_text_is_a_list_of_one_and_not_its_letters(encoder):
    assert encoder.tokenize("w1 w2") == encoder.tokenize(["w1 w2"])
    assert encoder.token_ids("w1 w2").ids.tolist() == encoder.token_ids(["w1 w2"]).ids.tolist()
    assert len(encoder.token_ids("w1 w2").offsets) == 2
    alone = encoder.similarity("w1 w2", "w2 w3")
    assert alone.shape == (1, 1)
    np.testing.assert_array_equal(alone, encoder.similarity(["w1 w2"], ["w2 w3"]))


def test_progress_goes_to_standard_error_only(capsys):
    make("avg").encode(TEXTS, show_progress_bar=True)
    captured = capsys.readouterr()
    assert captured.out == "" and "7/7" in captured.err


def test_a_saved_encoder_gives_equal_vectors(encoder, tmp_path):
    save(encoder, tmp_path)
    np.testing.assert_array_equal(SentenceEncoder.from_pretrained(tmp_path).encode(TEXTS), encoder.encode(TEXTS))


def damaged(folder, kind):
    if kind == "missing":
        return folder / "absent"
    if kind == "no config":
        (folder / "config.json").unlink()
    if kind == "bad config":
        (folder / "config.json").write_text("{")
    if kind == "other type":
        (folder / "config.json").write_text('{"model_type": "rnn_search"}')
    if kind == "no weights":
        (folder / "model.safetensors").unlink()
    if kind == "cut weights":
        content = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    if kind == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    if kind == "other tokenizer":
        save_tokenizer(build_word_level_tokenizer(f"x{number}" for number in range(99)), folder)
    if kind == "other shape":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "hidden_size": 9}))
    return folder


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "no such model folder"),
        ("no config", "no config.json"),
        ("bad config", "config.json is damaged"),
        ("other type", "type `rnn_search` is not a sentence encoder"),
        ("no weights", "no weights"),
        ("cut weights", "cannot be opened"),
        ("no tokenizer", "cannot be opened"),
        ("other tokenizer", "the tokenizer has ids up to 100"),
        ("other shape", "cannot be opened|do not fit"),
    ],
)
def test_unusable_folders_are_model_errors(tmp_path, kind, message):
    folder = damaged(save(make("lstm"), tmp_path / "model"), kind)
    with pytest.raises(ModelError, match=message) as caught:
        SentenceEncoder.from_pretrained(folder)
    assert "model" in caught.value.path and caught.value.remedy


@pytest.mark.parametrize("size", [0, "8", 2.0, None, True])
def test_a_batch_size_that_is_no_whole_number_above_0_is_refused_in_one_line(size):
    for encoder in (make("avg"), make("lstm")):
        with pytest.raises(UsageError, match=r"^batch_size (must be at least 1, not 0|is .*, not a whole number)"):
            encoder.encode(TEXTS, batch_size=size)
        assert len(encoder.encode(TEXTS, batch_size=np.int64(2))) == len(TEXTS)
