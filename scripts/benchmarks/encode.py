"""Times `encode` against the installed peers on the same sentences, vocabulary and vectors, all in one run.

One Avg folder is saved and opened by each contestant: this package, model2vec (`StaticModel`) and
sentence-transformers (`StaticEmbedding`). The contestants take turns, so that a slow minute of the machine meets all
of them. A peer is timed with its defaults and with settings that may suit it better; the ratio is that to its fastest.
GRAN (an LSTM without peepholes) is compared with `torch.nn.LSTM` alone on as many tokens, in sentences of the mean
length and batches without padding. Ratios are of median rates, above 1 = this package is faster.

`--tokenizers all` does the same with an Avg folder for each kind of tokenizer, and times
calls of one, ten and a hundred sentences beside those of all. A ratio is called after the kind and the size of a call
where they are not our words and all sentences: `avg_encode_vs_model2vec_wordpiece_calls_of_1`.

On a machine that others use, `--clock processor` with OMP_NUM_THREADS=1 counts the work alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.tokenization.word_level import (
    PAD_TOKEN,
    UNKNOWN_TOKEN,
    as_fast_tokenizer,
    build_word_level_tokenizer,
    save_tokenizer,
    sentence_vocabulary,
)
from interleaved import (
    CLOCK,
    CLOCKS,
    ROUNDS,
    Contestant,
    argument_parser,
    check_least,
    exit_code,
    measure,
    ratios_to_best,
    timed,
    write,
    write_ratios,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

OURS = "words"
"""The kind of tokenizer that this package builds."""
KINDS = (OURS, "word-level", "wordpiece", "byte-level", "unigram")
BARE_BATCHES = (256, 1024)
PEERS = ("model2vec", "sentence-transformers")
CALLS = (1, 10, 100)
SENTENCES_IN_CALLS = 2_000

Encode = Callable[[list[str]], Any]


class Encoder(NamedTuple):
    """An encoder to be timed.

    Attributes:
        key: What the ratio to it is called.
    """

    key: str
    library: str
    settings: str
    encode: Encode


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()

    def work() -> None:
        check(arguments)
        sentences = read_sentences(arguments.text, arguments.sentences)
        with tempfile.TemporaryDirectory() as folder:
            run(arguments, sentences, Path(folder))

    return exit_code("benchmarks/encode", work)


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument("--text", help="text file, one sentence a line, plain or compressed; none = the sample")
    parser.add_argument("--sentences", type=int, default=100_000, help="sentences to encode; fewer lines are repeated")
    parser.add_argument("--vocabulary", type=int, default=61_000, help="word vectors; unused words fill it up")
    parser.add_argument("--dimension", type=int, default=300, help="components of a vector")
    parser.add_argument("--rounds", type=int, default=7, help=ROUNDS)
    parser.add_argument("--tokenizers", nargs="+", choices=[*KINDS, "all"], default=[OURS], help="kinds to time")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="libraries to compare with")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help=CLOCK)
    parser.add_argument("--gran-sentences", type=int, default=10_000, help="sentences to encode with GRAN; 0 = none")
    return parser.parse_args()


def check(arguments: argparse.Namespace) -> None:
    """Refuses numbers that make no sense."""
    check_least(arguments, {"sentences": 1, "vocabulary": 3, "dimension": 1, "rounds": 1, "gran_sentences": 0})


def read_sentences(text: str | None, count: int) -> list[str]:
    """Reads the first `count` lines that are not empty, or those of the sample, repeated if they are too few."""
    if text is None:
        from hf_paraphrase.data.sample import sample_bitext

        lines = [pair.english for pair in sample_bitext()["train"]]
    else:
        from hf_paraphrase.data.text_files import LineErrors, read_lines

        if not Path(text).is_file():
            raise InputError("no such file", path=text, remedy="check --text")
        stream = (line for block in read_lines(Path(text), LineErrors()) for line in block.to_pylist() if line.strip())
        lines = list(islice(stream, count))
    if not lines:
        raise InputError("no line has a word", path=text, remedy="give one sentence a line")
    return [lines[place % len(lines)] for place in range(count)]


def learnt_tokenizer(kind: str, sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Learns a tokenizer of at most so many pieces from the sentences that are encoded: unknown words are rare.

    `wordpiece` is as BERT's, `byte-level` as GPT-2's, `unigram` as SentencePiece's, with the usual number of pieces.
    """
    if kind == OURS:
        found = sentence_vocabulary(sentences, max_size=size - 2)
        fillers = (f"filler{number}" for number in range(size - 2 - len(found)))
        return build_word_level_tokenizer([*found, *fillers])
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    special: dict[str, Any] = {"special_tokens": [PAD_TOKEN, UNKNOWN_TOKEN], "show_progress": False}
    trainer: Any
    if kind == "word-level":
        tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN_TOKEN))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordLevelTrainer(vocab_size=size, **special)
    elif kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN_TOKEN))
        tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=min(size, 30_000), **special)
    elif kind == "byte-level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        units = max(min(size, 30_000), len(alphabet) + 2)
        trainer = trainers.BpeTrainer(vocab_size=units, initial_alphabet=alphabet, **special)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=min(size, 16_000), unk_token=UNKNOWN_TOKEN, **special)
    tokenizer.train_from_iterator(sentences, trainer)
    return as_fast_tokenizer(tokenizer, pad_token=PAD_TOKEN, unk_token=UNKNOWN_TOKEN)


