"""The verb `fingerprint`: evaluation sets in, a list of fingerprints that can be shared in their place out."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..artefacts.artefact import output_file
from ..artefacts.files import written_whole
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import Settings, recipe, setting
from .evaluation_sets import load_fingerprints
from .fingerprints import SHORTEST_IN_WORDS, Fingerprints, fingerprint_sentences
from .text_files import PLAIN_OR_COMPRESSED, LineErrors, read_lines


@dataclass(kw_only=True)
class FingerprintSettings(Settings):
    """Writes the fingerprints of all sentences of evaluation sets, for --decontaminate where the sets cannot be had.

    A fingerprint is the first 16 hexadecimal digits of the SHA-256 of a sentence after NFKC, lower-casing, and turning
    every run of characters that are not alphanumeric into one space; sentences below four words have none.
    """

    output: str = setting("the list to write, .txt or .txt.gz; one fingerprint a line, sorted, each once")
    data: list[str] = setting(
        "evaluation files or folders in any layout that --decontaminate reads, or prepared data folders",
        [],
        path=True,
    )
    text: list[str] = setting(f"text files of one sentence a line (UTF-8; {PLAIN_OR_COMPRESSED})", [], path=True)
    overwrite: bool = setting("replace an existing file", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if not self.output.endswith((".txt", ".txt.gz")):
            raise UsageError(
                "fingerprint: --output must end in .txt or .txt.gz", path=self.output, remedy="name a list"
            )
        if not self.data and not self.text:
            raise UsageError("fingerprint: no set is given", remedy="--data FOLDER or --text FILE")


@recipe(FingerprintSettings)
def fingerprint(settings: FingerprintSettings) -> Fingerprints:
    """Writes a list of fingerprints of evaluation sets.

    Returns:
        The fingerprints of each set.
    """
    with output_file(settings.output, overwrite=settings.overwrite) as output:
        numbers = dict(load_fingerprints(settings.data).sets)
        for path in map(Path, settings.text):
            numbers[str(path)] = _of_lines(path)
        every = np.unique(np.concatenate([*numbers.values(), np.empty(0, np.uint64)]))
        with written_whole(output) as temporary:
            temporary.write_bytes(_lines(every, output))
    for name, values in numbers.items():
        log(f"{name}: {len(values):,} fingerprints")
    use = "--decontaminate takes the file in place of the sets"
    log(f"{len(every):,} different fingerprints in {settings.output}; {use}")
    return Fingerprints(numbers)


def _lines(numbers: np.ndarray, output: Path) -> bytes:
    """Returns fingerprints (fingerprints,), uint64, one a line, as they stand in a file of this name."""
    data = "".join(f"{number:016x}\n" for number in numbers.tolist()).encode()
    # Without a time the same list is the same file.
    return gzip.compress(data, mtime=0) if output.suffix == ".gz" else data


def _of_lines(path: Path) -> np.ndarray:
    """Computes the fingerprints of the lines of a file: (sentences,), uint64, sorted, each once."""
    parts = [np.empty(0, np.uint64)]
    for lines in read_lines(path, LineErrors()):
        numbers, has_one = fingerprint_sentences(lines)
        parts.append(np.unique(numbers[has_one]))
    numbers = np.unique(np.concatenate(parts))
    if not len(numbers):
        raise InputError(
            f"no line has {SHORTEST_IN_WORDS} words or more", path=path, remedy="give one sentence a line"
        )
    return numbers
