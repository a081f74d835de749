"""Paraphrase pairs by pivoting: two sentences with one translation in common.

Bannard and Callison-Burch (2005) find paraphrases through shared translations of phrases; in corpora with several
translations of a sentence, such as Tatoeba, the same holds for whole sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ..decontamination import normalise_all
from ..parquet import iterate_batches, read_schema
from ..row_selection import text_keys
from ..schema import BITEXT, require_columns

PIVOT = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("source", pa.string()),
        ("source_lang", pa.string()),
        ("num_pivots", pa.int64()),
    ]
)
"""Pivot pairs: the two sentences share the translation `source`, and `num_pivots` translations in all."""

_COLUMNS = ["source", "target", "source_lang", "target_lang"]


def pivot_pairs(
    folders: Sequence[Path],
    *,
    split: str = "train",
    max_pairs_per_source: int = 0,
    ranked: bool = False,
    progress: Callable[[int], object] | None = None,
) -> tuple[pa.Table, dict[str, int]]:
    """Finds all pairs of different target sentences that share a source sentence.

    The bitexts are read twice, with 8 bytes a row kept between: only rows whose source sentence occurs more than once
    are held in memory.

    Args:
        folders: Prepared bitexts; their target sides must be of one language.
        split: The split to take of each; held-out parts stay out of training data by leaving it at `train`.
        max_pairs_per_source: The greatest number of pairs from one source sentence, the first ones; 0 for no limit.
        ranked: Put the pairs with the most shared translations first, as Opusparcus puts those first that are the most
            likely paraphrases (Creutz 2018, with a finer measure); equal ones stay in their order.
        progress: Called with the number of rows after each batch of the first reading.

    Returns:
        The pairs in the schema PIVOT, in the order in which their source sentences first occur unless they are ranked,
        each unordered pair once. `num_pivots` counts the translations through which a pair was found, a sentence in
        two languages twice; with a limit per source some may be missing. Sentences that differ in case and punctuation
        only are one sentence, the first of them. And counts: `rows` read, `sources` shared by several sentences,
        `candidates` (pairs before the next two rules), `over_limit`, `repeated` (found through another source before)
        and `pairs`.

    Raises:
        InputError: If a folder is not a bitext, or the target languages differ.
    """
    keys = _source_keys(folders, split, progress or (lambda rows: None))
    order = np.argsort(keys, kind="stable")
    shared = np.zeros(len(keys), dtype=bool)
    equal = keys[order][1:] == keys[order][:-1]
    shared[order[1:][equal]] = True
    shared[order[:-1][equal]] = True
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for table in _rows(folders, split, shared):
        normal = normalise_all(table.column("target").combine_chunks()).to_pylist()
        rows = zip(*(table.column(name).to_pylist() for name in ("source_lang", "source", "target")), strict=True)
        for (language, source, target), form in zip(rows, normal, strict=True):
            groups.setdefault((language, source), {}).setdefault(form, target)
    counts = {"rows": len(keys), "sources": 0, "candidates": 0, "over_limit": 0, "repeated": 0}
    found: list[tuple[str, str, str, str]] = []
    pivots: dict[tuple[str, str], int] = {}
    for (language, source), sentences in groups.items():
        forms = [form for form in sentences if form]
        number = len(forms) * (len(forms) - 1) // 2
        counts["sources"] += number > 0
        counts["candidates"] += number
        left = max_pairs_per_source or number
        for first, second in combinations(forms, 2):
            if left == 0:
                break
            left -= 1
            number -= 1
            pair = (first, second) if first < second else (second, first)
            if pair in pivots:
                pivots[pair] += 1
                counts["repeated"] += 1
                continue
            pivots[pair] = 1
            found.append((sentences[first], sentences[second], source, language))
        counts["over_limit"] += number
    counts["pairs"] = len(found)
    columns = zip(*found, strict=True) if found else [(), (), (), ()]
    # Pairs were found and first counted in the same order.
    numbers = np.fromiter(pivots.values(), dtype=np.int64, count=len(pivots))
    arrays = [*(pa.array(list(column), pa.string()) for column in columns), pa.array(numbers)]
    table = pa.table(arrays, schema=PIVOT)
    return (table.take(np.argsort(-numbers, kind="stable")) if ranked else table), counts


def _source_keys(folders: Sequence[Path], split: str, progress: Callable[[int], object]) -> np.ndarray:
    """Hashes the source language and sentence of every row of all folders: (rows,), uint64."""
    keys = [np.empty(0, np.uint64)]
    language: str | None = None
    for folder in folders:
        require_columns(read_schema(folder, split).names, BITEXT.names, str(folder))
        for batch in iterate_batches(folder, split, _COLUMNS):
            for found in pc.unique(batch.column("target_lang")).to_pylist():
                if language is not None and found != language:
                    raise InputError(
                        f"the target language is {found}, but {language} before it",
                        path=folder,
                        remedy="pivot over bitexts with one target language",
                    )
                language = found
            keys.append(text_keys(batch.column("source_lang"), batch.column("source")))
            progress(batch.num_rows)
    return np.concatenate(keys)


def _rows(folders: Sequence[Path], split: str, wanted: np.ndarray) -> Iterator[pa.Table]:
    begin = 0
    for folder in folders:
        for batch in iterate_batches(folder, split, _COLUMNS):
            rows = wanted[begin : begin + batch.num_rows]
            begin += batch.num_rows
            yield pa.Table.from_batches([batch]).filter(pa.array(rows))
