"""What of a record is drawn: the loss, the scores of the dev data, histograms of columns, what was measured later.

A verb has nothing to draw: it records its results, and by their names they are found here.

* `log`: the log of a training (:func:`~hf_paraphrase.training.callbacks.log_of_steps`), of which the loss is drawn.
* `dev_scores`, or `epochs` as a list: entries with `epoch` or `step`, of which each other number is a curve.
* `dev_by_components`: by the number of components a score.
* `histograms`: by the name of a column `edges`, and for each of its `splits` how many rows each bin has.
* `evaluations` of the record: by what was measured on what, `measurements`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..measurements import Measurement
from .plots import Plot, Points, bars, curves, histogram

_SCORES = ("dev_scores", "epochs")
_PLACES = ("epoch", "step")
_MEAN = "dev_mean"
_MOST = 40
_NEVER_DRAWN = frozenset({*_PLACES, "averaged_checkpoints", "frozen_embeddings"})


def recorded_plots(record: Mapping[str, Any]) -> list[Plot]:
    """Draws what a record holds of the kinds above; anything else in their place counts for nothing.

    Args:
        record: The content of a `provenance.json`, which may be anyone's.
    """
    results = record.get("results")
    found = [plot for plot in _of_results(results) if plot] if isinstance(results, Mapping) else []
    evaluations = record.get("evaluations")
    for name, evaluation in evaluations.items() if isinstance(evaluations, Mapping) else []:
        items = evaluation.get("measurements") if isinstance(evaluation, Mapping) else None
        known = [Measurement.of_record(item) for item in items] if isinstance(items, list) else []
        found += measured_bars(str(name), {"": [item for item in known if item is not None]})
    return found[:_MOST]


def measured_bars(title: str, measured: Mapping[str, Sequence[Measurement]]) -> list[Plot]:
    """Draws measurements as bars, side by side where several models have them: a plot for each measure.

    Args:
        title: What the measurements are of.
        measured: By a model's name what was measured of it, of all the same.
    """
    first: Sequence[Measurement] = next(iter(measured.values()), ())
    held = {name: items for name, items in measured.items() if len(items) == len(first)}
    data = [" ".join(filter(None, [item.dataset, item.config])) for item in first]
    if len(set(data)) == 1:
        return _bars(title, "measure", [item.name for item in first], held, range(len(first)))
    found: list[Plot] = []
    for name in dict.fromkeys(item.name for item in first):
        places = [place for place, item in enumerate(first) if item.name == name]
        found += _bars(f"{title}: {name}", "data", [data[place] for place in places], held, places)
    return found


def _bars(
    title: str, what: str, labels: Sequence[str], measured: Mapping[str, Sequence[Measurement]], places: Iterable[int]
) -> list[Plot]:
    places = list(places)
    series = {
        name or "value": [items[place].value if items[place].known else None for place in places]
        for name, items in measured.items()
    }
    plot = bars(title, what, labels, series)
    return [] if plot is None else [plot]


def _of_results(results: Mapping[str, Any]) -> Iterator[Plot | None]:
    log = _entries(results.get("log"))
    scores = next((found for name in _SCORES if (found := _entries(results.get(name)))), [])
    if losses := _points(log, "loss"):
        yield curves("Loss in training", _place(log), {"loss": losses})
    if not scores:
        scores = [
            {(name.removeprefix("eval_")): value for name, value in entry.items()}
            for entry in log
            if any(name.startswith("eval_") for name in entry)
        ]
    # Resumed trainings keep the same numbers in another order.
    names = sorted({name for entry in scores for name in entry if name not in _NEVER_DRAWN}, key=_in_order)
    # The mean of a single set is that set's score.
    drawn = {tuple(points): name for name in reversed(names) if (points := _points(scores, name))}
    for points, name in reversed(drawn.items()):
        yield curves(_title(name), _place(scores), {name: points})
    sizes = results.get("dev_by_components")
    if isinstance(sizes, Mapping):
        points = [(float(size), float(value)) for size, value in sizes.items() if size.isdecimal() and _is(value)]
        yield curves("Dev score by components", "components", {"dev score": points})
    histograms = results.get("histograms")
    for name, item in histograms.items() if isinstance(histograms, Mapping) else []:
        edges = item.get("edges") if isinstance(item, Mapping) else None
        splits = item.get("splits") if isinstance(item, Mapping) else None
        if isinstance(edges, list) and all(map(_is, edges)) and isinstance(splits, Mapping):
            counts = {split: found for split, found in splits.items() if _are_counts(found)}
            yield histogram(str(name), edges, counts) if len(edges) > 1 else None


def _entries(value: object) -> list[Mapping[str, Any]]:
    """Returns entries of numbers with the place in the training that they belong to."""
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping) and any(_is(item.get(place)) for place in _PLACES)]


def _in_order(name: str) -> tuple[bool, str, str]:
    return name != _MEAN, name.casefold(), name


def _place(entries: Sequence[Mapping[str, Any]]) -> str:
    return next((place for place in _PLACES if all(_is(entry.get(place)) for entry in entries)), _PLACES[0])


def _points(entries: Sequence[Mapping[str, Any]], name: str) -> Points:
    place = _place(entries)
    return [(entry[place], entry[name]) for entry in entries if _is(entry.get(name)) and _is(entry.get(place))]


def _title(name: str) -> str:
    words = name.replace("_", " ").strip()
    return f"{words[:1].upper()}{words[1:]}"


def _is(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_counts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, int) and item >= 0 for item in value)
