"""Keeps of a file of word vectors the words that occur in some data folders or evaluation sets.

    python scripts/studies/used_vectors.py --vectors glove.txt --text DIR DIR --data STS --output FILE

An encoder of these words is smaller and faster to train, and the same where no other word is looked up.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from hf_paraphrase.artefacts.whole_files import written_whole
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.tokenization.word_level import sentence_vocabulary

ENGLISH = {"sentence1", "sentence2", "target"}


def main() -> int:
    """Writes the file and says how many words it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, required=True, help="word vectors in GloVe's text layout")
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
        words = set(sentence_vocabulary(sentences(), min_frequency=1, max_size=None))
        with written_whole(options.output) as part, part.open("wb") as output, options.vectors.open("rb") as vectors:
            lines = [line for line in vectors if line.partition(b" ")[0].decode("utf-8", "replace") in words]
            output.writelines(lines)
    except HfParaphraseError as error:
        sys.stderr.write(f"used_vectors: error: {error}\n")
        return 2
    sys.stderr.write(f"{len(lines):,} of {len(words):,} words have a vector\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
