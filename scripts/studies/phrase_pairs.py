"""Makes training pairs of PPDB's words and judged phrases, and a graded set of judged phrases that are not among them.

    python scripts/studies/phrase_pairs.py --ppdb ../shared/data/ppdb --held-out held_out.tsv --train train.tsv

Of the judged pairs those of a third of the first phrases are held out, with their scores. Of the others the pairs of
3 or more points of 5 train, but for those of which a side is held out; besides, a random sample of PPDB's words, each
with its best paraphrase, but for those of which both are. `prepare pairs` and `prepare ppdb` make folders of both.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from hf_paraphrase.artefacts.files import write_text_whole

LEAST = 3.0
SHARE = 3
SEED = 0


def main() -> int:
    """Writes the two files and says how many pairs there are of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ppdb", type=Path, required=True, help="the folder with the two files of PPDB")
    parser.add_argument("--held-out", type=Path, required=True, help="the file of held-out judged pairs to write")
    parser.add_argument("--train", type=Path, required=True, help="the file of training pairs to write")
    parser.add_argument("--words", type=int, default=20_000, help="pairs of words to train on (default: %(default)s)")
    options = parser.parse_args()
    judged = list(_lines(options.ppdb / "ppdb-sample.annotated.tsv.gz"))
    rows = [line.split("\t") for line in judged]
    out = [crc32(row[2].encode()) % SHARE == 0 for row in rows]
    held_phrases = {phrase for row, held in zip(rows, out, strict=True) if held for phrase in row[2:4]}
    phrases = [
        (row[2], row[3])
        for row, held in zip(rows, out, strict=True)
        if not held and float(row[0]) >= LEAST and not held_phrases & set(row[2:4])
    ]
    lines = [line.split()[:2] for line in _lines(options.ppdb / "ppdb-xl.retrofitting.txt.gz")]
    # Numbers, names of documents and the like are paraphrases of each other there.
    words = [(row[0], row[1]) for row in lines if len(row) == 2 and all(word.isalpha() for word in row)]
    words = [pair for pair in words if not held_phrases >= set(pair)]
    words = random.Random(SEED).sample(words, min(options.words, len(words)))
    pairs = [*phrases, *words]
    write_text_whole(options.train, "".join(f"{first}\t{second}\n" for first, second in pairs))
    held = [f"{line}\n" for line, is_out in zip(judged, out, strict=True) if is_out]
    write_text_whole(options.held_out, "".join(held))
    print(f"{len(held):,} held out; {len(phrases):,} phrases and {len(words):,} words to train on", file=sys.stderr)
    return 0


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line.rstrip("\r\n")


if __name__ == "__main__":
    sys.exit(main())
