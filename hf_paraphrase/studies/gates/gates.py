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
from ...tokenization.token_ids import TokenIds
from .word_labels import LabelledSentence

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder

MODEL_TYPE = "gran"
_TOKENS_PER_BATCH = 1 << 14


@dataclass(frozen=True)
class WordGates:
    """The gates of all words of a text, sentence after sentence.

    Attributes:
        words: The words as they stand in the text (words,).
        sentences: The number of each word's sentence (words,), int64, ascending.
        positions: Its place in the sentence, from 0 (words,), int64.
        lengths: The number of words of its sentence (words,), int64.
        gates: The mean gate activation, over components and over the pieces of the word (words,).
        plain_norms: The Euclidean norm of x_t, the mean over the pieces (words,).
        gated_norms: That of a_t = x_t * gate (words,).
        known: Whether no piece of it is the unknown token (words,).
        labels: For each kind of label that of every word; `None` where a sentence has no labels of that kind.
        without_tokens: How many words gave no token, or only skipped ones, and are not among these.
    """

    words: list[str]
    sentences: NDArray[np.int64]
    positions: NDArray[np.int64]
    lengths: NDArray[np.int64]
    gates: NDArray[np.float64]
    plain_norms: NDArray[np.float64]
    gated_norms: NDArray[np.float64]
    known: NDArray[np.bool_]
    labels: dict[str, list[str | None]]
    without_tokens: int

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: NDArray[np.int64]) -> WordGates:
        """Keeps some of the words."""
        arrays = {
            name: getattr(self, name)[rows]
            for name in ("sentences", "positions", "lengths", "gates", "plain_norms", "gated_norms", "known")
        }
        labels = {name: [items[row] for row in rows] for name, items in self.labels.items()}
        words = [self.words[row] for row in rows]
        return WordGates(words=words, labels=labels, without_tokens=self.without_tokens, **arrays)


def check_gran(encoder: SentenceEncoder, folder: str | None = None) -> None:
    """Checks that an encoder has gates."""
    model_type = getattr(encoder.model.config, "model_type", None)
    if model_type != MODEL_TYPE:
        raise ModelError(
            f"a model of type `{model_type}` has no gates",
            path=folder,
            remedy="give a GRAN, made by train-encoder --model-type gran",
        )
    if not hasattr(encoder.model, "embeddings"):
        raise ModelError(
            "an exported model does not give its gates", path=folder, remedy="give the folder that it was made of"
        )


def words_of_texts(encoder: SentenceEncoder, texts: Sequence[str]) -> list[LabelledSentence]:
    """Splits texts into the words that the encoder's own tokenizer sees, before it cuts them into pieces.

    Texts without any word are left out.
    """
    backend = _backend(encoder)
    sentences = []
    for text, encoded in zip(texts, backend.encode_batch(list(texts)), strict=True):
        spans: dict[int, tuple[int, int]] = {}
        for word, (start, end) in zip(encoded.word_ids, encoded.offsets, strict=True):
            if word is not None and end > start:
                before = spans.get(word, (start, end))
                spans[word] = min(start, before[0]), max(end, before[1])
        # A mark for the space before a word may count as part of it.
        stripped = [(end - len(text[start:end].lstrip()), end) for start, end in spans.values()]
        word_spans = tuple(sorted(span for span in stripped if span[1] > span[0]))
        if word_spans:
            sentences.append(LabelledSentence(text, word_spans))
    return sentences


def component_gates(encoder: SentenceEncoder, sentence: LabelledSentence) -> tuple[list[str], NDArray[np.float64]]:
    """Computes the whole gate vectors of a sentence, for a picture of it.

    Returns:
        The words that have tokens, and the gates of each, means over its pieces (words, hidden_size).
    """
    import torch

    model: Any = encoder.model.eval()
    ids, owners, _ = _tokens(encoder, [sentence])[0]
    with torch.inference_mode():
        output = model(torch.tensor([ids], dtype=torch.long, device=model.device), output_gates=True)
    gates = output.gates[0].cpu().double().numpy()
    counted = gates.any(1) & (owners >= 0)
    present = np.unique(owners[counted])
    means = [gates[counted & (owners == word)].mean(0) for word in present]
    words = sentence.words
    return [words[word] for word in present], np.array(means).reshape(len(present), gates.shape[1])


def word_gates(
    encoder: SentenceEncoder, sentences: Sequence[LabelledSentence], *, show_progress_bar: bool = False
) -> WordGates:
    """Computes the mean gate activation of every word.

    Sentences of like length share a batch; neither their order nor the batches change a result beyond rounding.
    """
    from tqdm.auto import tqdm

    encoder.model.eval()
    tokens = _tokens(encoder, sentences)
    parts: list[Any] = [None] * len(sentences)
    progress = tqdm(total=len(sentences), unit=" sentences", desc="gates", disable=not show_progress_bar)
    with progress:
        lengths = [len(ids) for ids, _, _ in tokens]
        for rows in batches_of_like_length(lengths, len(lengths), _TOKENS_PER_BATCH):
            for row, part in zip(rows, _of_batch(encoder, [tokens[row] for row in rows]), strict=True):
                parts[row] = part
            progress.update(len(rows))
    return _joined(sentences, parts)


