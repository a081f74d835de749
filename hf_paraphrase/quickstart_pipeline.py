"""The command `quickstart`: the whole pipeline on the built-in sample."""

from __future__ import annotations

import random
import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hf_paraphrase as hp

from .artefacts.artefact import check_output, has_own_provenance
from .artefacts.card_metadata import CARD
from .artefacts.cards import render_card
from .artefacts.files import atomic_write_text, locked, read_json, write_json
from .artefacts.provenance import fingerprint, read_provenance, write_provenance
from .data.folder import DataFolder
from .data.sample import FEWEST_PAIRS, TOTAL_PAIRS, sample_bitext, sample_paraphrases
from .errors import OutputError
from .messages import log
from .settings import Settings, flag, recipe, seed_setting, setting
from .tables import format_table, number

_MODEL_TYPES = ("avg", "gran")
_BASELINES = {"words": "word overlap *", "weighted-trigrams": "weighted trigrams *"}
_MEASURES = ("average_precision", "top_1")
_QUERY = "Could you give me a hand?"
_SCORES = "paraphrases/results.json"
_N_BEST = 4


@dataclass(kw_only=True)
class QuickstartSettings(Settings):
    """Run the whole pipeline on the French-English sample of Tatoeba that comes with the package.

    Bitext, translation model, back-translated pairs, filtered pairs, sentence encoders, evaluation on human
    paraphrases: each step is a command for your own data.
    """

    output: str = setting("folder for all artefacts: bitext/, rnn_search/, pairs/, avg/, gran/ and others")
    num_pairs: int = setting("pairs of the sample bitext", TOTAL_PAIRS, at_least=FEWEST_PAIRS, at_most=TOTAL_PAIRS)
    nmt_epochs: float = setting("passes of the translation model over the bitext", 3.0, above=0)
    max_sentences: int = setting("sentences to translate back", 10_000, at_least=1)
    num_beams: int = setting("beam width of the back-translation", 8, at_least=_N_BEST)
    seed: int = seed_setting("random seed of the sample and of all training")
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("reuse finished steps and run the remaining steps", False)


@recipe(QuickstartSettings)
def quickstart(settings: QuickstartSettings) -> Path:
    """Run the whole pipeline of Wieting et al. (2017) on the sample; return the folder, whose card has the results."""
    output = Path(settings.output)
    started = time.monotonic()
    with locked(output.absolute()):
        _begin(output, settings)
        steps = _Steps(output, settings.resume)
        _write_sample(settings, output / "sample")
        _make_data_and_models(settings, steps)
        results = _measure(settings, steps)
        results["seconds"] = round(time.monotonic() - started, 1)
        write_json(output / "results.json", results)
        atomic_write_text(output / CARD, _card(results, output))
        sample = {str(output / "sample"): fingerprint(output / "sample")}
        write_provenance(output, command="quickstart", settings=settings.record(), inputs=sample, results=results)
    return output


def _begin(output: Path, settings: QuickstartSettings) -> None:
    """Prepare the output folder and write its provenance; empty an existing folder only if this package made it."""
    if settings.resume and has_own_provenance(output):
        before, now = read_provenance(output).get("settings", {}), settings.record()
        if changed := sorted(name for name in now if name != "output" and before.get(name) != now[name]):
            problem = f"the run to continue had other settings: {', '.join(changed)}"
            remedy = "repeat the original command with --resume, or start again with --overwrite"
            raise OutputError(problem, path=output, remedy=remedy)
        return
    if check_output(output, overwrite=settings.overwrite).is_dir():
        shutil.rmtree(output)
    write_provenance(output, command="quickstart", settings=settings.record())


@dataclass(frozen=True)
class _Steps:
    """Runs commands with outputs in one folder; existing outputs are reused."""

    output: Path
    resume: bool

    def path(self, name: str) -> str:
        return str(self.output / name)

    def run(self, verb: str, function: Any, name: str, **fields: Any) -> None:
        path = self.output / name
        if self.resume and (path.is_file() or (path / "provenance.json").is_file()):
            log(f"{name}: reused")
            return
        fields["output"] = str(path)
        given = {flag(key): value if isinstance(value, list) else [value] for key, value in fields.items()}
        words = [str(word) for key, values in given.items() for word in (key, *values) if word is not True]
        log(f"\n$ hf-paraphrase {verb} {shlex.join(words)}")
        resumes = self.resume and "resume" in function.settings.__dataclass_fields__
        made = function(**fields, **{"resume" if resumes else "overwrite": True})
        if verb == "evaluate":
            log(str(made))


def _write_sample(settings: QuickstartSettings, folder: Path) -> None:
    for split, pairs in sample_bitext(settings.num_pairs, settings.seed).items():
        atomic_write_text(folder / f"{split}.fr", "\n".join(pair.french for pair in pairs) + "\n")
        atomic_write_text(folder / f"{split}.en", "\n".join(pair.english for pair in pairs) + "\n")
    for split, judged in sample_paraphrases().items():
        rows = (f"{pair.sentence1}\t{pair.sentence2}\t{pair.label}\t{pair.label}" for pair in judged)
        atomic_write_text(folder / f"paraphrases.{split}.tsv", "\n".join(rows) + "\n")


