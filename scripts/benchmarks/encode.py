"""Time `encode` against the installed peers on the same sentences, vocabulary and vectors, all in one run.

For each kind of tokenizer, this package, model2vec (`StaticModel`) and sentence-transformers (`StaticEmbedding`) open
one Avg folder. A peer is timed with its defaults and with settings that may suit it better; the ratio for our words
compares with its fastest. With other tokenizers, calls of few sentences are timed too. GRAN (an LSTM without
peepholes) is compared with `torch.nn.LSTM` alone on as many tokens, in sentences of the mean length and batches
without padding.

These rates are warm: the process has encoded the same sentences before. `--model` times a model of this package alone,
also cold: a new process opens it, which does not count, and encodes new sentences, each once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
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
from hf_paraphrase.models.configurations import AvgConfig, GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.tokenization.word_level import PAD_TOKEN, UNKNOWN_TOKEN, as_fast_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

OUR_NAME = "hf_paraphrase"
OURS = "words"
"""The kind of tokenizer that this package builds."""
KINDS = (OURS, "word-level", "wordpiece", "byte-level", "unigram")
PEERS: dict[str, dict[str, dict[str, Any]]] = {
    "model2vec": {"model2vec one batch at a time": {"use_multiprocessing": False}},
    "sentence-transformers": {"sentence-transformers batch_size=2048": {"batch_size": 2048}},
}
"""For each peer what else may suit it."""
FLAGS = {
    "rounds": (7, bench.ROUNDS),
    "clock": bench.CLOCK,
    "text": (None, "text file, one sentence per line, plain or compressed; none = the sample"),
    "sentences": (100_000, "sentences to encode; fewer lines are repeated"),
    "vocabulary": (61_000, "word vectors; unused words fill it up"),
    "dimension": (300, "components of a vector"),
    "tokenizers": ((OURS,), "kinds to time", [*KINDS, "all"]),
    "peers": (tuple(PEERS), "libraries to compare with", list(PEERS)),
    "model": (None, "a model of this package, timed alone: a folder, builtin or multilingual"),
    "gran-sentences": (10_000, "sentences to encode with GRAN; 0 = none"),
}


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measure everything and return the ratios."""
    sentences = read_sentences(arguments.text, arguments.sentences)
    if arguments.model is not None:
        warm = partial(bench.sentences_per_second, bench.open_encoder(OUR_NAME, arguments.model), sentences)
        bench.compare("sentences/s", {OUR_NAME: partial(warm, arguments.clock)}, arguments.rounds)
        given = arguments.model, list(dict.fromkeys(sentences)), arguments.clock
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as processes:
            cold = partial(processes.apply, bench.first_call_rate, given)
            return bench.compare("first call, sentences/s", {OUR_NAME: cold}, arguments.rounds)
    kinds = KINDS if "all" in arguments.tokenizers else arguments.tokenizers
    found = {kind: compare_kind(kind, arguments, sentences, folder / kind) for kind in kinds}
    ratios = found.get(OURS, {})
    if arguments.gran_sentences:
        ratios |= compare_gran(arguments, sentences[: arguments.gran_sentences], folder / kinds[0])
    return ratios


def read_sentences(text: str | None, count: int) -> list[str]:
    """Read the first `count` lines that are not empty, of a text or the sample; repeat them if they are too few."""
    if text is None:
        lines = [pair.english for pair in sample_bitext()["train"]]
    else:
        stream = (line for block in read_lines(Path(text), LineErrors()) for line in block.to_pylist() if line.strip())
        lines = list(islice(stream, count))
    if not lines:
        raise InputError("no line has a word", path=text, remedy="give one sentence a line")
    return [lines[place % len(lines)] for place in range(count)]


