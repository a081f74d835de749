"""The recipe of the verb `evaluate`: encoders and baselines in, tables out, beside one another on one suite."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..artefacts.artefact import output_file
from ..artefacts.cards import add_results, check_evaluated_card
from ..artefacts.files import write_text_whole
from ..artefacts.hub_models import BUILTIN, BUILTIN_FOLDERS, fetched_folder
from ..artefacts.provenance import fingerprint
from ..errors import InputError, UsageError
from ..messages import INPUT_COPIES, as_given, log
from ..registry import MULTILINGUAL, SUITES
from ..settings import flag, is_given, recipe, setting
from ..training.devices import DeviceSettings
from .baselines import UNTRAINED_BASELINES, scorers, truncated_name
from .sts import PROTOCOLS
from .suite import Benchmark, Scores, Suite
from .transfer_tasks import TASKS

_OF_SOME_SUITES = ("protocols", "split", "dev_split", "test_split", "seeds", "tasks")
"""The settings that a suite must name to have them."""


@dataclass(kw_only=True)
class EvaluateSettings(DeviceSettings):
    """Measures sentence encoders, side by side, on data of one or several kinds, each with its own table.

    What is in the data decides which suite measures them, `--suite` overrules it. `sts` finds every STS set below a
    folder (SemEval STS 2012-2017, SICK, PIT-2015, the STS benchmark) and correlates the cosine of sentence embeddings
    with human scores, without any training on top: each set, and the means of the protocols of the papers, of
    SentEval, of SBERT and SimCSE, and of MTEB. `graded` does so for pairs with the columns sentence1, sentence2 and
    score. `paraphrase` tells paraphrases from other pairs with the columns sentence1, sentence2 and label: by a
    perceptron on the two vectors, trained on the development pairs, and by the cosine alone. `senteval` trains a
    regression on fixed sentence vectors for each of SentEval's transfer tasks below a folder; `classification` does so
    for texts with the columns text and label. `retrieval` ranks documents by cosine, beside BM25, for a folder in the
    layout of BEIR; `translations` looks for the translation of each sentence of bitext folders. Pairs and texts may be
    data folders, CSV, JSON lines and Parquet files. The tables go to standard output.
    """

    data: list[str] = setting(
        "folders and files of any kinds: the folder below which STS sets or transfer tasks are; graded or labelled "
        "pairs; bitexts; a folder with corpus.jsonl, queries.jsonl and qrels; texts with labels",
        path=True,
        dataset=True,
    )
    model: list[str] = setting(
        "encoder folders, or namespace/name of some on the Hub, side by side; builtin is the one that is installed "
        "with this package, and what is taken without any and without --baseline; NAME=FOLDER is called NAME in the "
        "tables",
        [],
        path=True,
        names=["--model", "--models"],
    )
    baseline: list[str] = setting(
        "baselines without training to print beside the models",
        [],
        choices=UNTRAINED_BASELINES,
    )
    suite: str | None = setting(
        "which benchmark; by default what is in the data decides for each of them", None, choices=SUITES
    )
    protocols: list[str] = setting(
        "which protocols of the suite sts; by default all for which there is data",
        [],
        choices=PROTOCOLS,
    )
    split: str = setting(
        "the split of a graded data folder or a bitext (where there is one only, that one); the judgements "
        "qrels/SPLIT.tsv of the suite retrieval",
        "test",
    )
    dev_split: str = setting(
        "suite paraphrase: the split on which the perceptron is trained and thresholds are chosen; if it is the test "
        "split too, or the data have one part only, that is parted into 5 folds without a common sentence",
        "validation",
    )
    test_split: str = setting("suite paraphrase: the split that is tested on", "test")
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
    output: str | None = setting("a JSON file for the results", None)
    overwrite: bool = setting("replace existing results", False, only_with="output")
    update_card: bool = setting(
        "put each model's tables, beside the baselines, into a section of its card README.md and the results into the "
        "card's model-index and provenance.json; earlier ones are replaced",
        False,
        only_with="model",
    )

    def check(self) -> None:
        """Refuses what cannot work before anything is read."""
        super().check()
        for folder in self.models_by_name().values() if self.update_card else ():
            if folder in BUILTIN_FOLDERS or folder in INPUT_COPIES:
                raise UsageError(
                    f"--update-card: {as_given(folder)} is no folder of yours, whose card could change",
                    remedy=f"a folder of that name is ./{folder}" if folder in BUILTIN_FOLDERS else "save it first",
                )
        if len({Path(path).resolve() for path in self.data}) < len(self.data):
            raise UsageError("--data has the same file or folder twice", remedy="give each of them once")

    def by_suite(self) -> list[EvaluateSettings]:
        """Parts the data by the suites that measure them, and refuses settings that none of these has a use for."""
        data: dict[str, list[str]] = {}
        for path in self.data:
            data.setdefault(self.suite or _recognised_suite(Path(path)), []).append(path)
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
        """Returns the folders of the models by their names in the tables: of `NAME=FOLDER`, or the folder itself."""
        named: dict[str, str] = {}
        for text in self.model:
            name, equals, folder = text.partition("=")
            if not equals or Path(text).exists():
                name, folder = as_given(text), text
            if not name or not folder or named.setdefault(name, folder) != folder:
                raise UsageError(f"--model {text}", remedy="give NAME=FOLDER, with another name for each model")
        return named


def _recognised_suite(path: Path) -> str:
    """Returns the suite that what is in a file or folder is for."""
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --data")
    for name in SUITES:
        if SUITES[name].recognise(path):
            log(f"{path}: suite {name}")
            return name
    raise InputError(
        "not recognised as data of any suite",
        path=path,
        remedy="name the columns sentence1, sentence2 and score or label, or text and label; or give --suite",
    )


@dataclass(frozen=True)
class Evaluation:
    """What was measured of each baseline and each model, in this order; it prints as its tables, Markdown.

    Where the data are for several suites, their names and scores are after each other, and their records below
    `suites` of the record.
    """

    suite: str
    scores: tuple[Scores, ...]
    text: str = field(repr=False)
    record: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        """Returns the tables."""
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


@recipe(EvaluateSettings)
def evaluate(settings: EvaluateSettings) -> Evaluation:
    """Measures sentence encoders and baselines side by side on data of one or several suites.

    Models may be :class:`~..encoders.sentence_encoder.SentenceEncoder` or SentenceTransformer objects, and data a
    `Dataset` or `DatasetDict`, in the place of their folders and names.

    Returns:
        The tables, and the numbers that are in them.
    """
    with output_file(settings.output, overwrite=settings.overwrite) if settings.output else nullcontext():
        parts = settings.by_suite()
        folders = settings.models_by_name()
        if settings.update_card:
            for folder in folders.values():
                check_evaluated_card(folder)
        benchmarks: list[Benchmark] = [SUITES[part.suite or ""].read(part) for part in parts]
        # All models are opened before the first one works: a wrong folder at the end of the list costs nothing.
        how: dict[str, Any] = {"device": settings.device, "batch_size": settings.batch_size}
        models = [
            scorer
            for name, folder in folders.items()
            for scorer in scorers(folder, name=name, sizes=settings.truncate_dim, **how)
        ]
        baselines = [UNTRAINED_BASELINES[name] for name in dict.fromkeys(settings.baseline)]
        # Before the work, during which a file may change.
        records = [benchmark.record(part) for benchmark, part in zip(benchmarks, parts, strict=True)]
        fingerprints = {
            name: {"sha256": fingerprint(folder)}
            for name, folder in folders.items()
            if fetched_folder(folder) is not None or Path(folder).is_dir()
        }
        scores = [[benchmark.measure(scorer) for scorer in (*baselines, *models)] for benchmark in benchmarks]
        if settings.update_card:
            _update_cards(settings, list(zip(parts, benchmarks, records, scores, strict=True)))
        for record, own in zip(records, scores, strict=True):
            record["results"] = [
                {"name": item.name, "kind": item.kind, **fingerprints.get(item.name, {}), **item.record}
                for item in own
            ]
        texts = [benchmark.report(own) for benchmark, own in zip(benchmarks, scores, strict=True)]
        if len(texts) > 1:
            titles = (f"# {SUITES[part.suite or ''].heading} ({part.suite})" for part in parts)
            texts = [f"{title}\n\n{text}" for title, text in zip(titles, texts, strict=True)]
        evaluation = Evaluation(
            suite=" ".join(dict.fromkeys(record["suite"] for record in records)),
            scores=tuple(each for own in scores for each in own),
            text="\n".join(texts),
            record=records[0] if len(records) == 1 else {"suites": records},
        )
        if settings.output is not None:
            text = json.dumps(evaluation.record, indent=2, ensure_ascii=False, allow_nan=False)
            write_text_whole(settings.output, text + "\n")
            log(f"results in {settings.output}")
        return evaluation


def _update_cards(
    settings: EvaluateSettings,
    measured: Sequence[tuple[EvaluateSettings, Benchmark, Mapping[str, Any], Sequence[Scores]]],
) -> None:
    """Puts the tables of each model, beside the baselines, into its card; a suite has one section."""
    tables: dict[tuple[str, str], str] = {}
    folders = settings.models_by_name()
    for part, benchmark, record, scores in measured:
        suite: Suite = SUITES[part.suite or ""]
        section = "hf-paraphrase evaluate" + ("" if part.suite == "sts" else f": {part.suite}")
        for item in (item for item in scores if item.kind == "model"):
            names = {item.name, *(truncated_name(item.name, size) for size in settings.truncate_dim)}
            own = benchmark.report([other for other in scores if other.kind == "baseline" or other.name in names])
            key = (item.name, section)
            tables[key] = f"{tables[key]}\n{own}" if key in tables else own
            body = re.sub("^## ", "### ", tables[key], flags=re.MULTILINE)
            text = f"## {suite.heading}\n\nWritten by `hf-paraphrase evaluate`; {benchmark.trained}.\n\n{body}"
            kept = {"kind": f"evaluate-{part.suite}", **record, **item.record}
            name = f"evaluate {benchmark.name or part.suite}"
            add_results(folders[item.name], name, kept, item.measurements, section=section, text=text)
            log(f"results in {Path(folders[item.name]) / 'README.md'}")
