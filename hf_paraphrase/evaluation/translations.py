"""The suite `translations`: finding the translation of a sentence among others, as in mining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..artefacts.card_metadata import Measurement
from ..data.folder import DataFolder
from ..encoders.dev_sets.pair_sets import choose_split, encode_once
from ..encoders.dev_sets.scorer import measure_translation_retrieval
from ..errors import InputError
from ..settings import is_given
from ..text.normalization import is_blank
from .baselines import Scorer
from .suite import Benchmark, Scores, Suite, format_side_by_side, has_columns, name_folders

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

_COLUMNS = ["source", "target", "source_lang", "target_lang"]
_MEASURES = ("source_to_target", "target_to_source", "margin_error")


def _read(settings: EvaluateSettings) -> Benchmark:
    folders = name_folders(settings)
    bitexts: dict[str, list[list[str]]] = {}
    for name, folder in folders.items():
        opened = DataFolder(folder)
        split = choose_split(opened, settings.split, is_given=is_given(settings, "split"))
        columns = opened.table(split, _COLUMNS).columns
        pairs = zip(*(column.to_pylist() for column in columns), strict=True)
        has_pairs = False
        for source, target, source_lang, target_lang in pairs:
            if is_blank(source or "") or is_blank(target or ""):
                continue
            has_pairs = True
            sides = bitexts.setdefault(f"{name} {source_lang or 'und'}-{target_lang or 'und'}", [[], []])
            sides[0].append(source)
            sides[1].append(target)
        if not has_pairs:
            raise InputError(f"split `{settings.split}` has no pair of texts", path=folder, remedy="give another")

    def measure(scorer: Scorer) -> Scores:
        vectors = encode_once(scorer.encode, (text for sides in bitexts.values() for side in sides for text in side))
        record = {}
        for name, (sources, targets) in bitexts.items():
            encoded = (np.asarray(vectors(side), np.float32) for side in (sources, targets))
            record[name] = measure_translation_retrieval(sources, targets, *encoded)
        measurements = tuple(
            Measurement("translation-retrieval", name, "accuracy", row["mean"], "translation found (%)", "Retrieval")
            for name, row in record.items()
        )
        means = {key: float(np.mean([row[key] for row in record.values()])) for key in (*_MEASURES, "mean")}
        return Scores(scorer.name, scorer.kind, {"bitexts": record, "means": means}, measurements)

    def report(scores: Sequence[Scores]) -> str:
        rows = [
            ([name, str(len(sides[0]))], [each.record["bitexts"][name][key] for each in scores for key in _MEASURES])
            for name, sides in bitexts.items()
        ]
        if len(rows) > 1:
            pairs = sum(len(sides[0]) for sides in bitexts.values())
            rows.append((["mean", str(pairs)], [each.record["means"][key] for each in scores for key in _MEASURES]))
        text = format_side_by_side(["bitext", "pairs"], rows, [each.name for each in scores], "→,←,margin error")
        return f"{text}→, ←: the nearest sentence is a translation (%), from source to target and back.\n"

    return Benchmark(
        measure,
        inputs=list(folders.values()),
        protocol="the nearest sentence in the other language by cosine, and by margin among the 4 nearest",
        report=report,
        name=f"translations {' '.join(folders)}/{settings.split}",
    )


TRANSLATIONS = Suite(
    _read,
    has_columns("source", "target", "source_lang", "target_lang", without="sentence1"),
    several=True,
    settings=("split",),
    heading="Evaluation: translations",
)
