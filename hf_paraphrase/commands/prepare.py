"""`prepare KIND`: raw files to a Parquet data folder with a card."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from ..errors import UsageError

KINDS = {
    "bitext": "two line-aligned text files, a tab-separated file, a translation memory (TMX), or gettext catalogues",
    "pairs": "a TSV, CSV, JSON lines or Parquet file of paraphrase pairs, graded or labelled or neither",
    "pivot": "pairs of sentences that share a translation, from prepared bitexts",
    "ppdb": "PPDB 1.0 and 2.0: the database, its lexical lists, its annotated sample",
    "opusparcus": "Opusparcus 1.0: subtitle paraphrases in six languages",
    "simpwiki": "sentences of English Wikipedia beside those of Simple English Wikipedia",
    "turku": "Turku Paraphrase Corpus, Finnish: pairs graded 1 to 4",
    "sts": "SemEval STS 2012-2016: graded pairs, one split a year",
    "stsbenchmark": "the STS benchmark: graded pairs",
    "sick": "SICK 2014: graded pairs",
    "pit2015": "PIT-2015: graded pairs of tweets",
    "msrp": "Microsoft Research Paraphrase Corpus: labelled pairs",
    "transfer": "transfer sets of SentEval: MR, CR, SUBJ, MPQA, TREC",
    "bucc": "BUCC 2017: comparable corpora with gold pairs",
    "comparable": "a task like BUCC's from prepared bitexts: translations hidden in two collections",
}


def main(argv: Sequence[str]) -> None:
    """Hands over to the module of one kind of raw data.

    Raises:
        UsageError: For an unknown kind.
    """
    words = list(argv)
    if words and words[0] in {"-h", "--help"}:
        width = max(map(len, KINDS))
        lines = [f"  {kind:{width}}  {text}" for kind, text in KINDS.items()]
        usage = ["usage: hf-paraphrase prepare <kind> [flags]", "", *lines, "", "hf-paraphrase prepare <kind> --help"]
        sys.stdout.write("\n".join(usage) + "\n")
        return
    if not words or words[0] not in KINDS:
        given = f"unknown kind `{words[0]}`" if words else "no kind of raw data"
        raise UsageError(f"prepare: {given}", remedy=f"hf-paraphrase prepare {'|'.join(KINDS)}")
    importlib.import_module(f"..prepare_{words[0]}", __name__).main(words[1:])
