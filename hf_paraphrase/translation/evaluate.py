"""The recipe of the verb `evaluate-nmt`: BLEU and chrF of a translation model on a bitext."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from ..artefacts.artefact import output_file
from ..artefacts.card_heads import Measurement
from ..artefacts.cards import add_results, check_evaluated_card
from ..artefacts.files import write_text_whole
from ..artefacts.provenance import fingerprint, read_provenance, versions
from ..artefacts.remote_paths import to_path
from ..data.folder import DataFolder
from ..errors import InputError
from ..messages import log
from ..settings import recipe, setting
from ..tables import format_table
from .bitext import check_languages, normalized_sources
from .search_settings import SearchSettings


@dataclass(kw_only=True)
class TranslationEvaluationSettings(SearchSettings):
    """Translate the source side of a bitext and print sacrebleu's BLEU and chrF2 with their signatures."""

    bitext: str = setting("data folder with the columns source and target", path=True, dataset=True)
    split: str = setting("split to translate", "test")
    num_beams: list[int] = setting("beam widths, each evaluated separately; 1 is greedy search", [5], at_least=1)
    cased: bool = setting("compute case-sensitive scores (by default case is ignored)", False)
    max_sentences: int | None = setting("translate only the first N sentences", None, at_least=1)
    output: str | None = setting("JSON file for the scores", None)
    translations: str | None = setting("text file for the translations of the last beam width", None, written=True)
    overwrite: bool = setting("replace existing files", False)
    update_card: bool = setting("write the scores into the model's card, its model-index and provenance.json", False)


class EvaluatedTranslation(NamedTuple):
    """The scores of every beam width, in order, and the translations of the last.

    Scores are `bleu` and `chrf` with their signatures, `num_beams`, `sentences`, and how many `sources_cut`.
    """

    scores: list[dict[str, Any]]
    translations: list[str]


def corpus_scores(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = True) -> dict[str, Any]:
    """Scores detokenised translations against one reference each; `lowercase` ignores case (sacrebleu's `-lc`).

    Returns `bleu` and `chrf` (chrF2) in percent, with the signatures that make them comparable.
    """
    from sacrebleu.metrics import BLEU, CHRF

    metrics = {"bleu": BLEU(lowercase=lowercase), "chrf": CHRF(lowercase=lowercase)}
    scores = {name: item.corpus_score(list(hypotheses), [list(references)]).score for name, item in metrics.items()}
    return scores | {f"{name}_signature": str(item.get_signature()) for name, item in metrics.items()}


def translation_table(evaluations: Mapping[str, Mapping[str, Any]]) -> str:
    """Formats what `evaluate-nmt --update-card` measured of a model, a row for each bitext and beam width."""
    rows = []
    for _, item in sorted(evaluations.items()):
        for score in item["scores"] if item.get("kind") == "evaluate-nmt" else []:
            row = [f"{item['bitext']}, {item['split']}", f"{score['sentences']:,}", str(score["num_beams"])]
            signatures = f"BLEU: `{score['bleu_signature']}`; chrF2: `{score['chrf_signature']}`"
            rows.append([*row, f"{score['bleu']:.2f}", f"{score['chrf']:.2f}", signatures])
    header = ["bitext", "sentences", "beam", "BLEU", "chrF2", "signatures"]
    if len({row[-1] for row in rows}) == 1:
        return f"{format_table(header[:-1], [row[:-1] for row in rows])}\n{rows[0][-1]}."
    return format_table(header, rows) if rows else ""


@recipe(TranslationEvaluationSettings)
def evaluate_nmt(settings: TranslationEvaluationSettings) -> EvaluatedTranslation:
    """Translates the source side of a bitext, and measures BLEU and chrF2 against the target side."""
    with ExitStack() as stack:
        for output in filter(None, (settings.output, settings.translations)):
            stack.enter_context(output_file(output, overwrite=settings.overwrite))
        return _evaluate(settings)


def _evaluate(settings: TranslationEvaluationSettings) -> EvaluatedTranslation:
    if settings.update_card:
        check_evaluated_card(settings.model)
    bitext = DataFolder(settings.bitext)
    table = bitext.table(settings.split, ["source", "target", "source_lang"]).slice(0, settings.max_sentences)
    if not table.num_rows:
        raise InputError(f"split `{settings.split}` has no rows", path=settings.bitext, remedy="give another --split")

    from .beam_search import translate
    from .loading import load_translation_model, source_limit, source_units

    model, tokenizer = load_translation_model(settings.model, device=settings.device, **settings.languages)
    check_languages(settings.model, model, bitext, settings.split)
    sources, references = ([text or "" for text in table[side].to_pylist()] for side in ("source", "target"))
    sources = normalized_sources(model, sources, table["source_lang"][0].as_py())
    limit = source_limit(model, tokenizer) or math.inf
    if cut := sum(len(units) > limit for units in source_units(model, tokenizer, sources)):
        log(f"{cut:,} of {len(sources):,} sources have more units than the model reads, {limit:,}, and are truncated")
    # Before the work, during which a file may change.
    sha256 = fingerprint(settings.bitext) if settings.update_card else ""
    limits = {"length_penalty": settings.length_penalty, "max_length_ratio": settings.max_length_ratio}
    scores: list[dict[str, Any]] = []
    translations: list[str] = []
    for num_beams in settings.num_beams:
        with tqdm(total=len(sources), unit="sentence", desc=f"beam {num_beams}", file=sys.stderr) as bar:
            translations = translate(model, tokenizer, sources, num_beams=num_beams, **limits, progress=bar.update)
        measured = {"num_beams": num_beams, "sentences": len(sources), "sources_cut": cut}
        scores.append(measured | corpus_scores(translations, references, lowercase=not settings.cased))
    if settings.output is not None:
        write_text_whole(settings.output, json.dumps(scores, indent=2) + "\n")
        log(f"scores saved to {settings.output}")
    if settings.translations is not None:
        write_text_whole(settings.translations, "".join(f"{line}\n" for line in translations))
        log(f"translations saved to {settings.translations}")
    if settings.update_card:
        _update_card(settings, scores, sha256)
    return EvaluatedTranslation(scores, translations)


def _update_card(settings: TranslationEvaluationSettings, scores: list[dict[str, Any]], sha256: str) -> None:
    data = to_path(settings.bitext).resolve().name
    evaluation = {
        "kind": "evaluate-nmt",
        "bitext": data,
        "split": settings.split,
        "scores": scores,
        "inputs": [{"name": data, "sha256": sha256}],
        "settings": settings.record(),
        "versions": versions(),
    }
    name = f"evaluate-nmt {data}/{settings.split}"
    table = translation_table({**read_provenance(settings.model).get("evaluations", {}), name: evaluation})
    measurements = [
        Measurement(
            task="translation",
            dataset=data,
            split=settings.split,
            metric=metric,
            value=score[key],
            name=f"{title}, beam {score['num_beams']} ({score[f'{key}_signature'][:200]})",
            task_name="Translation",
        )
        for score in scores
        for metric, title, key in (("sacrebleu", "BLEU", "bleu"), ("chrf", "chrF2", "chrf"))
    ]
    text = f"## Evaluation\n\nWritten by `hf-paraphrase evaluate-nmt`.\n\n{table}"
    section = "hf-paraphrase evaluate-nmt"
    add_results(settings.model, name, evaluation, measurements, section=section, text=text)
    log(f"scores written to {Path(settings.model) / 'README.md'}")