def _backend(encoder: SentenceEncoder) -> Any:
    backend = encoder.tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    return backend


def _tokens(
    encoder: SentenceEncoder, sentences: Sequence[LabelledSentence]
) -> list[tuple[list[int], NDArray[np.int64], NDArray[np.bool_]]]:
    """Computes for each sentence its ids, the number of each token's word or -1, and which are not unknown tokens."""
    unknown = encoder.tokenizer.unk_token_id
    result = []
    encoded = _backend(encoder).encode_batch([sentence.text for sentence in sentences])
    for sentence, item in zip(sentences, encoded, strict=True):
        starts = np.array([start for start, _ in sentence.spans], np.int64)
        ends = np.array([end for _, end in sentence.spans], np.int64)
        # The last letter tells the word: a mark for the space before it may belong to the token.
        last = np.array([end - 1 for _, end in item.offsets], np.int64)
        owners = np.searchsorted(starts, last, side="right") - 1
        real = np.array([end > start for start, end in item.offsets], bool)
        inside = real & (owners >= 0) if len(starts) else np.zeros(len(last), bool)
        inside &= np.where(inside, ends[owners] > last, False) if len(starts) else False
        ids = np.array(item.ids, np.int64)
        result.append((item.ids, np.where(inside, owners, -1), ids != (-1 if unknown is None else unknown)))
    return result


def _of_batch(
    encoder: SentenceEncoder, tokens: Sequence[tuple[list[int], NDArray[np.int64], NDArray[np.bool_]]]
) -> list[tuple[NDArray[Any], ...]]:
    """Computes for each sentence of a batch its words' numbers, gates, both norms, and which are known."""
    import torch

    model: Any = encoder.model
    batch = TokenIds.of_lists([ids for ids, _, _ in tokens])
    padded, mask = batch.padded(np.arange(len(tokens)), encoder.tokenizer.pad_token_id or 0)
    ids_tensor = torch.from_numpy(padded).to(model.device)
    with torch.inference_mode():
        output = model(
            ids_tensor,
            attention_mask=torch.from_numpy(mask).to(model.device),
            return_token_vectors=False,
            output_gates=True,
        )
        vectors = torch.nn.functional.embedding(ids_tensor, model.embeddings).float()
        gates = output.gates.float()
        numbers = torch.stack([gates.mean(2), vectors.norm(dim=2), (vectors * gates).norm(dim=2)])
    values = numbers.cpu().double().numpy()
    result = []
    for place, (ids, owners, is_known) in enumerate(tokens):
        # A skipped unknown word has a gate of exactly zero, which a sigmoid never gives.
        counted = (owners >= 0) & (values[0, place, : len(ids)] > 0)
        present, of_token = np.unique(owners[counted], return_inverse=True)
        pieces = np.bincount(of_token, minlength=len(present))
        means = [
            np.bincount(of_token, weights=row[place, : len(ids)][counted], minlength=len(present)) / pieces
            for row in values
        ]
        unknown = np.bincount(of_token, weights=~is_known[counted], minlength=len(present)) > 0
        result.append((present, *means, ~unknown))
    return result


def _joined(sentences: Sequence[LabelledSentence], parts: Sequence[Any]) -> WordGates:
    filled = [(number, part) for number, part in enumerate(parts) if part is not None and len(part[0])]
    if not filled:
        raise InputError("no word of the text has a token", remedy="give text in the language of the model")
    words: list[str] = []
    names = sorted({name for sentence in sentences for name in sentence.labels})
    labels: dict[str, list[str | None]] = {name: [] for name in names}
    for number, part in filled:
        sentence = sentences[number]
        sentence_words = sentence.words
        words += [sentence_words[word] for word in part[0]]
        for name in names:
            items = sentence.labels.get(name)
            labels[name] += [None if items is None else items[word] for word in part[0]]
    sizes = [len(part[0]) for _, part in filled]
    lengths = [len(sentences[number].spans) for number, _ in filled]
    columns = [np.concatenate([part[place] for _, part in filled]) for place in range(5)]
    return WordGates(
        words=words,
        sentences=np.repeat(np.array([number for number, _ in filled], np.int64), sizes),
        positions=columns[0].astype(np.int64),
        lengths=np.repeat(np.array(lengths, np.int64), sizes),
        gates=columns[1],
        plain_norms=columns[2],
        gated_norms=columns[3],
        known=columns[4].astype(bool),
        labels=labels,
        without_tokens=sum(len(sentence.spans) for sentence in sentences) - len(words),
    )
