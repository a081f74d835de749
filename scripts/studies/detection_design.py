"""What a study of paraphrase detection (paper 003) trains and what it asks of it: the file of its design.

`models` has for each model the number of its runs, `seeds`, and options of `train-encoder`, the `config` below
`scripts/configs`; `fewer_seeds` has cells that are run less often; `as_many_words_as` is the mixture that other
training pairs have as many words as; `judged` has the `split` of the judged pairs and the score `positive_above` which
they are paraphrases, if it is not `validation` and the column label. `tables` has for each of `detection` and
`transfer` its `columns`, measures of `judged_sets.py`, and its `claims`: a text, `above` or `below`, and two cells, of
which the first is above or below the second, or four, of which the first two differ by more than the last two. A cell
is `MODEL: PAIRS`, or `MODEL over TOKENIZER: PAIRS` where the tokenizer is not the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hf_paraphrase.errors import UsageError


@dataclass(frozen=True)
class Cell:
    """A model, what it is trained on, and the tokenizer, none for the first one."""

    model: str
    tokenizer: str
    pairs: str

    @classmethod
    def read(cls, text: str) -> Cell:
        """Reads `MODEL: PAIRS` or `MODEL over TOKENIZER: PAIRS`."""
        encoder, colon, pairs = text.partition(": ")
        model, _, tokenizer = encoder.partition(" over ")
        if not colon:
            raise UsageError(f"`{text}` is not a cell", remedy="write MODEL: PAIRS, e.g. gran: 5000 misranked 20")
        return cls(model, tokenizer, pairs)

    def __str__(self) -> str:
        return f"{self.model}{' over ' if self.tokenizer else ''}{self.tokenizer}: {self.pairs}"

    def file(self, folder: Path, seed: int) -> Path:
        """Returns where the run with a seed is noted."""
        return folder / f"{str(self).replace(': ', '_').replace(' ', '_')}_seed_{seed}.npz"


@dataclass(frozen=True)
class Claim:
    """That the first cell is `above` or `below` the second; of four, the first two against the last two."""

    text: str
    relation: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Measures, and what is claimed of them."""

    columns: tuple[str, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Design:
    """The whole file; the attributes are those of the module's description."""

    models: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Table]
    fewer_seeds: Mapping[str, int]
    as_many_words_as: str
    judged: Mapping[str, Any]

    def cells(self, table: str) -> list[Cell]:
        """Lists the cells of a table, in the order in which its claims name them."""
        claims = self.tables[table].claims if table in self.tables else ()
        return list(dict.fromkeys(cell for claim in claims for cell in claim.cells))

    def seeds(self, cell: Cell) -> int:
        """Returns how often a cell is run."""
        return self.fewer_seeds.get(str(cell), self.models[cell.model]["seeds"])

    def runs(self, most_seeds: int) -> Iterator[tuple[Cell, int]]:
        """Lists all runs, the first seeds of all cells first."""
        cells = list(dict.fromkeys(cell for name in self.tables for cell in self.cells(name)))
        for seed in range(min(max(map(self.seeds, cells)), most_seeds)):
            yield from ((cell, seed) for cell in cells if seed < self.seeds(cell))


def read_design(path: Path) -> Design:
    """Reads a design."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    tables = {
        name: Table(tuple(table["columns"]), tuple(_claim(row) for row in table["claims"]))
        for name, table in found["tables"].items()
    }
    fewer = found.get("fewer_seeds", {})
    design = Design(found["models"], tables, fewer, str(found.get("as_many_words_as", "")), found.get("judged", {}))
    cells = [cell for name in tables for cell in design.cells(name)]
    for cell in cells:
        if cell.model not in design.models:
            raise UsageError(f"`{cell}`: no model `{cell.model}`", remedy=f"there are {', '.join(design.models)}")
    for text in sorted(fewer.keys() - {str(cell) for cell in cells}):
        raise UsageError(f"fewer_seeds: no claim has a cell `{text}`", remedy="write it as the claims do")
    return design


def _claim(row: list[str]) -> Claim:
    if len(row) not in (4, 6) or row[1] not in ("above", "below"):
        raise UsageError(f"`{row}` is not a claim", remedy="give a text, above or below, and two or four cells")
    return Claim(row[0], row[1], tuple(Cell.read(text) for text in row[2:]))
