"""Times `encode` against the installed peers on the same sentences, vocabulary and vectors, all in one run.

One Avg folder is saved and opened by each contestant: this package, model2vec (`StaticModel`) and
sentence-transformers (`StaticEmbedding`). A peer is timed with its defaults and with settings that may suit it better;
the ratio is that to its fastest. GRAN (an LSTM without peepholes) is compared with `torch.nn.LSTM` alone on as many
tokens, in sentences of the mean length and batches without padding.

`--tokenizers all` does the same with an Avg folder for each kind of tokenizer, and times calls of one, ten and a
hundred sentences beside those of all. A ratio is called after the kind and the size of a call where they are not our
words and all sentences: `avg_encode_vs_model2vec_wordpiece_calls_of_1`.

These rates are warm: the process has encoded the same sentences before. `first_call` are cold ones: a new process
opens the folder, which does not count, and encodes sentences that it has never seen, each once. `--model builtin`
gives both of a model of this package alone, without peers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import interleaved as bench
from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.data.text_files import LineErrors, read_lines
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.tokenization.word_level import PAD_TOKEN, UNKNOWN_TOKEN, as_fast_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

OUR_NAME = "hf_paraphrase"
OURS = "words"
"""The kind of tokenizer that this package builds."""
KINDS = (OURS, "word-level", "wordpiece", "byte-level", "unigram")
BARE_BATCHES = (256, 1024)
PEERS = ("model2vec", "sentence-transformers")
CALLS = (1, 10, 100)
SENTENCES_IN_CALLS = 2_000
FIRST_CALL = "first call, sentences/s"


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = bench.argument_parser(__doc__, rounds=7, clock=True)
    parser.add_argument("--text", help="text file, one sentence per line, plain or compressed; none = the sample")
    parser.add_argument("--sentences", type=int, default=100_000, help="sentences to encode; fewer lines are repeated")
    parser.add_argument("--vocabulary", type=int, default=61_000, help="word vectors; unused words fill it up")
    parser.add_argument("--dimension", type=int, default=300, help="components of a vector")
    parser.add_argument("--tokenizers", nargs="+", choices=[*KINDS, "all"], default=[OURS], help="kinds to time")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="libraries to compare with")
    parser.add_argument("--cold-rounds", type=int, default=3, help="new processes that count; 0 = none")
    parser.add_argument("--model", help="a model of this package, timed alone: a folder, builtin or multilingual")
    parser.add_argument("--gran-sentences", type=int, default=10_000, help="sentences to encode with GRAN; 0 = none")
    return bench.run_benchmark(parser, run)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures everything and returns the ratios."""
    sentences = read_sentences(arguments.text, arguments.sentences)
    if arguments.model is not None:
        encode = bench.open_encoder(OUR_NAME, arguments.model)
        turn = partial(bench.sentences_per_second, encode, sentences, arguments.clock)
        cold_turn = partial(bench.first_call_rate, OUR_NAME, arguments.model, sentences, arguments.clock)
        (warm,) = bench.measure("sentences/s", [bench.Contestant("", OUR_NAME, turn)], arguments.rounds)
        (cold,) = bench.measure(FIRST_CALL, [bench.Contestant("", OUR_NAME, cold_turn)], max(arguments.cold_rounds, 1))
        return {"sentences_per_second_first_call": cold, "sentences_per_second": warm}
    kinds = list(KINDS) if "all" in arguments.tokenizers else arguments.tokenizers
    ratios: dict[str, float] = {}
    for kind in kinds:
        ratios |= compare_kind(kind, arguments, sentences, folder / kind)
    if arguments.gran_sentences:
        ratios |= compare_gran(arguments, sentences[: arguments.gran_sentences], folder / kinds[0])
    return ratios


