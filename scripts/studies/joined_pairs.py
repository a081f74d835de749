"""Joins data folders of back-translated pairs in one, so that filters have all of them to choose from.

    python scripts/studies/joined_pairs.py --pairs DIR DIR … --output DIR

A pair's `id` begins with the name of its folder from then on, because ids repeat from corpus to corpus.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import with_column
from hf_paraphrase.errors import HfParaphraseError, InputError


def main(arguments: list[str] | None = None) -> int:
    """Writes the folder and says how many pairs it has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", required=True, help="the data folders")
    parser.add_argument("--output", required=True, help="the folder to make")
    options = parser.parse_args(arguments)
    try:
        count = join(options.pairs, options.output)
    except HfParaphraseError as error:
        print(f"joined_pairs: error: {error}", file=sys.stderr)
        return 2
    print(f"{options.output}: {count:,} pairs", file=sys.stderr)
    return 0


def join(folders: list[str], output: str) -> int:
    """Writes the rows of all folders, one folder after the other."""
    opened = {Path(folder).resolve().name: DataFolder(folder) for folder in folders}
    if len(opened) < len(folders):
        raise InputError("two folders have the same name", path=folders[0], remedy="rename one of them")
    schema = next(iter(opened.values())).require("id", "sentence1", "sentence2")
    for pairs in opened.values():
        if pairs.schema() != schema:
            raise InputError("its columns are not those of the first folder", path=pairs.path)

    def rows() -> Iterator[pa.Table]:
        for name, pairs in opened.items():
            for batch in pairs.batches():
                ids = pc.binary_join_element_wise(name, batch.column("id").cast(pa.string()), "/")
                yield with_column(pa.Table.from_batches([batch]), "id", ids)

    with Artefact(output, command="joined_pairs", settings={}) as artefact:
        count = write_split(artefact.staging, "train", rows(), schema)
        artefact.finish(results={"pairs": count})
    return count


if __name__ == "__main__":
    sys.exit(main())
