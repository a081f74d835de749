"""Gathers the text that the built-in encoder learns from: English sentences whose licences allow it.

    python scripts/studies/free_text.py --data ../shared/data --wordnet DICT --output TEXT

`--data` has the folders `manythings` (of which the French-English file of Tatoeba is read, CC BY 2.0 FR),
`libreoffice_help` (MPL-2.0) and `wikisplit` (Wikipedia, CC BY-SA 4.0); `--wordnet` is the folder `dict` of WordNet 3.0
(its own licence, which allows all use), of which the definitions and the examples are taken. One file a source is
written, each sentence once, sentences of 3 words or more and 110 characters or fewer: what an encoder for short
sentences meets.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

FEWEST_WORDS, MOST_CHARACTERS = 3, 110
_EXAMPLE = re.compile(r'"([^"]+)"?')
_LOOSE_ENDS = re.compile(r"^[;,:\s-]+|[;,:\s-]+$")
_EMPTY_PARTS = re.compile(r"\s*;\s*(?:;\s*)+")
_ADJECTIVE_MARK = re.compile(r"\([a-z]+\)$")


def main(arguments: list[str] | None = None) -> int:
    """Writes the files and says how many sentences each has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the corpora")
    parser.add_argument("--wordnet", type=Path, required=True, help="the folder `dict` of WordNet 3.0")
    parser.add_argument("--output", type=Path, required=True, help="the folder to write into")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    sources = {
        "tatoeba": _columns(options.data, "manythings/fra-eng/*.txt.gz", slice(0, 1)),
        "libreoffice_help": _columns(options.data, "libreoffice_help/*.tsv.gz", slice(1, 2)),
        "wikipedia": _columns(options.data, "wikisplit/*.tsv.gz", slice(0, None)),
        "wordnet_definitions": _definitions(options.wordnet),
        "wordnet_examples": _examples(options.wordnet),
    }
    for name, sentences in sources.items():
        kept = list(_short_sentences(sentences))
        with gzip.GzipFile(options.output / f"{name}.txt.gz", "wb", mtime=0) as stream:
            stream.write("".join(f"{sentence}\n" for sentence in kept).encode())
        print(f"{name}: {len(kept):,} sentences", file=sys.stderr)
    return 0


def _short_sentences(sentences: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for sentence in sentences:
        text = " ".join(sentence.split())
        key = text.lower()
        if len(text) <= MOST_CHARACTERS and text.count(" ") + 1 >= FEWEST_WORDS and key not in seen:
            seen.add(key)
            yield text


def _columns(data: Path, pattern: str, wanted: slice) -> Iterator[str]:
    paths = sorted(data.glob(pattern))
    if not paths:
        raise SystemExit(f"{data}: no {pattern}")
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
            for line in stream:
                yield from line.rstrip("\r\n").split("\t")[wanted]


def glosses(wordnet: Path) -> Iterator[tuple[list[str], str, list[str]]]:
    """Streams the synsets of WordNet: words, definition, and the examples, which follow it in quotes."""
    for part in ("noun", "verb", "adj", "adv"):
        path = wordnet / f"data.{part}"
        if not path.is_file():
            raise SystemExit(f"{path}: no such file; --wordnet is the folder `dict` of WordNet 3.0")
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if not line.startswith("  "):
                head, _, gloss = line.partition(" | ")
                fields = head.split()
                # The fourth field counts the words, in base 16; behind each stands its number in the lexicon.
                words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
                gloss = gloss.strip()
                definition = _EMPTY_PARTS.sub("; ", _LOOSE_ENDS.sub("", _EXAMPLE.sub("", gloss)))
                spelt = [_ADJECTIVE_MARK.sub("", word).replace("_", " ") for word in words]
                yield spelt, definition, _EXAMPLE.findall(gloss)


def _definitions(wordnet: Path) -> Iterator[str]:
    for _, definition, _ in glosses(wordnet):
        yield definition


def _examples(wordnet: Path) -> Iterator[str]:
    for _, _, examples in glosses(wordnet):
        yield from examples


if __name__ == "__main__":
    sys.exit(main())
