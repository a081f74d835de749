"""Pairs of sentences in two languages, as the classifier of parallel sentences is trained on them."""

from __future__ import annotations

import numpy as np

from hf_paraphrase.studies.mining.parallel_examples import TRAIN, VALIDATION, ParallelExamples, ParallelTexts
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary


def texts_of(train, dev=()):
    splits = {TRAIN: list(train), **({VALIDATION: list(dev)} if dev else {})}
    source, target = ({split: [row[side] for row in rows] for split, rows in splits.items()} for side in (0, 1))
    return ParallelTexts(source, target, "fr", "en")


def examples_of(train, dev=()):
    texts = texts_of(train, dev)
    tokenizers = (
        build_word_level_tokenizer(sentence_vocabulary(side[TRAIN], contractions=False), contractions=False)
        for side in (texts.source, texts.target)
    )
    return ParallelExamples.encode(texts, *tokenizers)


def many(count, seed=0):
    generator = np.random.default_rng(seed)
    return [
        (f"s{row} {' '.join(f'w{i}' for i in generator.integers(9, size=3))}", f"t{row} v{row % 5}")
        for row in range(count)
    ]
