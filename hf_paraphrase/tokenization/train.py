"""The command `train-tokenizer`: learns a fast tokenizer for sentence encoders from text."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Artefact, Card
from ..artefacts.cards import check_license
from ..artefacts.fsspec_path import to_path
from ..data.pair_rows import PairRows
from ..data.sentences import naming
from ..data.text_blocks import check_readable, refuse_records
from ..data.text_files import PLAIN_OR_COMPRESSED, numbered_lines
from ..errors import UsageError
from ..messages import log
from ..settings import Settings, recipe, seed_setting, setting
from .morfessor import check_installed, count_words, learn_morphs, morfessor_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

KINDS = {
    "word": "one token per word, every punctuation mark by itself",
    "bpe": "subwords by byte-pair encoding (Sennrich, Haddow and Birch 2016)",
    "unigram": "subwords by a Unigram model (Kudo 2018)",
    "morfessor": "morphs by Morfessor Baseline (Creutz and Lagus 2002), as a Unigram model",
}
_SIZES = {"word": 200_000, "bpe": 10_000, "unigram": 10_000}
_MEASURED = 10_000

Corpora = Sequence[Callable[[], Iterator[str]]]
"""For each corpus a function that streams its sentences."""


@dataclass(kw_only=True)
class TrainTokenizerSettings(Settings):
    """Train a tokenizer for a sentence encoder on text or on the sentences of paraphrase pairs."""

    output: str = setting("output tokenizer folder")
    kind: str = setting(
        "word (one token per word); subwords: bpe (byte-pair encoding) or unigram (not deterministic); or morfessor "
        "(morphs by Morfessor Baseline, as in Sjöblom et al. 2018; the word counts of the text must fit into memory)",
        "word",
        choices=list(KINDS),
    )
    text: list[str] = setting(f"text files, one sentence per line, {PLAIN_OR_COMPRESSED}", [], path=True)
    pairs: list[str] = setting(
        "data folders with the columns sentence1 and sentence2, or bitexts with source and target (split train)",
        [],
        path=True,
        dataset=True,
    )
    corpus_exponent: float = setting(
        "balance the corpora (text files, folders and, in bitext, languages): smaller ones are repeated so that n "
        "characters count in proportion to n to this power; 1 does not repeat",
        1.0,
        at_least=0,
        at_most=1,
    )
    vocab_size: int | None = setting(
        "maximum number of tokens, including [PAD] and [UNK]; 0 for all words; not for morfessor, which finds the "
        "number of morphs itself [default: 200000 words or 10000 subwords]",
        None,
        at_least=0,
        at_most=10_000_000,
        only_with={"kind": ("word", "bpe", "unigram")},
        formerly="vocabulary_size",
    )
    min_frequency: int | None = setting(
        "minimum frequency of a word in the vocabulary, of a pair that bpe merges, and of a word that morfessor "
        "learns from (not for unigram) [default: 2; 1 for morfessor]",
        None,
        at_least=1,
        only_with={"kind": ("word", "bpe", "morfessor")},
    )
    dampening: str | None = setting(
        "morfessor only: count of a word that occurs n times: none (n), log (log2(n + 1), rounded) or ones (1) "
        "[default: none]",
        None,
        choices=["none", "log", "ones"],
        only_with={"kind": "morfessor"},
    )
    seed: int = seed_setting("morfessor only: random seed of the order of the words")
    lower_case: bool = setting("lower-case all text", True, formerly="lowercase")
    split_contractions: bool = setting(
        "split English contractions as the Penn Treebank does (do n't); word only", True, only_with={"kind": "word"}
    )
    treebank_words: bool = setting(
        "tokenize as the Penn Treebank does (well-known, 1.5, 3,000, u.s. are one word each); word only",
        False,
        only_with={"kind": "word"},
    )
    license: str | None = setting(
        "the licence of the tokenizer for the card, as the Hub spells it, e.g. apache-2.0 [default: none]", None
    )
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Check the settings, and set the defaults that depend on the kind."""
        super().check()
        check_license(self.license)
        if not self.text and not self.pairs:
            raise UsageError("train-tokenizer: no text", remedy="give --text FILE… or --pairs DIR…")
        if self.min_frequency is None and self.kind != "unigram":
            self.min_frequency = 1 if self.kind == "morfessor" else 2
        if self.kind == "morfessor":
            check_installed()
            self.dampening = self.dampening or "none"
            return
        if self.vocab_size is None:
            self.vocab_size = _SIZES[self.kind]
        if self.vocab_size == 0 and self.kind != "word":
            raise UsageError("--vocab-size 0 is for --kind word", remedy="give the number of tokens")
        if 0 < self.vocab_size < 3:
            problem = f"--vocab-size must be at least 3, not {self.vocab_size}"
            raise UsageError(problem, remedy="[PAD] and [UNK] are among them")


