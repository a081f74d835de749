from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tiny_encoders import write_average
from tokenizers import Tokenizer, models, pre_tokenizers

from hf_paraphrase.encoders.initial_vectors import read_initial_vectors, read_word_list
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer
from hf_paraphrase.training.word_vectors import fill_embeddings

WORDS = ["the", "cat", "sat", "down"]


def test_starting_from_a_saved_model_with_its_own_vocabulary_gives_its_table_again(tmp_path):
    ours = write_average(tmp_path / "ours", WORDS)
    table = AvgModel.from_pretrained(ours).embeddings.detach().numpy()
    vectors = read_initial_vectors(ours, ["cat", "dog"], first=1)
    assert vectors.words == ["the", "cat", "UUUNKKK"]
    np.testing.assert_array_equal(vectors.matrix, table[[2, 3, 1]])
    names = ["[PAD]", "[UNK]", *WORDS]
    for vectors in (read_initial_vectors(ours, WORDS), read_initial_vectors(ours, WORDS, pieces=names)):
        matrix = torch.zeros(6, 5)
        coverage = fill_embeddings(matrix, build_word_level_tokenizer(WORDS), vectors, np.arange(6), seed=0)
        np.testing.assert_array_equal(matrix[2:].numpy(), table[2:])
        assert coverage.with_vector == 4
    np.testing.assert_array_equal(read_initial_vectors(ours, WORDS, pieces=names).matrix[1], table[1])


def test_a_word_of_several_pieces_is_their_sum_and_unknown_pieces_are_left_out(tmp_path):
    """A folder as model2vec makes it, with an untrained vector of the unknown piece."""
    vocabulary = {"[UNK]": 0, "play": 1, "##ing": 2, "##er": 3, "cat": 4}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=20))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    table = np.arange(15, dtype=np.float32).reshape(5, 3)
    save_file({"embeddings": torch.from_numpy(table)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"model_type": "model2vec"}')
    vectors = read_initial_vectors(tmp_path, ["playing", "zzz", "cat", "cat zzz"])
    assert vectors.words == ["playing", "cat", "cat zzz"]
    np.testing.assert_allclose(vectors.matrix, [table[1] + table[2], table[4], table[4]])


def test_words_of_tables_side_by_side_add_up_to_the_sentences_of_the_encoder(tmp_path):
    encoder = SentenceEncoder.from_pretrained()
    encoder.save_pretrained(tmp_path / "copy")
    words = ["a", "", "guitarist", "played", "unheardofword"]
    for source in ("builtin", tmp_path / "copy"):
        vectors = read_initial_vectors(source, words, first=9)
        assert vectors.words == ["a", "guitarist", "played", "unheardofword"]
        # The first table has pieces of words, the second has trigrams, also across spaces.
        first, second = np.split(vectors.matrix.astype(np.float64), 2, axis=1)
        expected = np.split(encoder.encode("a guitarist played unheardofword"), 2)[0]
        summed = first.sum(axis=0)
        np.testing.assert_allclose(summed / np.linalg.norm(summed) * 0.7**0.5, expected, atol=1e-6)
        assert np.square(second).sum() / np.square(first).sum() == pytest.approx(0.3 / 0.7, rel=1e-5)
        assert np.linalg.norm(first[0]) < np.linalg.norm(first[1]) / 4
    with pytest.raises(UsageError, match=f"have {encoder.dimension} components, but 3 are requested"):
        read_initial_vectors("builtin", words, dimension=3)


def test_word_lists_may_be_vectors_or_counts(tmp_path):
    path = tmp_path / "w"
    path.write_text("3 2\nthe 1 2\ncat 3 4\nthe 5 6\n\nwin\n")
    assert read_word_list(path) == ["the", "cat", "win"]
    # Only spaces and tabs are between a word and its numbers.
    path.write_bytes("10\u00a0000 0.5\n x\x85\t1\n".encode())
    assert read_word_list(path) == ["10\u00a0000", "x\x85"]
    path.write_text("\n")
    with pytest.raises(InputError, match="no words"):
        read_word_list(path)