def save_avg(tokenizer: PreTrainedTokenizerFast, dimension: int, folder: Path) -> None:
    """Saves an Avg model with random vectors, in the layout that `train-encoder` writes.

    The vector of unknown words is zero, as model2vec leaves them out. They count in the mean of the others.
    """
    torch.manual_seed(0)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=dimension, initializer_range=0.3))
    with torch.no_grad():
        model.embeddings[tokenizer.unk_token_id] = 0
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    (folder / "modules.json").write_text(json.dumps([module]) + "\n", encoding="utf-8")


def avg_encoders(folder: Path, peers: Sequence[str] = PEERS) -> list[Encoder]:
    """Opens the folder with this package and every installed peer of those."""
    encoders = [Encoder("", "hf_paraphrase", "", SentenceEncoder.from_pretrained(folder).encode)]
    if PEERS[0] in peers:
        encoders += model2vec_encoders(folder)
    if PEERS[1] in peers:
        encoders += sentence_transformers_encoders(folder)
    return encoders


def model2vec_encoders(folder: Path) -> list[Encoder]:
    """Opens the folder with model2vec, if it is installed."""
    try:
        model2vec = importlib.import_module("model2vec")
    except ImportError as error:
        write(f"model2vec is left out: {error}")
        return []
    encode = model2vec.StaticModel.from_pretrained(str(folder)).encode
    key = "avg_encode_vs_model2vec"
    return [
        Encoder(key, "model2vec", "", encode),
        Encoder(key, "model2vec", "one batch at a time", partial(encode, use_multiprocessing=False)),
    ]


def sentence_transformers_encoders(folder: Path) -> list[Encoder]:
    """Opens the folder with sentence-transformers, if it is installed."""
    try:
        sentence_transformers = importlib.import_module("sentence_transformers")
    except ImportError as error:
        write(f"sentence-transformers is left out: {error}")
        return []
    encode = sentence_transformers.SentenceTransformer(str(folder), device="cpu").encode
    encode = partial(encode, show_progress_bar=False)
    key = "avg_encode_vs_sentence_transformers"
    return [
        Encoder(key, "sentence-transformers", "", encode),
        Encoder(key, "sentence-transformers", "batch_size=2048", partial(encode, batch_size=2048)),
    ]


def compare_vectors(encoders: list[Encoder], sentences: list[str], folder: Path) -> None:
    """Checks that all encoders compute the same, on sentences without unknown words."""
    encoder = SentenceEncoder.from_pretrained(folder)
    unknown = encoder.tokenizer.unk_token_id
    sample = sentences[:20_000]
    ids = encoder.token_ids(sample)
    sample = [
        text for text, row in zip(sample, np.split(ids.ids, ids.offsets[1:-1]), strict=True) if unknown not in row
    ]
    if not sample:
        write("no sentence is without unknown words: the vectors are not compared")
        return
    expected = encoder.encode(sample)
    for peer in encoders[1:]:
        difference = float(np.abs(peer.encode(sample) - expected).max())
        if difference > 1e-5:
            raise ValueError(f"{peer.library} gives other vectors: they differ by {difference}")
    write(f"all vectors of {len(sample)} sentences without unknown words agree to 1e-5")


def gran_encoders(arguments: argparse.Namespace, folder: Path, tokens: int, sentences: int) -> list[Encoder]:
    """Makes a GRAN with the tokenizer of the folder, and `torch.nn.LSTM` alone on as many tokens without padding."""
    avg = SentenceEncoder.from_pretrained(folder)
    torch.manual_seed(0)
    size = {"vocab_size": avg.model.config.vocab_size, "hidden_size": arguments.dimension}
    encoder = SentenceEncoder(GranModel(GranConfig(cell="lstm", peepholes=False, **size)).eval(), avg.tokenizer)
    lstm = torch.nn.LSTM(arguments.dimension, arguments.dimension, batch_first=True).eval()
    length = max(round(tokens / sentences), 1)
    encoders = [
        Encoder("", "hf_paraphrase", "GRAN", encoder.encode),
        Encoder("", "hf_paraphrase", "GRAN under autocast to bfloat16", partial(in_bfloat16, encoder.encode)),
    ]
    for batch in BARE_BATCHES:
        vectors = torch.randn(batch, length, arguments.dimension)
        encode = partial(bare_lstm, lstm, vectors, tokens / vectors[..., 0].numel())
        encoders.append(Encoder("gran_encode_vs_bare_lstm", "bare LSTM", f"batches of {batch} x {length}", encode))
    return encoders


