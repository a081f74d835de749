"""Tiny translation models of transformers' own types, with random weights and tokenizers trained here."""

from __future__ import annotations

import itertools
import json

import torch
from transformers import (
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    MBartTokenizer,
    NllbTokenizer,
    T5Config,
    T5ForConditionalGeneration,
    T5Tokenizer,
)

WORDS = {"un": "one", "deux": "two", "trois": "three", "quatre": "four", "chat": "cat"}
SENTENCES = [" ".join(words) for length in (1, 2, 3) for words in itertools.product(WORDS, repeat=length)]
SOURCES = ["un chat", "deux trois un deux trois un deux", "trois un quatre"]
KINDS = ["marian", "m2m100", "nllb", "mbart", "t5"]
SLOW = ["marian", "m2m100"]
"""Those whose tokenizer needs the package sentencepiece."""
LANGUAGES = {
    "m2m100": {"source_lang": "fr", "target_lang": "en"},
    "nllb": {"source_lang": "fra_Latn", "target_lang": "eng_Latn"},
    "mbart": {"source_lang": "fr_XX", "target_lang": "en_XX"},
    "t5": {"source_lang": "fr", "target_lang": "en"},
}
"""The languages to open a model for; a Marian model knows no others."""
_ALL_WORDS = [*WORDS, *WORDS.values()]
_PIECES = ["▁", *sorted(set("".join(_ALL_WORDS))), *(f"▁{word}" for word in _ALL_WORDS)]
_SIZES = {"layers": 1, "attention_heads": 2, "ffn_dim": 24}
_SIZES = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in _SIZES.items()}
_SIZES |= {"d_model": 16, "max_position_embeddings": 60}


def _unigram(*special):
    scores = [(token, 0.0) for token in special]
    return [*scores, *((piece, -1.0 - 0.1 * number) for number, piece in enumerate(_PIECES))]


def _sentencepiece(path):
    """Trains a SentencePiece model and returns its pieces."""
    import sentencepiece

    corpus = path.with_suffix(".txt")
    corpus.write_text("\n".join([*SENTENCES, *map(translated, SENTENCES)]))
    settings = {"vocab_size": 40, "hard_vocab_limit": False, "minloglevel": 2}
    sentencepiece.SentencePieceTrainer.train(input=str(corpus), model_prefix=str(path.with_suffix("")), **settings)
    path.with_suffix(".model").rename(path)
    corpus.unlink()
    path.with_suffix(".vocab").unlink()
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(number) for number in range(3, model.get_piece_size())]


def _m2m100(folder):
    from transformers import M2M100Tokenizer

    pieces = _sentencepiece(folder / "sentencepiece.bpe.spm")
    (folder / "sentencepiece.bpe.spm").rename(folder / "sentencepiece.bpe.model")
    vocabulary = {token: number for number, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"))
    config = M2M100Config(vocab_size=len(vocabulary) + 108, decoder_start_token_id=2, **_SIZES)
    return M2M100ForConditionalGeneration(config), tokenizer


def _marian(folder):
    from transformers import MarianTokenizer

    for side in ("source", "target"):
        pieces = _sentencepiece(folder / f"{side}.spm")
    vocabulary = {token: number for number, token in enumerate(["</s>", "<unk>", *pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    files = [folder / name for name in ("source.spm", "target.spm", "vocab.json")]
    tokenizer = MarianTokenizer(*map(str, files), source_lang="fr", target_lang="en")
    pad = vocabulary["<pad>"]
    special = {"pad_token_id": pad, "bos_token_id": None, "decoder_start_token_id": pad}
    special |= {"eos_token_id": 0, "forced_eos_token_id": 0}
    model = MarianMTModel(MarianConfig(vocab_size=len(vocabulary), **special, **_SIZES))
    model.generation_config.update(bad_words_ids=[[pad]], renormalize_logits=True)
    return model, tokenizer


def _nllb(folder):
    merges = [(f"▁{word}"[:end], word[end - 1]) for word in _ALL_WORDS for end in range(1, len(word) + 1)]
    pieces = [*_PIECES, *("".join(merge) for merge in merges)]
    vocabulary = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *pieces])
    vocabulary = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = NllbTokenizer(vocab=vocabulary, merges=list(dict.fromkeys(merges)))
    config = M2M100Config(vocab_size=len(tokenizer), decoder_start_token_id=2, **_SIZES)
    model = M2M100ForConditionalGeneration(config)
    model.generation_config.update(max_length=25)
    return model, tokenizer


def _mbart(folder):
    tokenizer = MBartTokenizer(vocab=_unigram("<s>", "<pad>", "</s>", "<unk>"))
    return MBartForConditionalGeneration(MBartConfig(vocab_size=len(tokenizer), **_SIZES)), tokenizer


def _t5(folder):
    tokenizer = T5Tokenizer(vocab=_unigram("<pad>", "</s>", "<unk>"), extra_ids=2)
    sizes = {"vocab_size": len(tokenizer) + 5, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}
    tasks = {f"translation_fr_to_{code}": {"prefix": text} for code, text in (("en", "two four: "), ("de", "three: "))}
    config = T5Config(**sizes, decoder_start_token_id=0, task_specific_params=tasks)
    return T5ForConditionalGeneration(config), tokenizer


def translated(sentence):
    """Translates word by word."""
    return " ".join(WORDS[word] for word in sentence.split())


@torch.no_grad()
def log_prob_of(model, row, first, **batch):
    """Return Σ log p of the tokens of a row from index `first` on, each from its own forward pass."""
    total = 0.0
    for place in range(first, len(row)):
        logits = model(**batch, decoder_input_ids=torch.tensor([row[:place]]), use_cache=False).logits
        total += float(logits[0, -1].double().log_softmax(-1)[row[place]])
    return total


def save_model(kind, folder, *, steps=80):
    """Trains a model a little as transformers does, so that it ends its translations; returns its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    make = {"marian": _marian, "m2m100": _m2m100, "nllb": _nllb, "mbart": _mbart, "t5": _t5}[kind]
    model, tokenizer = make(folder)
    languages = dict(LANGUAGES.get(kind, {}))
    prefix = "two four: " if kind == "t5" else ""
    if kind in ("m2m100", "nllb", "mbart"):
        tokenizer.src_lang, tokenizer.tgt_lang = languages["source_lang"], languages["target_lang"]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(steps):
        sources = SENTENCES[step % 5 :: 5]
        batch = tokenizer(
            [prefix + text for text in sources],
            text_target=[translated(text) for text in sources],
            padding=True,
            return_tensors="pt",
        )
        batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    if kind == "marian":  # as in the models that Marian itself trained
        with torch.no_grad():
            model.get_input_embeddings().weight[tokenizer.pad_token_id] = 0.0
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    # Multilingual models of the Hub have no default languages.
    named = {name: value for name, value in settings.items() if name not in ("src_lang", "tgt_lang")}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    return folder
