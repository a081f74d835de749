"""The YAML head of a card, which the Hub reads, and measurements of a model in its `model-index` format."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import InputError

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

CARD = "README.md"


def split_card(card: str, path: str | os.PathLike[str] | None = None) -> tuple[dict[str, Any], str]:
    """Split a card into the entries of its YAML head, empty without one, and its text; `path` is for the error."""
    import yaml
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    match = REGEX_YAML_BLOCK.search(card)
    if match is None:
        return {}, card
    try:
        head = yaml.safe_load(match[2])
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that does not exist, lists within lists
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        line = None if mark is None else mark.line + 2
        raise InputError(f"the head is not YAML: {problem}", path=path, line=line, remedy="fix the line") from error
    if head is not None and not isinstance(head, dict):
        raise InputError("the head is not a YAML mapping", path=path, remedy="write `key: value`")
    return head or {}, card[match.end() :]


def read_card(folder: str | os.PathLike[str]) -> str:
    """Read the card of a folder."""
    path = Path(folder) / CARD
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the card: {error}", path=path, remedy="the folder needs a README.md") from error


def texts(value: object) -> list[str]:
    """Turn an entry of a head into a list of texts."""
    parts = value if isinstance(value, list) else [value]
    return [str(part) if isinstance(part, (str, int, float)) else type(part).__name__ for part in parts if part]


@dataclass(frozen=True)
class Measurement:
    """One number, with task, data (or its path) and metric as the Hub names them, and the metric's full `name`."""

    task: str
    dataset: str | None
    metric: str
    value: float | None
    name: str
    task_name: str
    config: str | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        name = re.split(r"[/\\]", (self.dataset or "").strip().rstrip("/\\"))[-1]
        object.__setattr__(self, "dataset", name[:100])  # the folders above are private

    @property
    def is_complete(self) -> bool:
        """Whether it has a finite number and the name of the data; otherwise it is not published."""
        return self.value is not None and math.isfinite(self.value) and bool(self.dataset)

    def result(self) -> EvalResult:
        """Convert the measurement to the `EvalResult` of huggingface_hub."""
        from huggingface_hub import EvalResult

        name = str(self.dataset)
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


def set_results(card: ModelCard, name: str, measurements: Sequence[Measurement]) -> None:
    """Write measurements of a model into the head of its card, and replace earlier ones of the same kind."""
    data = cast("ModelCardData", card.data)
    new = [measurement.result() for measurement in measurements if measurement.is_complete]
    kept = [old for old in data.eval_results or [] if not any(old.is_equal_except_value(result) for result in new)]
    data.eval_results = [*kept, *new] or None
    # The library writes a name without results as a key that the Hub does not support.
    data.model_name = (data.model_name or name) if data.eval_results else None
