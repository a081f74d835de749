"""`train-tokenizer`: text to a fast tokenizer for sentence encoders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.provenance import write_provenance
from ..data.text_files import PLAIN_OR_COMPRESSED
from ..errors import InputError, UsageError
from ..messages import say
from ..settings import setting, settings_of
from .arguments import parse
from .prepare_reports import check_license

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

KINDS = {
    "word": "one token a word, every punctuation mark by itself",
    "bpe": "pieces of words by byte-pair encoding (Sennrich, Haddow and Birch 2016)",
    "unigram": "pieces of words by a Unigram model (Kudo 2018)",
    "morfessor": "morphs by Morfessor Baseline (Creutz and Lagus 2002), as a Unigram model",
}
_SIZES = {"word": 200_000, "bpe": 10_000, "unigram": 10_000}
_MEASURED = 10_000


@dataclass
class Arguments:
    """Learn a tokenizer for a sentence encoder from text or from the sentences of paraphrase pairs."""

    output: str = setting("the tokenizer folder to make")
    kind: str = setting(
        "word (one token a word); pieces of words: bpe (byte-pair encoding) or unigram; or morfessor (morphs by "
        "Morfessor Baseline, paper 003; the text must fit the memory as counts of its words)",
        "word",
        choices=list(KINDS),
    )
    text: list[str] = setting(f"text files, one sentence a line, {PLAIN_OR_COMPRESSED}", [])
    pairs: str | None = setting(
        "data folder with the columns sentence1 and sentence2, or a bitext with source and target (split train)", None
    )
    vocabulary_size: int | None = setting(
        "tokens at most, [PAD] and [UNK] among them; 0 for all words; not for morfessor, which finds the number of "
        "morphs itself [default: 200000 words or 10000 pieces]",
        None,
        names=["--vocabulary-size", "--vocab-size"],
    )
    min_frequency: int | None = setting(
        "a word enters the vocabulary, a pair of pieces is merged, and Morfessor learns from a word, if it occurs so "
        "many times (not for unigram) [default: 2, for morfessor 1]",
        None,
    )
    corpus_weight: float | None = setting(
        "of morfessor: weight of the cost of the words against that of the lexicon; above 1 splits words less, below "
        "1 more [default: 1]",
        None,
    )
    dampening: str | None = setting(
        "of morfessor: how often a word counts that occurs n times: none (n), log (log2(n + 1), rounded) or ones (1) "
        "[default: none]",
        None,
        choices=["none", "log", "ones"],
    )
    segmentation: str | None = setting(
        "of morfessor: a segmentation to take instead of learning one, as `morfessor-train --save-segmentation` "
        "writes it (`12 talo + ssa`); the text then is what vocabulary and tokens are measured on",
        None,
    )
    seed: int = setting("of morfessor: seed of the order in which it goes over the words", 0)
    lower_case: bool = setting("lower-case all text", True, names=["--lower-case", "--lowercase"])
    split_contractions: bool = setting(
        "split English contractions as the Penn Treebank does (do n't); for word only", True
    )
    license: str | None = setting(
        "the licence of the tokenizer for the card, as the Hub spells it, e.g. apache-2.0 [default: none is claimed]",
        None,
    )
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `train-tokenizer`.

    Raises:
        UsageError: For arguments that do not fit together.
        InputError: For missing, empty or malformed text.
        OutputError: If the output is in the way.
    """
    arguments = parse(Arguments, "train-tokenizer", argv)
    _check(arguments)
    check_output(arguments.output, overwrite=arguments.overwrite)
    inputs = [item for item in (*arguments.text, arguments.pairs, arguments.segmentation) if item is not None]
    for path in (*arguments.text, *([] if arguments.segmentation is None else [arguments.segmentation])):
        from ..data.text_files import check_readable

        check_readable(Path(path))
    counter = _Counted(sentences_of(arguments.text, arguments.pairs))
    try:
        tokenizer, learnt = _learn(arguments, counter)
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.message, path=inputs[0], remedy=error.remedy) from error
    results = {
        "sentences": counter.number,
        "vocabulary": len(tokenizer),
        **learnt,
        **_measure(tokenizer, sentences_of(arguments.text, arguments.pairs)),
    }
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        from ..tokenization.word_level import save_tokenizer

        save_tokenizer(tokenizer, staging)
        settings = settings_of(arguments)
        write_provenance(staging, command="train-tokenizer", settings=settings, inputs=inputs, results=results)
        name = Path(arguments.output).name
        card = {
            **settings,
            **results,
            "languages": ["en"] if arguments.kind == "word" and arguments.split_contractions else [],
            "title": name,
            "name": name,
            "description": KINDS[arguments.kind],
            "sources": ", ".join(Path(item).name for item in inputs if item != arguments.segmentation),
            "segmentation": None if arguments.segmentation is None else Path(arguments.segmentation).name,
        }
        write_card(staging, "model_cards", "tokenizer", card)
    say(
        f"{arguments.kind}: {len(tokenizer)} tokens from {counter.number} sentences; "
        f"{results['tokens_per_sentence']:.2f} tokens a sentence, {100 * results['unknown_share']:.2f} % unknown"
    )
    if learnt:
        say(f"{learnt['words']:,} different words before segmentation, {learnt['morphs']:,} morphs after it")
    say(f"the tokenizer lies in {arguments.output}; hf-paraphrase train-encoder --tokenizer {arguments.output} …")


