from __future__ import annotations

import numpy as np
import pytest
import torch
from parallel_pairs import examples_of, many

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.studies.mining.parallel_training import hard_candidates
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary


def encoder_of(texts, seed):
    tokenizer = build_word_level_tokenizer(sentence_vocabulary(texts, contractions=False), contractions=False)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=5, initializer_range=1.0))
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        model.embeddings.copy_(torch.from_numpy(generator.normal(size=(len(tokenizer), 5)).astype(np.float32)))
    return SentenceEncoder(model, tokenizer)


def test_the_n_best_list_is_that_of_all_cosines_without_the_known_translations():
    examples = examples_of([*many(40), (many(1)[0][0], "t7 v1")], many(5, seed=2))
    source, target = encoder_of(examples.source.texts, 1), encoder_of(examples.target.texts, 2)
    found = hard_candidates(examples, source, target, 6)
    sources = source.encode(examples.source.texts, normalize=True)
    cosines = sources @ target.encode(examples.target.texts[: examples.target.trained], normalize=True).T
    known = examples.are_parallel(np.arange(len(examples.source.texts))[:, None], np.arange(examples.target.trained))
    cosines[known] = -2.0
    expected = (-cosines).argsort(axis=1, kind="stable")[:, :6]
    got = np.take_along_axis(cosines, found.astype(np.int64), axis=1)
    np.testing.assert_allclose(got, np.take_along_axis(cosines, expected, axis=1), atol=1e-5)
    assert found.dtype == np.int32 and found.shape == (len(examples.source.texts), 6)


def test_encoders_that_know_no_word_of_their_side_are_refused():
    examples = examples_of(many(4))
    good = encoder_of(examples.target.texts, 2)
    silent = encoder_of(examples.source.texts, 1)
    silent.model.embeddings.data.zero_()
    with pytest.raises(InputError, match="no word of the source side is in"):
        hard_candidates(examples, silent, good, 3)
