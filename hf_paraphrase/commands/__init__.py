"""The command line: `hf-paraphrase <verb>`, one module a verb.

Exit codes: 0 done, 2 bad usage, bad input or no room (one line, no traceback), 130 interrupted, 1 anything else: then
too there is one line, which names the file with the traceback.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from ..errors import HfParaphraseError, UsageError, choice_of, error_of_the_system
from ..messages import ReaderGoneError, lacks_its_group, process_count, say, show, shown_messages
from ..registry import import_file
from .faults import fault
from .near_names import with_near_name
from .streams import give_up_standard_output, guarded_streams

JOURNEYS = {
    "to begin with": {
        "quickstart": "run the whole pipeline on the built-in sample",
        "demo": "open a page to try models and look at data in a browser, on this machine alone",
        "env": "print versions and devices, for a bug report",
    },
    "sentences to vectors": {
        "encode": "turn lines of text into sentence embeddings",
        "search": "index a corpus, find the sentences nearest to a query, mine paraphrases",
        "evaluate": "evaluate an encoder on semantic similarity sets",
        "export": "write an encoder as an ONNX graph, or with weights in fewer bits",
    },
    "bitext to paraphrases": {
        "prepare": "turn raw files into a Parquet data folder; `prepare --help` lists the sources",
        "train-nmt": "train an RNNsearch translation model on a bitext",
        "evaluate-nmt": "measure BLEU and chrF of a translation model",
        "back-translate": "translate the foreign side of a bitext into n-best paraphrase pairs",
        "score": "add measures as columns to paraphrase pairs: length, overlap, BLEU, cost, perplexity and others",
        "filter": "select paraphrase pairs by ranges over measures",
        "fingerprint": "turn evaluation sets into a list of sentence fingerprints for --decontaminate",
        "lexical-table": "estimate how a translation model's source units are translated, for candidate vocabularies",
        "train-classifier": "train a classifier that tells references from translations",
    },
    "an encoder of your own": {
        "train-tokenizer": "learn a tokenizer of words or pieces of words for an encoder",
        "train-encoder": "train a paraphrastic sentence encoder on pairs",
        "distill": "train a sentence encoder to do like larger ones, on plain text",
        "join": "put averaging encoders side by side in one, each with its share of the cosine",
        "tune": "train encoders on many selections of pairs and choose the best on the dev set",
    },
    "to the Hub": {
        "push": "send a model, data or metric folder to the Hugging Face Hub",
    },
    "studies": {
        "analyze": "reports with tables and plots; `analyze --help` lists the kinds",
        "train-supervised": "train an encoder with a head on classes or scores of sentences or pairs",
        "predict": "apply a model of train-supervised to a split, and compare it with its classes or scores",
        "train-sdae": "train a sentence encoder on plain text, as a denoising autoencoder",
        "expand": "replace words of sentences by their definitions in WordNet",
        "train-bilingual-vectors": "train word vectors of two languages in one space from a bitext alone",
        "train-parallel-classifier": "train a classifier that tells whether two sentences are translations",
        "mine": "find the translations between two collections of sentences",
        "evaluate-mining": "measure candidates, scores and decisions of `mine` on a task with known pairs",
    },
}
"""What the command line does, as the overview groups it: verbs, each with what it does."""

VERBS = {verb: text for verbs in JOURNEYS.values() for verb, text in verbs.items()}

SHARED_BY_PROCESSES = frozenset(
    {
        "back-translate",
        "train-classifier",
        "train-encoder",
        "train-nmt",
        "train-parallel-classifier",
        "train-sdae",
        "train-supervised",
    }
)
"""The verbs whose work several processes share."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit code.

    Args:
        argv: The words after the program's name; those of the process by default.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    with guarded_streams():
        try:
            _run(list(words))
            return 0
        except KeyboardInterrupt:
            sys.stderr.write("hf-paraphrase: interrupted\n")
            return 130
        except ReaderGoneError:
            return 1
        except BaseException as error:
            # A library written in Rust that gives up raises what is no Exception.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            problem = error if isinstance(error, HfParaphraseError) else error_of_the_system(error)
            said = fault(error, words) if problem is None else with_near_name(problem)
            sys.stderr.write(f"hf-paraphrase: error: {said}\n")
            return 1 if problem is None else 2
        finally:
            give_up_standard_output()


def _run(words: list[str]) -> None:
    words = _import_files(words)
    if not words or words[0] in {"-h", "--help"}:
        show(_overview())
        return
    verb = words.pop(0)
    if verb == "--version":
        from .. import __version__

        show(f"hf-paraphrase {__version__}\n")
        return
    if verb not in VERBS:
        raise UsageError(f"unknown verb `{verb}`", remedy=choice_of(verb, VERBS))
    _check_processes(verb)
    module = importlib.import_module(f".{verb.replace('-', '_')}", __name__)
    with shown_messages():
        if lacks_its_group():
            say(
                "accelerate was asked for several processes and started one; with --multi_gpu in the place of --cpu "
                "it starts several, also where there is no GPU"
            )
        module.main(words)


def _import_files(words: list[str]) -> list[str]:
    """Imports the files of one's own that are named before the verb, `--import FILE`; returns the other words."""
    while words and words[0].partition("=")[0] == "--import":
        _, equals, path = words.pop(0).partition("=")
        if not equals:
            if not words:
                raise UsageError("--import names no file", remedy="hf-paraphrase --import FILE VERB …")
            path = words.pop(0)
        import_file(path)
    return words


def _check_processes(verb: str) -> None:
    """Refuses to do in each of several processes what one must do alone."""
    processes = process_count()
    if verb not in SHARED_BY_PROCESSES and processes > 1:
        raise UsageError(
            f"`{verb}` runs in one process, and {processes} were started",
            remedy=f"start it as hf-paraphrase {verb}, or with --num_processes 1",
        )


def _overview() -> str:
    width = max(map(len, VERBS))
    lines = ["usage: hf-paraphrase [--import FILE.py] <verb> [flags]"]
    for journey, verbs in JOURNEYS.items():
        lines += ["", f"{journey}:", *(f"  {verb:{width}}  {text}" for verb, text in verbs.items())]
    return "\n".join([*lines, "", "hf-paraphrase <verb> --help explains every flag", ""])
