"""Prints the results of commands to standard output."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..artefacts.files import dump_json
from ..messages import escaped, printable

if TYPE_CHECKING:
    from ..searching.run import Searched

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def show(text: str) -> None:
    """Write the result of a command to standard output, and flush it."""
    text = printable(text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = _NOT_ASCII.sub(escaped, text)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Otherwise the interpreter tries to write the rest at its end, and reports an error.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has ended
            raise SystemExit(1) from error
        raise OSError(error.errno, error.strerror, "standard output") from error


def as_text(settings: Any, result: Any) -> Iterator[str]:
    """Show a result that has a text."""
    yield str(result)


def card(settings: Any, result: Any) -> Iterator[str]:
    """Show the card of the folder that was made."""
    from ..artefacts.card_metadata import read_card

    yield read_card(result)


def translation_scores(settings: Any, result: Any) -> Iterator[str]:
    """Show BLEU, chrF2 and TER of each beam, and their signatures."""
    names = {"BLEU": "bleu", "chrF2": "chrf", "TER": "ter"}
    for score in result.scores:
        values = "".join(f"  {name} {score[key]:5.2f}" for name, key in names.items())
        yield f"beam {score['num_beams']:3d}{values}\n"
    yield "".join(f"{name:5} {result.scores[-1][f'{key}_signature']}\n" for name, key in names.items())


def measures_of_mining(settings: Any, result: Any) -> Iterator[str]:
    """Show precision and recall of mined pairs, if the true pairs are given."""
    from ..studies.mining.evaluation import measures_table

    if result["measures"] is not None:
        yield measures_table(result["threshold"], result["measures"])


def mining_tables(settings: Any, result: Any) -> Iterator[str]:
    """Show the tables of :func:`~..studies.mining.evaluation.evaluate_mining` with their titles."""
    from ..studies.mining.evaluation import task_tables

    for title, table in task_tables(result).items():
        yield f"{title}\n\n{table}\n"


def scores_of_predictions(settings: Any, result: Any) -> Iterator[str]:
    """Show the scores of predictions, if the split has classes or scores."""
    from ..classification.scores import format_scores

    if result["scores"] is not None:
        yield format_scores({result["split"]: result["scores"]})


def neighbours(settings: Any, result: Searched) -> Iterator[str]:
    """Show the neighbours of each query as tab-separated values or JSON lines."""
    names = ["query", "rank", "score", "position", "sentence", *(["snippet"] if settings.snippets else [])]
    lines = ["\t".join(names) + "\n"]
    for query, nearest in result.neighbours:
        if settings.format == "jsonl":
            record = {"query": query, "neighbours": [neighbour.record() for neighbour in nearest]}
            yield dump_json(record) + "\n"
            continue
        for rank, neighbour in enumerate(nearest, start=1):
            texts = [neighbour.sentence, *([neighbour.snippet] if settings.snippets else [])]
            columns = [_one_line(query), rank, f"{neighbour.score:.6f}", neighbour.position, *map(_one_line, texts)]
            lines.append("\t".join(map(str, columns)) + "\n")
        if nearest:
            yield "".join(lines)
            lines = []


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())
