"""The command `evaluate-nmt`: BLEU, chrF2 and TER of a translation model on a bitext."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from ..artefacts.artefact import output_file
from ..artefacts.card_metadata import Measurement
from ..artefacts.cards import add_results, check_evaluated_card
from ..artefacts.files import atomic_write_text, write_json
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import fingerprint, read_provenance, versions
from ..data.folder import DataFolder
from ..errors import InputError
from ..messages import log
from ..settings import recipe, setting
from .bitext import COLUMNS, check_languages, normalized_sources
from .bleu import METRICS, TOKENIZERS, check_target_language, corpus_scores, translation_table
from .search_settings import CandidateSettings, SearchSettings


@dataclass(kw_only=True)
class TranslationEvaluationSettings(SearchSettings, CandidateSettings):
    """Translate the sources of a bitext and print sacrebleu's BLEU, chrF2 and TER with their signatures."""

    bitext: str = setting("data folder with the columns source and target", path=True, dataset=True)
    split: str = setting("split to translate", "test")
    num_beams: list[int] = setting("beam widths, each evaluated separately; 1 is greedy search", [5], at_least=1)
    precision: str = setting(
        "precision of the search; auto: bf16 if the hardware supports it", "fp32", choices=["auto", "bf16", "fp32"]
    )
    lower_case: bool = setting("ignore case in BLEU and chrF2 [default: for a model of lower-cased text]", False)
    bleu_tokenizer: str | None = setting(
        "sacrebleu's tokenizer for BLEU [default: by the target language: zh, ja-mecab, ko-mecab, char, else 13a]",
        None,
        choices=TOKENIZERS,
    )
    max_sentences: int | None = setting("translate only the first N sentences", None, at_least=1)
    output: str | None = setting("JSON file for the scores", None)
    translations: str | None = setting("text file for the translations of the last beam width", None, written=True)
    overwrite: bool = setting("replace existing files", False)
    update_card: bool = setting("write the scores into the model's card, its model-index and provenance.json", False)


class EvaluatedTranslation(NamedTuple):
    """The scores of every beam width, in order, and the translations of the last beam width.

    Scores are `bleu`, `chrf` and `ter` with their signatures, `num_beams`, `sentences` and `sources_cut`.
    """

    scores: list[dict[str, Any]]
    translations: list[str]


@recipe(TranslationEvaluationSettings)
def evaluate_nmt(settings: TranslationEvaluationSettings) -> EvaluatedTranslation:
    """Translate the sources of a bitext, and measure BLEU, chrF2 and TER against the targets."""
    with ExitStack() as stack:
        for output in filter(None, (settings.output, settings.translations)):
            stack.enter_context(output_file(output, overwrite=settings.overwrite))
        return _evaluate(settings)


def _evaluate(settings: TranslationEvaluationSettings) -> EvaluatedTranslation:
    if settings.update_card:
        check_evaluated_card(settings.model)
    bitext = DataFolder(settings.bitext).rows(settings.split)
    columns = [name for name in COLUMNS if name in bitext.columns or name != "target_lang"]
    table = bitext.read(columns, stop=settings.max_sentences)
    if not table.num_rows:
        raise InputError(f"split `{settings.split}` has no rows", path=settings.bitext, remedy="give another --split")

    from .loading import encode_sources, load_translation_model, source_limit
    from .translator import Translator

    model, tokenizer = load_translation_model(settings.model, device=settings.device, **settings.languages)
    check_languages(settings.model, model, bitext, settings.max_sentences)
    sources, references = ([text or "" for text in table[side].to_pylist()] for side in ("source", "target"))
    sources = normalized_sources(model, sources, table["source_lang"][0].as_py())
    limit = source_limit(model, tokenizer) or math.inf
    if cut := sum(len(subwords) > limit for subwords in encode_sources(model, tokenizer, sources)):
        log(f"{cut:,} of {len(sources):,} sources are truncated to {limit:,} subwords, the limit of the model")
    # Computed first, because a file may change during the work.
    sha256 = fingerprint(settings.bitext) if settings.update_card else ""
    language = table["target_lang"][0].as_py() if "target_lang" in columns else None
    language = language or getattr(model.config, "target_lang", None)
    check_target_language(language)
    lowercase = settings.lower_case or bool(getattr(model.config, "lowercase", False))
    score = partial(corpus_scores, target_lang=language, tokenizer=settings.bleu_tokenizer, lowercase=lowercase)
    score([""], [""])  # reports a missing package before the search
    scores: list[dict[str, Any]] = []
    translations: list[str] = []
    for num_beams in settings.num_beams:
        options = settings.options(settings.device, num_beams=num_beams, num_return_sequences=1, **settings.candidates)
        translator = Translator(model, tokenizer, options, settings.lexical_table)
        with tqdm(total=len(sources), unit="sentence", desc=f"beam {num_beams}", file=sys.stderr) as bar:
            translations = translator.translate(sources, progress=bar.update)
        measured = {"num_beams": num_beams, "sentences": len(sources), "sources_cut": cut}
        scores.append(measured | score(translations, references))
    if settings.output is not None:
        write_json(settings.output, scores)
        log(f"scores saved to {settings.output}")
    if settings.translations is not None:
        atomic_write_text(settings.translations, "".join(f"{line}\n" for line in translations))
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
        for metric, (key, title) in zip(("sacrebleu", "chrf", "ter"), METRICS.items(), strict=True)
    ]
    text = f"## Evaluation\n\nWritten by `hf-paraphrase evaluate-nmt`.\n\n{table}"
    section = "hf-paraphrase evaluate-nmt"
    add_results(settings.model, name, evaluation, measurements, section=section, text=text)
    log(f"scores written to {Path(settings.model) / 'README.md'}")
