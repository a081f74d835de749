"""What a study of noise trains and what it asks of it: the file of its design.

`seeds` has the number of runs of each model; `as_many_words_as` is the mixture that other training pairs have as many
words as; `tables` has for each of `detection` and `transfer` its `columns`, measures of `judged_sets.py`, and its
`claims`: a text, `above` or `below`, and two cells, of which the first is above or below the second, or four, of which
the first two differ by more than the last two. A cell is `MODEL: PAIRS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from hf_paraphrase.errors import UsageError


@dataclass(frozen=True)
class Cell:
    """A model and what it is trained on."""

    model: str
    pairs: str

    @classmethod
    def read(cls, text: str) -> Cell:
        """Reads `MODEL: PAIRS`.

        Raises:
            UsageError: If it is something else.
        """
        model, colon, pairs = text.partition(": ")
        if not colon or model not in ("wa", "gran"):
            raise UsageError(f"`{text}` is no cell", remedy="write MODEL: PAIRS, e.g. gran: 5000 misranked 20")
        return cls(model, pairs)

    def __str__(self) -> str:
        return f"{self.model}: {self.pairs}"

    def file(self, folder: Path, seed: int) -> Path:
        """Returns where the run with a seed is noted."""
        return folder / f"{self.model}_{self.pairs.replace(' ', '_')}_seed_{seed}.npz"


@dataclass(frozen=True)
class Claim:
    """That the first cell is `above` or `below` the second; of four, the first two against the last two."""

    text: str
    relation: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class NoiseTable:
    """Measures, and what is claimed of them."""

    columns: tuple[str, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class NoiseDesign:
    """The whole file; the attributes are those of the module's description."""

    seeds: Mapping[str, int]
    as_many_words_as: str
    tables: Mapping[str, NoiseTable]

    def cells(self, table: str) -> list[Cell]:
        """Lists the cells of a table, in the order in which its claims name them."""
        claims = self.tables[table].claims if table in self.tables else ()
        return list(dict.fromkeys(cell for claim in claims for cell in claim.cells))

    def runs(self, most_seeds: int) -> Iterator[tuple[Cell, int]]:
        """Lists all runs, the first seeds of all cells first."""
        cells = list(dict.fromkeys(cell for name in self.tables for cell in self.cells(name)))
        for seed in range(min(max(self.seeds.values()), most_seeds)):
            yield from ((cell, seed) for cell in cells if seed < self.seeds[cell.model])


def read_design(path: Path) -> NoiseDesign:
    """Reads a design.

    Raises:
        UsageError: If a claim or a cell is malformed.
    """
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    tables = {
        name: NoiseTable(tuple(table["columns"]), tuple(_claim(row) for row in table["claims"]))
        for name, table in found["tables"].items()
    }
    return NoiseDesign(found["seeds"], str(found["as_many_words_as"]), tables)


def _claim(row: list[str]) -> Claim:
    if len(row) not in (4, 6) or row[1] not in ("above", "below"):
        raise UsageError(f"`{row}` is no claim", remedy="give a text, above or below, and two or four cells")
    return Claim(row[0], row[1], tuple(Cell.read(text) for text in row[2:]))
