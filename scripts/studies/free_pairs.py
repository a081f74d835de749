"""Gathers English pairs that people wrote to say the same: what an encoder learns from without a teacher.

    python scripts/studies/free_pairs.py --data ../shared/data --wordnet DICT --output pairs.tsv.gz

`--data` has the folders `manythings` (Tatoeba: English sentences with a translation in common), `twitter_url` (tweets
on one article, judged paraphrases), `wikisplit`, `asset` and `turkcorpus` (sentences of Wikipedia and simpler ones),
`text` (headlines of AG's news and their first sentences) and `ppdb` (of each word its first four paraphrases, and
phrases that people judged 4 or better of 5); `--wordnet` is the folder `dict` of WordNet 3.0: words with their
definitions, and synonyms. `--only` takes some of these sources, by the names that are printed. Of a large source a
random sample of `--most` pairs is kept. The pairs are as they come: `prepare pairs --decontaminate` takes out what the
evaluation sets have.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from free_text import glosses

Pair = tuple[str, str]
PARAPHRASES_PER_WORD, LEAST_MEAN = 4, 4.0
MOST, SEED = 60_000, 0
_OF_WORDNET = ("definitions", "synonyms")
_TREEBANK = (("``", '"'), ("''", '"'), ("-lrb-", "("), ("-rrb-", ")"), ("-LRB-", "("), ("-RRB-", ")"))
_CONTRACTION = re.compile(r" (n't|'s|'re|'ve|'ll|'d|'m)\b")


def main(arguments: list[str] | None = None) -> int:
    """Writes the pairs, each once, and says how many each source has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--wordnet", type=Path, help="the folder `dict` of WordNet 3.0")
    parser.add_argument("--only", nargs="+", default=[], metavar="SOURCE", help="these sources (default: all)")
    parser.add_argument("--output", type=Path, required=True, help="the file to write, .tsv.gz")
    parser.add_argument("--most", type=int, default=MOST, help="pairs of a source at most (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.wordnet is None and not (options.only and set(options.only).isdisjoint(_OF_WORDNET)):
        parser.error(f"--wordnet is needed for {' and '.join(_OF_WORDNET)}")
    sources = {
        "shared translations": shared_translations(options.data),
        "tweets": _columns(
            options.data, "twitter_url/*.tsv.gz", lambda row: [(row[1], row[2])] if row[0] == "1" else []
        ),
        "splits": _columns(options.data, "wikisplit/*.tsv.gz", lambda row: [(row[0], " ".join(row[1:]))]),
        "simplifications": _columns(options.data, "asset/*.tsv.gz", lambda row: [(row[0], side) for side in row[1:]]),
        "more simplifications": turkcorpus(options.data),
        "headlines": headlines(options.data),
        "words": _columns(options.data, "ppdb/*.retrofitting.txt.gz", word_paraphrases),
        "phrases": _columns(options.data, "ppdb/*.annotated.tsv.gz", judged_phrases),
        "definitions": definitions(options.wordnet),
        "synonyms": synonyms(options.wordnet),
    }
    if not sources.keys() >= set(options.only):
        parser.error(f"--only: one of {', '.join(sources)}")
    seen: set[Pair] = set()
    with gzip.GzipFile(options.output, "wb", mtime=0) as stream:
        for name in options.only or sources:
            pairs = sources[name]
            kept = list(_different(pairs, seen))
            if len(kept) > options.most:
                kept = random.Random(SEED).sample(kept, options.most)
            stream.write("".join(f"{first}\t{second}\n" for first, second in kept).encode())
            print(f"{name}: {len(kept):,} pairs", file=sys.stderr)
    return 0


def _different(pairs: Iterable[Pair], seen: set[Pair]) -> Iterator[Pair]:
    """Leaves out pairs that were there before, in whatever order, and those of twice the same text."""
    for sides in pairs:
        first, second = map(plain, sides)
        key = min(first.lower(), second.lower()), max(first.lower(), second.lower())
        if all(key) and key[0] != key[1] and key not in seen:
            seen.add(key)
            yield first, second


def plain(text: str) -> str:
    """Writes brackets, quotes and contractions of a tokenised text as usual, and single spaces."""
    for found, wanted in _TREEBANK:
        text = text.replace(found, wanted)
    return " ".join(_CONTRACTION.sub(r"\1", text).split())


def shared_translations(data: Path) -> Iterator[Pair]:
    """Pairs English sentences that have a translation in common, each with the next in the order of the files."""
    for path in _paths(data, "manythings/*-eng/*.gz"):
        by_translation: dict[str, dict[str, None]] = defaultdict(dict)
        for english, other, *_ in _rows(path):
            by_translation[other.lower()][english] = None
        for sentences in by_translation.values():
            yield from itertools.pairwise(sentences)


def turkcorpus(data: Path) -> Iterator[Pair]:
    """Pairs the lines of the two files of TurkCorpus."""
    sides = [_paths(data, f"turkcorpus/*.{side}")[0].read_text(encoding="utf-8") for side in ("norm", "simp")]
    yield from zip(*(side.split("\n") for side in sides), strict=True)


def headlines(data: Path) -> Iterator[Pair]:
    """Pairs the lines of AG's news: a headline and the beginning of its article."""
    lines = [row[0] for path in _paths(data, "text/agnews.txt.gz") for row in _rows(path)]
    yield from zip(lines[::2], lines[1::2], strict=True)


def word_paraphrases(row: list[str]) -> list[Pair]:
    """Reads a line of PPDB's word paraphrases, best first: a word and its paraphrases."""
    word, *others = row[0].split()
    return [(word, other) for other in others[:PARAPHRASES_PER_WORD]]


def judged_phrases(row: list[str]) -> list[Pair]:
    """Reads a line of judged phrases: the mean of the judgements, a syntactic label, two phrases."""
    return [(row[2], row[3])] if float(row[0]) >= LEAST_MEAN else []


def definitions(wordnet: Path) -> Iterator[Pair]:
    """Pairs words of WordNet with their definitions."""
    for words, definition, _ in glosses(wordnet):
        yield from ((word, definition) for word in words if definition)


def synonyms(wordnet: Path) -> Iterator[Pair]:
    """Pairs the words of a synset of WordNet, each with the next."""
    for words, _, _ in glosses(wordnet):
        yield from itertools.pairwise(words)


def _columns(data: Path, pattern: str, pairs_of: Callable[[list[str]], Iterable[Pair]]) -> Iterator[Pair]:
    for path in _paths(data, pattern):
        for row in _rows(path):
            yield from pairs_of(row)


def _paths(data: Path, pattern: str) -> list[Path]:
    paths = sorted(data.glob(pattern))
    if not paths:
        raise SystemExit(f"{data}: no {pattern}")
    return paths


def _rows(path: Path) -> Iterator[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.rstrip("\r\n").split("\t")


if __name__ == "__main__":
    sys.exit(main())