@recipe(TrainTokenizerSettings)
def train_tokenizer(settings: TrainTokenizerSettings) -> PreTrainedTokenizerFast:
    """Learn a tokenizer from text and write its folder with a card and a record."""
    from .word_level import save_tokenizer

    corpora = _corpora_of(settings.text, settings.pairs)
    inputs = [*settings.text, *settings.pairs]
    for path in settings.text:
        refuse_records(Path(path))
        check_readable(Path(path))
    with Artefact(settings.output, command="train-tokenizer", settings=settings, inputs=inputs) as artefact:
        counter = count()
        sentences = _balanced(corpora, settings.corpus_exponent, settings.seed)
        with naming(inputs[0]):
            tokenizer, learnt = _learn(settings, (sentence for sentence, _ in zip(sentences, counter, strict=False)))
        num_sentences, name = next(counter), Path(settings.output).name
        results = {"sentences": num_sentences, "vocabulary": len(tokenizer), **learnt, **_measure(tokenizer, corpora)}
        save_tokenizer(tokenizer, artefact.staging)
        about = {
            "languages": ["en"] if settings.kind == "word" and settings.split_contractions else [],
            "title": name,
            "name": name,
            "description": KINDS[settings.kind],
            "sources": ", ".join(to_path(path).name for path in inputs),
        }
        card = Card("tokenizer", settings.record() | results | about, kind="model_cards", report=True)
        artefact.finish(results=results, card=card)
    per_sentence, unknown = results["tokens_per_sentence"], 100 * results["unknown_share"]
    log(f"{settings.kind}: {len(tokenizer)} tokens from {num_sentences} sentences")
    log(f"{per_sentence:.2f} tokens per sentence, {unknown:.2f} % unknown")
    log(f"tokenizer saved to {settings.output}; use it with: train-encoder --tokenizer {settings.output}")
    return tokenizer


def _corpora_of(text: Sequence[str], pairs: Sequence[str]) -> Corpora:
    """Return a stream for each corpus: a file, a folder, or all sentences of a bitext in one language."""

    def lines(path: str) -> Iterator[str]:
        return (line for _, line in numbered_lines(Path(path)))

    def sides(parts: Sequence[tuple[PairRows, int]]) -> Iterator[str]:
        for rows, side in parts:
            for _, batch in rows.batches(rows.sides):
                yield from rows.texts(batch)[side]

    by_corpus: dict[str, list[tuple[PairRows, int]]] = {}
    for folder in pairs:
        rows = PairRows(folder)
        for side, name in enumerate(rows.sides):
            corpus = folder
            if f"{name}_lang" in rows.columns:
                first = next(rows.rows.batches([f"{name}_lang"], stop=1))
                corpus = first.column(0)[0].as_py() or folder
            by_corpus.setdefault(corpus, []).append((rows, side))
    return [*(partial(lines, path) for path in text), *(partial(sides, parts) for parts in by_corpus.values())]


def _balanced(corpora: Corpora, exponent: float, seed: int) -> Iterator[str]:
    """Stream the sentences of corpora, and repeat smaller corpora (see `corpus_exponent`)."""
    ratios = [1.0] * len(corpora)
    if exponent < 1:
        sizes = [sum(map(len, sentences())) for sentences in corpora]
        ratios = [(max(sizes) / max(size, 1)) ** (1 - exponent) for size in sizes]
    rng = random.Random(seed)
    for sentences, ratio in zip(corpora, ratios, strict=True):
        for sentence in sentences():
            yield from repeat(sentence, int(ratio + rng.random()))


def _learn(
    settings: TrainTokenizerSettings, sentences: Iterable[str]
) -> tuple[PreTrainedTokenizerFast, dict[str, Any]]:
    """Learn a tokenizer; for morphs also return the vocabulary sizes of Sjöblom et al. (2018), Table 8."""
    from .encoder_pieces import train_encoder_bpe, train_encoder_unigram
    from .word_level import build_word_level_tokenizer, sentence_vocabulary

    size, min_frequency, lower_case = settings.vocab_size or 0, settings.min_frequency or 1, settings.lower_case
    if settings.kind == "bpe":
        return train_encoder_bpe(sentences, size, lower_case=lower_case, min_frequency=min_frequency), {}
    if settings.kind == "unigram":
        return train_encoder_unigram(sentences, size, lower_case=lower_case), {}
    if settings.kind == "word":
        style: dict[str, Any] = {
            "lower_case": lower_case,
            "contractions": settings.split_contractions,
            "treebank": settings.treebank_words,
        }
        limit = size - 2 if size else None
        words = sentence_vocabulary(sentences, min_frequency=min_frequency, max_size=limit, **style)
        return build_word_level_tokenizer(words, **style), {}
    counts = count_words(sentences, lower_case=lower_case)
    morphs = learn_morphs(
        counts, dampening=settings.dampening or "none", min_frequency=min_frequency, seed=settings.seed
    )
    sizes = {"words": len(counts), "learnt_words": morphs.words, "morphs": len(morphs.counts)}
    sizes |= {"morph_tokens": morphs.tokens, "rounds": morphs.rounds}
    log(f"{len(counts):,} different words before segmentation, {len(morphs.counts):,} morphs after it")
    return morfessor_tokenizer(morphs, "".join(counts), lower_case=lower_case), sizes


def _measure(tokenizer: PreTrainedTokenizerFast, corpora: Corpora) -> dict[str, float]:
    """Measure the tokenizer on the first sentences of all corpora."""
    sentences_per_corpus = -(-_MEASURED // len(corpora))
    sentences = [sentence for stream in corpora for sentence in islice(stream(), sentences_per_corpus)]
    ids = tokenizer(sentences, add_special_tokens=False)["input_ids"]
    tokens = sum(map(len, ids))
    unknown = sum(row.count(tokenizer.unk_token_id) for row in ids)
    per_sentence, unknown_fraction = tokens / max(len(ids), 1), unknown / max(tokens, 1)
    return {"measured": len(ids), "tokens_per_sentence": per_sentence, "unknown_share": unknown_fraction}
