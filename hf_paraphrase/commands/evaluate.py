"""`evaluate`: sentence encoders, and the floors that need no training, on semantic similarity sets."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, OutputError, UsageError
from ..evaluation.floors import FLOORS
from ..evaluation.graded_set import Encode, GradedSet, read_graded_folder
from ..evaluation.protocol_report import format_protocol
from ..evaluation.protocols import PAPER, PROTOCOLS, choose_protocols
from ..evaluation.report import NamedResult, format_report
from ..evaluation.scored_set import ScoredSet, score_with_encoder, score_with_similarity
from ..evaluation.sts import evaluate_scored
from ..evaluation.sts_files import find_sts_sets
from ..hub.evaluated_card import add_results, check_evaluated_card
from ..hub.folders import write_text_whole
from ..hub.provenance import fingerprint, versions
from .arguments import argument, message, parse, settings_of

CARD_SECTION = "hf-paraphrase evaluate"
"""The name of the section that `--update-card` writes, in the comments that enclose it."""


@dataclass
class Arguments:
    """Correlates the cosine of sentence embeddings with human scores, without any training on top.

    `--suite sts` finds every STS set below a folder (SemEval STS 2012-2016, SICK, PIT-2015, the STS benchmark) and
    gives the means of the paraphrastic sentence embedding papers, and beside them, in tables of their own, the
    protocols of SentEval, of SBERT, SimCSE and MTEB, the STS benchmark and SICK; `--suite graded` takes one split of a
    data folder with the columns sentence1, sentence2 and score. The tables go to standard output.
    """

    data: str = argument("the folder below which the STS sets lie, or the graded data folder")
    model: list[str] = argument("encoder folders; several stand side by side", [], action="extend")
    baseline: list[str] = argument(
        f"floors without training to print beside the models: {', '.join(FLOORS)}", [], action="extend"
    )
    suite: str = argument("which benchmark", "sts", choices=["sts", "graded"])
    protocols: list[str] = argument(
        f"which protocols of the suite sts, separated by commas or spaces: {', '.join((PAPER, *PROTOCOLS))}; "
        "by default all for which there is data",
        [],
        action="extend",
    )
    split: str = argument("the split of a graded data folder", "test")
    batch_size: int = argument("sentences a batch of the encoder", 256)
    output: str | None = argument("a JSON file for the results", None)
    overwrite: bool = argument("replace an existing results file", False)
    update_card: bool = argument(
        "put each model's tables, beside the floors, into a section of its card README.md and the results into the "
        "card's model-index and provenance.json; earlier ones are replaced",
        False,
    )


def main(argv: Sequence[str]) -> None:
    """Runs `evaluate`."""
    arguments = parse(Arguments, "evaluate", argv)
    protocols = _check(arguments)
    data = Path(arguments.data)
    sets: list[GradedSet]
    without_input: tuple[str, ...] = ()
    if arguments.suite == "sts":
        found = find_sts_sets(data)
        sets, without_input, paths = list(found.sets), found.without_input, list(found.paths)
        if not sets:
            raise InputError(
                "no STS set with both sentences and scores below this folder",
                path=data,
                remedy="it needs files such as STS16-en-test/STS.input.headlines.txt and STS.gs.headlines.txt",
            )
    else:
        sets, paths = [read_graded_folder(data, arguments.split)], [data]
    # All models are opened before the first one works, so that a wrong folder at the end of the list costs nothing.
    encoders = {name: _encoder(name, arguments.batch_size) for name in arguments.model}
    results = [
        *(
            _result(name, "baseline", score_with_similarity(FLOORS[name], sets), protocols)
            for name in dict.fromkeys(arguments.baseline)
        ),
        *(_result(name, "model", score_with_encoder(encode, sets), protocols) for name, encode in encoders.items()),
    ]
    sys.stdout.write(_report(arguments, results, protocols, without_input))
    sys.stdout.flush()
    if arguments.output is not None:
        record = _record(arguments, results, without_input, paths)
        write_text_whole(arguments.output, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        message(f"results in {arguments.output}")
    if arguments.update_card:
        for item in results:
            if item.kind == "model":
                own = [other for other in results if other.kind == "baseline" or other is item]
                section = _card_section(_report(arguments, own, protocols, without_input))
                name, evaluation = _evaluation(arguments, item, without_input, paths)
                add_results(item.name, name, evaluation, section=CARD_SECTION, text=section)
                message(f"results in {Path(item.name) / 'README.md'}")


def _check(arguments: Arguments) -> list[str]:
    """Refuses what cannot work before any encoder is loaded; returns the names of the protocols to apply."""
    if not arguments.model and not arguments.baseline:
        raise UsageError("evaluate: there is nothing to evaluate", remedy="give --model, --baseline or both")
    unknown = [name for name in arguments.baseline if name not in FLOORS]
    if unknown:
        raise UsageError(f"evaluate: unknown --baseline {', '.join(unknown)}", remedy=f"one of {', '.join(FLOORS)}")
    if arguments.batch_size < 1:
        raise UsageError(f"evaluate: --batch-size is {arguments.batch_size}", remedy="give 1 or more")
    if arguments.output is not None:
        output = Path(arguments.output)
        if output.is_dir():
            raise OutputError("the output is a folder", path=output, remedy="--output names a JSON file")
        if output.exists() and not arguments.overwrite:
            raise OutputError("the output file exists", path=output, remedy="give another --output, or --overwrite")
    if arguments.update_card:
        if not arguments.model:
            raise UsageError("evaluate: --update-card without --model", remedy="floors have no card")
        for name in arguments.model:
            check_evaluated_card(name, CARD_SECTION)
    if arguments.suite != "sts":
        if arguments.protocols:
            raise UsageError("evaluate: --protocols belongs to --suite sts", remedy="leave it out")
        return [PAPER]
    requested = [part.strip() for word in arguments.protocols for part in word.split(",") if part.strip()]
    if arguments.protocols and not requested:
        raise UsageError("evaluate: --protocols is empty", remedy=f"give some of {', '.join((PAPER, *PROTOCOLS))}")
    return choose_protocols(requested)


def _encoder(name: str, batch_size: int) -> Encode:
    """Opens an encoder and returns its `encode` with the batch size filled in."""
    from ..encoding.sentence_encoder import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(name)
    return lambda texts: encoder.encode(texts, batch_size=batch_size, show_progress_bar=True)


def _result(name: str, kind: str, scored: Sequence[ScoredSet], protocols: list[str]) -> NamedResult:
    """Applies the protocols to the similarities of one scorer."""
    others = {protocol: PROTOCOLS[protocol](scored) for protocol in protocols if protocol != PAPER}
    return NamedResult(name, kind, evaluate_scored(scored), others)


def _report(
    arguments: Arguments, results: list[NamedResult], protocols: list[str], without_input: tuple[str, ...]
) -> str:
    """Lays out one table a protocol; one without data is only named, unless it was asked for."""
    tables, unused = [], []
    for protocol in protocols:
        if protocol == PAPER:
            tables.append(format_report(results, without_input=without_input, means=arguments.suite == "sts"))
        elif arguments.protocols or results[0].protocols[protocol].rows:
            tables.append(format_protocol(results, protocol))
        else:
            unused.append(protocol)
    if unused:
        tables.append(f"no data for the protocol{'s' if len(unused) > 1 else ''} {', '.join(unused)}\n")
    return "\n".join(tables)


def _card_section(report: str) -> str:
    """Makes a section of a card out of the tables: the same text under a heading of its own, one level down."""
    body = "\n".join(f"#{line}" if line.startswith("## ") else line for line in report.split("\n"))
    return f"## Evaluation\n\nWritten by `hf-paraphrase evaluate`; nothing was trained on top.\n\n{body}"


def _evaluation(
    arguments: Arguments, item: NamedResult, without_input: tuple[str, ...], paths: list[Path]
) -> tuple[str, dict[str, Any]]:
    """Builds what the provenance of a model keeps of its evaluation, and names it."""
    record = _record(arguments, [item], without_input, paths)
    found = record["results"][0]
    graded = arguments.suite != "sts"
    name = f"evaluate graded {Path(arguments.data).resolve().name}/{arguments.split}" if graded else "evaluate sts"
    return name, {
        "kind": "evaluate",
        "suite": arguments.suite,
        "protocol": record["protocol"],
        "sets": found["sets"],
        "means": {} if graded else found["means"],
        **{key: record[key] for key in ("without_input", "inputs", "settings", "versions")},
    }


def _record(
    arguments: Arguments, results: list[NamedResult], without_input: tuple[str, ...], paths: list[Path]
) -> dict[str, Any]:
    """Builds the content of the results file: what was measured, on what, with which settings and versions."""
    return {
        "suite": arguments.suite,
        "protocol": "Pearson and Spearman x 100 of cosine and human score per set; unweighted means over sets",
        "results": [
            {
                "name": item.name,
                "kind": item.kind,
                **({"sha256": fingerprint(item.name)} if item.kind == "model" and Path(item.name).is_dir() else {}),
                **item.result.as_dict(),
                **({"protocols": _protocols(item)} if arguments.suite == "sts" else {}),
            }
            for item in results
        ],
        "without_input": list(without_input),
        "inputs": [{"name": f"{path.parent.name}/{path.name}", "sha256": fingerprint(path)} for path in paths],
        "settings": settings_of(arguments),
        "versions": versions(),
    }


def _protocols(item: NamedResult) -> dict[str, Any]:
    """Builds the sections of the other protocols; the papers' own results stand beside them, as they always did."""
    return {name: protocol.as_dict() for name, protocol in item.protocols.items()}
