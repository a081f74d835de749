"""The recipe of the verb `analyze human-scores`: what encoders make of sentence pairs that people scored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import write_text_whole
from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, check_split_name
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...evaluation.correlation import cosine_similarities
from ...evaluation.figures import check_plots
from ...evaluation.graded_set import GradedSet, read_graded_folder
from ...messages import log
from ...settings import recipe, setting
from ...tables import format_table, number, plain_markdown, short_names
from .human_scores import LEVEL, HumanScores, compare_scores, holm, score_step
from .inputs import ComparisonSettings, model_names
from .plots import plot_human_scores

_PLACEHOLDER = "{lang}"


@dataclass(kw_only=True)
class HumanScoreSettings(ComparisonSettings):
    """Compares human scores of sentence pairs with the cosines of encoders (paper 003, section A.4, figure 2).

    For each data folder, normally one a language, and each encoder: the mean and the standard deviation of the cosine
    of every human score, Welch's t-tests between neighbouring scores, and Spearman's correlation.
    """

    model: list[str] = setting(
        "one or more folders of sentence encoders; `{lang}` in a name stands for the language on the card of a data "
        "folder, where each language has encoders of its own: --model avg-{lang} gran-{lang}",
        path=True,
    )
    data: list[str] = setting(
        "one or more data folders with the columns sentence1, sentence2 and score, such as prepare opusparcus, turku, "
        "sts, sick, pit2015 and stsbenchmark make",
        path=True,
    )
    split: list[str] = setting(
        "the splits to read, put together; by default validation, or that of each configuration (NAME.validation), or "
        "where there is none all splits",
        [],
    )
    step: float | None = setting(
        "width of the bands into which scores are put, around its multiples; by default every score is a group of its "
        "own where a set has at most 12 different ones, else the least of 1, 2, 5, 0.5 … that makes at most 12",
        None,
        above=0,
    )


@dataclass(frozen=True, eq=False)
class _Set:
    """One data folder as it is compared."""

    name: str
    folder: Path
    splits: list[str]
    graded: GradedSet
    language: str | None
    step: float | None


@recipe(HumanScoreSettings)
def analyze_human_scores(settings: HumanScoreSettings) -> dict[str, dict[str, HumanScores]]:
    """Compares human scores of sentence pairs with the cosines of encoders (paper 003, section A.4, figure 2).

    Returns:
        By the names of data and model, the means and tests of every human score.
    """
    check_plots()
    names = _names_of(settings.model)
    sets = _read_sets(settings)
    folders = {
        (item.name, name): _model_folder(model, item)
        for item in sets
        for name, model in zip(names, settings.model, strict=True)
    }
    _check_models(sorted(set(folders.values())), settings.device)
    inputs = [*dict.fromkeys(folders.values()), *settings.data]
    with Artefact(
        settings.output, command="analyze human-scores", settings=settings, inputs=inputs, overwrite=settings.overwrite
    ) as artefact:
        scores_by_set, zeros = _compare(sets, folders, settings)
        _write(artefact, settings, sets, folders, scores_by_set, zeros)
    log(_summary_table(scores_by_set).rstrip())
    log(f"the report is {settings.output}/README.md")
    return scores_by_set


def _names_of(models: Sequence[str]) -> list[str]:
    """Names the models without the place of the language, where that distinguishes them."""
    names = model_names(models)
    plain = short_names([model.replace(_PLACEHOLDER, "").rstrip("-_. /") for model in models])
    plain = [name.strip("-_. /") for name in plain]
    return plain if all(plain) and len(set(plain)) == len(models) else names


def _read_sets(settings: HumanScoreSettings) -> list[_Set]:
    paths = [Path(folder) for folder in settings.data]
    twice = next((path for place, path in enumerate(settings.data) if path in settings.data[:place]), None)
    if twice is not None:
        raise UsageError(f"the data folder {twice} is given twice", remedy="give each folder once")
    splits = [check_split_name(name) for name in settings.split]
    sets = []
    for folder, name in zip(paths, short_names([str(path) for path in paths]), strict=True):
        chosen = splits or _default_splits(folder)
        parts = [read_graded_folder(folder, split) for split in dict.fromkeys(chosen)]
        graded = GradedSet(
            name=name,
            family="graded",
            sentences1=[text for part in parts for text in part.sentences1],
            sentences2=[text for part in parts for text in part.sentences2],
            scores=np.concatenate([part.scores for part in parts]),
        )
        if not len(graded):
            raise InputError(f"no pair in {', '.join(chosen)}", path=folder, remedy="give another --split")
        languages = inherited_metadata(folder)["language"]
        language = languages[0] if len(languages) == 1 else None
        step = score_step(graded.scores) if settings.step is None else settings.step
        label = name if language is None or language in name.replace("-", "_").split("_") else f"{name} ({language})"
        sets.append(_Set(label, folder, chosen, graded, language, step))
    return sets


def _default_splits(folder: Path) -> list[str]:
    names = DataFolder(folder).splits
    if "validation" in names:
        return ["validation"]
    return [name for name in names if name.endswith(".validation")] or names


def _model_folder(model: str, item: _Set) -> str:
    if _PLACEHOLDER not in model:
        return model
    if item.language is None:
        raise InputError(
            f"the card names no language, or several, to put into --model {model}",
            path=item.folder,
            remedy="name the encoder, and analyse this folder by itself",
        )
    if not item.language.replace("-", "").isalnum():
        raise InputError(f"`{item.language}` on the card is not the code of a language", path=item.folder)
    return model.replace(_PLACEHOLDER, item.language)


def _check_models(folders: Sequence[str], device: str) -> None:
    """Opens every encoder once, so that a wrong one is reported before any long work."""
    for folder in folders:
        _open(folder, device)


def _open(folder: str, device: str) -> SentenceEncoder:
    return SentenceEncoder.from_pretrained(folder, device=device)


def _compare(
    sets: Sequence[_Set], folders: Mapping[tuple[str, str], str], settings: HumanScoreSettings
) -> tuple[dict[str, dict[str, HumanScores]], dict[str, dict[str, int]]]:
    """Scores every set with its models; also counts the pairs with a side that the encoder knows nothing of."""
    from tqdm.auto import tqdm

    scores_by_set: dict[str, dict[str, HumanScores]] = {item.name: {} for item in sets}
    zeros: dict[str, dict[str, int]] = {item.name: {} for item in sets}
    by_name = {item.name: item for item in sets}
    opened: tuple[str, SentenceEncoder] | None = None
    with tqdm(total=sum(len(by_name[data].graded) for data, _ in folders), unit=" pairs", desc="compare") as progress:
        # One model is in memory at a time.
        for (data, name), folder in sorted(folders.items(), key=lambda item: item[1]):
            if opened is None or opened[0] != folder:
                opened = folder, _open(folder, settings.device)
            graded = by_name[data].graded
            texts = list(dict.fromkeys([*graded.sentences1, *graded.sentences2]))
            places = {text: place for place, text in enumerate(texts)}
            vectors = opened[1].encode(texts, batch_size=settings.batch_size)
            sides = [vectors[[places[text] for text in side]] for side in (graded.sentences1, graded.sentences2)]
            scores_by_set[data][name] = compare_scores(
                graded.scores, cosine_similarities(sides[0], sides[1]), by_name[data].step
            )
            zeros[data][name] = int((~(sides[0].any(axis=1) & sides[1].any(axis=1))).sum())
            progress.update(len(graded))
    order = list(dict.fromkeys(name for _, name in folders))
    return {data: {name: models[name] for name in order} for data, models in scores_by_set.items()}, zeros


def _write(
    artefact: Artefact,
    settings: HumanScoreSettings,
    sets: Sequence[_Set],
    folders: Mapping[tuple[str, str], str],
    scores_by_set: Mapping[str, Mapping[str, HumanScores]],
    zeros: Mapping[str, Mapping[str, int]],
) -> None:
    plot_human_scores(scores_by_set, artefact.staging / "plots" / "human_scores.png")
    corrected = _corrected(scores_by_set)
    record: dict[str, Any] = {
        "sets": [
            {
                "data": item.name,
                "folder": item.folder.resolve().name,
                "splits": item.splits,
                "language": item.language,
                "pairs": len(item.graded),
                "step": item.step,
                "models": {
                    name: {
                        "model": to_path(folders[item.name, name]).resolve().name,
                        "spearman": result.rho,
                        "note": result.note,
                        "pairs_with_an_unknown_side": zeros[item.name][name],
                        "scores": [asdict(group) for group in result.groups],
                        "tests": [
                            {**asdict(test), "p_holm": p}
                            for test, p in zip(result.tests, corrected[item.name, name], strict=True)
                        ],
                    }
                    for name, result in scores_by_set[item.name].items()
                },
            }
            for item in sets
        ],
        "tests_in_the_correction": sum(p is not None for values in corrected.values() for p in values),
    }
    write_text_whole(artefact.staging / "analysis.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    write_text_whole(artefact.staging / "scores.tsv", _scores_tsv(scores_by_set))
    write_text_whole(artefact.staging / "tests.tsv", _tests_tsv(scores_by_set, corrected))
    values = {
        "sets": [
            {
                "name": plain_markdown(item.name),
                "splits": item.splits,
                "pairs": len(item.graded),
                "step": item.step,
                "groups": _groups_table(scores_by_set[item.name]),
                "tests": _tests_table(
                    scores_by_set[item.name], [corrected[item.name, name] for name in scores_by_set[item.name]]
                ),
                "notes": [
                    f"{name}: {text}"
                    for name, result in scores_by_set[item.name].items()
                    for text in _notes(result, zeros[item.name][name])
                ],
            }
            for item in sets
        ],
        "models": list(next(iter(scores_by_set.values()))),
        "summary": _summary_table(scores_by_set),
        "tests": record["tests_in_the_correction"],
        "level": LEVEL,
    }
    artefact.finish(results=record, card=Card("analysis_human_scores", values, report=True))


def _corrected(scores_by_set: Mapping[str, Mapping[str, HumanScores]]) -> dict[tuple[str, str], list[float | None]]:
    """Corrects the probabilities of all tests of the report together."""
    keys = [(data, name) for data, models in scores_by_set.items() for name in models]
    values = iter(holm([test.p for data, name in keys for test in scores_by_set[data][name].tests]))
    return {(data, name): [next(values) for _ in scores_by_set[data][name].tests] for data, name in keys}


def _notes(result: HumanScores, zeros: int) -> list[str]:
    notes = [result.note] if result.note else []
    notes += [f"{test.low:g} and {test.high:g} not tested: {test.note}" for test in result.tests if test.note]
    if zeros:
        notes.append(
            f"{zeros:,} pairs have a side without a word in the encoder's vocabulary; their cosine counts as 0"
        )
    return notes


def _summary_table(scores_by_set: Mapping[str, Mapping[str, HumanScores]]) -> str:
    corrected = _corrected(scores_by_set)
    rows = []
    for data, models in scores_by_set.items():
        for name, result in models.items():
            tested = [test for test in result.tests if test.p is not None]
            strong = [test for test in tested if test.p is not None and test.p < LEVEL]
            holds = [
                test
                for test, p in zip(result.tests, corrected[data, name], strict=True)
                if p is not None and p < LEVEL
            ]
            cells = [f"{sum(group.pairs for group in result.groups):,}", number(result.rho)]
            cells += [f"{result.rises} of {len(result.tests)}"]
            cells += [f"{sum(test.difference > 0 for test in some)} of {len(tested)}" for some in (strong, holds)]
            rows.append([data, name, *cells])
    header = ["data", "model", "pairs", "Spearman × 100", "steps up", f"p < {LEVEL:g}", f"p (Holm) < {LEVEL:g}"]
    return format_table(header, rows)


def _groups_table(models: Mapping[str, HumanScores]) -> str:
    header = ["human score", "pairs", *models]
    rows = []
    for groups in zip(*(result.groups for result in models.values()), strict=True):
        cells = [
            f"{group.mean:.3f} ± {'–' if group.deviation is None else f'{group.deviation:.3f}'}" for group in groups
        ]
        rows.append([f"{groups[0].score:g}", f"{groups[0].pairs:,}", *cells])
    return format_table(header, rows)


def _tests_table(models: Mapping[str, HumanScores], corrected: Sequence[Sequence[float | None]]) -> str:
    header = ["scores"]
    for name in models:
        header += [f"{name}: difference", "t", "p", "p (Holm)"]
    rows = []
    results = list(models.values())
    for place, test in enumerate(results[0].tests):
        row = [f"{test.low:g} to {test.high:g}"]
        for result, values in zip(results, corrected, strict=True):
            item = result.tests[place]
            row += [f"{item.difference:+.3f}", "–" if item.t is None else f"{item.t:.2f}"]
            row += [_probability(item.p), _probability(values[place])]
        rows.append(row)
    return format_table(header, rows) if rows else ""


def _probability(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.0e}" if value > 0 else "0"


def _scores_tsv(scores_by_set: Mapping[str, Mapping[str, HumanScores]]) -> str:
    lines = ["data\tmodel\tscore\tpairs\tmean\tstandard_deviation\n"]
    for data, models in scores_by_set.items():
        for name, result in models.items():
            for group in result.groups:
                deviation = "" if group.deviation is None else f"{group.deviation:.6f}"
                lines.append(f"{data}\t{name}\t{group.score:g}\t{group.pairs}\t{group.mean:.6f}\t{deviation}\n")
    return "".join(lines)


def _tests_tsv(
    scores_by_set: Mapping[str, Mapping[str, HumanScores]], corrected: Mapping[tuple[str, str], Sequence[float | None]]
) -> str:
    lines = ["data\tmodel\tlow\thigh\tdifference\tt\tdegrees\tp\tp_holm\n"]
    for data, models in scores_by_set.items():
        for name, result in models.items():
            for test, p in zip(result.tests, corrected[data, name], strict=True):
                cells = ["" if value is None else f"{value:.6g}" for value in (test.t, test.degrees, test.p, p)]
                ends = f"{test.low:g}\t{test.high:g}\t{test.difference:.6f}"
                lines.append(f"{data}\t{name}\t{ends}\t" + "\t".join(cells) + "\n")
    return "".join(lines)