def learnt_tokenizer(kind: str, sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Train a tokenizer of at most `size` pieces on the sentences to encode, so that unknown words are rare.

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


def compare_kind(kind: str, arguments: argparse.Namespace, sentences: list[str], folder: Path) -> dict[str, float]:
    """Check that the libraries compute the same with a kind of tokenizer, and return the ratios."""
    tokenizer = learnt_tokenizer(kind, sentences, arguments.vocabulary)
    torch.manual_seed(0)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=arguments.dimension, initializer_range=0.3))
    with torch.no_grad():
        # Zero, as model2vec leaves unknown words out; other libraries average over them.
        model.embeddings[tokenizer.unk_token_id] = 0
    encoder = SentenceEncoder(model, tokenizer)
    encoder.save_pretrained(folder)
    ids = encoder.token_ids(sentences)
    is_unknown = ids.ids == tokenizer.unk_token_id
    known = f"{len(ids.ids) / len(sentences):.1f} tokens per sentence, {1 - is_unknown.mean():.2%} known"
    bench.write(f"{kind}: {known}, {len(tokenizer):,} x {arguments.dimension} vectors")
    libraries = [OUR_NAME, *(name for name in arguments.peers if bench.installed(name.replace("-", "_")))]
    rows = np.split(is_unknown, ids.offsets[1:-1])
    some = [text for text, row in zip(sentences[:20_000], rows, strict=False) if not row.any()]
    encoders = {library: bench.open_encoder(library, str(folder)) for library in libraries}
    for library, encode in encoders.items():
        difference = float(np.abs(encode(some) - encoder.encode(some)).max())
        if difference > 1e-5:
            raise ValueError(f"{library} gives other vectors: they differ by {difference}")
    bench.write(f"all vectors of {len(some)} sentences without unknown words agree to 1e-5")
    turn = partial(bench.sentences_per_second, sentences=sentences, clock=arguments.clock)
    ways = {library: partial(turn, encode) for library, encode in encoders.items()}
    keys = {library: f"avg_encode_vs_{library.replace('-', '_')}" for library in libraries[1:]}
    for library in libraries[1:]:
        for name, options in PEERS[library].items():
            ways[name], keys[name] = partial(turn, partial(encoders[library], **options)), keys[library]
    ratios = bench.compare("sentences/s", ways, arguments.rounds, keys)
    for size in (1, 10, 100) if list(arguments.tokenizers) != [OURS] else ():
        call = partial(turn, sentences=sentences[:2_000], size=size)
        calls = {library: partial(call, encode) for library, encode in encoders.items()}
        bench.compare(f"sentences/s, {size} a call", calls, arguments.rounds)
    return ratios


def compare_gran(arguments: argparse.Namespace, sentences: list[str], folder: Path) -> dict[str, float]:
    """Compare a GRAN with the tokenizer of the folder and `torch.nn.LSTM` alone on as many tokens without padding."""
    avg = SentenceEncoder.from_pretrained(folder)
    tokens = len(avg.token_ids(sentences).ids)
    torch.manual_seed(0)
    size = {"vocab_size": avg.model.config.vocab_size, "hidden_size": arguments.dimension}
    encoder = SentenceEncoder(GranModel(GranConfig(cell="lstm", peepholes=False, **size)).eval(), avg.tokenizer)
    lstm = torch.nn.LSTM(arguments.dimension, arguments.dimension, batch_first=True).eval()
    length = max(round(tokens / len(sentences)), 1)

    @torch.inference_mode()
    def bare_rate(batch: int) -> float:
        """Run the network on whole batches, and return sentences per second by the tokens that they have."""
        vectors = torch.randn(batch, length, arguments.dimension)
        batches = tokens / (batch * length)
        whole = max(round(batches), 1)
        work = lambda: [lstm(vectors) for _ in range(whole)]  # noqa: E731
        return len(sentences) / batches * bench.rate(whole, work, arguments.clock)

    turn = partial(bench.sentences_per_second, sentences=sentences, clock=arguments.clock)
    bf16 = torch.autocast("cpu", torch.bfloat16)(encoder.encode)
    bare = {f"bare LSTM, batches of {batch} x {length}": partial(bare_rate, batch) for batch in (256, 1024)}
    networks = {"GRAN": partial(turn, encoder.encode), "GRAN under autocast to bfloat16": partial(turn, bf16), **bare}
    return bench.compare("sentences/s", networks, arguments.rounds, dict.fromkeys(bare, "gran_encode_vs_bare_lstm"))


if __name__ == "__main__":
    sys.exit(bench.run_benchmark(run, __doc__, FLAGS))