def in_bfloat16(encode: Encode, sentences: list[str]) -> Any:
    """Encodes with the matrix products in bfloat16."""
    with torch.autocast("cpu", torch.bfloat16):
        return encode(sentences)


@torch.inference_mode()
def bare_lstm(lstm: torch.nn.LSTM, vectors: torch.Tensor, batches: float, sentences: list[str]) -> float:
    """Runs the network on `vectors` (batch, length, dim) as often as its tokens go into those of the sentences.

    Returns:
        How many times the tokens of the sentences were computed: near 1, as only whole batches are.
    """
    whole = max(round(batches), 1)
    for _ in range(whole):
        lstm(vectors)
    return whole / batches


def rate(clock: str, encode: Encode, sentences: list[str]) -> float:
    """Encodes and returns sentences per second."""
    # model2vec switches the threads of `tokenizers` off for the whole process.
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    seconds, result = timed(lambda: encode(sentences), clock)
    share = result if isinstance(result, float) else 1.0
    return share * len(sentences) / seconds


def rate_of_calls(size: int, clock: str, encode: Encode, sentences: list[str]) -> float:
    """Encodes so many sentences a call, and returns sentences per second."""
    calls = [sentences[first : first + size] for first in range(0, len(sentences), size)]
    return len(sentences) / timed(lambda: [encode(call) for call in calls], clock)[0]


def compare_rates(
    encoders: list[Encoder], sentences: list[str], rounds: int, rate: Callable[[Encode, list[str]], float]
) -> dict[str, float]:
    """Lets the encoders take turns, writes a table and returns the ratio to the faster settings of each peer."""
    contestants = [
        Contestant(encoder.key, f"{encoder.library} {encoder.settings}", partial(rate, encoder.encode, sentences))
        for encoder in encoders
    ]
    return ratios_to_best(contestants, measure("sentences/s", contestants, rounds, width=46))


def compare_kind(kind: str, arguments: argparse.Namespace, sentences: list[str], folder: Path) -> dict[str, float]:
    """Compares the encoders with one kind of tokenizer; returns the ratios, which bear its name if it is not ours."""
    tokenizer = learnt_tokenizer(kind, sentences, arguments.vocabulary)
    save_avg(tokenizer, arguments.dimension, folder)
    ids = SentenceEncoder.from_pretrained(folder).token_ids(sentences).ids
    known = np.count_nonzero(ids != tokenizer.unk_token_id)
    write(
        f"{kind}: {len(sentences):,} sentences of {len(ids) / len(sentences):.1f} tokens "
        f"({known / max(len(ids), 1):.2%} known), {len(tokenizer):,} x {arguments.dimension} vectors, "
        f"{torch.get_num_threads()} threads"
    )
    encoders = avg_encoders(folder, arguments.peers)
    compare_vectors(encoders, sentences, folder)
    name = "" if kind == OURS else f"_{kind.replace('-', '_')}"
    found = compare_rates(encoders, sentences, arguments.rounds, partial(rate, arguments.clock))
    # The other settings of the peers are for many sentences.
    peers = [encoder for place, encoder in enumerate(encoders) if encoder.key != encoders[place - 1].key]
    ratios = {f"{key}{name}": ratio for key, ratio in found.items()}
    if arguments.tokenizers == [OURS]:
        return ratios
    for size in CALLS:
        write(f"{kind}: {size} sentences a call")
        some = sentences[:SENTENCES_IN_CALLS]
        found = compare_rates(peers, some, arguments.rounds, partial(rate_of_calls, size, arguments.clock))
        ratios |= {f"{key}{name}_calls_of_{size}": ratio for key, ratio in found.items()}
    return ratios


def run(arguments: argparse.Namespace, sentences: list[str], folder: Path) -> None:
    """Measures everything and writes the report, the ratios as one JSON object on its last line."""
    ratios: dict[str, float] = {}
    if "all" in arguments.tokenizers:
        arguments.tokenizers = list(KINDS)
    for kind in arguments.tokenizers:
        ratios |= compare_kind(kind, arguments, sentences, folder / kind)
    if arguments.gran_sentences:
        some = sentences[: arguments.gran_sentences]
        tokens = len(SentenceEncoder.from_pretrained(folder / arguments.tokenizers[0]).token_ids(some).ids)
        write(f"GRAN on {len(some):,} of them, {tokens:,} tokens")
        encoders = gran_encoders(arguments, folder / arguments.tokenizers[0], tokens, len(some))
        ratios |= compare_rates(encoders, some, arguments.rounds, partial(rate, arguments.clock))
    write_ratios(ratios)


if __name__ == "__main__":
    sys.exit(main())
