"""The activation of a GRAN's gates: the mean of the gate vector of every word (Gimpel et al.).

The slides rank parts of speech and dependency labels by the gates, without a definition of the number for a gate
vector. Here it is the mean of the components, between 0 and 1: the fraction of a word vector that enters the sentence.

Labels of words come from files of two layouts: `word/TAG word/TAG …`, one sentence per line, and CoNLL-U
(https://universaldependencies.org/format.html), whose tag is the language's own (XPOS) where there is one, else
the universal one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.sentences import lines_of_file
from ...encoders.backends.padded_batches import batch_by_length
from ...errors import InputError, ModelError
from ...training.verdicts import Interval

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder

TAG, DEPENDENCY = "tag", "dependency"
REPLICATES = 200
"""Bootstrap replicates of the intervals."""
_TOKENS_PER_BATCH = 1 << 14
_CONLLU_FIELDS = 10


@dataclass(frozen=True)
class LabelledSentence:
    """A sentence, the spans of its words, and the labels of the words by kind, such as :data:`TAG`."""

    text: str
    spans: tuple[tuple[int, int], ...]
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of_words(cls, words: Sequence[str], **labels: Sequence[str]) -> LabelledSentence:
        """Make a sentence of words with a space between them."""
        spans, start = [], 0
        for word in words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(spans), {name: tuple(values) for name, values in labels.items()})

    @property
    def words(self) -> list[str]:
        """The words as spelt in the text."""
        return [self.text[start:end] for start, end in self.spans]


def read_tagged(path: Path) -> Iterator[LabelledSentence]:
    """Stream the sentences of a tagged file."""
    rows: list[list[str]] = []
    is_conllu = False
    for line_number, line in enumerate((line for lines in lines_of_file(path) for line in lines), start=1):
        is_conllu = is_conllu or line.startswith("# ") or "\t" in line
        if not line.strip():
            if rows:
                yield _conllu(rows)
            rows = []
        elif not is_conllu:
            yield _slashed(line, path, line_number)
        elif not line.startswith("#"):
            rows.append(line.split("\t"))
            if len(rows[-1]) != _CONLLU_FIELDS:
                problem = f"{len(rows[-1])} tab-separated fields where CoNLL-U has {_CONLLU_FIELDS}"
                raise InputError(problem, path=path, line=line_number, remedy="give CoNLL-U, or word/TAG on one line")
    if rows:
        yield _conllu(rows)


def _slashed(line: str, path: Path, line_number: int) -> LabelledSentence:
    # The word itself may have slashes.
    pairs = [token.rpartition("/")[::2] for token in line.split()]
    for (word, tag), token in zip(pairs, line.split(), strict=True):
        if not word or not tag:
            remedy = "fix the line, or give CoNLL-U"
            raise InputError(f"`{token[:80]}` is not word/TAG", path=path, line=line_number, remedy=remedy)
    words, tags = zip(*pairs, strict=True)
    return LabelledSentence.of_words(words, tag=tags)


def _conllu(rows: Sequence[Sequence[str]]) -> LabelledSentence:
    # Others are contractions that are spelled out below, or words that are not in the text.
    rows = [row for row in rows if row[0].isdigit()]
    tags = [row[3] if row[4] == "_" else row[4] for row in rows]
    return LabelledSentence.of_words([row[1] for row in rows], tag=tags, dependency=[row[7] for row in rows])


class WordGate(NamedTuple):
    """The gate activation of a word of a text.

    `gate` (the mean over components) and `norm` (of a_t = x_t * gate_t) are means over the pieces of the word, and so
    is the gate vector `components` (hidden_size,), None unless requested. A word is in the vocabulary unless one of
    its pieces is the unknown token; `sentence` is the index of its sentence.
    """

    word: str
    sentence: int
    gate: float
    norm: float
    known: bool
    labels: dict[str, str]
    components: NDArray[np.float64] | None


def check_gran(encoder: SentenceEncoder, folder: str | None = None) -> None:
    """Check that an encoder has gates."""
    model_type = getattr(encoder.model.config, "model_type", None)
    if model_type != "gran" or not hasattr(encoder.model, "embeddings"):
        remedy = "give a GRAN, made by train-encoder --model-type gran, and not an exported one"
        raise ModelError(f"a model of type `{model_type}` does not give gates", path=folder, remedy=remedy)


def words_of_texts(encoder: SentenceEncoder, texts: Sequence[str]) -> list[LabelledSentence]:
    """Split texts into the words of the encoder's tokenizer, before their division into pieces.

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


