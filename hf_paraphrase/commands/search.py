"""`search`: an index of the sentences of a corpus, nearest neighbours in it, and paraphrase mining."""

from __future__ import annotations

from collections.abc import Sequence

from ..encoders.search.run import search
from ..encoders.search.search_settings import SearchSettings
from ..messages import show
from .arguments import parse
from .search_results import TSV_HEADER, printer


def main(argv: Sequence[str]) -> None:
    """Runs `search`, and prints the neighbours.

    Raises:
        HfParaphraseError: As :func:`~..encoders.search.run.search`.
    """
    settings = parse(SearchSettings, "search", argv)
    found = search.run(settings)
    layout = settings.format or ("tsv" if settings.compare is None else "markdown")
    lay_out = printer(layout, found.names)
    for number, (query, neighbours) in enumerate(found.neighbours):
        if layout == "tsv" and not number:
            show(TSV_HEADER)
        show(lay_out(query, neighbours))
