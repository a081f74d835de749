"""Makes the built-in sample (`hf_paraphrase/data/sample/*.tsv.xz`) of Tatoeba's French-English pairs.

The same raw file and list of fingerprints give the same bytes. The raw file, `English TAB French` a line, plain or
compressed, is that of manythings.org/anki (fra-eng). Usage:

    python scripts/make_sample.py fra.txt.gz --held-out held_out.sha256-16.txt.gz
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import re
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np

from hf_paraphrase.data.evaluation_sets import load_fingerprints
from hf_paraphrase.data.fingerprints import normalise
from hf_paraphrase.data.sample import BITEXT_FILE, FOLDER, PARAPHRASE_FILE
from hf_paraphrase.data.text_files import LineErrors, read_lines
from hf_paraphrase.encoders.search.bm25 import count_matrix, words_and_marks
from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.evaluation.baselines import character_trigrams, trigram_weights

SHORTEST, LONGEST = 3, 9
ENGLISH_WORDS, FRENCH_WORDS = 2_000, 3_000
BITEXT_SIZES = {"test": 1_000, "validation": 600, "train": 30_000}
PARAPHRASE_SIZES = {"test": 800, "validation": 300}
NEGATIVES = 5
# Paraphrases that share more of their words than this differ in a trifle only.
MOST_SHARED = 0.6

# Words that two sentences may differ in and still mean much the same: no negative differs in these alone.
_FUNCTION_WORDS = """
a an the this that these those it its i me my mine you your yours he him his she her hers we us our ours they
them their theirs myself yourself himself herself ourselves themselves one ones
am is are was were be been being do does did done have has had having will would shall should can could may might
must going gonna to of in on at for from by with about into as up out there here and or but so then than if
not no t don doesn didn isn aren wasn weren won wouldn couldn shouldn haven hasn hadn cannot ain s m re ve ll d
very really just only too quite all also well now please some any more much many even still already
"""
# Words that differ in half of Tatoeba's variants of a sentence.
_POINTING_WORDS = {"a", "an", "the", "one", "this", "that", "these", "those", "it"}
_MALE, _FEMALE = {"he", "him", "his", "himself"}, {"she", "her", "hers", "herself"}
# A sample that prints its sentences without being asked keeps to what one may read aloud anywhere.
_UNWELCOME = re.compile(
    r"\b(kill|murder|shoot|shot|gun|naked|drunk|stupid|idiot|fool|fat\b|ugly|hate|dead|die\b|died|dying|death|kiss)",
    re.IGNORECASE,
)
_CONTRACTIONS = (
    (re.compile(r"\bcan['’]t\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon['’]t\b", re.IGNORECASE), "will not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"['’]m\b", re.IGNORECASE), " am"),
    (re.compile(r"['’]re\b", re.IGNORECASE), " are"),
    (re.compile(r"['’]ve\b", re.IGNORECASE), " have"),
    (re.compile(r"['’]ll\b", re.IGNORECASE), " will"),
    (re.compile(r"['’]s\b", re.IGNORECASE), " is"),
)
_SPACES = re.compile(r"[\s\u200b\u00ad]+")

Pair = tuple[str, str]
Item = TypeVar("Item", str, Pair)


def read_pairs(path: Path, held_out: Path) -> list[Pair]:
    """Reads the English and French sentences, one kind of space, without what people judge encoders by."""
    errors = LineErrors()
    lines = [line for block in read_lines(path, errors) for line in block.to_pylist()]
    pairs: dict[Pair, None] = {}
    for number, line in enumerate(lines, 1):
        english, tab, french = line.partition("\t")
        if not tab:
            raise InputError("no tab", path=path, line=number, remedy="give lines of English, a tab and French")
        pairs[one_kind_of_space(english), one_kind_of_space(french.split("\t")[0])] = None
    held_out_texts = load_fingerprints([held_out])
    english, french = (held_out_texts.contains([pair[side] for pair in pairs]) for side in (0, 1))
    return [pair for pair, contaminated in zip(pairs, english | french, strict=True) if not contaminated]


def one_kind_of_space(text: str) -> str:
    """Composes letters and marks (NFC), and makes every run of spaces, of whatever width, one plain space."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", text)).strip()


