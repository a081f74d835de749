"""What the gates of a GRAN let through: the mean activation of the gate vector of every word (paper 001).

The slides rank parts of speech and dependency labels by the gates and do not say how a gate vector becomes a number.
Here it is the mean of its components, i.e. its L1 norm over the number of components, between 0 and 1: the share of a
word's vector that goes into the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...encoders.padded_batches import batches_of_like_length
from ...errors import InputError, ModelError
from ...evaluation.verdicts import Interval
from .word_labels import LabelledSentence

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder

REPLICATES = 200
"""Bootstrap replicates of the intervals."""
_TOKENS_PER_BATCH = 1 << 14


class WordGate(NamedTuple):
    """What the gates do with a word of a text.

    Attributes:
        word: The word as it is in the text.
        sentence: The index of its sentence.
        gate: The mean gate activation, over components and over the pieces of the word.
        norm: The Euclidean norm of a_t = x_t * gate_t, the mean over the pieces.
        known: Whether no piece of it is the unknown token.
        labels: Its labels by their kind.
    """

    word: str
    sentence: int
    gate: float
    norm: float
    known: bool
    labels: dict[str, str]


def check_gran(encoder: SentenceEncoder, folder: str | None = None) -> None:
    """Checks that an encoder has gates."""
    model_type = getattr(encoder.model.config, "model_type", None)
    if model_type != "gran" or not hasattr(encoder.model, "embeddings"):
        remedy = "give a GRAN, made by train-encoder --model-type gran, and not an exported one"
        raise ModelError(f"a model of type `{model_type}` does not give gates", path=folder, remedy=remedy)


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
    (found,) = _of_batch(encoder, _tokens(encoder, [sentence]))
    return [sentence.words[item.place] for item in found], np.array([item.gates for item in found])


def word_gates(encoder: SentenceEncoder, sentences: Sequence[LabelledSentence]) -> list[WordGate]:
    """Computes the mean gate activation of every word, sentence after sentence.

    Sentences of like length share a batch; neither their order nor the batches change a result beyond rounding.
    """
    from tqdm.auto import tqdm

    tokens = _tokens(encoder, sentences)
    lengths = [len(ids) for ids, _ in tokens]
    by_sentence: dict[int, list[WordGate]] = {}
    with tqdm(total=len(sentences), unit=" sentences", desc="gates", disable=None) as progress:
        for rows in batches_of_like_length(lengths, len(lengths), _TOKENS_PER_BATCH):
            for row, gated in zip(rows, _of_batch(encoder, [tokens[row] for row in rows]), strict=True):
                words, labels = sentences[row].words, sentences[row].labels
                by_sentence[row] = [
                    WordGate(
                        words[item.place],
                        row,
                        float(item.gates.mean()),
                        item.norm,
                        item.known,
                        {kind: names[item.place] for kind, names in labels.items()},
                    )
                    for item in gated
                ]
            progress.update(len(rows))
    found = [word for row in sorted(by_sentence) for word in by_sentence[row]]
    if not found:
        raise InputError("no word of the text is in the model's vocabulary", remedy="give text in its language")
    return found


def _encoded(encoder: SentenceEncoder, texts: Sequence[str]) -> list[Any]:
    backend = encoder.tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    encoded: list[Any] = backend.encode_batch(list(texts))
    return encoded


_Tokens = tuple[list[int], NDArray[np.int64]]
"""The ids of a sentence, and the index of each token's word or -1."""


class _Gated(NamedTuple):
    """The place of a word in its sentence, its gates (hidden_size,), the norm of a, and whether it is known."""

    place: int
    gates: NDArray[np.float64]
    norm: float
    known: bool


def _tokens(encoder: SentenceEncoder, sentences: Sequence[LabelledSentence]) -> list[_Tokens]:
    tokens = []
    for sentence, item in zip(sentences, _encoded(encoder, [item.text for item in sentences]), strict=True):
        word_at = np.full(len(sentence.text) + 1, -1)
        for word, (start, end) in enumerate(sentence.spans):
            word_at[start:end] = word
        # Its last letter decides: the mark of the space before a word may belong to the token.
        owners = np.array([word_at[end - 1] if end > start else -1 for start, end in item.offsets], np.int64)
        tokens.append((item.ids, owners))
    return tokens


def _of_batch(encoder: SentenceEncoder, tokens: Sequence[_Tokens]) -> list[list[_Gated]]:
    """Computes the gates of the words of each sentence; a word in pieces has the means of its pieces."""
    import torch

    model: Any = encoder.model.eval()
    batch = encoder.tokenizer.pad({"input_ids": [ids for ids, _ in tokens]}, return_tensors="pt").to(model.device)
    with torch.inference_mode():
        output = model(**batch, return_token_vectors=False, output_gates=True)
        vectors = torch.nn.functional.embedding(batch["input_ids"], model.embeddings) * output.gates
    gates = output.gates.cpu().double().numpy()
    norms = vectors.float().norm(dim=2).cpu().double().numpy()
    sentences = []
    for row, (ids, owners) in enumerate(tokens):
        is_known = np.array(ids) != encoder.tokenizer.unk_token_id
        # A skipped unknown word has gates of exactly zero, which a sigmoid never gives.
        counted = (owners >= 0) & gates[row, : len(ids)].any(1)
        words = []
        for place in np.unique(owners[counted]):
            pieces = np.flatnonzero(counted & (owners == place))
            means = gates[row, pieces].mean(0), float(norms[row, pieces].mean())
            words.append(_Gated(int(place), *means, bool(is_known[pieces].all())))
        sentences.append(words)
    return sentences


def grouped_means(
    values: NDArray[np.float64],
    groups: Sequence[str | None],
    sentences: NDArray[np.int64],
    *,
    replicates: int = REPLICATES,
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
