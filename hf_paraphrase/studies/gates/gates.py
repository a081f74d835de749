"""What the gates of a GRAN let through: the mean activation of the gate vector of every word (paper 001).

The slides rank parts of speech and dependency labels by the gates and do not say how a gate vector becomes a number.
Here it is the mean of its components, i.e. its L1 norm over the number of components, between 0 and 1: the share of a
word's vector that goes into the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...encoders.padded_batches import batches_of_like_length
from ...errors import InputError, ModelError
from ...evaluation.verdicts import Interval
from .word_labels import LabelledSentence

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder

_TOKENS_PER_BATCH = 1 << 14


@dataclass(frozen=True)
class WordGates:
    """The gates of all words of a text, sentence after sentence.

    Attributes:
        words: The words as they are in the text (words,).
        sentences: The index of each word's sentence (words,), ascending.
        positions: Its position in the sentence, from 0 (words,).
        gates: The mean gate activation, over components and over the pieces of the word (words,).
        plain_norms: The Euclidean norm of x_t, the mean over the pieces (words,).
        gated_norms: That of a_t = x_t * gate (words,).
        known: Whether no piece of it is the unknown token (words,).
        labels: For each kind of label that of every word; None where a sentence has no labels of that kind.
    """

    words: list[str]
    sentences: NDArray[np.int64]
    positions: NDArray[np.int64]
    gates: NDArray[np.float64]
    plain_norms: NDArray[np.float64]
    gated_norms: NDArray[np.float64]
    known: NDArray[np.bool_]
    labels: dict[str, list[str | None]]

    def __len__(self) -> int:
        return len(self.words)


def check_gran(encoder: SentenceEncoder, folder: str | None = None) -> None:
    """Checks that an encoder has gates."""
    model_type = getattr(encoder.model.config, "model_type", None)
    if model_type != "gran":
        remedy = "give a GRAN, made by train-encoder --model-type gran"
        raise ModelError(f"a model of type `{model_type}` has no gates", path=folder, remedy=remedy)
    if not hasattr(encoder.model, "embeddings"):
        remedy = "give the folder that it was made of"
        raise ModelError("an exported model does not give its gates", path=folder, remedy=remedy)


def words_of_texts(encoder: SentenceEncoder, texts: Sequence[str]) -> list[LabelledSentence]:
    """Splits texts into the words that the encoder's own tokenizer sees, before it cuts them into pieces.

    Texts without any word are left out.
    """
    sentences = []
    for text, encoded in zip(texts, _encoded(encoder, texts), strict=True):
        spans: dict[int, tuple[int, int]] = {}
        for word, (start, end) in zip(encoded.word_ids, encoded.offsets, strict=True):
            if word is not None and end > start:
                before = spans.get(word, (start, end))
                spans[word] = min(start, before[0]), max(end, before[1])
        # The mark of the space before a word may count as part of it.
        stripped = [(end - len(text[start:end].lstrip()), end) for start, end in spans.values()]
        word_spans = tuple(sorted(span for span in stripped if span[1] > span[0]))
        if word_spans:
            sentences.append(LabelledSentence(text, word_spans))
    return sentences


def component_gates(encoder: SentenceEncoder, sentence: LabelledSentence) -> tuple[list[str], NDArray[np.float64]]:
    """Returns the words of a sentence that have tokens, and the whole gate vector of each (words, hidden_size)."""
    encoder.model.eval()
    words, gates, _ = _of_batch(encoder, _tokens(encoder, [sentence]))[0]
    return [sentence.words[word] for word in words], gates


def word_gates(encoder: SentenceEncoder, sentences: Sequence[LabelledSentence]) -> WordGates:
    """Computes the mean gate activation of every word.

    Sentences of like length share a batch; neither their order nor the batches change a result beyond rounding.
    """
    from tqdm.auto import tqdm

    encoder.model.eval()
    tokens = _tokens(encoder, sentences)
    lengths = [len(ids) for ids, _, _ in tokens]
    parts: list[NDArray[np.float64]] = [np.empty((0, 5))] * len(sentences)
    with tqdm(total=len(sentences), unit=" sentences", desc="gates", disable=None) as progress:
        for rows in batches_of_like_length(lengths, len(lengths), _TOKENS_PER_BATCH):
            for row, part in zip(rows, _of_batch(encoder, [tokens[row] for row in rows]), strict=True):
                parts[row] = np.column_stack([part[0], part[1].mean(1), part[2]])
            progress.update(len(rows))
    numbers = np.concatenate(parts).T
    if not numbers.size:
        raise InputError("no word of the text is in the model's vocabulary", remedy="give text in its language")
    owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    places = list(zip(owners.tolist(), numbers[0].astype(np.int64).tolist(), strict=True))
    kinds = dict.fromkeys(name for sentence in sentences for name in sentence.labels)
    words = [sentence.words for sentence in sentences]
    return WordGates(
        words=[words[row][word] for row, word in places],
        sentences=owners,
        positions=numbers[0].astype(np.int64),
        gates=numbers[1],
        plain_norms=numbers[2],
        gated_norms=numbers[3],
        known=numbers[4] == 1,
        labels={
            kind: [
                sentences[row].labels[kind][word] if kind in sentences[row].labels else None for row, word in places
            ]
            for kind in kinds
        },
    )


def _encoded(encoder: SentenceEncoder, texts: Sequence[str]) -> list[Any]:
    backend = encoder.tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    encoded: list[Any] = backend.encode_batch(list(texts))
    return encoded


_Tokens = tuple[list[int], NDArray[np.int64], NDArray[np.bool_]]
"""The ids of a sentence, the index of each token's word or -1, and which are the unknown token."""


