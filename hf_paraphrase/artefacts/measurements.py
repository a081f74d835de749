"""What was measured of a model: a number, and what it is a number of, as the Hub's `model-index` has it.

A verb that measures hands its measurements to :func:`.cards.write_card` or :func:`.evaluated_cards.add_results`;
nobody else reads them out of its results.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from huggingface_hub import EvalResult


@dataclass(frozen=True)
class Measurement:
    """One number that was measured.

    Attributes:
        task: A task of the Hub, e.g. `translation`.
        dataset: The name of the data, or a folder, of which the last part is the name; None where there is no data.
        metric: The metric as the Hub's library `evaluate` names it, e.g. `sacrebleu`.
        value: The number; None, or one that is not finite, where nothing came of the measurement.
        name: The metric with all that one needs to know to compare it.
        task_name: The task for people.
        config: The configuration or subset of the data, if it has any.
        split: The split.
    """

    task: str
    dataset: str | None
    metric: str
    value: float | None
    name: str
    task_name: str
    config: str | None = None
    split: str | None = None

    @property
    def known(self) -> bool:
        """Whether there is a number, and data that it was measured on: nothing else is told to anyone."""
        is_number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        return is_number and math.isfinite(self.value or 0) and bool((self.dataset or "").strip())

    def record(self) -> dict[str, Any]:
        """Returns what is known of it, ready for `provenance.json`."""
        named = dataclasses.replace(self, dataset=self._shown())
        return {key: value for key, value in dataclasses.asdict(named).items() if value is not None}

    @classmethod
    def of_record(cls, record: object) -> Measurement | None:
        """Reads what :meth:`record` returned; None for anything else, for a record may be anyone's."""
        if not isinstance(record, Mapping):
            return None
        values: dict[str, Any] = {field.name: record.get(field.name) for field in dataclasses.fields(cls)}
        needed = [values[name] for name in ("task", "dataset", "metric", "name", "task_name")]
        optional = [value for value in (values["config"], values["split"]) if value is not None]
        measurement = cls(**values)
        return measurement if all(isinstance(text, str) for text in needed + optional) and measurement.known else None

    def result(self) -> EvalResult:
        """Builds the result as huggingface_hub has it."""
        from huggingface_hub import EvalResult

        shown = self._shown()
        return EvalResult(
            task_type=self.task,
            task_name=self.task_name,
            dataset_type=re.sub(r"[^a-z0-9_.]+", "-", shown.lower()).strip("-.") or "data",
            dataset_name=f"{shown} {self.config}" if self.config is not None else shown,
            dataset_config=self.config,
            dataset_split=self.split,
            metric_type=self.metric,
            metric_name=self.name,
            metric_value=self.value,
            verified=False,
        )

    def _shown(self) -> str:
        # Only the last part of a path: where a folder lies is nobody's business.
        return re.split(r"[/\\]", (self.dataset or "").strip().rstrip("/\\"))[-1][:100]


def model_index(name: str, measurements: Iterable[Measurement]) -> list[dict[str, Any]] | None:
    """Builds the value of `model-index` in a new model's card.

    Args:
        name: The model's name.
        measurements: What was measured.

    Returns:
        What huggingface_hub's `ModelCardData` reads back as the same results; None if nothing was measured.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    results = [item.result() for item in measurements if item.known]
    return eval_results_to_model_index(name, results) if results else None


def updated_model_index(
    name: str, index: object, earlier: Sequence[Measurement], measurements: Sequence[Measurement]
) -> list[dict[str, Any]] | None:
    """Puts new measurements into a `model-index`.

    Args:
        name: The model's name.
        index: The value that the card has; anything that is no such value counts for nothing.
        earlier: What the measurements replace, whether it was the same or not.
        measurements: What was measured now. One of the same data, metric and name in the card is replaced, even where
            `earlier` does not know of it.

    Returns:
        The new value, with all other results of the card as they were; None if there is no result at all.
    """
    from huggingface_hub.repocard_data import eval_results_to_model_index

    gone = [item.result() for item in earlier if item.known]
    new = [item.result() for item in measurements if item.known]
    results: list[EvalResult] = []
    for kept in _results(index):
        place = next((place for place, item in enumerate(new) if _same(kept, item)), None)
        if place is not None:
            results.append(new.pop(place))
        elif not any(_same(kept, item) for item in gone):
            results.append(kept)
    results += new
    return eval_results_to_model_index(name, results) if results else None


def _results(index: object) -> list[EvalResult]:
    from huggingface_hub.repocard_data import model_index_to_eval_results

    if not isinstance(index, list) or not index:
        return []
    try:
        return list(model_index_to_eval_results(index)[1])
    except (KeyError, TypeError, ValueError, AttributeError):
        return []


def _same(first: EvalResult, second: EvalResult) -> bool:
    return first.unique_identifier == second.unique_identifier and (first.metric_type, first.metric_name) == (
        second.metric_type,
        second.metric_name,
    )
