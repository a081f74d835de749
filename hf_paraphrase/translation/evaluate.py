"""The recipe of the verb `evaluate-nmt`: BLEU and chrF of a translation model on a bitext."""

from __future__ import annotations

import dataclasses
import json
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

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
from .bleu import TranslationScore, corpus_scores, translation_table
from .search_settings import SearchSettings

CARD_SECTION = "hf-paraphrase evaluate-nmt"
"""The name of the section that `--update-card` writes, in the comments that enclose it."""


@dataclass(kw_only=True)
class TranslationEvaluationSettings(SearchSettings):
    """Translate the source side of a bitext and print sacrebleu's BLEU and chrF2 with their signatures."""

    bitext: str = setting("data folder with the columns source and target, from `prepare bitext`", path=True)
    split: str = setting("split to translate", "test")
    num_beams: list[int] = setting("beam widths, each scored by itself; 1 is greedy search", [5], at_least=1)
    cased: bool = setting("score with case (the default ignores it)", False)
    max_sentences: int | None = setting("translate only so many sentences", None, at_least=1)
    output: str | None = setting("JSON file for the scores", None)
    translations: str | None = setting(
        "text file for the translations of the last beam width, one a line", None, written=True
    )
    overwrite: bool = setting("replace existing files", False)
    update_card: bool = setting(
        "put the scores into a section of the model's card README.md, its model-index and provenance.json; earlier "
        "ones are replaced",
        False,
    )


@dataclass(frozen=True)
class BeamScore(TranslationScore):
    """The scores of a beam width."""

    num_beams: int
    sentences: int

    def record(self) -> dict[str, int | float | str]:
        """Returns it for JSON, what it was measured with first."""
        return {"num_beams": self.num_beams, "sentences": self.sentences, **dataclasses.asdict(self)}


@dataclass(frozen=True)
class EvaluatedTranslation:
    """The scores of every beam width, in order, and the translations of the last."""

    scores: list[BeamScore]
    translations: list[str]


@recipe(TranslationEvaluationSettings)
def evaluate_translation(settings: TranslationEvaluationSettings) -> EvaluatedTranslation:
    """Translates the source side of a bitext, and measures BLEU and chrF2 against the target side.

    Returns:
        The scores of each beam width, and the translations.
    """
    with ExitStack() as stack:
        for output in filter(None, (settings.output, settings.translations)):
            stack.enter_context(output_file(output, overwrite=settings.overwrite))
        return _evaluate(settings)


def _evaluate(settings: TranslationEvaluationSettings) -> EvaluatedTranslation:
    if settings.update_card:
        check_evaluated_card(settings.model)
    bitext = DataFolder(settings.bitext)
    table = bitext.table(settings.split, ["source", "target", "source_lang"])
    table = table.slice(0, settings.max_sentences)
    if not table.num_rows:
        raise InputError(f"split `{settings.split}` has no rows", path=settings.bitext)

    from .beam_search import translate
    from .bitext import check_languages, normalized_sources

    model, tokenizer = settings.open_model(settings.device)
    check_languages(settings.model, model, bitext, settings.split)
    sources = normalized_sources(
        model, [text or "" for text in table["source"].to_pylist()], table["source_lang"][0].as_py()
    )
    references = [text or "" for text in table["target"].to_pylist()]
    # Before the work, during which a file may change.
    sha256 = fingerprint(settings.bitext) if settings.update_card else ""
    scores, translations = [], []
    for num_beams in settings.num_beams:
        with tqdm(total=len(sources), unit="sentence", desc=f"beam {num_beams}", file=sys.stderr) as bar:
            translations = translate(
                model,
                tokenizer,
                sources,
                num_beams=num_beams,
                length_penalty=settings.length_penalty,
                constraints=settings.constraints(),
                progress=bar,
            )
        score = corpus_scores(translations, references, lowercase=not settings.cased)
        scores.append(BeamScore(**dataclasses.asdict(score), num_beams=num_beams, sentences=len(sources)))
    if settings.output is not None:
        write_text_whole(settings.output, json.dumps([score.record() for score in scores], indent=2) + "\n")
        log(f"scores: {settings.output}")
    if settings.translations is not None:
        write_text_whole(settings.translations, "".join(f"{line}\n" for line in translations))
        log(f"translations: {settings.translations}")
    if settings.update_card:
        _update_card(settings, scores, sha256)
    return EvaluatedTranslation(scores, translations)


def _update_card(settings: TranslationEvaluationSettings, scores: list[BeamScore], sha256: str) -> None:
    data = to_path(settings.bitext).resolve().name
    evaluation = {
        "kind": "evaluate-nmt",
        "bitext": data,
        "split": settings.split,
        "scores": [score.record() for score in scores],
        "inputs": [{"name": data, "sha256": sha256}],
        "settings": settings.record(),
        "versions": versions(),
    }
    name = f"evaluate-nmt {data}/{settings.split}"
    measured = {**read_provenance(settings.model).get("evaluations", {}), name: evaluation}
    text = f"## Evaluation\n\nWritten by `hf-paraphrase evaluate-nmt`.\n\n{translation_table(measured)}"
    measurements = [
        Measurement(
            task="translation",
            dataset=data,
            split=settings.split,
            metric=metric,
            value=value,
            name=f"{title}, beam {score.num_beams} ({signature[:200]})",
            task_name="Translation",
        )
        for score in scores
        for metric, title, value, signature in (
            ("sacrebleu", "BLEU", score.bleu, score.bleu_signature),
            ("chrf", "chrF2", score.chrf, score.chrf_signature),
        )
    ]
    add_results(settings.model, name, evaluation, measurements, section=CARD_SECTION, text=text)
    log(f"scores in {Path(settings.model) / 'README.md'}")
