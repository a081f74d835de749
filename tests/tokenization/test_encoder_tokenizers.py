from __future__ import annotations

import itertools

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_paraphrase.errors import ModelError
from hf_paraphrase.tokenization.encoder_pieces import load_encoder_tokenizer, train_encoder_bpe, train_encoder_unigram
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

SUBJECTS = ["the cat", "a small dog", "my neighbour’s sister", "nobody"]
VERBS = ["sleeps", "is sleeping", "plays", "was playing", "doesn't play"]
TEXTS = [f"{who.capitalize()} {does} {how}." for who, does, how in itertools.product(SUBJECTS, VERBS, ["well", "now"])]
TRAINERS = {"bpe": train_encoder_bpe, "unigram": train_encoder_unigram}


@pytest.fixture(scope="module", params=TRAINERS)
def tokenizer(request):
    return TRAINERS[request.param](TEXTS, 80)


def test_no_special_tokens_are_added_and_common_words_are_whole(tokenizer):
    ids = tokenizer("the cat")["input_ids"]
    assert not set(ids) & {0, 1} and tokenizer.decode(ids) == "the cat"
    assert tokenizer("")["input_ids"] == [] and tokenizer(" \n")["input_ids"] == []
    assert (
        tokenizer.decode(tokenizer("a neighbour's cat plays.")["input_ids"]).replace(" ", "")
        == "aneighbour'scatplays."
    )


def test_a_frequent_word_that_is_part_of_no_other_is_one_piece():
    tokenizer = train_encoder_unigram(["women sleep", "women play", "men sleep", "nobody sleeps"] * 30, 60)
    assert tokenizer.tokenize("Women sleep") == ["▁women", "▁sleep"]
    assert not any("\U00010000" in piece for piece in tokenizer.get_vocab())


def test_saved_tokenizers_open_with_equal_ids_and_byte_pairs_are_learnt_alike_in_every_run(tokenizer, tmp_path):
    if tokenizer.backend_tokenizer.model.__class__ is models.BPE:
        assert train_encoder_bpe(TEXTS, 80).backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    save_tokenizer(tokenizer, tmp_path)
    for opened in (AutoTokenizer.from_pretrained(tmp_path), load_encoder_tokenizer(tmp_path)):
        assert opened(TEXTS)["input_ids"] == tokenizer(TEXTS)["input_ids"]
        assert (opened.pad_token_id, opened.unk_token_id) == (0, 1)


def test_the_end_token_of_another_tokenizer_is_no_longer_added(tmp_path):
    translation = train_bpe_tokenizer(TEXTS, 80)
    save_tokenizer(translation, tmp_path)
    tokenizer = load_encoder_tokenizer(tmp_path)
    for text in TEXTS:
        assert tokenizer(text)["input_ids"] == translation(text)["input_ids"][:-1]
    save_tokenizer(tokenizer, tmp_path / "again")
    assert AutoTokenizer.from_pretrained(tmp_path / "again")(TEXTS)["input_ids"] == tokenizer(TEXTS)["input_ids"]


def byte_level(folder):
    """A tokenizer like GPT-2's and RoBERTa's, without padding and unknown token, with a start and an end."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=7)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
    return Tokenizer.from_str(tokenizer.to_str())


def test_missing_padding_and_unknown_tokens_are_added_and_ids_stay(tmp_path):
    backend = byte_level(tmp_path)
    backend.no_truncation()
    backend.no_padding()
    tokenizer = load_encoder_tokenizer(tmp_path)
    size = backend.get_vocab_size()
    assert {tokenizer.pad_token_id, tokenizer.unk_token_id} == {size, size + 1} and len(tokenizer) == size + 2
    for text in TEXTS:
        assert tokenizer(text)["input_ids"] == backend.encode(text, add_special_tokens=False).ids


def test_unusable_folders_and_ids_with_gaps_are_named(tmp_path):
    with pytest.raises(ModelError, match="no such tokenizer folder"):
        load_encoder_tokenizer(tmp_path / "absent")
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        load_encoder_tokenizer(tmp_path)
    save_tokenizer(build_word_level_tokenizer(["a"]), tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be opened") as caught:
        load_encoder_tokenizer(tmp_path)
    assert caught.value.remedy and caught.value.path == str(tmp_path / "tokenizer.json")
    gaps = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 5}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=gaps, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="3 tokens and ids up to 5"):
        load_encoder_tokenizer(tmp_path)
