"""`prepare transfer`: the transfer sets of SentEval to a data folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.sources.transfer import TransferOptions
from ..settings import setting
from .arguments import parse
from .prepare_source import SourceArguments, SourceCard, prepare_source


@dataclass(kw_only=True)
class Arguments(SourceArguments):
    """Makes a data folder of MR, CR, SUBJ, MPQA and TREC, one configuration a set."""

    data_dir: str = setting("the folder below which rt-polarity.pos, custrev.pos, TREC_10.label and so on lie")


def main(argv: Sequence[str]) -> None:
    """Runs `prepare transfer`."""
    arguments = parse(Arguments, "prepare transfer", argv)
    card = SourceCard(
        "transfer",
        "SentEval transfer sets",
        None,
        tasks=("text-classification",),
        tags=("sentence-embeddings",),
        url="https://github.com/facebookresearch/SentEval",
    )
    prepare_source(arguments, TransferOptions, "prepare transfer", card)