def meanings(pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Names for each pair the group of sentences to which translation links it, directly or through others."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    pairs = list(pairs)
    for english, french in pairs:
        one, other = sorted((root(f"en {normalise(english)}"), root(f"fr {normalise(french)}")))
        parent[other] = one
    return {pair: root(f"en {normalise(pair[0])}") for pair in pairs}


def common(pairs: Iterable[Pair]) -> list[Pair]:
    """Keeps the pairs of a fit length of which both sides have none but common words."""
    pairs = list(pairs)
    words = [[normalise(text).split() for text in pair] for pair in pairs]
    known = []
    for side, size in enumerate((ENGLISH_WORDS, FRENCH_WORDS)):
        counts = Counter(word for row in words for word in row[side])
        known.append(set(sorted(counts, key=lambda word: (-counts[word], word))[:size]))
    return [
        pair
        for pair, row in zip(pairs, words, strict=True)
        if all(SHORTEST <= len(text.split()) <= LONGEST for text in pair)
        and all(present and known[side].issuperset(present) for side, present in enumerate(row))
        and '"' not in pair[0]
        and not _UNWELCOME.search(pair[0])
    ]


def drawn(items: Iterable[Item], purpose: str) -> list[Item]:
    """Puts items into an order that looks random and is the same on every machine."""
    return sorted(items, key=lambda item: hashlib.sha256(f"{purpose}\t{item!r}".encode()).hexdigest())


def full_words(sentence: str) -> frozenset[str]:
    """Returns the words of a sentence, contractions spelt out and without those that only point at something."""
    for pattern, replacement in _CONTRACTIONS:
        sentence = pattern.sub(replacement, sentence)
    return frozenset(normalise(sentence).split()) - _POINTING_WORDS


def content(sentence: str) -> frozenset[str]:
    """Returns the words of a sentence that are not function words."""
    return frozenset(normalise(sentence).split()).difference(_FUNCTION_WORDS.split())


def is_paraphrase(first: str, second: str) -> bool:
    """Returns whether two translations of one sentence differ in more than a trifle, and not in whom they speak of."""
    words = full_words(first), full_words(second)
    genders = [(bool(side & _MALE), bool(side & _FEMALE)) for side in words]
    return genders[0] == genders[1] and len(words[0] & words[1]) <= MOST_SHARED * len(words[0] | words[1])


def human_paraphrases(pairs: Iterable[Pair], meaning: Mapping[Pair, str]) -> dict[str, Pair]:
    """Finds for each group of linked sentences at most one pair of English ones that share a French translation."""
    translations: dict[str, set[str]] = defaultdict(set)
    group: dict[str, str] = {}
    for english, french in pairs:
        translations[normalise(french)].add(english)
        group[normalise(french)] = meaning[english, french]
    found: dict[str, list[Pair]] = defaultdict(list)
    for french, variants in translations.items():
        sentences = drawn(variants, "side")
        found[group[french]] += [
            (first, second)
            for place, first in enumerate(sentences)
            for second in sentences[place + 1 :]
            if is_paraphrase(first, second)
        ]
    return {name: drawn(choices, "paraphrase")[0] for name, choices in found.items() if choices}


def vectors(sentences: list[str]) -> np.ndarray:
    """Returns vectors whose products are the mean of the cosines of words and of weighted trigrams, (n, items)."""
    parts = []
    for items_of, known in ((words_and_marks, {}), (character_trigrams, trigram_weights())):
        vocabulary: dict[str, int] = {}
        counts = count_matrix([items_of(sentence) for sentence in sentences], vocabulary).toarray()
        counts *= np.array([known.get(item, 1.0) for item in vocabulary])
        parts.append((counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32))
    return np.concatenate(parts, axis=1)


def hard_negatives(paraphrases: list[Pair], pool: list[str]) -> list[list[str]]:
    """Takes for each pair the sentences of the pool that look most like its first one and say something else."""
    firsts = vectors([*(first for first, _ in paraphrases), *pool])
    likeness = firsts[: len(paraphrases)] @ firsts[len(paraphrases) :].T
    contents = [content(sentence) for sentence in pool]
    chosen = []
    for (first, second), row in zip(paraphrases, np.round(likeness, 4), strict=True):
        own = {content(first), content(second)}
        order = sorted(np.argsort(-row, kind="stable")[:200], key=lambda place: (-row[place], pool[place]))
        taken: dict[frozenset[str], str] = {}
        for place in order:
            if contents[place] not in own and len(taken) < NEGATIVES:
                taken.setdefault(contents[place], pool[place])
        chosen.append(list(taken.values()))
    return chosen


def write(path: Path, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Writes a compressed table, its columns named on the first line."""
    text = "".join("\t".join(row) + "\n" for row in [columns, *sorted(map(tuple, rows))])
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{path}: {path.stat().st_size:,} bytes")


def make(raw: Path, held_out: Path, output: Path) -> None:
    """Makes both files."""
    everything = read_pairs(raw, held_out)
    meaning = meanings(everything)
    pairs = common(everything)
    members: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        members[meaning[pair]].append(pair)

    # Whole groups of linked sentences go to one place, so that neither an English nor a French one is in two.
    judged = human_paraphrases(pairs, meaning)
    names = drawn(judged, "paraphrases")[: sum(PARAPHRASE_SIZES.values())]
    bitext: list[tuple[str, ...]] = []
    free = iter(drawn(set(members) - set(names), "bitext"))
    for split, size in BITEXT_SIZES.items():
        rows: list[Pair] = []
        while len(rows) < size:
            rows += members[next(free)]
        bitext += [(split, *pair) for pair in rows[:size]]
    pool = drawn({english for name in free for english, _ in members[name]}, "pool")
    paraphrases: list[tuple[str, ...]] = []
    parts = iter(pool[half :: len(PARAPHRASE_SIZES)] for half in range(len(PARAPHRASE_SIZES)))
    for split, size in PARAPHRASE_SIZES.items():
        positives = [judged[names.pop()] for _ in range(size)]
        negatives = hard_negatives(positives, next(parts))
        paraphrases += [(split, *pair, *others) for pair, others in zip(positives, negatives, strict=True)]
    print(f"{len(pairs):,} pairs of common words, {len(judged):,} paraphrases, {len(pool):,} sentences for negatives")
    write(output / BITEXT_FILE, ("split", "english", "french"), bitext)
    write(output / PARAPHRASE_FILE, ("split", "sentence", "paraphrase", *["negative"] * NEGATIVES), paraphrases)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("raw", type=Path, help="English, a tab, French; one pair a line")
    parser.add_argument("--held-out", type=Path, required=True, help="fingerprints of sentences to leave out")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the files")
    arguments = parser.parse_args()
    try:
        make(arguments.raw, arguments.held_out, arguments.output)
    except HfParaphraseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
