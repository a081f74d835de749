"""Pairs that `mine` wrote, against gold pairs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from ...data.sentences import StrictLines
from ...data.text_files import read_fields
from ...data.typed_fields import Field, read_typed_fields
from ...errors import InputError
from .measures import Curve

_NUMBER = re.compile(r"\d+")


def read_gold_ids(path: Path) -> set[tuple[str, str]]:
    """Reads true pairs, `source id TAB target id` a line.

    Raises:
        InputError: If the file is missing, empty or malformed.
    """
    remedy = "one pair a line as `source id TAB target id`"
    gold: set[tuple[str, str]] = set()
    for _, texts in read_fields(path, ["source", "target"], StrictLines(), remedy=remedy):
        gold.update(zip(texts["source"].to_pylist(), texts["target"].to_pylist(), strict=True))
    return gold


def mined_curve(path: Path, gold: set[tuple[str, str]]) -> Curve:
    """Measures a file of pairs at every threshold.

    Args:
        path: A file that `mine` wrote: score, source id, target id, source, target.
        gold: The true pairs, by ids.

    Returns:
        Precision and recall at every score in the file.

    Raises:
        InputError: If the file is missing or malformed, a pair comes twice, or its ids are of another form than those
            of the gold pairs.
    """
    fields = [Field("score", pa.float64()), Field("source"), Field("target"), Field("_"), Field("_")]
    scores: list[float] = []
    right: list[bool] = []
    seen: dict[tuple[str, str], int] = {}
    names: set[str] = set()
    remedy = "give a file that hf-paraphrase mine made"
    if path.is_file() and not path.stat().st_size:
        return Curve.of(np.empty(0), np.empty(0, bool), len(gold))
    for lines, table in read_typed_fields(path, fields, StrictLines(), remedy=remedy):
        columns = (lines.tolist(), *(table.column(name).to_pylist() for name in ("score", "source", "target")))
        for line, score, source, target in zip(*columns, strict=True):
            if (source, target) in seen:
                raise InputError(
                    f"the pair `{source[:40]}`, `{target[:40]}` was in line {seen[source, target]:,} already",
                    path=path,
                    line=line,
                    remedy=remedy,
                )
            seen[source, target] = line
            names.add(source)
            scores.append(score)
            right.append((source, target) in gold)
    if gold and {_form(name) for name in names}.isdisjoint(_form(source) for source, _ in gold):
        raise InputError(
            "its source ids are of another form than those of the gold pairs, e.g. "
            f"`{min(names)[:40]}` and `{min(gold)[0][:40]}`",
            path=path,
            remedy="the gold must be of the same collections, and in the same layout",
        )
    return Curve.of(np.array(scores), np.array(right, bool), len(gold))


def _form(name: str) -> str:
    """Returns an id with its numbers left out, which tells ids of one layout from those of another."""
    return _NUMBER.sub("0", name)
