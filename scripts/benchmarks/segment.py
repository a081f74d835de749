"""Times the segmentation of text by a Morfessor tokenizer against Morfessor's own Viterbi search, in one run.

Both segment with the same model, learnt from the text itself. The tokenizer gets whole sentences, as in training and
encoding, and normalises and splits them itself, in one thread; it segments each different word once, and every turn
begins without any that it knows. Morfessor gets the words of the same sentences, normalised and split beforehand, so
that its time is that of its search alone: once token by token as it offers it, and once with a table that remembers
the words it has segmented, which is not part of it. A text is segmented token by token, so the first is the peer; the
second, and a run over the different words of the text only, say how far remembering goes. So does the tokenizer of the
`tokenizers` library by itself, which remembers nothing.

Rates are per second of the processor's time, because both work in one thread. Ratios are of median rates, above 1 =
this package is faster.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from hf_paraphrase.data.text_files import numbered_lines
from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization.morfessor_tokenizer import morfessor_tokenizer
from hf_paraphrase.tokenization.morfessor_words import Morphs, count_words, learn_morphs, word_splitter
from hf_paraphrase.tokenization.token_lookup import ids_of, lookup_for
from interleaved import (
    ROUNDS,
    Contestant,
    argument_parser,
    check_least,
    exit_code,
    measure,
    ratios_to_best,
    write,
    write_ratios,
)

KEY = "segment_vs_morfessor"
BATCH = 256


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()

    def work() -> None:
        check_least(arguments, {"sentences": 1, "rounds": 1})
        run(read_sentences(arguments.text, arguments.column, arguments.sentences), arguments.rounds)

    return exit_code("benchmarks/segment", work)


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument("--text", help="a text file, plain or compressed; none = the built-in sample")
    parser.add_argument("--column", type=int, default=0, help="tab-separated field of the text, from 0")
    parser.add_argument("--sentences", type=int, default=20_000, help="lines to take, evenly over the file")
    parser.add_argument("--rounds", type=int, default=5, help=ROUNDS)
    return parser.parse_args()


def read_sentences(path: str | None, column: int, number: int) -> list[str]:
    """Reads sentences, evenly over a file, or takes those of the built-in sample."""
    if path is None:
        from hf_paraphrase.data.sample import sample_bitext

        sentences = [pair.english for pair in sample_bitext()["train"]]
    else:
        sentences = []
        for line, text in numbered_lines(Path(path)):
            fields = text.split("\t")
            if len(fields) <= column:
                raise InputError(f"no field {column}", path=path, line=line, remedy="check --column")
            sentences.append(fields[column])
    return list(islice(sentences[:: max(1, len(sentences) // number)], number))


def morfessor_model(morphs: Morphs) -> Any:
    """Makes Morfessor's own model with the same morphs: each as a word by itself, and as many word boundaries."""
    from morfessor.baseline import BaselineModel

    model = BaselineModel()
    model.load_segmentations((count, morph, (morph,)) for morph, count in morphs.counts.items())
    model._corpus_coding.boundaries = morphs.boundaries
    return model


def compare(tokenizer: Any, model: Any, words: Sequence[str]) -> int:
    """Counts the different words that the two segment differently.

    Those are ties, and characters that are not morphs by themselves.
    """
    ids = tokenizer(list(words), add_special_tokens=False)["input_ids"]
    found = (tokenizer.convert_ids_to_tokens(row) for row in ids)
    return sum(model.viterbi_segment(word, addcount=0)[0] != pieces for word, pieces in zip(words, found, strict=True))


def run(sentences: Sequence[str], rounds: int) -> None:
    """Measures everything and writes the report, the ratios as one JSON object on its last line."""
    # The tokenizers library would use all processors.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    counts = count_words(sentences)
    morphs = learn_morphs(counts)
    tokenizer, model = morfessor_tokenizer(morphs), morfessor_model(morphs)
    splitter = word_splitter(lower_case=True)
    words = [
        word
        for sentence in sentences
        for word, _ in splitter.pre_tokenizer.pre_tokenize_str(splitter.normalizer.normalize_str(sentence))
    ]
    different = list(counts)
    backend = tokenizer.backend_tokenizer
    write(
        f"{len(sentences):,} sentences, {len(words):,} tokens, {len(different):,} different words, "
        f"{len(morphs.counts):,} morphs, {os.cpu_count()} processors, one thread"
    )
    write(f"different words with another segmentation (ties): {compare(tokenizer, model, different):,}")

    def encode(texts: Sequence[str]) -> None:
        ids_of(backend, texts, lookup_for(backend))

    def encode_each(texts: Sequence[str]) -> None:
        # A batch at a time, so that what it gives need not all be held.
        for start in range(0, len(texts), BATCH):
            backend.encode_batch_fast(texts[start : start + BATCH], add_special_tokens=False)

    def search(tokens: Sequence[str]) -> None:
        for word in tokens:
            model.viterbi_segment(word, addcount=0)

    def search_and_remember(tokens: Sequence[str]) -> None:
        known: dict[str, list[str]] = {}
        for word in tokens:
            if word not in known:
                known[word] = model.viterbi_segment(word, addcount=0)[0]

    def contestant(key: str, name: str, size: int, work: Callable[[], None]) -> Contestant:
        def rate() -> float:
            start = time.process_time()
            work()
            return size / (time.process_time() - start)

        return Contestant(key, name, rate)

    width = 46
    ours = contestant("", "hf_paraphrase, whole sentences", len(words), lambda: encode(sentences))
    peers = [
        contestant(KEY, "Morfessor, its words one by one", len(words), lambda: search(words)),
        contestant(f"{KEY}_remembering", "Morfessor, each word once", len(words), lambda: search_and_remember(words)),
        contestant("", "tokenizers, whole sentences", len(words), lambda: encode_each(sentences)),
    ]
    medians = measure("tokens/s", [ours, *peers], rounds, width=width)
    ratios = ratios_to_best([ours, *peers], medians)
    lines = [" ".join(different[start : start + 10]) for start in range(0, len(different), 10)]
    pair = [
        contestant("", "hf_paraphrase, ten different words a line", len(different), lambda: encode(lines)),
        contestant(f"{KEY}_different_words", "Morfessor", len(different), lambda: search(different)),
    ]
    ratios |= ratios_to_best(pair, measure("different words/s", pair, rounds, width=width))
    write_ratios(ratios)


if __name__ == "__main__":
    sys.exit(main())