def word_gates(
    encoder: SentenceEncoder, sentences: Sequence[LabelledSentence], *, components: bool = False
) -> list[WordGate]:
    """Compute the mean gate activation of every word, sentence after sentence.

    Sentences of similar length share a batch; neither their order nor the batches change a result beyond rounding.
    """
    from tqdm.auto import tqdm

    encoded = _encoded(encoder, [sentence.text for sentence in sentences])
    lengths = [len(encoding.ids) for encoding in encoded]
    words: dict[int, list[WordGate]] = {}
    with tqdm(total=len(sentences), unit=" sentences", desc="gates") as progress:
        for rows in batch_by_length(lengths, len(lengths), _TOKENS_PER_BATCH):
            gates, norms = _gates_of(encoder, [encoded[row].ids for row in rows])
            for index, row in enumerate(rows):
                words[row] = [
                    WordGate(
                        sentences[row].words[word],
                        row,
                        float(gates[index, pieces].mean()),
                        float(norms[index, pieces].mean()),
                        all(encoded[row].ids[piece] != encoder.tokenizer.unk_token_id for piece in pieces),
                        {kind: names[word] for kind, names in sentences[row].labels.items()},
                        gates[index, pieces].mean(0) if components else None,
                    )
                    for word, pieces in _pieces_of(sentences[row], encoded[row], gates[index])
                ]
            progress.update(len(rows))
    all_words = [word for row in sorted(words) for word in words[row]]
    if not all_words:
        raise InputError("no word of the text is in the model's vocabulary", remedy="give text in its language")
    return all_words


def _encoded(encoder: SentenceEncoder, texts: Sequence[str]) -> list[Any]:
    backend = encoder.tokenizer.backend_tokenizer
    backend.no_padding()
    backend.no_truncation()
    encoded: list[Any] = backend.encode_batch(list(texts))
    return encoded


def _gates_of(
    encoder: SentenceEncoder, token_ids: Sequence[list[int]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the gates (sentences, length, hidden_size) and the norms of the gated vectors (sentences, length)."""
    import torch

    model: Any = encoder.model.eval()
    batch = encoder.tokenizer.pad({"input_ids": list(token_ids)}, return_tensors="pt").to(model.device)
    with torch.inference_mode():
        output = model(**batch, return_token_vectors=False, output_gates=True)
        vectors = torch.nn.functional.embedding(batch["input_ids"], model.embeddings) * output.gates
    return output.gates.cpu().double().numpy(), vectors.float().norm(dim=2).cpu().double().numpy()


def _pieces_of(
    sentence: LabelledSentence, encoded: Any, gates: NDArray[np.float64]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the index of each word that has tokens, and the positions of its tokens (pieces,)."""
    word_at = np.full(len(sentence.text) + 1, -1)
    for word, (start, end) in enumerate(sentence.spans):
        word_at[start:end] = word
    # Its last letter decides: the mark of the space before a word may belong to the token.
    owners = np.array([word_at[end - 1] if end > start else -1 for start, end in encoded.offsets], np.int64)
    # A skipped unknown word has gates of exactly zero, which a sigmoid never gives.
    owners[~gates[: len(owners)].any(1)] = -1
    for word in np.unique(owners[owners >= 0]).tolist():
        yield word, np.flatnonzero(owners == word)


def gate_table(
    words: Sequence[WordGate], groups: Sequence[str | None], *, min_count: int, seed: int, replicates: int = REPLICATES
) -> list[dict[str, Any]]:
    """Compute the means of groups with at least `min_count` words, the highest gate first.

    `low` to `high` are the central 95 % of replicates in which sentences are resampled with replacement (the cluster
    bootstrap; Efron and Tibshirani 1993, chapter 8), because words of one sentence are not independent; `norm_of_a` is
    the mean norm of the gated vectors. A word whose group is None is in no group.
    """
    counts = Counter(groups)
    grouped = [(name, word) for name, word in zip(groups, words, strict=True) if name and counts[name] >= min_count]
    if not grouped:
        return []
    names, codes = np.unique([name for name, _ in grouped], return_inverse=True)
    gates, norms = np.array([(word.gate, word.norm) for _, word in grouped]).T
    rows, of_word = np.unique([word.sentence for _, word in grouped], return_inverse=True)
    sizes = np.bincount(codes)
    means, mean_norms = (np.bincount(codes, weights=values) / sizes for values in (gates, norms))
    generator = np.random.default_rng(seed)
    drawn = np.full((replicates, len(names)), np.nan)
    for replicate in drawn:
        weights = np.bincount(generator.integers(len(rows), size=len(rows)), minlength=len(rows))[of_word]
        total = np.bincount(codes, weights=weights)
        np.divide(np.bincount(codes, weights=weights * gates), total, out=replicate, where=total > 0)
    table = []
    for name, mean, norm, column in zip(names.tolist(), means, mean_norms, drawn.T, strict=True):
        present = column[~np.isnan(column)]
        interval = Interval.of(mean, present if len(present) else np.array([mean]))
        ends = {"gate": interval.value, "low": interval.low, "high": interval.high, "norm_of_a": float(norm)}
        table.append({"name": name, "words": counts[name], **ends})
    return sorted(table, key=lambda row: -row["gate"])
