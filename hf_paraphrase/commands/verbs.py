"""The verbs of the command line: each with the recipe that it runs, and how the result is shown."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ..errors import UsageError, choice_of
from ..registry import SOURCES, Registry
from ..settings import Recipe
from . import results

_PACKAGE = __package__.rpartition(".")[0]
ANALYSES = Registry(
    "kind of analysis",
    {
        "pairs": "hf_paraphrase.studies.analysis.pairs:analyze_pairs",
        "gates": "hf_paraphrase.studies.gates.analysis:analyze_gates",
        "neighbours": "hf_paraphrase.studies.detection.neighbours:analyze_neighbours",
        "similarities": "hf_paraphrase.studies.detection.similarities:analyze_similarities",
        "human-scores": "hf_paraphrase.studies.detection.human_scores:analyze_human_scores",
    },
)
"""Reports for `analyze KIND`, recipes."""


@dataclass(frozen=True)
class Verb:
    """A verb, whose recipe is imported when it runs.

    Attributes:
        recipe: The public function of the package; with kinds, `module:function` of what makes the recipe of one, or
            nothing if the registry has the recipes themselves.
        kinds: What its first word may be, each with flags of its own; `usual_kind` if none is named.
        shared: Whether several processes share its work.
        shown: Lays out for standard output what the recipe returned, given the settings too.
    """

    summary: str
    recipe: str = ""
    kinds: Registry | None = None
    usual_kind: str | None = None
    shared: bool = False
    shown: Callable[[Any, Any], Iterable[str]] = lambda settings, result: ()

    def recipe_of(self, kind: str | None = None) -> Recipe[..., Any]:
        """Import the recipe of the command, or of one of its kinds."""
        if self.kinds is not None and not self.recipe:
            return cast("Recipe[..., Any]", self.kinds[str(kind)])
        module, _, name = self.recipe.partition(":")
        if self.kinds is None:
            found = importlib.import_module(f"{_PACKAGE}.{module}") if name else sys.modules[_PACKAGE]
            return cast("Recipe[..., Any]", getattr(found, name or module))
        return cast("Recipe[..., Any]", getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)(kind))

    def kind_of(self, verb: str, words: list[str]) -> str | None:
        """Take the kind away from the words of a command line; None for a verb without kinds."""
        if self.kinds is None:
            return None
        if self.usual_kind is not None and (not words or words[0].startswith("-")):
            return self.usual_kind
        if not words:
            raise UsageError(f"{verb}: no kind of data given", remedy=f"hf-paraphrase {verb} {'|'.join(self.kinds)}")
        kind = words.pop(0)
        if kind not in self.kinds:
            raise UsageError(f"{verb}: unknown kind `{kind}`", remedy=choice_of(kind, self.kinds))
        return kind

    def list_of_kinds(self, verb: str) -> str:
        """Lay out the `--help` of a verb that has kinds, a line each."""
        kinds = self.kinds
        assert kinds is not None
        width = max(map(len, kinds))
        word = "<kind>" if self.usual_kind is None else f"[kind, {self.usual_kind} by default]"
        lines = [f"  {kind:{width}}  {kinds.summary(kind)}" for kind in kinds]
        usage = f"usage: hf-paraphrase {verb} {word} [flags]"
        return "\n".join([usage, "", *lines, "", f"hf-paraphrase {verb} <kind> --help", ""])


def recipe_and_flags(words: Sequence[str]) -> tuple[str, Recipe[..., Any], list[str]]:
    """Find for the words of a command line its name (the verb and its kind), its recipe, and its flags."""
    verb, *flags = words
    row = VERBS[verb]
    kind = row.kind_of(verb, flags)
    return verb if kind is None else f"{verb} {kind}", row.recipe_of(kind), flags


def all_recipes() -> dict[str, Recipe[..., Any]]:
    """Import the recipes of all verbs; returns them by what they are called, as `train-nmt` or `prepare bitext`."""
    found: dict[str, Recipe[..., Any]] = {}
    for verb, row in VERBS.items():
        kinds: Iterable[str | None] = [None] if row.kinds is None else row.kinds
        found |= {verb if kind is None else f"{verb} {kind}": row.recipe_of(kind) for kind in kinds}
    return found


JOURNEYS = {
    "getting started": {
        "quickstart": Verb("run the whole pipeline on the built-in sample", "quickstart", shown=results.card),
        "demo": Verb("open a page to try models and look at data in a browser, on this machine alone", "launch_demo"),
        "env": Verb("print versions and devices, for a bug report", "env", shown=results.as_text),
    },
    "sentences to vectors": {
        "encode": Verb("turn lines of text into sentence embeddings", "encode"),
        "search": Verb(
            "index a corpus, find the sentences nearest to a query, mine paraphrases",
            "search",
            shown=results.neighbours,
        ),
        "serve": Verb("answer requests for embeddings and searches over HTTP", "serve"),
        "deduplicate": Verb(
            "remove duplicates and near-duplicates from data of any kind",
            "deduplication.deduplicate:deduplicate_files",
        ),
        "evaluate": Verb("evaluate encoders on similarity, retrieval and more", "evaluate", shown=results.as_text),
        "export": Verb("export an encoder or classifier as ONNX or JSON, or with smaller weights", "export"),
    },
    "bitext to paraphrases": {
        "prepare": Verb(
            "turn raw files into a Parquet data folder; `prepare --help` lists the sources",
            "data.sources.preparation:preparation",
            kinds=SOURCES,
        ),
        "train-nmt": Verb("train an RNNsearch translation model on a bitext", "train_nmt", shared=True),
        "evaluate-nmt": Verb(
            "measure BLEU and chrF of a translation model", "evaluate_nmt", shown=results.translation_scores
        ),
        "back-translate": Verb("translate the source side of a bitext into n-best paraphrase pairs", "back_translate"),
        "paraphrase": Verb("paraphrase sentences by a round trip through other languages", "paraphrase_file"),
        "score": Verb("add measures as columns to paraphrase pairs: length, overlap, BLEU, perplexity, …", "score"),
        "filter": Verb("select paraphrase pairs by ranges over measures", "filter"),
        "fingerprint": Verb("turn evaluation sets into sentence fingerprints for --decontaminate", "fingerprint"),
        "lexical-table": Verb("estimate how source units are translated, for candidate vocabularies", "lexical_table"),
        "train-classifier": Verb(
            "train a classifier that tells references from translations", "train_classifier", shared=True
        ),
    },
    "an encoder of your own": {
        "train-tokenizer": Verb("train a tokenizer of words or sub-words for an encoder", "train_tokenizer"),
        "train-encoder": Verb("train a paraphrastic sentence encoder on pairs", "train_encoder", shared=True),
        "distill": Verb("train a sentence encoder on plain text to imitate larger ones", "distill"),
        "join": Verb("concatenate averaging encoders into one, each with its weight", "join"),
        "tune": Verb(
            "train encoders on many selections of pairs and choose the best on the dev set",
            "tune",
            shown=results.as_text,
        ),
    },
    "publishing": {
        "push": Verb("send a model, data or metric folder to the Hugging Face Hub", "push", shown=results.as_text),
    },
    "studies": {
        "analyze": Verb(
            "make reports with tables and plots; `analyze --help` lists the kinds", kinds=ANALYSES, usual_kind="pairs"
        ),
        "train-supervised": Verb(
            "train an encoder with a head on classes or scores of sentences or pairs", "train_supervised", shared=True
        ),
        "predict": Verb(
            "apply a model of train-supervised to a split, and compare it with its classes or scores",
            "predict",
            shown=results.scores_of_predictions,
        ),
        "train-sdae": Verb(
            "train a sentence encoder on plain text, as a denoising autoencoder", "train_sdae", shared=True
        ),
        "expand": Verb("replace words of sentences by their definitions in WordNet", "expand"),
        "train-bilingual-vectors": Verb(
            "train word vectors of two languages in one space from a bitext alone", "train_bilingual_vectors"
        ),
        "train-parallel-classifier": Verb(
            "train a classifier that detects translations", "train_parallel_classifier", shared=True
        ),
        "mine": Verb(
            "find the translations between two collections of sentences", "mine", shown=results.measures_of_mining
        ),
        "evaluate-mining": Verb(
            "measure candidates, scores and decisions of `mine` on a task with known pairs",
            "evaluate_mining",
            shown=results.mining_tables,
        ),
    },
}
"""All verbs, as the overview groups them."""

VERBS = {verb: row for verbs in JOURNEYS.values() for verb, row in verbs.items()}
