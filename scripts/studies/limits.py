"""Measure how often encoders rank a sentence with another meaning above a paraphrase.

    python scripts/studies/limits.py --data DATA --models builtin multilingual MiniLM=FOLDER

DATA contains manythings/. Two English sentences of Tatoeba with a common translation are paraphrases. The first
sentence is altered so that its meaning changes while nearly all words stay: `not` is added, two names are swapped, a
name is replaced, or a number is changed. The table shows the percentage of pairs whose altered sentence is closer to
the original than the paraphrase is. An encoder that understands the change scores 0.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.tables import format_table

NAMES = ("Tom", "Mary", "John", "Jack", "Bob", "Ken", "Jim", "Alice")
_VERB = re.compile(r"\b(is|are|was|were|can|will|should|must|could|would)\b(?! not|n't)")
_NAME = re.compile(rf"\b({'|'.join(NAMES)})\b")
_NUMBER = re.compile(r"\b([2-9]|[1-9]\d+)\b")


def negate(sentence: str) -> str:
    """Add `not` after the first auxiliary verb."""
    return _VERB.sub(r"\1 not", sentence, count=1)


def swap_names(sentence: str) -> str:
    """Exchange the first two names."""
    first, second, *_ = [*dict.fromkeys(_NAME.findall(sentence)), "", ""]
    if not second:
        return sentence
    return _NAME.sub(lambda match: {first: second, second: first}.get(match[0], match[0]), sentence)


def replace_name(sentence: str) -> str:
    """Replace each name by another one."""
    return _NAME.sub(lambda match: NAMES[(NAMES.index(match[0]) + 3) % len(NAMES)], sentence)


def change_number(sentence: str) -> str:
    """Double each number."""
    return _NUMBER.sub(lambda match: str(2 * int(match[0])), sentence)


ALTERATIONS: dict[str, Callable[[str], str]] = {
    "`not` added": negate,
    "two names swapped": swap_names,
    "name replaced": replace_name,
    "number changed": change_number,
}


def read_paraphrases(data: Path) -> list[tuple[str, str]]:
    """Read pairs of different English sentences with a common translation, in random order."""
    sentences = defaultdict(list)
    for path in sorted(data.glob("manythings/*-eng/*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                english, translation, *_ = line.rstrip("\n").split("\t")
                sentences[translation].append(english)
    different = (list(dict.fromkeys(texts)) for texts in sentences.values())
    pairs = sorted({(texts[0], texts[1]) for texts in different if len(texts) > 1})
    random.Random(0).shuffle(pairs)
    return pairs


def count_confusions(encoder: SentenceEncoder, triples: list[tuple[str, str, str]]) -> float:
    """Return the percentage of triples whose altered sentence is closer to the original than the paraphrase."""
    vectors = [encoder.encode(list(texts), normalize_embeddings=True) for texts in zip(*triples, strict=True)]
    original, paraphrase, altered = map(np.asarray, vectors)
    return 100 * float(((original * altered).sum(1) > (original * paraphrase).sum(1)).mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpora")
    parser.add_argument("--models", nargs="+", default=["builtin", "multilingual"], help="encoders, or NAME=FOLDER")
    parser.add_argument("--most", type=int, default=1000, help="maximum number of pairs per alteration")
    options = parser.parse_args()
    pairs = read_paraphrases(options.data)
    triples = {}
    for name, alter in ALTERATIONS.items():
        triples[name] = [(text, other, alter(text)) for text, other in pairs if alter(text) != text][: options.most]
    rows = {name: [name, str(len(some))] for name, some in triples.items()}
    models = dict(model.split("=", 1) if "=" in model else (model, model) for model in options.models)
    for folder in models.values():
        encoder = SentenceEncoder.from_pretrained(folder)
        for name, some in triples.items():
            rows[name].append(f"{count_confusions(encoder, some):.0f}")
    print(format_table(["alteration", "pairs", *models], list(rows.values())), end="")


if __name__ == "__main__":
    main()
