"""`evaluate`: sentence encoders, and the floors that need no training, on sets that people have judged.

Each suite is a module `evaluate_<suite>.py` with a class that reads its data, measures and lays out its tables.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..artefacts.evaluated_cards import add_results, check_evaluated_card
from ..artefacts.folders import write_text_whole
from ..encoders.devices import check_device, device_setting
from ..errors import OutputError, UsageError
from ..evaluation.floors import FLOORS
from ..evaluation.graded_set import Encode
from ..evaluation.protocols import PAPER, PROTOCOLS
from ..evaluation.scorer import Scorer
from ..evaluation.transfer.registry import TASKS
from ..messages import say
from ..settings import setting
from .arguments import parse
from .evaluate_paraphrase import ParaphraseSuite
from .evaluate_senteval import SentEvalSuite
from .evaluate_similarity import SimilaritySuite
from .evaluate_suite import Suite

_SUITES: tuple[type[Suite], ...] = (SimilaritySuite, ParaphraseSuite, SentEvalSuite)
SUITES: dict[str, type[Suite]] = {name: suite for suite in _SUITES for name in suite.NAMES}
"""The suites by the value of `--suite`."""

_OWN_FLAGS = {
    "protocols": ("sts",),
    "split": ("sts", "graded"),
    **dict.fromkeys(("dev_split", "test_split", "positive_above", "both_orders", "seeds"), ("paraphrase",)),
    **dict.fromkeys(("tasks", "sick_test_on_trial"), ("senteval",)),
}
"""The suites that have a use for a flag; all for one that is not here."""


@dataclass
class Arguments:
    """Measures sentence encoders, side by side, on one of several benchmarks.

    `--suite sts` finds every STS set below a folder (SemEval STS 2012-2016, SICK, PIT-2015, the STS benchmark),
    correlates the cosine of sentence embeddings with human scores, without any training on top, and gives the means
    of the paraphrastic sentence embedding papers, and beside them, in tables of their own, the protocols of SentEval,
    of SBERT, SimCSE and MTEB, the STS benchmark and SICK; `--suite graded` takes one split of a data folder with the
    columns sentence1, sentence2 and score. `--suite paraphrase` tells paraphrases from other pairs on data folders
    with the columns sentence1, sentence2 and label: by a perceptron on the two vectors, trained on the development
    pairs, and by the cosine alone. `--suite senteval` trains a regression on fixed sentence vectors for each of
    SentEval's transfer tasks whose raw files, or data folders prepared of them, lie below a folder. The tables go to
    standard output.
    """

    data: list[str] = setting(
        "the folder below which the STS sets lie, or the graded data folder; for the suite paraphrase labelled data "
        "folders, each a line of the tables; for the suite senteval the folder below which its files lie",
    )
    model: list[str] = setting("encoder folders, or namespace/name of some on the Hub, side by side", [])
    baseline: list[str] = setting(f"floors without training to print beside the models: {', '.join(FLOORS)}", [])
    suite: str = setting("which benchmark", "sts", choices=list(SUITES))
    protocols: list[str] = setting(
        f"which protocols of the suite sts, separated by commas or spaces: {', '.join((PAPER, *PROTOCOLS))}; "
        "by default all for which there is data",
        [],
    )
    split: str = setting("the split of a graded data folder", "test")
    dev_split: str = setting(
        "suite paraphrase: the split on which the perceptron is trained and thresholds are chosen; if it is the test "
        "split too, that is parted into 5 folds without a common sentence",
        "validation",
    )
    test_split: str = setting("suite paraphrase: the split that is tested on", "test")
    positive_above: float | None = setting(
        "suite paraphrase: instead of reading the column label, take the pairs with a score above this for "
        "paraphrases and those below it for others, and leave out those at it; 2.5 for scores of 1 to 4",
        None,
    )
    both_orders: bool = setting("suite paraphrase: train the perceptron on each pair and on its mirror image", False)
    seeds: int = setting("suite paraphrase: perceptrons that are trained, with the seeds 1 to this", 5)
    tasks: list[str] = setting(
        f"suite senteval: which tasks, separated by commas or spaces: {', '.join(TASKS)}; by default all whose files "
        "are there",
        [],
    )
    sick_test_on_trial: bool = setting(
        "suite senteval: test SICK on its trial part, and choose the settings on a ninth of its train part; for want "
        "of the test part, and not comparable with published figures",
        False,
    )
    batch_size: int = setting("sentences a batch of the encoder", 256)
    device: str = device_setting()
    output: str | None = setting("a JSON file for the results", None)
    overwrite: bool = setting("replace an existing results file", False)
    update_card: bool = setting(
        "put each model's tables, beside the floors, into a section of its card README.md and the results into the "
        "card's model-index and provenance.json; earlier ones are replaced",
        False,
    )


def main(argv: Sequence[str]) -> None:
    """Runs `evaluate`."""
    arguments = parse(Arguments, "evaluate", argv)
    _check(arguments)
    suite = SUITES[arguments.suite](arguments)
    suite.read()
    # All models are opened before the first one works, so that a wrong folder at the end of the list costs nothing.
    models = [Scorer.model(name, _encoder(name, arguments)) for name in dict.fromkeys(arguments.model)]
    floors = [Scorer.floor(name) for name in dict.fromkeys(arguments.baseline)]
    results = [suite.measure(scorer) for scorer in (*floors, *models)]
    sys.stdout.write(suite.report(results))
    sys.stdout.flush()
    if arguments.output is not None:
        record = suite.record(results)
        write_text_whole(arguments.output, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        say(f"results in {arguments.output}")
    if arguments.update_card:
        for item in results:
            if item.kind == "model":
                own = [other for other in results if other.kind == "baseline" or other is item]
                section = _card_section(suite, suite.report(own))
                name, evaluation = suite.evaluation(item, suite.record([item]))
                add_results(item.name, name, evaluation, suite.measurements(item), section=suite.SECTION, text=section)
                say(f"results in {Path(item.name) / 'README.md'}")


def _check(arguments: Arguments) -> None:
    """Refuses what cannot work in any suite, and flags of another one, before anything is read."""
    if not arguments.model and not arguments.baseline:
        raise UsageError("evaluate: there is nothing to evaluate", remedy="give --model, --baseline or both")
    unknown = [name for name in arguments.baseline if name not in FLOORS]
    if unknown:
        raise UsageError(f"evaluate: unknown --baseline {', '.join(unknown)}", remedy=f"one of {', '.join(FLOORS)}")
    if arguments.batch_size < 1:
        raise UsageError(f"evaluate: --batch-size is {arguments.batch_size}", remedy="give 1 or more")
    for field in dataclasses.fields(Arguments):
        suites = _OWN_FLAGS.get(field.name, (arguments.suite,))
        default = [] if field.default is dataclasses.MISSING else field.default
        if arguments.suite not in suites and getattr(arguments, field.name) != default:
            flag = f"--{field.name.replace('_', '-')}"
            raise UsageError(f"evaluate: {flag} belongs to --suite {' or '.join(suites)}", remedy="leave it out")
    check_device(arguments.device)
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
            check_evaluated_card(name, SUITES[arguments.suite].SECTION)


def _encoder(name: str, arguments: Arguments) -> Encode:
    """Opens an encoder and returns its `encode` with the batch size filled in."""
    from ..encoders.sentence_encoder import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(name, device=arguments.device)
    return lambda texts: encoder.encode(texts, batch_size=arguments.batch_size, show_progress_bar=True)


def _card_section(suite: Suite, report: str) -> str:
    """Makes a section of a card out of the tables: the same text under a heading of its own, one level down."""
    body = "\n".join(f"#{line}" if line.startswith("## ") else line for line in report.split("\n"))
    return f"## {suite.HEADING}\n\nWritten by `hf-paraphrase evaluate`; {suite.TRAINED}.\n\n{body}"
