"""Encoders of other libraries small enough to be made in a test: BERT, RoBERTa, MPNet and tables of model2vec."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

WORDS = ["the", "cat", "sat", "on", "a", "mat", "doctor", "in", "paris", "car", "##s", "##ing", ",", ".", "'"]
KINDS = {"bert": (BertConfig, BertModel), "roberta": (RobertaConfig, RobertaModel), "mpnet": (MPNetConfig, MPNetModel)}
POSITIONS = 24


def tokenizer_of(kind):
    """WordPiece between `[CLS]` and `[SEP]`; for a RoBERTa bytes between `<s>` and `</s>`."""
    if kind == "roberta":
        pieces = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
        tokenizer = Tokenizer(
            models.BPE({piece: number for number, piece in enumerate(pieces)}, [], unk_token="<unk>")
        )
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        first, pad, last, unknown = pieces[:4]
    else:
        first, pad, last, unknown = pieces = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
        pieces = [*pieces, *WORDS]
        tokenizer = Tokenizer(models.WordPiece({p: number for number, p in enumerate(pieces)}, unk_token=unknown))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", special_tokens=[(first, 0), (last, 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token=first, pad_token=pad, sep_token=last, unk_token=unknown
    )


def write_transformer(folder, kind="bert", **settings):
    """Writes a model and its tokenizer, as plain transformers does."""
    torch.manual_seed(0)
    tokenizer = tokenizer_of(kind)
    config, model = KINDS[kind]
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    # Positions of RoBERTa and MPNet begin after the padding token.
    more = 0 if kind == "bert" else 2
    options = {"max_position_embeddings": POSITIONS + more, "initializer_range": 0.5, "pad_token_id": 1, **settings}
    model(config(vocab_size=len(tokenizer), **sizes, **options)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def numbers(rows, columns=6):
    return np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)


def write_model2vec(folder, tokenizer, vectors=None, **settings):
    """Writes a table of a vector for each token, as model2vec does, and opens it there."""
    library = pytest.importorskip("model2vec")
    vectors = numbers(tokenizer.get_vocab_size()) if vectors is None else vectors
    library.StaticModel(vectors, tokenizer, **settings).save_pretrained(folder)
    return library.StaticModel.from_pretrained(folder)


def static_module(modules, tokenizer=None, columns=6):
    """A module of sentence-transformers with a vector for each token."""
    tokenizer = tokenizer or tokenizer_of("bert").backend_tokenizer
    return modules.StaticEmbedding(tokenizer, numbers(tokenizer.get_vocab_size(), columns))


def write_modules(folder, make, **settings):
    """Writes the modules that `make` gets from sentence-transformers, and opens the folder there."""
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import modules

    torch.manual_seed(0)
    library.SentenceTransformer(modules=make(modules), device="cpu", **settings).save_pretrained(str(folder))
    return library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def write_cross_encoder(folder, labels=("score",), **settings):
    """Writes a BERT that scores pairs, with its labels."""
    torch.manual_seed(0)
    tokenizer = tokenizer_of("bert")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    options = {"max_position_embeddings": POSITIONS, "initializer_range": 0.5, "pad_token_id": 1, **settings}
    config = BertConfig(vocab_size=len(tokenizer), id2label=dict(enumerate(labels)), **sizes, **options)
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
