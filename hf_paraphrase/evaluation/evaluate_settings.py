"""The settings of the command `evaluate`, for all suites and for some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..artefacts.hub_models import BUILTIN, BUILTIN_FOLDERS
from ..errors import InputError, UsageError
from ..messages import INPUT_COPIES, as_given, log
from ..registry import MULTILINGUAL, SUITES
from ..settings import flag, is_given, setting
from ..training.devices import DeviceSettings
from .baselines import UNTRAINED_BASELINES
from .transfer_tasks import TASKS

PAPER = "paper"
PROTOCOLS = {
    PAPER: "each set, and plain means over sets",
    "senteval": "plain mean and pair-weighted mean (wmean) of the sets of a year, without STS13 SMT",
    "all": "all pairs of a year in one list, without STS13 SMT; published figures are rho (SBERT, SimCSE)",
    "mteb": "the same, with the whole of SICK; published figures are rho (MTEB)",
}
"""The protocols by the names that `evaluate --protocols` takes."""
_OF_SOME_SUITES = ("text_column", "label_column", "protocols", "split", "dev_split", "test_split", "seeds", "tasks")
"""The settings that only some suites use, and that these suites name."""


@dataclass(kw_only=True)
class EvaluateSettings(DeviceSettings):
    """Evaluate sentence encoders, side by side, on data of one or several kinds, each with its own table.

    The contents of the data decide which suite is used; `--suite` overrides this. `sts` finds every STS set below a
    folder (SemEval STS 2012-2017, SICK, PIT-2015, the STS benchmark) and correlates the cosine of sentence embeddings
    with human scores, without any training on top: each set, and the means of the protocols of the papers, of
    SentEval, of SBERT and SimCSE, and of MTEB. `graded` does so for pairs with the columns sentence1, sentence2 and
    score. `paraphrase` distinguishes paraphrases from other pairs with the columns sentence1, sentence2 and label: by
    a perceptron on the two vectors, trained on the development pairs, and by the cosine alone. `senteval` trains a
    regression on fixed sentence vectors for each of SentEval's transfer tasks below a folder; `classification` does so
    for texts with the columns text and label. `retrieval` ranks documents by cosine and by BM25, for a folder in the
    layout of BEIR; `translations` looks for the translation of each sentence of bitext folders. Pairs and texts may be
    data folders, CSV, JSON lines and Parquet files. The tables go to standard output.
    """

    data: list[str] = setting(
        "folders and files of one or several kinds: a folder with STS sets or transfer tasks, at any depth; graded "
        "or labelled pairs; bitexts; a folder with corpus.jsonl, queries.jsonl and qrels; texts with labels",
        path=True,
        dataset=True,
    )
    model: list[str] = setting(
        "encoder folders, or namespace/name on the Hub, side by side; builtin is installed with this package, and "
        "is the default without --baseline; NAME=FOLDER is called NAME in the tables",
        [],
        path=True,
        names=["--model", "--models"],
    )
    baseline: list[str] = setting("untrained baselines to compare with the models", [], choices=UNTRAINED_BASELINES)
    suite: str | None = setting("the benchmark [default: by the contents of the data]", None, choices=SUITES)
    protocols: list[str] = setting(
        "protocols of the suite sts [default: all that the data allows]",
        [],
        choices=PROTOCOLS,
    )
    split: str = setting(
        "the split of a graded data folder or a bitext (if there is only one, that one); the judgements "
        "qrels/SPLIT.tsv of the suite retrieval",
        "test",
    )
    dev_split: str = setting(
        "suite paraphrase: the split to train the perceptron and choose thresholds on; if it is also the test split, "
        "or the only split, it is divided into 5 folds that share no sentence",
        "validation",
    )
    test_split: str = setting("suite paraphrase: the test split", "test")
    seeds: int = setting(
        "suite paraphrase: number of perceptrons to train, with seeds from 1; 0 evaluates the cosine only",
        5,
        at_least=0,
    )
    tasks: list[str] = setting("suite senteval: which tasks; by default all whose files exist", [], choices=TASKS)
    text_column: str = setting("suite classification: the column of texts", "text")
    label_column: str = setting("suite classification: the column of classes", "label")
    batch_size: int = setting("sentences per batch of the encoder", 256, at_least=1)
    truncate_dim: list[int] = setting(
        "also evaluate each model with the first N components of its embeddings, for encoders trained for it, e.g. "
        "32 64 128",
        [],
        at_least=1,
        only_with="model",
    )
    output: str | None = setting("a JSON file for the results", None)
    overwrite: bool = setting("replace existing results", False, only_with="output")
    update_card: bool = setting(
        "write the tables of each model and the baselines into a section of its card README.md, and the results into "
        "the model-index of the card and provenance.json; earlier results are replaced",
        False,
        only_with="model",
    )

    def check(self) -> None:
        """Check the settings before any data is read."""
        super().check()
        for folder in self.models_by_name().values() if self.update_card else ():
            if folder in BUILTIN_FOLDERS or folder in INPUT_COPIES:
                problem = f"--update-card: {as_given(folder)} is not a local folder, whose card can be updated"
                remedy = f"a folder of that name is ./{folder}" if folder in BUILTIN_FOLDERS else "save it first"
                raise UsageError(problem, remedy=remedy)
        if len({Path(path).resolve() for path in self.data}) < len(self.data):
            raise UsageError("--data has the same file or folder twice", remedy="give each of them once")

    def by_suite(self) -> list[EvaluateSettings]:
        """Divide the data by suite, and refuse settings that no suite of the data uses."""
        data: dict[str, list[str]] = {}
        for path in self.data:
            data.setdefault(self.suite or _recognise_suite(Path(path)), []).append(path)
        for name in _OF_SOME_SUITES:
            if is_given(self, name) and not any(name in SUITES[suite].settings for suite in data):
                suites = [other for other in SUITES if name in SUITES[other].settings]
                raise UsageError(f"{flag(name)} is for --suite {' or '.join(suites)}", remedy="leave it out")
        if not self.model and not self.baseline:
            self.model = [MULTILINGUAL if list(data) == ["translations"] else BUILTIN]
        return [
            replace(self, suite=suite, data=part)
            for suite, paths in data.items()
            for part in ([paths] if SUITES[suite].several else [[path] for path in paths])
        ]

    def models_by_name(self) -> dict[str, str]:
        """Return the folders of the models by their names in the tables: of `NAME=FOLDER`, or the folder itself."""
        named: dict[str, str] = {}
        for text in self.model:
            name, equals, folder = text.partition("=")
            if not equals or Path(text).exists():
                name, folder = as_given(text), text
            if not name or not folder or named.setdefault(name, folder) != folder:
                raise UsageError(f"--model {text}", remedy="give NAME=FOLDER, with another name for each model")
        return named


def _recognise_suite(path: Path) -> str:
    """Return the first suite that recognises the contents of a file or folder."""
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --data")
    for name in SUITES:
        if SUITES[name].recognise(path):
            log(f"{path}: suite {name}")
            return name
    problem = "not recognised as data of any suite"
    remedy = "name the columns sentence1, sentence2 and score or label, or text and label; or give --suite"
    raise InputError(problem, path=path, remedy=remedy)
