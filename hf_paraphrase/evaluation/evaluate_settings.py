"""The settings of the recipe `evaluate`: what is common to all suites, and what some of them have a use for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..artefacts.hub_models import BUILTIN
from ..errors import UsageError
from ..registry import MULTILINGUAL, SUITES
from ..settings import flag, is_given, setting
from ..training.devices import DeviceSettings
from .baselines import UNTRAINED_BASELINES
from .sts import PAPER, PROTOCOLS
from .transfer_tasks import TASKS

_OF_SOME_SUITES = (
    "protocols",
    "split",
    "dev_split",
    "test_split",
    "positive_above",
    "seeds",
    "tasks",
)
"""The settings that a suite must name to have them."""


@dataclass(kw_only=True)
class EvaluateSettings(DeviceSettings):
    """Measures sentence encoders, side by side, on one of several benchmarks.

    `--suite sts` finds every STS set below a folder (SemEval STS 2012-2016, SICK, PIT-2015, the STS benchmark) and
    correlates the cosine of sentence embeddings with human scores, without any training on top: each set, the means
    of the paraphrastic sentence embedding papers, and in tables of their own the protocols of SentEval, of SBERT,
    SimCSE and MTEB. `--suite graded` does so for data folders with the columns sentence1, sentence2 and score.
    `--suite paraphrase` tells paraphrases from other pairs on data folders with the columns sentence1, sentence2 and
    label: by a perceptron on the two vectors, trained on the development pairs, and by the cosine alone. `--suite
    senteval` trains a regression on fixed sentence vectors for each of SentEval's transfer tasks below a folder;
    `--suite classification` does so for a CSV file with the columns text and label. `--suite retrieval` ranks
    documents by cosine, beside BM25, for a folder in the layout of BEIR; `--suite translations` looks for the
    translation of each sentence of bitext folders. The tables go to standard output.
    """

    data: list[str] = setting(
        "the folder below which the STS sets, or the transfer tasks, are; graded or labelled data folders; bitexts; "
        "for the suite retrieval a folder with corpus.jsonl, queries.jsonl and qrels; for the suite classification a "
        ".csv or .tsv file, or a folder with train.csv and test.csv",
        path=True,
        dataset=True,
    )
    model: list[str] = setting(
        "encoder folders, or namespace/name of some on the Hub, side by side; builtin is the one that is installed "
        "with this package, and what is taken without any and without --baseline; NAME=FOLDER is called NAME in the "
        "tables",
        [],
        path=True,
    )
    baseline: list[str] = setting(
        "baselines without training to print beside the models",
        [],
        choices=UNTRAINED_BASELINES,
    )
    suite: str = setting("which benchmark", "sts", choices=SUITES)
    protocols: list[str] = setting(
        "which protocols of the suite sts; by default all for which there is data",
        [],
        choices=(PAPER, *PROTOCOLS),
    )
    split: str = setting(
        "the split of a graded data folder or a bitext; the judgements qrels/SPLIT.tsv of the suite retrieval", "test"
    )
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
    seeds: int = setting(
        "suite paraphrase: perceptrons that are trained, with the seeds 1 to this; 0 leaves the cosine alone",
        5,
        at_least=0,
    )
    tasks: list[str] = setting(
        "suite senteval: which tasks; by default all whose files are there",
        [],
        choices=TASKS,
    )
    batch_size: int = setting("sentences a batch of the encoder", 256, at_least=1)
    truncate_dim: list[int] = setting(
        "measure each model also with the first N components of its embeddings, which is for encoders that were "
        "trained for it: e.g. 32 64 128",
        [],
        at_least=1,
        only_with="model",
    )
    output: str | None = setting(
        "a JSON file for the results; a report for a browser is written beside it, NAME.html", None
    )
    overwrite: bool = setting("replace existing results and their report", False, only_with="output")
    update_card: bool = setting(
        "put each model's tables, beside the baselines, into a section of its card README.md and the results into the "
        "card's model-index and provenance.json; earlier ones are replaced",
        False,
        only_with="model",
    )

    def check(self) -> None:
        """Refuses what cannot work, and settings of another suite, before anything is read."""
        if isinstance(self.data, str | os.PathLike):
            self.data = [os.fspath(self.data)]
        super().check()
        own = SUITES[self.suite].settings
        for name in _OF_SOME_SUITES:
            if name not in own and is_given(self, name):
                suites = [other for other in SUITES if name in SUITES[other].settings]
                raise UsageError(f"{flag(name)} is for --suite {' or '.join(suites)}", remedy="leave it out")
        self.models_by_name()
        if not self.model and not self.baseline:
            self.model = [MULTILINGUAL if self.suite == "translations" else BUILTIN]
        if self.report == self.output and self.output is not None:
            raise UsageError(
                "--output is for JSON, and the report is written beside it", remedy="name it e.g. results.json"
            )

    def models_by_name(self) -> dict[str, str]:
        """Returns the folders of the models by their names in the tables: of `NAME=FOLDER`, or the folder itself."""
        named: dict[str, str] = {}
        for text in self.model:
            name, equals, folder = text.partition("=")
            if not equals or Path(text).exists():
                name = folder = text
            if not name or not folder or named.setdefault(name, folder) != folder:
                raise UsageError(f"--model {text}", remedy="give NAME=FOLDER, with another name for each model")
        return named

    @property
    def report(self) -> str | None:
        """The report, beside the results file; None without one."""
        return None if self.output is None else str(Path(self.output).with_suffix(".html"))

    def paths_made(self) -> list[str]:
        """Lists the files that are made."""
        return [*super().paths_made(), *([] if self.report is None else [self.report])]
