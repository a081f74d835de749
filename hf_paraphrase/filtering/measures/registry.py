"""The measures by name; a new measure is one file and one line here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa

from ...errors import InputError, UsageError
from ..pair_batch import PairBatch
from .base import Measure, numeric_columns, required_setting
from .bleu import SentenceBleu
from .copy_rate import CopyRate, SourceCopyRate
from .cost import TranslationCost
from .edit_distance import EditDistance
from .language import LanguageIdentification
from .length import Length
from .overlap import Overlap
from .perplexity import Perplexity
from .reference_probability import ReferenceProbability
from .repetition import Repetition
from .similarity import Similarity

MEASURES: dict[str, Measure] = {
    "length": Length(),
    "overlap": Overlap(),
    "clipped_overlap": Overlap(clipped=True),
    "bleu": SentenceBleu(),
    "edit_distance": EditDistance(),
    "repetition": Repetition(),
    "copy_rate": CopyRate(),
    "copy_rate_source": SourceCopyRate(),
    "cost": TranslationCost(),
    "perplexity": Perplexity(),
    "reference_probability": ReferenceProbability(),
    "similarity": Similarity(),
    "language": LanguageIdentification(),
}

OPTIONAL = frozenset({"clipped_overlap", "language"})
"""Measures that are computed only when they are asked for by name."""

_ROWS_AT_A_TIME = 2_000
"""The arrays of so many pairs stay in the processor's caches."""


def configure(settings: Mapping[str, Any]) -> dict[str, Measure]:
    """Returns all measures with settings filled in: every field of a measure that a setting is named like."""
    configured = {}
    for name, measure in MEASURES.items():
        dataclass = cast(Any, measure)
        own = {field.name for field in dataclasses.fields(dataclass)} & set(settings)
        configured[name] = dataclasses.replace(dataclass, **{key: settings[key] for key in own}) if own else measure
    return configured


def choose_measures(
    names: Sequence[str], present: Sequence[str], path: str, measures: Mapping[str, Measure] = MEASURES
) -> list[str]:
    """Checks a choice of measures against the columns of a data set.

    Args:
        names: Names of :data:`MEASURES`; empty for all that are not optional and whose columns and settings are there.
        present: The columns of the data set.
        path: The data set, for messages.
        measures: The measures with their settings.

    Returns:
        The names, each once, in the order of :data:`MEASURES`.

    Raises:
        UsageError: For an unknown measure, or one that was asked for without the setting it needs.
        InputError: If a measure that was asked for needs a column that is not there.
    """
    unknown = [name for name in names if name not in measures]
    if unknown:
        raise UsageError(f"unknown measure {', '.join(unknown)}", remedy=f"one of {', '.join(measures)}")
    if not names:
        return [
            name
            for name, measure in measures.items()
            if name not in OPTIONAL
            and required_setting(measure) is None
            and all(column in present for column in measure.requires)
        ]
    for name in names:
        setting = required_setting(measures[name])
        if setting is not None:
            raise UsageError(f"the measure {name} needs --{setting.replace('_', '-')}")
        missing = [column for column in measures[name].requires if column not in present]
        if missing:
            raise InputError(
                f"the measure {name} needs the missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                path=path,
                remedy=f"the columns are {', '.join(present)}",
            )
    return [name for name in measures if name in names]


def measurable_columns(present: Sequence[str]) -> list[str]:
    """Lists the columns of numbers that can be computed from those of a data set without any setting."""
    return [
        column
        for measure in MEASURES.values()
        if required_setting(measure) is None and all(name in present for name in measure.requires)
        for column in numeric_columns(measure)
    ]


def measures_of(columns: Iterable[str]) -> list[str]:
    """Returns the measures that compute any of `columns`, in the order of :data:`MEASURES`."""
    wanted = set(columns)
    return [name for name, measure in MEASURES.items() if wanted & set(measure.columns)]


def add_measures(
    table: pa.Table,
    names: Sequence[str],
    *,
    only: Iterable[str] | None = None,
    measures: Mapping[str, Measure] = MEASURES,
) -> pa.Table:
    """Adds the columns of the named measures to a table of pairs; a column of the same name is replaced in its place.

    Args:
        table: Pairs.
        names: Names of :data:`MEASURES`.
        only: The columns to add; all that the measures compute by default.
        measures: The measures with their settings.
    """
    wanted = None if only is None else set(only)
    computed: dict[str, list[np.ndarray]] = {}
    for start in range(0, max(1, table.num_rows), _ROWS_AT_A_TIME):
        batch = PairBatch(table.slice(start, _ROWS_AT_A_TIME))
        for name in names:
            for column, values in measures[name].compute(batch).items():
                if wanted is None or column in wanted:
                    computed.setdefault(column, []).append(values)
    for column, parts in computed.items():
        values = pa.array(np.concatenate(parts))
        position = table.schema.get_field_index(column)
        if position >= 0:
            table = table.remove_column(position)
        table = table.add_column(position if position >= 0 else table.num_columns, column, values)
    return table
