"""Models, texts and graded folders for the reports of `analyze`, and what is read of them."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import torch

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.known_texts import KnownTexts
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(12)]
QUERY = "w1 w2 w3"


def run(*words):
    return main(["analyze", *map(str, words)])


def save_model(folder, model_type=AvgModel, configuration=AvgConfig, seed=0, words=WORDS):
    torch.manual_seed(seed)
    tokenizer = build_word_level_tokenizer([*words, "|", "."])
    model_type(configuration(vocab_size=len(tokenizer), hidden_size=6, initializer_range=0.5)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def embed(folder, texts):
    return KnownTexts(SentenceEncoder.from_pretrained(folder)).embed(texts).astype(np.float64)


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.with_suffix(".svg").read_text().startswith("<?xml")


def write_graded(folder, splits):
    """Writes a graded folder: the scores of splits by their names."""
    generator = np.random.default_rng(0)
    for split, scores in splits.items():
        sides = [[" ".join(generator.choice(WORDS, 3)) for _ in scores] for _ in range(2)]
        table = pa.table({"sentence1": sides[0], "sentence2": sides[1], "score": pa.array(scores, pa.float64())})
        write_split(folder, split, [table], table.schema)
    return folder
