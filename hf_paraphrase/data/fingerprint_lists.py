"""The verb `fingerprint`: evaluation sets in, a list of fingerprints that can be shared in their place out."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import output_file
from ..artefacts.files import written_whole
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import Settings, recipe, setting
from .evaluation_sets import LIST_HEADER, load_fingerprints
from .fingerprints import Fingerprints
from .text_files import PLAIN_OR_COMPRESSED, LineErrors, read_lines


@dataclass(kw_only=True)
class FingerprintSettings(Settings):
    """Writes the fingerprints of all sentences of evaluation sets, for --decontaminate where the sets cannot be had.

    A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the words of a sentence: letters, marks and
    digits after NFKC and case folding, with single spaces between; sentences below four words have none.
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
        read = load_fingerprints(settings.data)
        for path in map(Path, settings.text):
            number = read.add(str(path), pa.concat_arrays(list(read_lines(path, LineErrors()))))
            if not number:
                raise InputError("no line has four words or more", path=path, remedy="give one sentence a line")
            log(f"{path}: {number:,} sentences of four words or more")
        if read.version_1:
            raise InputError(
                "a list of version 1, which cannot become one of version 2",
                path=min(read.version_1),
                remedy="give the evaluation set itself",
            )
        every = np.unique(np.concatenate(list(read.sets.values())))
        # Where both versions agree, the list is one of either.
        lines = [LIST_HEADER] * read.is_new + [f"{number:016x}" for number in every.tolist()]
        data = "".join(f"{line}\n" for line in lines).encode()
        with written_whole(output) as temporary:
            # Without a time the same list is the same file.
            temporary.write_bytes(gzip.compress(data, mtime=0) if output.suffix == ".gz" else data)
    use = "--decontaminate takes the file in place of the sets"
    log(f"{len(every):,} different fingerprints in {settings.output}; {use}")
    return read
