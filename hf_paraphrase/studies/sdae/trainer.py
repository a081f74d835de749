"""Trains the denoising autoencoder: tokenized sentences, batches with noise, and the Trainer of transformers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import PreTrainedModel, Trainer

from ...encoders.backends.padded_batches import evaluation_mode
from ...encoders.negatives import normalize_rows
from ...text.hashing import hash64
from ...tokenization.fast_tokenize import ids_of, lookup_for
from ...tokenization.ragged_ids import TokenIds, pad_lists
from ...training.batches import Item, LengthBatches
from ...training.callbacks import LastStep, finished_state
from ...training.epoch_trainer import EpochTrainer, EpochTrainingArguments

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from ..expansion.expander import Expander

_SENTENCES_PER_BLOCK, _DEV_BATCH = 1 << 14, 64
# The epochs' own draws are numbered from 0.
DEV_EPOCH = 1 << 32
"""The number under which the noise of the dev set is drawn."""


@dataclass
class SdaeSentences:
    """Token ids of sentences, int32, and their texts, empty unless `keep_text` is set."""

    tokens: TokenIds
    texts: list[str]

    def __len__(self) -> int:
        return len(self.tokens.offsets) - 1

    def ids(self, index: int) -> NDArray[np.int32]:
        """Return the ids of a sentence (words,)."""
        return self.tokens.ids[self.tokens.offsets[index] : self.tokens.offsets[index + 1]].astype(
            np.int32, copy=False
        )

    def take(self, rows: NDArray[np.int64]) -> SdaeSentences:
        """Select some of the sentences."""
        return SdaeSentences(self.tokens.take(rows), [self.texts[row] for row in rows if self.texts])


def encode_sentences(
    texts: Iterable[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    min_words: int = 2,
    max_words: int,
    keep_text: bool = False,
) -> tuple[SdaeSentences, int]:
    """Tokenize sentences; leave out repeated, too short and too long ones, and return their number too."""
    backend = tokenizer.backend_tokenizer
    lookup = lookup_for(backend)
    seen: set[int] = set()
    kept_ids: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    kept_texts: list[str] = []
    num_texts = 0
    stream = iter(texts)
    while block := list(islice(stream, _SENTENCES_PER_BLOCK)):
        num_texts += len(block)
        encoded = ids_of(backend, block, lookup)
        all_ids = np.split(encoded.ids.astype(np.int32), encoded.offsets[1:-1])
        keys = hash64(ids.tobytes() for ids in all_ids).tolist()
        for text, ids, key in zip(block, all_ids, keys, strict=True):
            if min_words <= len(ids) <= max_words and key not in seen:
                seen.add(key)
                kept_ids.append(ids)
                kept_texts += [text] if keep_text else []
    tokens = TokenIds(np.concatenate(kept_ids), np.cumsum([len(ids) for ids in kept_ids]))
    return SdaeSentences(tokens, kept_texts), num_texts - len(seen)


@dataclass(frozen=True)
class WordNoise:
    """The noise N(S | p_o, p_x) of Hill, Cho and Korhonen (2016), section 2, over the words of a sentence.

    Each word is deleted independently with the probability `drop`; then each of the non-overlapping bigrams (words 1
    and 2, 3 and 4, …) is swapped with the probability `swap`. At least one word remains.
    """

    drop: float
    swap: float

    def __call__(self, words: NDArray[np.int32], generator: np.random.Generator) -> NDArray[np.int32]:
        """Make a noisy copy of the ids of a sentence (words,), int32."""
        kept = generator.random(len(words)) >= self.drop
        if not kept.any():
            kept[generator.integers(len(words))] = True
        noisy = words[kept]
        bigrams = noisy[: len(noisy) // 2 * 2].reshape(-1, 2)
        swapped = generator.random(len(bigrams)) < self.swap
        bigrams[swapped] = bigrams[swapped, ::-1]
        return noisy


class SdaeCollator:
    """Makes batches: the noisy input and the original to reconstruct.

    Noise depends on seed, epoch and sentence alone. With an expander (Moskvichev & Steyvers, section 2.1) either noise
    is applied to the expanded sentence, or, for the regulariser, the batch also has the original and the expanded
    sentences without noise.
    """

    def __init__(
        self,
        sentences: SdaeSentences,
        tokenizer: PreTrainedTokenizerFast,
        noise: WordNoise,
        seed: int,
        expander: Expander | None = None,
        expansion_use: str = "noise",
    ) -> None:
        self.sentences = sentences
        self.noise = noise
        self.seed = seed
        self.expander = expander
        self.regularise = expander is not None and expansion_use == "regulariser"
        self.pad_id = tokenizer.pad_token_id
        self._backend = tokenizer.backend_tokenizer
        self._lookup = lookup_for(self._backend)

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """Make a batch of sentences, each given by the epoch (from 0, the same for all) and its index.

        `input_ids` and `attention_mask` (rows, length) begin with the sentences to reconstruct, whose `labels`
        (sentences, length) are -100 at padding; for the regulariser originals and expanded sentences follow.
        """
        originals = [self.sentences.ids(index) for _, index in items]
        expanded = originals if self.expander is None else self.expanded(items)
        read = originals if self.regularise else expanded
        rows = [
            self.noise(words, np.random.default_rng([self.seed, epoch, index]))
            for (epoch, index), words in zip(items, read, strict=True)
        ]
        if self.regularise:
            rows += [*originals, *expanded]
        input_ids, mask = pad_lists(rows, self.pad_id)
        labels, _ = pad_lists(originals, -100)
        batch = {"input_ids": input_ids, "attention_mask": mask.astype(np.int64), "labels": labels}
        return {name: torch.from_numpy(array) for name, array in batch.items()}

    def expanded(self, items: Sequence[Item]) -> list[NDArray[np.int32]]:
        """Expand sentences and tokenize them; a sentence that would have no words is not expanded."""
        assert self.expander is not None
        texts = [self.sentences.texts[index] for _, index in items]
        encoded = ids_of(self._backend, self.expander.expand(texts, epoch=items[0][0]), self._lookup)
        token_ids = np.split(encoded.ids.astype(np.int32), encoded.offsets[1:-1])
        return [
            words if len(words) else self.sentences.ids(index)
            for words, (_, index) in zip(token_ids, items, strict=True)
        ]


class SdaeTrainer(EpochTrainer):
    """Trains a denoising autoencoder for a number of updates; the last weights are kept.

    The loss is the reconstruction loss (the sum over a sentence, the mean over the sentences). If batches have
    originals and expansions, λ · mean(1 - cos(original, expanded)) is added (Moskvichev & Steyvers, section 2.1, which
    gives no value of λ). Order and noise depend on the seed and the epoch alone.
    """

    criterion = "loss"
    forward_options = {"return_token_vectors": False}  # noqa: RUF012
    # The one that the arguments name, which runs over all parameters at once.
    create_optimizer = Trainer.create_optimizer

    def __init__(
        self,
        model: PreTrainedModel,
        args: EpochTrainingArguments,
        train: SdaeCollator,
        dev: SdaeCollator,
        *,
        compositionality_weight: float = 1.0,
        report: Callable[[str], None] | None = None,
    ) -> None:
        batches = LengthBatches(
            train.sentences.tokens.lengths, args.per_device_train_batch_size, args.seed, args.world_size
        )
        self.dev, self.compositionality_weight = dev, compositionality_weight
        super().__init__(model, args, batches, train, dev_size=len(dev.sentences), report=report)
        self.add_callback(LastStep())

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Train, or only load a checkpoint after the last update, from which the Trainer would make one more."""
        state = finished_state(resume_from_checkpoint)
        if state is not None:
            self._load_from_checkpoint(resume_from_checkpoint)
            self.state = state
            return None
        return super().train(resume_from_checkpoint=resume_from_checkpoint, **kwargs)

    def loss_of(self, output: Any, model: nn.Module, inputs: dict[str, Any]) -> Tensor:
        """Return the reconstruction loss, plus the compositionality loss of a batch with expansions."""
        loss = super().loss_of(output, model, inputs)
        compared = output.pooler_output[len(inputs["labels"]) :]
        if len(compared):
            loss = loss + self.compositionality_weight * expansion_distance(compared)
        return loss

    @torch.no_grad()
    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Measure the reconstruction loss on the dev sentences, in nats per word (the end counts as one)."""
        model = self.accelerator.unwrap_model(self.model)
        loss = 0.0
        size, device = len(self.dev.sentences), self.args.device
        order = self.dev.sentences.tokens.lengths.argsort(kind="stable").tolist()
        with evaluation_mode(model), torch.autocast(device.type, torch.bfloat16, enabled=self.args.bf16):
            for start in range(0, size, _DEV_BATCH):
                items = [(DEV_EPOCH, index) for index in order[start : start + _DEV_BATCH]]
                batch = {name: tensor.to(device) for name, tensor in self.dev(items).items()}
                loss += model(**batch, **self.forward_options).loss.item() * len(items)
        loss /= int(self.dev.sentences.tokens.lengths.sum()) + size
        perplexity = f"{math.exp(min(loss, 700.0)):,.1f}"
        line = f"step {self.state.global_step:,}: dev loss {loss:.3f} nats per word (perplexity {perplexity})"
        return self.report_scores({"eval_loss": loss}, line)


def expansion_distance(vectors: Tensor) -> Tensor:
    """Compute the mean of 1 - cos(original, expanded) for originals followed by expansions (2 * sentences, dim)."""
    originals, expanded = (normalize_rows(side) for side in vectors.float().chunk(2))
    return (1.0 - (originals * expanded).sum(1)).mean()
