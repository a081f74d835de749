"""`prepare stsbenchmark`: the STS benchmark (Cer et al. 2017) to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.stsbenchmark import StsBenchmarkOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of the STS benchmark (Cer et al. 2017)."""

    data_dir: str = setting("the folder below which sts-train.csv, sts-dev.csv and sts-test.csv lie, or some of them")


def main(argv: Sequence[str]) -> None:
    """Runs `prepare stsbenchmark`."""
    arguments = parse(Arguments, "prepare stsbenchmark", argv)
    card = SourceCard(
        "stsbenchmark",
        "STS benchmark",
        "cc-by-sa-4.0",
        tags=("semantic-textual-similarity",),
        url="http://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark",
    )
    prepare_source(arguments, StsBenchmarkOptions, "prepare stsbenchmark", card)
