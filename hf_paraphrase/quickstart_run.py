"""The recipe of the verb `quickstart`: the whole path, through the recipes of the verbs, on the built-in sample.

Read from top to bottom it is the path that one goes with data of one's own.
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .artefacts.artefact import check_output, is_ours
from .artefacts.files import locked, read_json, write_text_whole
from .artefacts.provenance import fingerprint, read_provenance, write_provenance
from .data.folder import DataFolder
from .data.sample import FEWEST_PAIRS, TOTAL_PAIRS
from .errors import OutputError, UsageError
from .messages import log
from .settings import Settings, constraints_of, flag, recipe, seed_setting, setting
from .tables import format_table, number

_MODEL_TYPES = ("avg", "gran")
_BASELINES = {"words": "word overlap *", "weighted-trigrams": "weighted trigrams *"}
_MEASURES = ("average_precision", "top_1")
_QUERY = "Could you give me a hand?"
_RESULTS = "results.json"
_SCORES = "paraphrases/results.json"
_REPORT = """
== Translation, French to English ==
BLEU {bleu[bleu]:.1f} on {bleu[sentences]:,} held-out sentences, beam {bleu[num_beams]}  [{bleu[bleu_signature]}]

== Ten paraphrase pairs: French, its translation by people, and that by the model ==
{pairs}

== Filter: pairs left after each step ==
{steps}
== Human paraphrases of {judged[paraphrases]} held-out sentences, each among {others} lookalikes (%) ==
{scores}  * by these two the lookalikes were chosen, which makes it hard for them above all

== Nearest of {neighbours[among]:,} sentences to: {neighbours[query]} (Avg, cosine) ==
{nearest}

== Outputs in {folder} ({seconds:.0f} s in all) ==
  bitext, paraphrases/test, back_translated, pairs: load_dataset("{folder}/pairs")
  rnn_search: AutoModelForSeq2SeqLM.from_pretrained("{folder}/rnn_search")
  avg, gran: SentenceEncoder.from_pretrained("{folder}/avg").encode(["A sentence."])
  results.json: everything above, and more
  (import hf_paraphrase first, so that the Auto classes know the models)

