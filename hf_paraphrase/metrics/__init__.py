"""The project's scores as `evaluate` modules, each a self-contained folder that can be published as a Space.

A folder has the metric (`NAME/NAME.py`, which does not import this package), the app that shows it (`app.py`), the
requirements of the app (`requirements.txt`), and its card. `evaluate.load(str(metric_path(NAME)))` opens it offline.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, choice_of

if TYPE_CHECKING:
    import evaluate

METRICS = ("sts_correlation", "paraphrase_detection")
"""The names of the metrics."""


def metric_path(name: str) -> Path:
    """Return the folder of a metric, one of :data:`METRICS`."""
    if name not in METRICS:
        raise UsageError(f"no metric is called `{name}`", remedy=choice_of(name, METRICS))
    return Path(__file__).parent / name


def load_metric(name: str, **options: Any) -> evaluate.Metric:
    """Open a metric, one of :data:`METRICS`, with `evaluate.load`, which takes the options."""
    path = metric_path(name)
    # It takes seconds to import, and imports torch.
    import evaluate

    return evaluate.load(str(path), **options)