def sentences_of(text: Sequence[str], pairs: str | None) -> Iterator[str]:
    """Streams the lines of text files and then both sides of a data folder's pairs.

    Raises:
        InputError: If a file or the folder is missing or malformed.
    """
    from ..data.pair_rows import iterate_pairs
    from ..training.word_frequencies import numbered_lines

    for path in text:
        yield from (line for _, line in numbered_lines(Path(path)))
    if pairs is not None:
        for first, second in iterate_pairs(pairs):
            yield from chain(first, second)


class _Counted:
    """Counts what passes through."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.sentences = sentences
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for sentence in self.sentences:
            self.number += 1
            yield sentence


def _check(arguments: Arguments) -> None:
    check_license(arguments.license)
    if not arguments.text and arguments.pairs is None:
        raise UsageError("train-tokenizer: no text", remedy="give --text FILE… or --pairs DIR")
    if arguments.min_frequency is None:
        arguments.min_frequency = 1 if arguments.kind == "morfessor" else 2
    if arguments.min_frequency < 1:
        raise UsageError(f"train-tokenizer: --min-frequency is {arguments.min_frequency}", remedy="give 1 or more")
    if arguments.seed < 0:
        raise UsageError(f"train-tokenizer: --seed is {arguments.seed}", remedy="give 0 or more")
    if arguments.kind == "morfessor":
        _check_morfessor(arguments)
        return
    for name in ("corpus_weight", "dampening", "segmentation"):
        if getattr(arguments, name) is not None:
            raise UsageError(
                f"train-tokenizer: --{name.replace('_', '-')} is for --kind morfessor", remedy="leave it out"
            )
    if arguments.vocabulary_size is None:
        arguments.vocabulary_size = _SIZES[arguments.kind]
    if arguments.vocabulary_size < 0 or (arguments.vocabulary_size == 0 and arguments.kind != "word"):
        raise UsageError(f"train-tokenizer: --vocabulary-size is {arguments.vocabulary_size}", remedy="give more")
    if 0 < arguments.vocabulary_size < 3:
        raise UsageError(
            f"train-tokenizer: --vocabulary-size is {arguments.vocabulary_size}",
            remedy="give 3 or more: [PAD] and [UNK] are among them",
        )


def _check_morfessor(arguments: Arguments) -> None:
    if arguments.vocabulary_size is not None:
        raise UsageError(
            "train-tokenizer: --vocabulary-size is not for --kind morfessor, which finds the number itself",
            remedy="leave it out; --corpus-weight below 1 gives fewer morphs",
        )
    if arguments.segmentation is not None:
        for name in ("corpus_weight", "dampening"):
            if getattr(arguments, name) is not None:
                raise UsageError(
                    f"train-tokenizer: --{name.replace('_', '-')} is for learning, and --segmentation was learnt",
                    remedy="leave one of them out",
                )
        return
    from ..tokenization.morfessor_words import check_installed

    check_installed()
    if arguments.corpus_weight is None:
        arguments.corpus_weight = 1.0
    if arguments.dampening is None:
        arguments.dampening = "none"
    if not 0 < arguments.corpus_weight < float("inf"):
        raise UsageError(
            f"train-tokenizer: --corpus-weight is {arguments.corpus_weight}", remedy="give a number above 0"
        )


def _learn(arguments: Arguments, sentences: Iterable[str]) -> tuple[PreTrainedTokenizerFast, dict[str, Any]]:
    """Makes the tokenizer; for Morfessor also the vocabulary sizes before and after, as in paper 003's Table 8."""
    if arguments.kind == "morfessor":
        return _learn_morphs(arguments, sentences)
    return _learn_tokens(arguments, sentences), {}