Sentences: tatoeba.org, CC BY 2.0 FR. For longer ones and more words train on bitext of your own, which
`hf-paraphrase prepare bitext` reads.
"""


@dataclass(kw_only=True)
class QuickstartSettings(Settings):
    """Run the whole path on the French-English sentences of Tatoeba that the package contains.

    Bitext, translation model, back-translated pairs, filtered pairs, sentence encoders, evaluation on human
    paraphrases: each step is the verb that one runs on data of one's own. The sentences are short and everyday ones.
    """

    output: str = setting(
        "folder for all artefacts: bitext/ paraphrases/ rnn_search/ back_translated/ pairs/ avg/ gran/ results.json"
    )
    num_pairs: int = setting(
        "sentence pairs of the sample bitext, of all splits", TOTAL_PAIRS, at_least=FEWEST_PAIRS, at_most=TOTAL_PAIRS
    )
    nmt_epochs: float = setting("passes of the translation model over the bitext", 3.0, above=0)
    max_sentences: int = setting("sentences to translate back", 10_000, at_least=1)
    num_beams: int = setting("beam width of the back-translation", 8, at_least=1)
    num_return_sequences: int = setting("translations kept per sentence before filtering", 4, at_least=1)
    seed: int = seed_setting("seed of the sample and of all training")
    overwrite: bool = setting("replace what is in the output folder", False)
    resume: bool = setting("keep the steps that are finished and go on from there", False)

    def check(self) -> None:
        """Refuses what the back-translation would refuse after the training of the translation model."""
        super().check()
        if self.num_return_sequences > self.num_beams:
            given = f"--num-return-sequences {self.num_return_sequences}"
            raise UsageError(f"{given} must be 1 to --num-beams {self.num_beams}")


@dataclass(frozen=True)
class Quickstart:
    """The folder that a quickstart made, and its `results.json`; as text it is the report."""

    folder: Path
    results: dict[str, Any]

    def __str__(self) -> str:
        return _report(self.results, self.folder)


@recipe(QuickstartSettings)
def quickstart(settings: QuickstartSettings) -> Quickstart:
    """Goes the whole path of paper 000 on the built-in sentences; returns the folder and what was measured."""
    output = Path(settings.output)
    started = time.monotonic()
    with locked(output.absolute()):
        _begin(output, settings)
        steps = _Steps(output, settings.resume)
        _write_sample(settings, output / "sample")
        _make_data_and_models(settings, steps)
        results = _measure(settings, steps)
        results["seconds"] = round(time.monotonic() - started, 1)
        write_text_whole(output / _RESULTS, json.dumps(results, indent=2, ensure_ascii=False) + "\n")
        sample = {str(output / "sample"): fingerprint(output / "sample")}
        write_provenance(output, command="quickstart", settings=settings.record(), inputs=sample, results=results)
    return Quickstart(output, results)


def _begin(output: Path, settings: QuickstartSettings) -> None:
    """Prepares the output folder: it keeps what this run may continue, and has our provenance from the start.

    Only a folder of ours is ever emptied.
    """
    if settings.resume and is_ours(output):
        before, now = read_provenance(output).get("settings", {}), settings.record()
        if changed := sorted(name for name in now if name != "output" and before.get(name) != now[name]):
            message = f"the run to continue had other settings: {', '.join(changed)}"
            remedy = "repeat the original command with --resume, or start again with --overwrite"
            raise OutputError(message, path=output, remedy=remedy)
        return
    # Else this run, interrupted and continued, would reuse the steps of an earlier one.
    if check_output(output, overwrite=settings.overwrite).is_dir():
        shutil.rmtree(output)
    write_provenance(output, command="quickstart", settings=settings.record())


@dataclass(frozen=True)
class _Steps:
    """Runs the recipes of verbs with outputs in one folder; existing outputs are reused."""

    output: Path
    resume: bool

    def path(self, name: str) -> str:
        return str(self.output / name)

    def run(self, verb: str, function: Any, name: str, **fields: Any) -> None:
        """Runs the recipe of a verb, which makes the artefact `name`, and logs the command that does the same."""
        path = self.output / name
        if self.resume and (path.is_file() or (path / "provenance.json").is_file()):
            log(f"{name}: reused")
            return
        fields["output"] = str(path)
        log(f"\n$ hf-paraphrase {verb} {shlex.join(_flags(fields))}")
        # Some verbs resume only on several machines; here they start afresh.
        field = function.settings.__dataclass_fields__.get("resume")
        resumes = self.resume and field is not None and not constraints_of(field).only_with
        made = function(**fields, **{"resume" if resumes else "overwrite": True})
        if verb == "evaluate":
            log(str(made))


def _flags(fields: dict[str, Any]) -> list[str]:
    """Spells the fields of settings as the command line does."""
    words: list[str] = []
    for name, value in fields.items():
        words.append(flag(name))
        if value is not True:
            words += map(str, value if isinstance(value, list) else [value])
    return words


def _write_sample(settings: QuickstartSettings, folder: Path) -> None:
    """Writes the built-in sample as raw text files, the form in which a user has bitext."""
    from .data.sample import sample_bitext, sample_paraphrases

    for split, pairs in sample_bitext(settings.num_pairs, settings.seed).items():
        write_text_whole(folder / f"{split}.fr", "\n".join(pair.french for pair in pairs) + "\n")
        write_text_whole(folder / f"{split}.en", "\n".join(pair.english for pair in pairs) + "\n")
    for split, judged in sample_paraphrases().items():
        # The label as a score as well: by its correlation with the cosine the epoch is chosen.
        rows = (f"{pair.sentence1}\t{pair.sentence2}\t{pair.label}\t{pair.label}" for pair in judged)
        write_text_whole(folder / f"paraphrases.{split}.tsv", "\n".join(rows) + "\n")


def _make_data_and_models(settings: QuickstartSettings, steps: _Steps) -> None:
    from .data.sources import prepare_bitext, prepare_pairs
    from .encoders import train_encoder
    from .filtering import filter_pairs
    from .filtering.row_choice import NothingLeftError
    from .translation import back_translate, evaluate_translation, train_translation

    sample, seed = steps.output / "sample", settings.seed
    origin = {"license": "cc-by-2.0", "url": "https://tatoeba.org"}
    sides = {
        f"{prefix}{side}_file": str(sample / f"{split}.{language}")
        for prefix, split in (("", "train"), ("validation_", "validation"), ("test_", "test"))
        for side, language in (("source", "fr"), ("target", "en"))
    }
    steps.run("prepare bitext", prepare_bitext, "bitext", **sides, source_lang="fr", target_lang="en", **origin)
    for split in ("validation", "test"):
        table = {"tsv": str(sample / f"paraphrases.{split}.tsv"), "columns": "sentence1,sentence2,label,score"}
        steps.run("prepare pairs", prepare_pairs, f"paraphrases/{split}", **table, split=split, **origin)

    size = {"vocab_size": 4_000, "hidden_size": 192, "embedding_size": 128, "dropout": 0.1}
    schedule = {"learning_rate": 2e-3, "warmup_steps": 150, "evaluations": 3, "max_dev_pairs": 300}
    bitext = [steps.path("bitext")]
    training = {"bitext": bitext, **size, **schedule, "epochs": settings.nmt_epochs, "seed": seed}
    steps.run("train-nmt", train_translation, "rnn_search", **training)
    model = {"model": steps.path("rnn_search"), "bitext": steps.path("bitext")}
    steps.run("evaluate-nmt", evaluate_translation, "bleu.json", **model, num_beams=[5])
    names = ("num_beams", "num_return_sequences", "max_sentences")
    search = {name: getattr(settings, name) for name in names}
    steps.run("back-translate", back_translate, "back_translated", **model, **search)

    chosen = {"drop_identical": True, "keep": ["3<=length<=30", "overlap_2<=0.8"], "one_per_reference": "best"}
    try:
        steps.run("filter", filter_pairs, "pairs", pairs=steps.path("back_translated"), **chosen, seed=seed)
    except NothingLeftError as error:
        # The steps of the filter are no options here.
        remedy = "the translations are too few or too bad: start afresh with --overwrite and more --num-pairs"
        raise NothingLeftError(error.message, path=error.path, remedy=f"{remedy} or --nmt-epochs") from error
    encoder = {"pairs": steps.path("pairs"), "dev_data": steps.path("paraphrases/validation"), "seed": seed}
    for name in _MODEL_TYPES:
        steps.run("train-encoder", train_encoder, f"untrained/{name}", **encoder, model_type=name, epochs=0.0)
        steps.run("train-encoder", train_encoder, name, **encoder, model_type=name)


def _measure(settings: QuickstartSettings, steps: _Steps) -> dict[str, Any]:
    """Collects what the steps measured, and asks the encoders for the test scores and some neighbours."""
    from .encoders import SentenceEncoder
    from .encoders.search.nearest_neighbours import nearest_neighbours
    from .evaluation import evaluate

    output = steps.output
    names = {steps.path(name): name for kind in _MODEL_TYPES for name in (f"untrained/{kind}", kind)} | _BASELINES
    asked = {"model": [name for name in names if name not in _BASELINES], "baseline": list(_BASELINES)}
    data = {"data": [steps.path("paraphrases/test")], "dev_split": "test", "test_split": "test"}
    steps.run("evaluate", evaluate, _SCORES, **asked, **data, suite="paraphrase", seeds=0)
    tested = read_json(output / _SCORES)["results"]
    judged = tested[0]["tasks"][0]["test"]
    chance = judged["paraphrases"] / judged["pairs"]
    scores = {names[item["name"]]: item["tasks"][0]["cosine"] for item in tested}
    scores["chance"] = dict.fromkeys(_MEASURES, chance)
    sentences = sorted(set(DataFolder(output / "bitext").table("train", ["target"])["target"].to_pylist()))
    encoder = SentenceEncoder.from_pretrained(output / "avg")
    rows, cosines = nearest_neighbours(encoder.encode([_QUERY]), encoder.encode(sentences), k=5)
    nearest = [
        {"sentence": sentences[row], "cosine": round(float(cosine), 4)}
        for row, cosine in zip(rows[0], cosines[0], strict=True)
    ]
    pairs = DataFolder(output / "pairs").table("train", ["source", "sentence1", "sentence2"]).to_pylist()
    return {
        "bleu": read_json(output / "bleu.json")[-1],
        "examples": random.Random(settings.seed).sample(pairs, min(10, len(pairs))),
        "filter": read_provenance(output / "pairs")["results"],
        "scores": {name: {measure: found[measure] for measure in _MEASURES} for name, found in scores.items()},
        "judged": judged,
        "neighbours": {"query": _QUERY, "among": len(sentences), "found": nearest},
    }


def _report(results: dict[str, Any], output: Path) -> str:
    """Writes what a user wants to see, for standard output."""
    judged, funnel = results["judged"], results["filter"]["funnel"]
    return _REPORT.format(
        **{name: value for name, value in results.items() if name != "scores"},
        folder=output,
        others=judged["pairs"] // judged["paraphrases"] - 1,
        pairs="\n".join("  {source}\n    {sentence1}\n    {sentence2}".format(**pair) for pair in results["examples"]),
        steps=format_table(["step", "pairs"], [[step, f"{count:,}"] for step, count in funnel.items()]),
        scores=format_table(
            ["scorer", "average precision", "paraphrase found first"],
            [[name, *(number(100 * found[item]) for item in _MEASURES)] for name, found in results["scores"].items()],
        ),
        nearest="\n".join("  {cosine:.3f}  {sentence}".format(**item) for item in results["neighbours"]["found"]),
    )