def read_sentences(text: str | None, count: int) -> list[str]:
    """Reads the first `count` lines that are not empty, or those of the sample, repeated if they are too few."""
    if text is None:
        lines = [pair.english for pair in sample_bitext()["train"]]
    else:
        stream = (line for block in read_lines(Path(text), LineErrors()) for line in block.to_pylist() if line.strip())
        lines = list(islice(stream, count))
    if not lines:
        raise InputError("no line has a word", path=text, remedy="give one sentence per line")
    return [lines[place % len(lines)] for place in range(count)]


def learnt_tokenizer(kind: str, sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Learns a tokenizer of at most so many pieces from the sentences that are encoded: unknown words are rare.

    `wordpiece` is as BERT's, `byte-level` as GPT-2's, `unigram` as SentencePiece's, with the usual number of pieces.
    """
    if kind == OURS:
        return bench.words_tokenizer(sentences, size)
    from tokenizers import Tokenizer, implementations, models, normalizers, pre_tokenizers, trainers

    special: dict[str, Any] = {"special_tokens": [PAD_TOKEN, UNKNOWN_TOKEN], "show_progress": False}
    learner: Any
    if kind == "word-level":
        learner = Tokenizer(models.WordLevel(unk_token=UNKNOWN_TOKEN))
        learner.normalizer, learner.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
        learner.train_from_iterator(sentences, trainers.WordLevelTrainer(vocab_size=size, **special))
    elif kind == "unigram":
        learner = implementations.SentencePieceUnigramTokenizer()
        learner.train_from_iterator(sentences, min(size, 16_000), unk_token=UNKNOWN_TOKEN, **special)
    else:
        learner = implementations.ByteLevelBPETokenizer()
        if kind == "wordpiece":
            learner = implementations.BertWordPieceTokenizer(unk_token=UNKNOWN_TOKEN)
        learner.train_from_iterator(sentences, min(size, 30_000), min_frequency=0, **special)
    backend = Tokenizer.from_str(learner.to_str())
    return as_fast_tokenizer(backend, pad_token=PAD_TOKEN, unk_token=UNKNOWN_TOKEN)


def compare_vectors(encoders: dict[str, bench.Encode], sentences: list[str]) -> None:
    """Checks that all encoders compute the same as the first."""
    expected = encoders[OUR_NAME](sentences)
    for name, encode in encoders.items():
        difference = float(np.abs(encode(sentences) - expected).max())
        if difference > 1e-5:
            raise ValueError(f"{name} gives other vectors: they differ by {difference}")
    bench.write(f"all vectors of {len(sentences)} sentences without unknown words agree to 1e-5")


def compare_rates(unit: str, rates: Mapping[str, Callable[[], float]], rounds: int, ending: str) -> dict[str, float]:
    """Lets the encoders take turns and returns the ratios, whose names begin with those of the libraries."""
    contestants = [
        bench.Contestant(f"avg_encode_vs_{name.split()[0].replace('-', '_')}{ending}", name, rate)
        for name, rate in rates.items()
    ]
    return bench.compare(unit, contestants, rounds)


def compare_kind(kind: str, arguments: argparse.Namespace, sentences: list[str], folder: Path) -> dict[str, float]:
    """Compares the encoders with one kind of tokenizer; returns the ratios, which bear its name if it is not ours."""
    tokenizer = learnt_tokenizer(kind, sentences, arguments.vocabulary)
    torch.manual_seed(0)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=arguments.dimension, initializer_range=0.3))
    with torch.no_grad():
        # Zero, as model2vec leaves unknown words out; they count in the mean of the others.
        model.embeddings[tokenizer.unk_token_id] = 0
    SentenceEncoder(model, tokenizer).save_pretrained(folder)
    ids = SentenceEncoder.from_pretrained(folder).token_ids(sentences)
    is_unknown = ids.ids == tokenizer.unk_token_id
    rows = np.split(is_unknown, ids.offsets[1:-1])
    bench.write(
        f"{kind}: {len(sentences):,} sentences of {len(ids.ids) / len(sentences):.1f} tokens "
        f"({1 - is_unknown.mean():.2%} known), {len(tokenizer):,} x {arguments.dimension} vectors, "
        f"{torch.get_num_threads()} threads"
    )
    libraries = [OUR_NAME, *(name for name in arguments.peers if bench.installed(name.replace("-", "_")))]
    encoders = {library: bench.open_encoder(library, str(folder)) for library in libraries}
    # Settings that may suit a peer better where there are many sentences.
    many = dict(encoders)
    if "model2vec" in encoders:
        many["model2vec one batch at a time"] = partial(encoders["model2vec"], use_multiprocessing=False)
    if "sentence-transformers" in encoders:
        many["sentence-transformers batch_size=2048"] = partial(encoders["sentence-transformers"], batch_size=2048)
    compare_vectors(many, [text for text, row in zip(sentences[:20_000], rows, strict=False) if not row.any()])
    ending = "" if kind == OURS else f"_{kind.replace('-', '_')}"
    turn = partial(bench.sentences_per_second, clock=arguments.clock)
    warm = {name: partial(turn, encode, sentences) for name, encode in many.items()}
    ratios = compare_rates("sentences/s", warm, arguments.rounds, ending)
    if kind == OURS and arguments.cold_rounds:
        first_call = partial(bench.first_call_rate, folder=str(folder), sentences=sentences, clock=arguments.clock)
        cold = {name: partial(first_call, name) for name in encoders}
        ratios |= compare_rates(FIRST_CALL, cold, arguments.cold_rounds, "_first_call")
    for size in CALLS if arguments.tokenizers != [OURS] else ():
        some = sentences[:SENTENCES_IN_CALLS]
        calls = {name: partial(turn, encode, some, size=size) for name, encode in encoders.items()}
        unit = f"sentences/s, {size} a call"
        ratios |= compare_rates(unit, calls, arguments.rounds, f"{ending}_calls_of_{size}")
    return ratios


def compare_gran(arguments: argparse.Namespace, sentences: list[str], folder: Path) -> dict[str, float]:
    """Compares a GRAN with the tokenizer of the folder and `torch.nn.LSTM` alone on as many tokens without padding."""
    avg = SentenceEncoder.from_pretrained(folder)
    tokens = len(avg.token_ids(sentences).ids)
    bench.write(f"GRAN on {len(sentences):,} of them, {tokens:,} tokens")
    torch.manual_seed(0)
    size = {"vocab_size": avg.model.config.vocab_size, "hidden_size": arguments.dimension}
    encoder = SentenceEncoder(GranModel(GranConfig(cell="lstm", peepholes=False, **size)).eval(), avg.tokenizer)
    lstm = torch.nn.LSTM(arguments.dimension, arguments.dimension, batch_first=True).eval()
    length = max(round(tokens / len(sentences)), 1)

    @torch.inference_mode()
    def bare_rate(batch: int) -> float:
        """Runs the network on whole batches, and returns sentences per second by the tokens that they have."""
        vectors = torch.randn(batch, length, arguments.dimension)
        batches = tokens / (batch * length)
        whole = max(round(batches), 1)
        work = lambda: [lstm(vectors) for _ in range(whole)]  # noqa: E731
        return len(sentences) / batches * bench.rate(whole, work, arguments.clock)

    networks = {"GRAN": encoder.encode}
    networks["GRAN under autocast to bfloat16"] = torch.autocast("cpu", torch.bfloat16)(encoder.encode)
    contestants = [
        bench.Contestant("", name, partial(bench.sentences_per_second, encode, sentences, arguments.clock))
        for name, encode in networks.items()
    ]
    for batch in BARE_BATCHES:
        name = f"bare LSTM, batches of {batch} x {length}"
        contestants.append(bench.Contestant("gran_encode_vs_bare_lstm", name, partial(bare_rate, batch)))
    return bench.compare("sentences/s", contestants, arguments.rounds)


if __name__ == "__main__":
    sys.exit(main())
