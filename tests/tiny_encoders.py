"""Small encoders and translation models in folders."""

from __future__ import annotations

import json

import torch

from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(10)]


def write_average(folder, words=WORDS, *, seed=0, classes=(AvgModel, AvgConfig), **settings):
    """Writes an average over words or a tokenizer, or another model, of 5 components; returns the folder."""
    tokenizer = build_word_level_tokenizer(words) if isinstance(words, list | set) else words
    torch.manual_seed(seed)
    sizes = {"hidden_size": 5, "initializer_range": 0.5, "unk_token_id": tokenizer.unk_token_id}
    sizes |= {} if "vocab_sizes" in settings else {"vocab_size": len(tokenizer)}
    model, config = classes
    model(config(**{**sizes, **settings})).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


def write_translator(folder, texts, pieces, **settings):
    """Writes an untrained translation model that prefers some words to others and ends its sentences."""
    torch.manual_seed(1)
    tokenizer = train_bpe_tokenizer(texts, pieces)
    sizes = {"vocab_size": len(tokenizer), "embedding_size": 6, "hidden_size": 8, "initialization": "xavier"}
    model = RnnSearchForConditionalGeneration(RnnSearchConfig(**sizes, **settings))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.8)
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