def _learn_morphs(arguments: Arguments, sentences: Iterable[str]) -> tuple[PreTrainedTokenizerFast, dict[str, Any]]:
    from ..tokenization.morfessor_tokenizer import morfessor_tokenizer
    from ..tokenization.morfessor_words import count_words, learn_morphs, read_morphs

    counts = count_words(sentences, lower_case=arguments.lower_case)
    if not counts:
        raise InputError("no text to learn morphs from", remedy="give sentences that are not empty")
    if arguments.segmentation is not None:
        morphs = read_morphs(arguments.segmentation)
        upper = next((morph for morph in morphs.counts if morph != morph.lower()), None)
        if arguments.lower_case and upper is not None:
            raise InputError(
                f"the morph `{upper}` is not in lower case, as the text will be",
                path=arguments.segmentation,
                remedy="give --lower-case false, or a segmentation of lower-cased words",
            )
    else:
        if max(counts.values()) < (arguments.min_frequency or 1):
            raise InputError(f"no word occurs {arguments.min_frequency} times", remedy="lower --min-frequency")
        say(f"learning morphs from {len(counts):,} different words")
        morphs = learn_morphs(
            counts,
            corpus_weight=arguments.corpus_weight or 1.0,
            dampening=arguments.dampening or "none",
            min_frequency=arguments.min_frequency or 1,
            seed=arguments.seed,
            progress=lambda number, cost: say(f"round {number}: {cost:,.0f} nats"),
        )
    alphabet = {letter for word in counts for letter in word}
    tokenizer = morfessor_tokenizer(morphs, alphabet, lower_case=arguments.lower_case)
    sizes = {
        "words": len(counts),
        "learnt_words": morphs.words,
        "morphs": len(morphs.counts),
        "morph_tokens": morphs.tokens,
        "rounds": morphs.rounds,
    }
    return tokenizer, sizes


def _learn_tokens(arguments: Arguments, sentences: Iterable[str]) -> PreTrainedTokenizerFast:
    size, min_frequency = arguments.vocabulary_size or 0, arguments.min_frequency or 1
    if arguments.kind == "word":
        from ..tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

        style: dict[str, Any] = {"lower_case": arguments.lower_case, "contractions": arguments.split_contractions}
        limit = size - 2 if size else None
        words = sentence_vocabulary(sentences, min_frequency=min_frequency, max_size=limit, **style)
        return build_word_level_tokenizer(words, **style)

    from ..tokenization.encoder_pieces import train_encoder_bpe, train_encoder_unigram

    if arguments.kind == "bpe":
        return train_encoder_bpe(sentences, size, lower_case=arguments.lower_case, min_frequency=min_frequency)
    return train_encoder_unigram(sentences, size, lower_case=arguments.lower_case)


def _measure(tokenizer: PreTrainedTokenizerFast, sentences: Iterable[str]) -> dict[str, float]:
    ids = tokenizer(list(islice(sentences, _MEASURED)), add_special_tokens=False)["input_ids"]
    tokens = sum(map(len, ids))
    unknown = sum(row.count(tokenizer.unk_token_id) for row in ids)
    return {
        "measured": len(ids),
        "tokens_per_sentence": tokens / max(len(ids), 1),
        "unknown_share": unknown / max(tokens, 1),
    }
