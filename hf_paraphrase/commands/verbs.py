"""The list of commands: the recipe of each, and the function that shows its result."""

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
    """A command; its recipe is imported when it runs.

    Attributes:
        recipe: The public function of the package, or `module:function`. With `kinds`, a function that makes the
            recipe of a kind, or nothing if the registry has the recipes.
        kinds: The valid first words, e.g. the sources of `prepare`, each with its own flags; the default is
            `usual_kind`.
        shared: Whether several processes share the work.
        shown: Formats the result for standard output, given settings and result.
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
        owner = importlib.import_module(f"{_PACKAGE}.{module}") if name else sys.modules[_PACKAGE]
        made = getattr(owner, name or module)
        return cast("Recipe[..., Any]", made if self.kinds is None else made(kind))

    def kind_of(self, verb: str, words: list[str]) -> str | None:
        """Remove the kind from the words of a command line and return it; None for a command without kinds."""
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
        """Write the `--help` of a command with kinds, one line per kind."""
        kinds = self.kinds
        assert kinds is not None
        width = max(map(len, kinds))
        word = "<kind>" if self.usual_kind is None else f"[kind, {self.usual_kind} by default]"
        lines = [f"  {kind:{width}}  {kinds.summary(kind)}" for kind in kinds]
        usage = f"usage: hf-paraphrase {verb} {word} [flags]"
        return "\n".join([usage, "", *lines, "", f"hf-paraphrase {verb} <kind> --help", ""])


def recipe_and_flags(words: Sequence[str]) -> tuple[str, Recipe[..., Any], list[str]]:
    """Return the name (command and kind), the recipe and the flags of a command line."""
    verb, *flags = words
    row = VERBS[verb]
    kind = row.kind_of(verb, flags)
    return verb if kind is None else f"{verb} {kind}", row.recipe_of(kind), flags


def all_recipes() -> dict[str, Recipe[..., Any]]:
    """Import the recipes of all commands, by names such as `train-nmt` or `prepare bitext`."""
    recipes: dict[str, Recipe[..., Any]] = {}
    for verb, row in VERBS.items():
        kinds: Iterable[str | None] = [None] if row.kinds is None else row.kinds
        recipes |= {verb if kind is None else f"{verb} {kind}": row.recipe_of(kind) for kind in kinds}
    return recipes


JOURNEYS = {
    "getting started": {
        "quickstart": Verb("run the whole pipeline on the built-in sample", "quickstart", shown=results.card),
        "demo": Verb("open a page in the browser to try models and look at data", "launch_demo"),
        "env": Verb("print versions and devices, for a bug report", "env", shown=results.as_text),
    },
    "sentences to vectors": {
        "encode": Verb("turn lines of text into sentence embeddings", "encode"),
        "search": Verb("index a corpus, search it, mine paraphrases", "search", shown=results.neighbours),
        "serve": Verb("answer requests for embeddings and searches over HTTP", "serve"),
        "deduplicate": Verb("remove duplicates and near-duplicates", "deduplication.deduplicate:deduplicate_files"),
        "evaluate": Verb("evaluate encoders on similarity, retrieval and more", "evaluate", shown=results.as_text),
        "export": Verb("export an encoder or classifier as ONNX or JSON, or with smaller weights", "export"),
    },
    "bitext to paraphrases": {
        "prepare": Verb(
            "turn raw files into a Parquet data folder; `prepare --help` lists the sources",
            "data.sources.preparation:preparation",
            kinds=SOURCES,
        ),
        "train-nmt": Verb("train a translation model on a bitext", "train_nmt", shared=True),
        "evaluate-nmt": Verb(
            "measure BLEU, chrF and TER of a translation model", "evaluate_nmt", shown=results.translation_scores
        ),
        "back-translate": Verb("translate the sources of a bitext and pair them with its targets", "back_translate"),
        "paraphrase": Verb("paraphrase sentences by round trips or a language model", "paraphrase_file"),
        "score": Verb("add measures as columns to paraphrase pairs: length, overlap, BLEU, perplexity, …", "score"),
        "filter": Verb("select paraphrase pairs by ranges over measures", "filter"),
        "fingerprint": Verb("turn evaluation sets into sentence fingerprints for --decontaminate", "fingerprint"),
        "lexical-table": Verb("list likely translations of tokens, to speed up back-translate", "lexical_table"),
        "train-classifier": Verb("train a detector of machine translation", "train_classifier", shared=True),
    },
    "an encoder of your own": {
        "train-tokenizer": Verb("train a tokenizer of words or sub-words for an encoder", "train_tokenizer"),
        "train-encoder": Verb("train a paraphrastic sentence encoder on pairs", "train_encoder", shared=True),
        "distill": Verb("train a sentence encoder on plain text to imitate larger ones", "distill"),
        "join": Verb("concatenate averaging encoders into one, each with its weight", "join"),
        "tune": Verb("choose the selection of pairs that trains the best encoder", "tune", shown=results.as_text),
    },
    "publishing": {
        "push": Verb("send a model, data or metric folder to the Hugging Face Hub", "push", shown=results.as_text),
    },
    "studies": {
        "analyze": Verb(
            "make reports with tables and plots; `analyze --help` lists the kinds", kinds=ANALYSES, usual_kind="pairs"
        ),
        "train-supervised": Verb("train an encoder with a head on classes or scores", "train_supervised", shared=True),
        "predict": Verb("apply a model of train-supervised to data", "predict", shown=results.scores_of_predictions),
        "train-sdae": Verb("train a denoising autoencoder on plain text", "train_sdae", shared=True),
        "expand": Verb("replace words of sentences by their definitions in WordNet", "expand"),
        "train-bilingual-vectors": Verb("train word vectors of two languages in one space", "train_bilingual_vectors"),
        "train-parallel-classifier": Verb(
            "train a classifier that detects parallel sentences", "train_parallel_classifier", shared=True
        ),
        "mine": Verb("find translations in two collections of sentences", "mine", shown=results.measures_of_mining),
        "evaluate-mining": Verb("evaluate `mine` on known pairs", "evaluate_mining", shown=results.mining_tables),
    },
}
"""All commands, by the groups of the overview."""

VERBS = {verb: row for verbs in JOURNEYS.values() for verb, row in verbs.items()}
