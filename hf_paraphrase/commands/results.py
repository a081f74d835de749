"""How the results of verbs are shown on standard output; what has a text of its own is shown as that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def nothing(settings: Any, result: Any) -> Iterator[str]:
    """Shows nothing: what was made is in the output."""
    return iter(())


def as_text(settings: Any, result: Any) -> Iterator[str]:
    """Shows a result that has a text."""
    yield str(result)


def tuning_table(settings: Any, result: Any) -> Iterator[str]:
    """Shows the table of the filters, of :class:`~..filtering.tuning.grid_search.Tuned`."""
    yield result.table


def translation_scores(settings: Any, result: Any) -> Iterator[str]:
    """Shows BLEU and chrF of each beam, and their signatures."""
    for score in result.scores:
        yield f"beam {score.num_beams:3d}  BLEU {score.bleu:5.2f}  chrF2 {score.chrf:5.2f}\n"
    yield f"BLEU  {result.scores[-1].bleu_signature}\nchrF2 {result.scores[-1].chrf_signature}\n"


def measures_of_mining(settings: Any, result: Any) -> Iterator[str]:
    """Shows how good mined pairs are, where it is known."""
    from ..studies.mining.report import measures_table

    if result.measures is not None:
        yield measures_table(result.threshold, result.measures)


def mining_tables(settings: Any, result: Any) -> Iterator[str]:
    """Shows the tables of :func:`~..studies.mining.evaluation.evaluate_mining`, of a task with their titles."""
    if settings.pairs:
        yield "".join(result.tables.values())
    else:
        for title, table in result.tables.items():
            yield f"{title}\n\n{table}\n"


def scores_of_predictions(settings: Any, result: Any) -> Iterator[str]:
    """Shows how good predictions are, where the split has classes or scores."""
    from ..studies.supervised.scores import score_table

    if result.scores is not None:
        yield score_table({settings.split: result.scores})
