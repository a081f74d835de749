from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization import piece_lookup
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_bpe, train_encoder_unigram
from hf_paraphrase.tokenization.morfessor_tokenizer import morfessor_tokenizer
from hf_paraphrase.tokenization.morfessor_words import Morphs
from hf_paraphrase.tokenization.piece_lookup import PieceLookup
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.token_lookup import ids_of, lookup_for

TEXTS = ["The cat’s mat sat.", "a small dog – sat; again", "Éa dog\u00a0sat", "ﬁne ſ dogs"]
MORPHS = Morphs({"cat": 3, "s": 5, "dog": 2, "sat": 2, "a": 4, "t": 3, "▁": 1}, 12, 9)
KINDS = {
    "bpe": lambda lower_case: train_encoder_bpe(TEXTS, 60, lower_case=lower_case, min_frequency=1),
    "unigram": lambda lower_case: train_encoder_unigram(TEXTS, 60, lower_case=lower_case),
    "morfessor": lambda lower_case: morfessor_tokenizer(MORPHS, "omgin.’'é", lower_case=lower_case),
}
CHARACTERS = st.one_of(
    st.sampled_from("catdogs CATDOGS"),
    st.sampled_from("\t\n\x0b\x0c\r \x1c\x1f\x85\u00a0\u2028\u3000 ▁_'’.-[PADUNK]"),
    st.sampled_from("\u0308\u0301\u00a8é\u0130İßςΣſﬁ\u1100\u1161\u200b\u00ad٣１"),
    st.characters(codec="utf-8"),
)


@pytest.fixture(scope="module", params=[(kind, lower) for kind in KINDS for lower in (True, False)])
def tokenizer(request):
    kind, lower_case = request.param
    return KINDS[kind](lower_case)


def assert_equal_ids(found, backend, texts):
    expected = [encoding.ids for encoding in backend.encode_batch(texts, add_special_tokens=False)]
    borders = found.offsets.tolist()
    assert [found.ids[a:b].tolist() for a, b in pairwise(borders)] == expected


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text(CHARACTERS, max_size=25), max_size=5))
def test_ids_of_any_texts_are_those_of_tokenizers(tokenizer, texts):
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    assert isinstance(lookup, PieceLookup)
    for _ in range(2):  # with and without what is remembered
        assert_equal_ids(lookup(texts), backend, texts)


def test_added_tokens_are_cut_out_of_words_as_tokenizers_does(tokenizer):
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.add_special_tokens([AddedToken("cat", special=True, normalized=False)])
    lookup = lookup_for(backend)
    assert lookup is not None
    texts = ["cats cat dogcat [PAD]dog [UNK]", "Cats"]
    assert_equal_ids(lookup(texts), backend, texts)


def test_no_more_is_remembered_than_the_limit_and_results_stay(tokenizer, monkeypatch):
    monkeypatch.setattr(piece_lookup, "_REMEMBERED", 3)
    lookup = PieceLookup.for_tokenizer(tokenizer.backend_tokenizer)
    for texts in (["a b", "c"], ["c d a"], ["e f g h i"], ["a b c d e"]):
        assert_equal_ids(lookup(texts), tokenizer.backend_tokenizer, texts)
        assert len(lookup._known) <= 3


def test_other_tokenizers_are_left_to_the_library(tokenizer):
    def changed(change):
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        change(backend)
        return lookup_for(backend)

    assert changed(lambda backend: None) is not None
    assert changed(lambda backend: setattr(backend, "pre_tokenizer", pre_tokenizers.WhitespaceSplit())) is None
    assert changed(lambda backend: backend.add_tokens([AddedToken("a b")])) is None
    assert changed(lambda backend: backend.add_tokens([AddedToken("x", lstrip=True, normalized=False)])) is None
    assert lookup_for(train_bpe_tokenizer(TEXTS, 60).backend_tokenizer) is None
    if isinstance(tokenizer.backend_tokenizer.model, models.BPE):
        assert changed(lambda backend: setattr(backend.model, "dropout", 0.5)) is None


def test_texts_that_are_no_text_are_refused(tokenizer):
    lookup = lookup_for(tokenizer.backend_tokenizer)
    for wrong in (["a", None], ["\ud800"]):
        with pytest.raises(TypeError):
            lookup(wrong)
    assert len(ids_of(tokenizer.backend_tokenizer, [], lookup).ids) == 0


def test_an_encoder_over_pieces_gives_the_means_whether_texts_are_many_or_few(tokenizer):
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=5, initializer_range=1.0)).eval()
    encoder = SentenceEncoder(model, tokenizer)
    texts = [*TEXTS, "", " "] * 40
    table = model.embeddings.detach().numpy()
    ids = [tokenizer(text)["input_ids"] for text in TEXTS]
    expected = [*(table[row].mean(0) for row in ids), np.zeros(5), np.zeros(5)]
    np.testing.assert_allclose(encoder.encode(texts), np.array(expected * 40), atol=1e-5)
    np.testing.assert_allclose(encoder.encode(texts[:2]), np.array(expected[:2]), atol=1e-5)
