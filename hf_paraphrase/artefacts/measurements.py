"""What was measured of a model, in the form of the Hub's `model-index`."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData


@dataclass(frozen=True)
class Measurement:
    """One number, with the task, data and metric by their names on the Hub, and the metric's full `name`.

    `dataset` may be the path of a folder. `value` is None or not finite if the measurement has no result.
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
        """Whether there is a number and the name of the data; otherwise it is not published."""
        return self.value is not None and math.isfinite(self.value) and bool((self.dataset or "").strip())

    @property
    def dataset_name(self) -> str:
        """The name of the data without the path of a folder, which is private."""
        return re.split(r"[/\\]", (self.dataset or "").strip().rstrip("/\\"))[-1][:100]

    def record(self) -> dict[str, Any]:
        """Returns its fields, ready for `provenance.json`."""
        return {**dataclasses.asdict(self), "dataset": self.dataset_name}

    def result(self) -> EvalResult:
        """Builds the result as huggingface_hub has it."""
        from huggingface_hub import EvalResult

        name = self.dataset_name
        return EvalResult(
            task_type=self.task,
            task_name=self.task_name,
            dataset_type=re.sub(r"[^a-z0-9_.]+", "-", name.lower()).strip("-.") or "data",
            dataset_name=f"{name} {self.config}" if self.config is not None else name,
            dataset_config=self.config,
            dataset_split=self.split,
            metric_type=self.metric,
            metric_name=self.name,
            metric_value=self.value,
            verified=False,
        )


def set_results(
    card: ModelCard, name: str, measurements: Sequence[Measurement], replaced: Sequence[Measurement] = ()
) -> None:
    """Puts measurements into the head of a model's card, in place of those of the same data and metric.

    `name` is that of the model, if the head has none yet; `replaced` are further measurements that are removed.
    """
    data = cast("ModelCardData", card.data)
    new = [item.result() for item in measurements if item.known]
    outdated = [*new, *(item.result() for item in replaced)]
    kept = [item for item in data.eval_results or [] if not any(item.is_equal_except_value(old) for old in outdated)]
    data.eval_results = [*kept, *new] or None
    # The library writes a name without results as a key that the Hub does not know.
    data.model_name = (data.model_name or name) if data.eval_results else None
