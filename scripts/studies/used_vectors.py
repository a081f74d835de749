"""Keeps of a file of word vectors the words that occur in some data folders or evaluation sets.

    python scripts/studies/used_vectors.py --vectors glove.txt --text DIR DIR --data STS --output FILE
    python scripts/studies/used_vectors.py --vectors builtin --components 100 --text DIR DIR --data STS --output FILE

An encoder of these words is smaller and faster to train, and the same where no other word is looked up. `--components`
keeps of the vectors those principal components in which sentences of the text, sums of their words, are the longest;
the words may then be those of a folder that `--initial-vectors` of train-encoder takes, or of the built-in encoder.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

from hf_paraphrase.artefacts.files import written_whole
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.initial_vectors import read_initial_vectors
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.tokenization.word_level import sentence_vocabulary
from start_vectors import WORD, kept_components

ENGLISH = {"sentence1", "sentence2", "target"}
SENTENCES = 20_000
"""Sentences, evenly spaced, in which principal components are found."""


def main() -> int:
    """Writes the file and says how many words it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", required=True, help="word vectors in GloVe's text layout")
    parser.add_argument(
        "--components", type=int, help="keep so many principal components (default: vectors as they are)"
    )
    parser.add_argument("--text", nargs="+", required=True, help="data folders: the English columns of all splits")
    parser.add_argument("--data", required=True, help="the folder of the STS sets")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    options = parser.parse_args()

    def sentences() -> Iterator[str]:
        for item in find_sts_sets(options.data).sets:
            yield from (*item.sentences1, *item.sentences2)
        for folder in map(DataFolder, options.text):
            for split in folder.splits:
                for name in ENGLISH & set(folder.schema(split).names):
                    yield from (text or "" for text in folder.table(split, [name]).column(name).to_pylist())

    try:
        # In our words, and in the Penn Treebank's, which some encoders have.
        found = (sentence_vocabulary(sentences(), treebank=treebank) for treebank in (False, True))
        words = list(dict.fromkeys(itertools.chain.from_iterable(found)))
        lines = (
            whole_lines(Path(options.vectors), set(words))
            if options.components is None
            else component_lines(options.vectors, words, list(sentences()), options.components)
        )
        with written_whole(options.output) as part:
            part.write_bytes(b"".join(lines))
    except HfParaphraseError as error:
        sys.stderr.write(f"used_vectors: error: {error}\n")
        return 2
    sys.stderr.write(f"{len(lines):,} of {len(words):,} words have a vector\n")
    return 0


def whole_lines(path: Path, words: set[str]) -> list[bytes]:
    """Takes the lines of some words over from a file of vectors."""
    with path.open("rb") as vectors:
        return [line for line in vectors if line.partition(b" ")[0].decode("utf-8", "replace") in words]


def component_lines(source: str, words: list[str], texts: list[str], components: int) -> list[bytes]:
    """Writes the principal components of the vectors of some words, a line each."""
    found = read_initial_vectors(source, words)
    index = {word: row for row, word in enumerate(found.words)}
    sentences = [WORD.findall(text.lower()) for text in texts[:: max(1, len(texts) // SENTENCES)]]
    matrix = found.matrix @ kept_components(found.matrix, index, sentences, 0, components)
    rows = zip(found.words, matrix.tolist(), strict=True)
    return [f"{word} {' '.join(f'{number:.5f}' for number in row)}\n".encode() for word, row in rows]


if __name__ == "__main__":
    sys.exit(main())
