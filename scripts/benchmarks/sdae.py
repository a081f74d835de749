"""Times the training of a denoising autoencoder: this package and a plain PyTorch loop over the steps, in one run.

All train the same sentences with the same noise, vocabulary, sizes and batch size, and take turns, so that a slow
minute of the machine meets all of them. The plain loop is what one writes from the equations: padded batches in random
order, a `torch.nn.GRUCell` and a mask at each step of the encoder, a `GRUCell` and the softmax over the vocabulary at
each step of the decoder, `torch.optim.Adam`, fp32. This package trains by its Trainer, as `train-sdae` does. A turn is
a run from its start; its rate is that of the updates after the first tenth. Ratios are of the medians, above 1 = this
package is faster.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerFast

from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.data.text_files import numbered_lines
from hf_paraphrase.errors import InputError
from hf_paraphrase.models.configuration_sdae import SdaeConfig
from hf_paraphrase.models.modeling_sdae import SdaeModel
from hf_paraphrase.studies.sdae.batches import SdaeCollator
from hf_paraphrase.studies.sdae.noise import WordNoise
from hf_paraphrase.studies.sdae.sentences import SdaeSentences, encode_sentences
from hf_paraphrase.studies.sdae.trainer import SdaeTrainer, SdaeTrainingArguments
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
from hf_paraphrase.training.batches import EpochBatches
from hf_paraphrase.training.devices import bf16_is_fast
from interleaved import (
    ROUNDS,
    Contestant,
    argument_parser,
    check_least,
    exit_code,
    measure,
    write,
    write_ratios,
)
from train import StepTimes


class PlainAutoencoder(nn.Module):
    """The same network, one step after the other."""

    def __init__(self, vocabulary: int, embedding: int, hidden: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.encoder = nn.GRUCell(embedding, hidden)
        self.start = nn.Linear(hidden, hidden)
        self.decoder = nn.GRUCell(embedding + hidden, hidden)
        self.output = nn.Linear(hidden, vocabulary)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> Tensor:
        """Computes the loss of a batch as `SdaeModel` does, from the same tensors."""
        vectors = self.embeddings(input_ids)
        state = vectors.new_zeros(len(input_ids), self.start.in_features)
        for step in range(input_ids.shape[1]):
            present = attention_mask[:, step : step + 1] > 0
            state = torch.where(present, self.encoder(vectors[:, step], state), state)
        embedding, state = state, torch.tanh(self.start(state))
        rows = torch.arange(len(labels))
        lengths = (labels >= 0).sum(1)
        following = functional.pad(labels, (0, 1), value=-100)
        following[rows, lengths] = 0
        preceding = self.embeddings(labels.clamp_min(0))
        loss = vectors.new_zeros(())
        for step in range(following.shape[1]):
            word = preceding[:, step - 1] if step else torch.zeros_like(preceding[:, 0])
            state = self.decoder(torch.cat([word, embedding], dim=1), state)
            logits = self.output(state)
            loss = loss + functional.cross_entropy(logits, following[:, step], ignore_index=-100, reduction="sum")
        return loss / len(labels)


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()
    # The Trainer's advice about settings is not what is measured.
    logging.getLogger("transformers").setLevel(logging.ERROR)

    def work() -> None:
        check(arguments)
        run(arguments)

    return exit_code("benchmarks/sdae", work)


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argument_parser(__doc__)
    parser.add_argument("--text", help="a text file, one sentence a line; none = the sample's English sentences")
    parser.add_argument("--vocabulary", type=int, default=20_000, help="words; unused ones fill it up")
    parser.add_argument("--embedding", type=int, default=100, help="components of a word vector")
    parser.add_argument("--hidden", type=int, default=600, help="components of a state")
    parser.add_argument("--batch", type=int, default=64, help="sentences in a batch")
    parser.add_argument("--steps", type=int, default=20, help="updates in a turn")
    parser.add_argument("--rounds", type=int, default=5, help=ROUNDS)
    return parser.parse_args()


def check(arguments: argparse.Namespace) -> None:
    """Refuses numbers that make no sense."""
    least = {"vocabulary": 4, "embedding": 1, "hidden": 1, "batch": 1, "steps": 10, "rounds": 1}
    check_least(arguments, least)


def collator_of(tokenizer: PreTrainedTokenizerFast, sentences: SdaeSentences) -> SdaeCollator:
    """Makes batches with the noise of the paper."""
    return SdaeCollator(sentences, tokenizer, WordNoise("delete", 0.1, 0.1, tokenizer.unk_token_id), seed=0)


def train_ours(arguments: argparse.Namespace, collator: SdaeCollator, dev: SdaeCollator, bf16: bool) -> float:
    """Trains with this package and returns sentences per second."""
    torch.manual_seed(0)
    sizes = {"vocab_size": arguments.vocabulary, "embedding_size": arguments.embedding}
    model = SdaeModel(SdaeConfig(hidden_size=arguments.hidden, initialization="xavier", **sizes))
    times = StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        settings = SdaeTrainingArguments(
            output_dir=folder,
            max_steps=arguments.steps,
            per_device_train_batch_size=arguments.batch,
            evaluations=1,
            bf16=bf16,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
        )
        trainer = SdaeTrainer(model, settings, collator, dev)
        trainer.add_callback(times)
        trainer.train()
    return times.rate(arguments.batch)


def train_plain(arguments: argparse.Namespace, collator: SdaeCollator) -> float:
    """Trains with the plain loop and returns sentences per second."""
    torch.manual_seed(0)
    model = PlainAutoencoder(arguments.vocabulary, arguments.embedding, arguments.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    batches = EpochBatches(len(collator.sentences), arguments.batch, seed=0)
    times = StepTimes()
    while len(times.ends) < arguments.steps:
        for items in batches:
            loss = model(**collator(items))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            times.ends.append(time.perf_counter())
            if len(times.ends) == arguments.steps:
                break
        batches.set_epoch(batches.epoch + 1)
    return times.rate(arguments.batch)


def run(arguments: argparse.Namespace) -> None:
    """Measures everything and writes the report, the ratios as one JSON object on its last line."""
    if arguments.text is None:
        texts = [pair.english for pair in sample_bitext()["train"]]
    else:
        texts = [line for _, line in numbered_lines(Path(arguments.text))]
    words = sentence_vocabulary(texts, max_size=arguments.vocabulary - 2)
    fillers = (f"filler{number}" for number in range(arguments.vocabulary - 2 - len(words)))
    tokenizer = build_word_level_tokenizer([*words, *fillers])
    sentences = encode_sentences(texts, tokenizer, max_words=100)
    if not len(sentences):
        raise InputError("no sentence of two words or more", path=arguments.text, remedy="give running text")
    lengths = sentences.lengths()
    write(
        f"{len(sentences):,} sentences of {lengths.mean():.1f} words (at most {lengths.max()}), {len(tokenizer):,} x "
        f"{arguments.embedding} vectors, states of {arguments.hidden}, {arguments.batch} sentences a batch, "
        f"{torch.get_num_threads()} threads"
    )
    collator = collator_of(tokenizer, sentences)
    few = collator_of(tokenizer, sentences.take(torch.arange(min(2, len(sentences))).numpy()))
    contestants = [Contestant("", "this package, fp32", partial(train_ours, arguments, collator, few, False))]
    if bf16_is_fast():
        contestants.append(
            Contestant("", "this package, bf16 products", partial(train_ours, arguments, collator, few, True))
        )
    else:
        write("bf16 is left out: this machine does not multiply it in hardware")
    contestants.append(Contestant("", "plain loop over the steps, fp32", partial(train_plain, arguments, collator)))
    medians = measure("sentences/s", contestants, arguments.rounds)
    keys = ["sdae_train_vs_plain", "sdae_train_bf16_vs_plain"]
    write_ratios({key: median / medians[-1] for key, median in zip(keys, medians[:-1], strict=False)})


if __name__ == "__main__":
    sys.exit(main())
