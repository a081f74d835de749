"""`prepare sick`: SICK 2014 (Marelli et al. 2014) to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.sick import SickOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of SICK 2014 (Marelli et al. 2014)."""

    data_dir: str = setting(
        "the folder below which SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt lie, or some of them"
    )


def main(argv: Sequence[str]) -> None:
    """Runs `prepare sick`."""
    arguments = parse(Arguments, "prepare sick", argv)
    card = SourceCard(
        "sick",
        "SICK 2014",
        "cc-by-nc-sa-3.0",
        tags=("semantic-textual-similarity",),
        url="https://zenodo.org/records/2787612",
    )
    prepare_source(arguments, SickOptions, "prepare sick", card)