def _tokens(encoder: SentenceEncoder, sentences: Sequence[LabelledSentence]) -> list[_Tokens]:
    tokens = []
    for sentence, item in zip(sentences, _encoded(encoder, [item.text for item in sentences]), strict=True):
        word_at = np.full(len(sentence.text) + 1, -1)
        for word, (start, end) in enumerate(sentence.spans):
            word_at[start:end] = word
        # Its last letter decides: the mark of the space before a word may belong to the token.
        owners = np.array([word_at[end - 1] if end > start else -1 for start, end in item.offsets], np.int64)
        tokens.append((item.ids, owners, np.array(item.ids, np.int64) == encoder.tokenizer.unk_token_id))
    return tokens


def _of_batch(
    encoder: SentenceEncoder, tokens: Sequence[_Tokens]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]]:
    """Computes for each sentence the indices of its words, their gates (words, hidden), and (words, 3) numbers.

    These are the norms of x and a, and whether the word is known; all are means over the pieces of a word.
    """
    import torch

    model: Any = encoder.model
    batch = encoder.tokenizer.pad({"input_ids": [ids for ids, _, _ in tokens]}, return_tensors="pt")
    ids_tensor = batch["input_ids"].to(model.device)
    mask = batch["attention_mask"].to(model.device)
    with torch.inference_mode():
        output = model(ids_tensor, attention_mask=mask, return_token_vectors=False, output_gates=True)
        vectors = torch.nn.functional.embedding(ids_tensor, model.embeddings).float()
        gates = output.gates.float()
        norms = torch.stack([vectors.norm(dim=2), (vectors * gates).norm(dim=2)], 2).cpu().double().numpy()
    found = []
    for row, of_tokens in enumerate(gates.cpu().double().numpy()):
        ids, owners, unknown = tokens[row]
        of_tokens = of_tokens[: len(ids)]
        # A skipped unknown word has gates of exactly zero, which a sigmoid never gives.
        counted = (owners >= 0) & of_tokens.any(1)
        words = np.unique(owners[counted])
        numbers = np.column_stack([norms[row, : len(ids)], ~unknown])
        pieces = [counted & (owners == word) for word in words]
        means = np.array([of_tokens[part].mean(0) for part in pieces]).reshape(len(words), of_tokens.shape[1])
        numbers = np.array([numbers[part].mean(0) for part in pieces]).reshape(len(words), 3)
        found.append((words, means, numbers))
    return found


def grouped_means(
    values: NDArray[np.float64],
    groups: Sequence[str | None],
    sentences: NDArray[np.int64],
    *,
    replicates: int = 200,
    seed: int = 0,
) -> list[tuple[str, int, Interval]]:
    """Computes the number of words and the mean of every group, the highest mean first.

    In each replicate the sentences are drawn again with replacement, because words of one sentence are not independent
    draws (the cluster bootstrap; Efron and Tibshirani 1993, chapter 8). A replicate without a word of a group counts
    for the others alone. The interval is the central 95 % of the replicates.

    All arguments are of words: a number, the group (None for none), and the index of the sentence of each.
    """
    inside = np.array([name is not None for name in groups], bool)
    if not inside.any():
        return []
    names, codes = np.unique([name for name in groups if name is not None], return_inverse=True)
    values = values[inside]
    rows, of_word = np.unique(sentences[inside], return_inverse=True)
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=values) / counts
    generator = np.random.default_rng(seed)
    drawn = np.full((replicates, len(names)), np.nan)
    for replicate in drawn:
        weights = np.bincount(generator.integers(len(rows), size=len(rows)), minlength=len(rows))[of_word]
        total = np.bincount(codes, weights=weights)
        np.divide(np.bincount(codes, weights=weights * values), total, out=replicate, where=total > 0)
    found = []
    for name, count, mean, column in zip(names.tolist(), counts.tolist(), means, drawn.T, strict=True):
        present = column[~np.isnan(column)]
        found.append((name, count, Interval.of(mean, present if len(present) else np.array([mean]))))
    return sorted(found, key=lambda item: -item[2].value)


def from_own_mean(values: NDArray[np.float64], groups: Sequence[str]) -> NDArray[np.float64]:
    """Computes how far each value is from the mean of the others of its group; NaN where it is the only one."""
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    counts = np.bincount(codes)[codes]
    sums = np.bincount(codes, weights=values)[codes]
    others = np.divide(sums - values, counts - 1, out=np.full(len(values), np.nan), where=counts > 1)
    return values - others