def _make_data_and_models(settings: QuickstartSettings, steps: _Steps) -> None:
    sample, seed = steps.output / "sample", settings.seed
    origin = {"license": "cc-by-2.0", "url": "https://tatoeba.org"}
    sides = {
        f"{prefix}{side}_file": str(sample / f"{split}.{language}")
        for prefix, split in (("", "train"), ("validation_", "validation"), ("test_", "test"))
        for side, language in (("source", "fr"), ("target", "en"))
    }
    steps.run("prepare bitext", hp.prepare_bitext, "bitext", **sides, source_lang="fr", target_lang="en", **origin)
    for split in ("validation", "test"):
        table = {"tsv": str(sample / f"paraphrases.{split}.tsv"), "columns": "sentence1,sentence2,label,score"}
        steps.run("prepare pairs", hp.prepare_pairs, f"paraphrases/{split}", **table, split=split, **origin)

    size = {"vocab_size": 4_000, "hidden_size": 192, "embedding_size": 128, "dropout": 0.1}
    schedule = {"learning_rate": 2e-3, "warmup_steps": 150, "evaluations": 3, "max_dev_pairs": 300}
    training = {"bitext": [steps.path("bitext")], **size, **schedule, "epochs": settings.nmt_epochs, "seed": seed}
    steps.run("train-nmt", hp.train_nmt, "rnn_search", **training)
    model = {"model": steps.path("rnn_search"), "bitext": steps.path("bitext")}
    steps.run("evaluate-nmt", hp.evaluate_nmt, "bleu.json", **model, num_beams=[5])
    search = {"num_beams": settings.num_beams, "num_return_sequences": _N_BEST}
    search["max_sentences"] = settings.max_sentences
    steps.run("back-translate", hp.back_translate, "back_translated", **model, **search)

    chosen = {"drop_identical": True, "keep": ["3<=length<=30", "overlap_2<=0.8"], "one_per_reference": "best"}
    steps.run("filter", hp.filter, "pairs", pairs=steps.path("back_translated"), **chosen, seed=seed)
    encoder = {"pairs": steps.path("pairs"), "dev_data": steps.path("paraphrases/validation"), "seed": seed}
    for name in _MODEL_TYPES:
        steps.run("train-encoder", hp.train_encoder, f"untrained/{name}", **encoder, model_type=name, epochs=0.0)
        steps.run("train-encoder", hp.train_encoder, name, **encoder, model_type=name)


def _measure(settings: QuickstartSettings, steps: _Steps) -> dict[str, Any]:
    output = steps.output
    names = {steps.path(name): name for kind in _MODEL_TYPES for name in (f"untrained/{kind}", kind)} | _BASELINES
    asked = {"model": [name for name in names if name not in _BASELINES], "baseline": list(_BASELINES)}
    data = {"data": [steps.path("paraphrases/test")], "dev_split": "test", "test_split": "test"}
    steps.run("evaluate", hp.evaluate, _SCORES, **asked, **data, suite="paraphrase", seeds=0)
    tested = read_json(output / _SCORES)["results"]
    judged = tested[0]["tasks"][0]["test"]
    scores = {names[model["name"]]: model["tasks"][0]["cosine"] for model in tested}
    scores["chance"] = dict.fromkeys(_MEASURES, judged["paraphrases"] / judged["pairs"])
    sentences = sorted(set(DataFolder(output / "bitext").table("train", ["target"])["target"].to_pylist()))
    encoder = hp.SentenceEncoder.from_pretrained(output / "avg")
    hits = hp.semantic_search(encoder.encode([_QUERY]), encoder.encode(sentences), top_k=5)[0]
    nearest = [{"sentence": sentences[hit["corpus_id"]], "cosine": round(hit["score"], 4)} for hit in hits]
    pairs = DataFolder(output / "pairs").table("train", ["source", "sentence1", "sentence2"]).to_pylist()
    return {
        "bleu": read_json(output / "bleu.json")[-1],
        "examples": random.Random(settings.seed).sample(pairs, min(10, len(pairs))),
        "filter": read_provenance(output / "pairs")["results"],
        "scores": {name: {measure: score[measure] for measure in _MEASURES} for name, score in scores.items()},
        "judged": judged,
        "neighbours": {"query": _QUERY, "among": len(sentences), "found": nearest},
    }


def _card(results: dict[str, Any], folder: Path) -> str:
    funnel, scores = results["filter"]["funnel"], results["scores"]
    rows = [[name, *(number(100 * score[measure]) for measure in _MEASURES)] for name, score in scores.items()]
    steps = format_table(["step", "pairs"], [[step, f"{count:,}"] for step, count in funnel.items()])
    table = format_table(["scorer", "average precision", "paraphrase found first"], rows)
    values = {**results, "folder": folder, "steps_table": steps, "scores_table": table}
    return render_card("dataset_cards", "quickstart", values) + "\n"
