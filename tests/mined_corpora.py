"""Two made-up languages, an encoder of both, and collections with translations hidden in them."""

from __future__ import annotations

import numpy as np
import torch
from tiny_encoders import new_model

from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = 120


def sentences(random, count, language, length=6):
    """Return the meanings of sentences (the numbers of their words), and the sentences."""
    meanings = [tuple(random.choice(WORDS, length, replace=False).tolist()) for _ in range(count)]
    return meanings, [log(meaning, language) for meaning in meanings]


def log(meaning, language):
    return " ".join(f"{language}{number}" for number in meaning)


def write_encoder(folder, noise=0.3, seed=0, languages=("f", "e"), dimension=24):
    """An encoder in which a word and its translation have nearly the same vector."""
    random = np.random.default_rng(seed)
    words = [f"{language}{number}" for language in languages for number in range(WORDS)]
    tokenizer = build_word_level_tokenizer(words)
    base = random.normal(size=(WORDS, dimension))
    vectors = np.zeros((len(tokenizer), dimension), np.float32)
    # The vocabulary has another order in every process.
    for word, place in sorted(tokenizer.get_vocab().items()):
        if word[0] in languages and word[1:].isdigit():
            vectors[place] = base[int(word[1:])] + noise * random.normal(size=dimension)
    model = new_model("avg", vocab_size=len(tokenizer), hidden_size=dimension)
    with torch.no_grad():
        model.embeddings.copy_(torch.from_numpy(vectors))
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


def write_task(folder, part, count=60, planted=15, seed=0):
    """Write collections of `count` sentences in the layout of BUCC, with `planted` translations."""
    random = np.random.default_rng(seed)
    meanings, source = sentences(random, count, "f")
    _, target = sentences(random, count - planted, "e")
    target = [log(meaning, "e") for meaning in meanings[:planted]] + target
    order = random.permutation(count)
    target = [target[place] for place in order]
    where = {int(place): row for row, place in enumerate(order)}
    folder.mkdir(parents=True, exist_ok=True)
    for language, side in (("fr", source), ("en", target)):
        lines = [f"{language}-{row:09d}\t{text}\n" for row, text in enumerate(side, 1)]
        (folder / f"fr-en.{part}.{language}").write_text("".join(lines))
    gold = [f"fr-{row + 1:09d}\ten-{where[row] + 1:09d}\n" for row in range(planted)]
    (folder / f"fr-en.{part}.gold").write_text("".join(gold))
    return folder / f"fr-en.{part}"


def write_classifier(folder, seed=0):
    """A classifier of parallel sentences with random weights."""
    tokenizers = {
        side: build_word_level_tokenizer([f"{language}{number}" for number in range(WORDS)])
        for side, language in (("source", "f"), ("target", "e"))
    }
    sizes = {f"{side}_vocab_size": len(tokenizer) for side, tokenizer in tokenizers.items()}
    sizes |= {"embedding_size": 8, "hidden_size": 6, "initializer_range": 1.0}
    new_model("parallel_bigru", seed=seed, **sizes).save_pretrained(folder)
    for side, tokenizer in tokenizers.items():
        save_tokenizer(tokenizer, folder / f"{side}_tokenizer")
    return folder
