"""`evaluate-nmt`: BLEU and chrF of a translation model on a bitext."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.evaluated_cards import add_results, check_evaluated_card
from ..artefacts.folders import write_text_whole
from ..artefacts.measurements import Measurement
from ..artefacts.provenance import fingerprint, read_provenance, versions
from ..data.parquet import read_table
from ..errors import InputError, OutputError, UsageError
from ..messages import say
from ..settings import setting, settings_of
from ..translation.bitext import check_languages
from .arguments import parse
from .search_flags import check_search_flags, search_constraints
from .translation_tables import translation_table

CARD_SECTION = "hf-paraphrase evaluate-nmt"
"""The name of the section that `--update-card` writes, in the comments that enclose it."""


@dataclasses.dataclass
class Arguments:
    """Translate the source side of a bitext and print sacrebleu's BLEU and chrF2 with their signatures."""

    model: list[str] = setting(
        "translation model folder, from train-nmt; several with one vocabulary translate together, by their mean "
        "log-probability"
    )
    bitext: str = setting("data folder with the columns source and target, from `prepare bitext`")
    split: str = setting("split to translate", "test")
    num_beams: list[int] = setting("beam widths, each scored by itself; 1 is greedy search", [5])
    length_penalty: float = setting("exponent of the length that normalises a hypothesis' score", 1.0)
    min_length_ratio: float = setting(
        "least length of a translation as a share of its source's, in units (reference: 0.5)", 0.0
    )
    max_length_ratio: float = setting(
        "greatest length of a translation as a multiple of its source's, in units (reference: 3)", 3.0
    )
    max_target_units: int = setting("greatest length of a translation whatever its source, in units", 1_000)
    forbid_unknown: bool = setting("ban the unknown unit", False)
    no_repeat_ngram_size: int = setting("no run of so many units comes twice in a translation; 0: no ban", 0)
    cased: bool = setting("score with case (the default ignores it)", False)
    max_sentences: int | None = setting("translate only so many sentences", None)
    output: str | None = setting("JSON file for the scores", None)
    translations: str | None = setting("text file for the translations of the last beam width, one a line", None)
    overwrite: bool = setting("replace existing files", False)
    update_card: bool = setting(
        "put the scores into a section of the model's card README.md, its model-index and provenance.json; earlier "
        "ones are replaced",
        False,
    )


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    arguments = parse(Arguments, "evaluate-nmt", argv)
    if min(arguments.num_beams) < 1:
        raise UsageError(f"--num-beams must be 1 or more, not {min(arguments.num_beams)}")
    if arguments.max_sentences is not None and arguments.max_sentences < 1:
        raise UsageError(f"--max-sentences must be 1 or more, not {arguments.max_sentences}")
    check_search_flags(arguments)
    for path in (arguments.output, arguments.translations):
        if path is not None and Path(path).is_dir():
            raise OutputError("the output is a folder, not a file", path=path, remedy="name a file")
        if path is not None and Path(path).exists() and not arguments.overwrite:
            raise OutputError("the output file exists", path=path, remedy="give another name, or --overwrite")
    if arguments.update_card:
        if len(arguments.model) > 1:
            raise UsageError("--update-card with several models", remedy="an ensemble has no card: give one --model")
        check_evaluated_card(arguments.model[0], CARD_SECTION)
    table = read_table(arguments.bitext, arguments.split, ["source", "target", "source_lang"])
    table = table.slice(0, arguments.max_sentences)
    if not table.num_rows:
        raise InputError(f"split `{arguments.split}` has no rows", path=arguments.bitext)

    from ..translation.beam_search import translate
    from ..translation.bitext import normalize_punctuation
    from ..translation.bleu import corpus_scores
    from ..translation.ensemble import load_translation_models

    model, tokenizer = load_translation_models(arguments.model)
    check_languages(arguments.model, model, arguments.bitext, arguments.split)
    language = table["source_lang"][0].as_py()
    sources = normalize_punctuation([text or "" for text in table["source"].to_pylist()], language or "en")
    references = [text or "" for text in table["target"].to_pylist()]
    results = []
    for num_beams in arguments.num_beams:
        with tqdm(total=len(sources), unit="sentence", desc=f"beam {num_beams}", file=sys.stderr) as bar:
            translations = translate(
                model,
                tokenizer,
                sources,
                num_beams=num_beams,
                length_penalty=arguments.length_penalty,
                constraints=search_constraints(arguments),
                progress=bar,
            )
        score = corpus_scores(translations, references, lowercase=not arguments.cased)
        results.append({"num_beams": num_beams, "sentences": len(sources), **dataclasses.asdict(score)})
        sys.stdout.write(f"beam {num_beams:3d}  BLEU {score.bleu:5.2f}  chrF2 {score.chrf:5.2f}\n")
        sys.stdout.flush()
    sys.stdout.write(f"BLEU  {results[-1]['bleu_signature']}\nchrF2 {results[-1]['chrf_signature']}\n")
    if arguments.output is not None:
        write_text_whole(arguments.output, json.dumps(results, indent=2) + "\n")
        say(f"scores: {arguments.output}")
    if arguments.translations is not None:
        write_text_whole(arguments.translations, "".join(f"{line}\n" for line in translations))
        say(f"translations: {arguments.translations}")
    if arguments.update_card:
        _update_card(arguments, results)


def _update_card(arguments: Arguments, results: list[dict[str, Any]]) -> None:
    data = Path(arguments.bitext).resolve().name
    evaluation = {
        "kind": "evaluate-nmt",
        "bitext": data,
        "split": arguments.split,
        "scores": results,
        "inputs": [{"name": data, "sha256": fingerprint(arguments.bitext)}],
        "settings": settings_of(arguments),
        "versions": versions(),
    }
    (folder,) = arguments.model
    name = f"evaluate-nmt {data}/{arguments.split}"
    measured = {**read_provenance(folder).get("evaluations", {}), name: evaluation}
    text = f"## Evaluation\n\nWritten by `hf-paraphrase evaluate-nmt`.\n\n{translation_table(measured)}"
    measurements = [
        Measurement(
            task="translation",
            dataset=data,
            split=arguments.split,
            metric=metric,
            value=item[key],
            name=f"{title}, beam {item['num_beams']} ({item[f'{key}_signature'][:200]})",
            task_name="Translation",
        )
        for item in results
        for key, metric, title in (("bleu", "sacrebleu", "BLEU"), ("chrf", "chrf", "chrF2"))
    ]
    add_results(folder, name, evaluation, measurements, section=CARD_SECTION, text=text)
    say(f"scores in {Path(folder) / 'README.md'}")
