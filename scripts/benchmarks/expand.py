"""Times the expansion of sentences against a plain loop over NLTK's WordNet, in one run.

The loop goes word by word: it tags a sentence with the loop of the tagger's own package, asks NLTK's reader for the
synsets of every noun, verb, adjective and adverb that is not a stop word, draws a share of them, and puts the first
definition in the place of each. It inflects nothing and minds no articles, as paper 004 did. Both hold the sentences
in memory, and the contestants take turns, so that a slow minute of the machine meets all of them.

Several processes expand blocks of the same sentences four times over; the time runs during the last two. Ratios are of
median rates, above 1 = this package is faster.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from hf_paraphrase.errors import UsageError
from hf_paraphrase.studies.expansion.expander import Expander
from hf_paraphrase.studies.expansion.inflection import POS_OF
from hf_paraphrase.studies.expansion.wordnet import FILE_OF, WordNet, find_wordnet
from hf_paraphrase.studies.expansion.words import STOP_WORDS, split_words
from interleaved import (
    ROUNDS,
    Comparison,
    Contestant,
    argument_parser,
    check_least,
    exit_code,
    measure,
    over_each,
    ratios_to_best,
    timed,
    write,
    write_ratios,
)

_LEXICOGRAPHER_FILES = 45


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()

    def work() -> None:
        check_least(arguments, {"sentences": 1, "loop_sentences": 1, "rounds": 1})
        if not 0 <= arguments.share <= 1:
            raise UsageError(f"--share must be between 0 and 1, not {arguments.share}")
        sentences = read_sentences(arguments.text, arguments.sentences)
        with tempfile.TemporaryDirectory() as folder:
            run(arguments, sentences, Path(folder))

    return exit_code("benchmarks/expand", work)


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument("--text", help="file of English sentences, one a line; none = those of the built-in sample")
    parser.add_argument("--wordnet", help="folder with WordNet; none = where packages put it")
    parser.add_argument("--share", type=float, default=0.3, help="share of the expandable words to expand")
    parser.add_argument("--sentences", type=int, default=50_000, help="sentences; fewer are repeated")
    parser.add_argument("--loop-sentences", type=int, default=2_000, help="of these the first that the loop expands")
    parser.add_argument("--rounds", type=int, default=5, help=ROUNDS)
    return parser.parse_args()


def read_sentences(path: str | None, count: int) -> list[str]:
    """Reads the first sentences of a file, or takes those of the sample."""
    if path is None:
        from hf_paraphrase.data.sample import sample_bitext

        found = [pair.english for pair in sample_bitext()["train"]]
    else:
        from hf_paraphrase.data.sentences import lines_of_file

        found = list(islice((line for lines in lines_of_file(Path(path)) for line in lines), count))
    return (found * -(-count // len(found)))[:count]


def nltk_reader(wordnet: Path, folder: Path) -> Any:
    """Opens a copy of WordNet with NLTK, which opens nothing outside its data path and wants more files."""
    try:
        import nltk
        from nltk.corpus.reader.wordnet import WordNetCorpusReader
    except ImportError as error:
        raise UsageError("the peer, nltk, is not installed", remedy="pip install nltk") from error

    class Reader(WordNetCorpusReader):
        def map_wn(self, version: str = "wordnet") -> None:
            """Maps nothing: that is for other languages."""

    root = folder / "corpora" / "wordnet"
    root.mkdir(parents=True)
    for name in FILE_OF.values():
        for kind in ("index", "data"):
            shutil.copyfile(wordnet / f"{kind}.{name}", root / f"{kind}.{name}")
        (root / f"{name}.exc").touch()
    (root / "lexnames").write_text("".join(f"{number:02d} name 1\n" for number in range(_LEXICOGRAPHER_FILES)))
    nltk.data.path.append(str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(nltk.data.find("corpora/wordnet"), None)


def plain_loop(sentences: list[str], reader: Any, tagger: Any, share: float) -> list[str]:
    """Expands sentences word by word."""
    draw = random.Random(0)
    texts = []
    for sentence in sentences:
        parts = split_words(sentence)
        words = parts[1::2]
        candidates = []
        for place, (word, label) in enumerate(zip(words, tagger.tag(words), strict=True)):
            pos = POS_OF.get(label.partition("|")[0])
            if pos is None or word.lower() in STOP_WORDS or (place and word[0].isupper()):
                continue
            synsets = reader.synsets(word.lower(), pos)
            if synsets:
                candidates.append((place, synsets[0].definition()))
        for place, definition in draw.sample(candidates, round(share * len(candidates))):
            parts[2 * place + 1] = definition
        texts.append("".join(parts))
    return texts


def compare_definitions(wordnet: WordNet, reader: Any, sentences: list[str]) -> None:
    """Checks that both give the words of some sentences the same definitions."""
    words = {word.lower() for sentence in sentences for word in split_words(sentence)[1::2]}
    compared = 0
    for lemma in sorted(words):
        for pos in FILE_OF:
            ours = [sense.definition for sense in wordnet.senses(lemma, pos)]
            # NLTK mixes in the senses of other lemmas that the word may be a form of.
            theirs = [synset.definition() for synset in reader.synsets(lemma, pos)] if ours else []
            if ours != theirs[: len(ours)]:
                raise ValueError(f"other definitions of `{lemma}`: {ours} and {theirs}")
            compared += len(ours)
    write(f"{compared:,} definitions of {len(words):,} words are the same")


def run(arguments: argparse.Namespace, sentences: list[str], folder: Path) -> None:
    """Measures everything and writes the report, the ratios as one JSON object on its last line."""
    from denckring_en_pos import tagger as package_tagger

    wordnet = find_wordnet(arguments.wordnet)
    expander = Expander.from_wordnet(wordnet, share=arguments.share)
    reader, model = nltk_reader(wordnet, folder), package_tagger()
    few = sentences[: arguments.loop_sentences]
    found = expander.expand_counted(few)
    words = sum(len(split_words(sentence)[1::2]) for sentence in few) / len(few)
    write(
        f"{len(sentences):,} sentences of {words:.1f} words, {found.expanded.sum() / len(few):.2f} of them expanded, "
        f"WordNet {expander.definitions.wordnet.version}, {os.cpu_count()} processors"
    )
    compare_definitions(expander.definitions.wordnet, reader, few)
    contestants = [
        contestant("", "hf_paraphrase, one process", len(sentences), lambda: expander.expand(sentences)),
        contestant(
            "expand_vs_nltk",
            "word by word with NLTK",
            len(few),
            lambda: plain_loop(few, reader, model, arguments.share),
        ),
    ]
    medians = measure(
        "sentences/s", contestants, arguments.rounds, comparison=Comparison("first/this", over_each), width=34
    )
    ratios = ratios_to_best(contestants, medians)
    write_ratios(ratios)


def contestant(key: str, name: str, sentences: int, work: Callable[[], Any]) -> Contestant:
    """Describes what to time, and how many sentences that expands."""
    return Contestant(key, name, lambda: sentences / timed(work)[0])


if __name__ == "__main__":
    sys.exit(main())
