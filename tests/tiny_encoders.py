"""Small encoders and translation models, and folders of them."""

from __future__ import annotations

import json

import torch

from hf_paraphrase.classification.references import LABELS
from hf_paraphrase.models.registry import config_class, model_class
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(10)]


def new_model(classes, *, seed=0, **settings):
    """A model with random weights: of the type of that name, or of a pair of classes."""
    torch.manual_seed(seed)
    model, config = (model_class(classes), config_class(classes)) if isinstance(classes, str) else classes
    return model(config(**settings))


def write_average(folder, words=WORDS, *, seed=0, classes="avg", **settings):
    """Writes an average over words or a tokenizer, or another model, of 5 components; returns the folder."""
    tokenizer = build_word_level_tokenizer(words) if isinstance(words, list | set) else words
    sizes = {"hidden_size": 5, "initializer_range": 0.5, "unk_token_id": tokenizer.unk_token_id}
    sizes |= {} if "vocab_sizes" in settings else {"vocab_size": len(tokenizer)}
    new_model(classes, seed=seed, **{**sizes, **settings}).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


def write_reference_classifier(folder, words):
    """Writes a classifier of references and translations, an untrained average."""
    tokenizer = build_word_level_tokenizer(words)
    encoder = {"model_type": "avg", "vocab_size": len(tokenizer), "hidden_size": 5, "initializer_range": 1.0}
    new_model("sentence_classifier", sentence_encoder=encoder, id2label=dict(LABELS)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


def new_translator(size, *, seed=0, std=0.8, **settings):
    """Return an untrained translation model of `size` tokens, with weights large enough to prefer some words."""
    sizes = {"vocab_size": size, "embedding_size": 6, "hidden_size": 8, "initialization": "xavier"}
    model = new_model("rnn_search", seed=seed, **{**sizes, **settings}).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std)
    return model


def write_translator(folder, texts, pieces, **settings):
    """Writes such a model, which ends its sentences, and its tokenizer."""
    tokenizer = train_bpe_tokenizer(texts, pieces)
    model = new_translator(len(tokenizer), seed=1, **settings)
    with torch.no_grad():
        model.lm_head.bias[:4] = torch.tensor([-100.0, -100.0, 18.0, -100.0])
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def with_all_parameters_moved(model):
    """Biases start at zero, where a misplaced one would not be seen."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model.eval()


def change_json(path, **values):
    """Changes values of a JSON file, or writes them as one."""
    before = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**before, **values}))
