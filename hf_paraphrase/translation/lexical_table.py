"""A lexical translation table p(target subword | source subword), estimated from bitext by expectation maximization.

The model is IBM model 1 (Brown et al. 1993) with alignments that prefer the diagonal, as in fast_align (Dyer et al.
2013) without its variational prior and with a fixed tension.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..artefacts.artefact import output_file
from ..artefacts.files import atomic_write
from ..errors import InputError
from ..messages import log
from ..settings import Settings, recipe, setting
from ..tokenization.ragged_ids import pad_lists
from .bitext import check_languages, open_bitext

_NULL_PROBABILITY = 0.08
"""Prior probability that a target subword comes from no source subword, as in fast_align."""
_MAX_WORDS = 80
"""Maximum number of words of a source or target, as in the training of a model."""
_MAX_TRANSLATIONS = 100
"""Maximum number of translations of a source subword."""
_ARRAYS = ("offsets", "targets", "probabilities", "target_counts")
_SENTENCES_PER_BLOCK = 500
"""Sentence pairs that are processed together."""
_MAX_ENTRIES = 1 << 25
"""Distinct pairs of tokens in memory: 24 bytes each."""
_MIN_PENDING = 1 << 20
"""Keys that wait to be merged into the distinct ones."""


@dataclass(frozen=True)
class LexicalTable:
    """Translations of every source subword, most probable first, as a sparse matrix; and counts of target subwords.

    Attributes:
        offsets: The start of the row of each source subword and the end of the last, int64 (source subwords + 1,).
        targets: Target subwords, int32 (entries,).
        probabilities: p(target | source), float32 (entries,), descending in each row.
        target_counts: The count of each target subword in the bitext, int64 (target subwords,).
        units: The fingerprint of the tokenizer; None in a table of version 0.1.
    """

    offsets: np.ndarray
    targets: np.ndarray
    probabilities: np.ndarray
    target_counts: np.ndarray
    units: str | None = None

    def translations(self, unit: int) -> list[tuple[int, float]]:
        """Return the translations of a source subword with their probabilities, most probable first."""
        row = slice(int(self.offsets[unit]), int(self.offsets[unit + 1]))
        return list(zip(self.targets[row].tolist(), self.probabilities[row].tolist(), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a safetensors file."""
        from safetensors.numpy import save_file

        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in _ARRAYS}
        with atomic_write(path) as temporary:
            save_file(arrays, temporary, None if self.units is None else {"units": self.units})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LexicalTable:
        """Read a table."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                units = (file.metadata() or {}).get("units")
                return cls(**{name: file.get_tensor(name) for name in _ARRAYS}, units=units)
        except (OSError, SafetensorError) as error:
            remedy = "make it with the command lexical-table"
            problem = "no such file" if isinstance(error, FileNotFoundError) else f"not a lexical table: {error}"
            raise InputError(problem, path=path, remedy=remedy) from error


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Compute the SHA-256 of the source and target subwords of a tokenizer with their ids."""
    backends = [tokenizer.backend_tokenizer, getattr(tokenizer, "source_tokenizer", None)]
    subwords = [sorted(backend.get_vocab().items()) for backend in backends if backend is not None]
    return hashlib.sha256(json.dumps(subwords).encode()).hexdigest()


Batches = Callable[[], Iterable[tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]]]
"""Starts an iteration over the source and target tokens of a bitext, in batches of sentence pairs."""


def _blocks(batches: Batches, null: int, size: int, tension: float) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield keys of token pairs and their priors, (sentences, target length, source length + 1) each.

    The first source token is `null`, and `size` is the number of target tokens. The prior is δ(a_i = j) of Dyer et al.
    (2013, equation 1): null, or falling exponentially off the diagonal. It is 0 at padding.
    """
    for sources, targets in batches():
        filled = [index for index in range(len(sources)) if len(sources[index]) and len(targets[index])]
        order = sorted(filled, key=lambda index: (len(sources[index]), len(targets[index])))
        for start in range(0, len(order), _SENTENCES_PER_BLOCK):
            chosen = order[start : start + _SENTENCES_PER_BLOCK]
            source = pad_lists([[null, *sources[index]] for index in chosen], 0)[0][:, None, :]
            target = pad_lists([targets[index] for index in chosen], 0)[0][:, :, None]
            source_lengths = np.array([len(sources[index]) for index in chosen])[:, None, None]
            target_lengths = np.array([len(targets[index]) for index in chosen])[:, None, None]
            j, i = np.arange(source.shape[2])[None, None, :], np.arange(1, target.shape[1] + 1)[None, :, None]
            prior = np.exp(-tension * np.abs(j / source_lengths - i / target_lengths))
            prior *= (j > 0) & (j <= source_lengths)
            prior *= (1 - _NULL_PROBABILITY) / prior.sum(axis=2, keepdims=True)
            prior[:, :, 0] = _NULL_PROBABILITY
            prior *= i <= target_lengths
            yield source * size + target, prior


def _cooccurring(blocks: Iterator[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the keys of token pairs that occur in a sentence pair, ascending; beyond a limit drop the rarest."""
    keys, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    pending: list[tuple[np.ndarray, np.ndarray]] = []
    size = 0

    def merge() -> tuple[np.ndarray, np.ndarray]:
        merged, index = np.unique(np.concatenate([keys, *(own for own, _ in pending)]), return_inverse=True)
        weights = np.concatenate([counts, *(own for _, own in pending)])
        totals = np.bincount(index, weights, len(merged)).astype(np.int64)
        while len(merged) > _MAX_ENTRIES:
            frequent = totals > totals.min()
            merged, totals = merged[frequent], totals[frequent]
        return merged, totals

    for entries, prior in blocks:
        pending.append(np.unique(entries[prior > 0], return_counts=True))
        size += len(pending[-1][0])
        # The number of merges of a key grows with the logarithm of the pairs.
        if size > max(len(keys), _MIN_PENDING):
            keys, counts = merge()
            pending, size = [], 0
    return merge()[0] if pending else keys


def estimate_from_batches(
    batches: Batches,
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    iterations: int = 5,
    tension: float = 4.0,
    min_probability: float = 1e-6,
    units: str | None = None,
) -> LexicalTable:
    """Estimate p(target token | source token) by expectation maximization from uniform probabilities.

    Time grows with the number of token pairs in all sentence pairs. Memory grows with the number of distinct ones, up
    to 32 million: beyond that the rarest are left out. The table has the 100 most probable translations of each token.

    Args:
        batches: Iterates over token ids without special tokens.
        source_vocab_size: The number of source tokens.
        target_vocab_size: The number of target tokens.
        iterations: The rounds of expectation maximization.
        tension: The strength of the preference for diagonal alignments (fast_align starts from 4; 0 is IBM model 1).
        min_probability: The minimum probability of a translation in the table.
        units: The fingerprint of the tokenizer.
    """
    blocks = partial(_blocks, batches, source_vocab_size, target_vocab_size, tension)
    keys = _cooccurring(blocks())
    if not len(keys):
        raise InputError("no sentence pair has subwords in both sentences", remedy="give another --bitext")
    rows = keys // target_vocab_size
    probabilities = 1.0 / np.bincount(rows)[rows]
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for entries, weight in blocks():
            real = weight > 0
            wanted = entries[real]
            entry = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
            weight[real] *= np.where(keys[entry] == wanted, probabilities[entry], 0.0)
            weight /= np.maximum(weight.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
            np.add.at(counts, entry, weight[real])
        probabilities = counts / np.maximum(np.bincount(rows, counts), np.finfo(np.float64).tiny)[rows]
    # Most probable first in every row, the smaller token first among equals, without the row of the null word.
    order = np.lexsort((keys, -probabilities, rows))
    order = order[rows[order] < source_vocab_size]
    first = np.searchsorted(rows[order], rows[order])
    order = order[(np.arange(len(order)) - first < _MAX_TRANSLATIONS) & (probabilities[order] >= min_probability)]
    lengths = np.bincount(rows[order], minlength=source_vocab_size)
    target_counts = np.zeros(target_vocab_size, dtype=np.int64)
    for sources, targets in batches():
        for source, target in zip(sources, targets, strict=True):
            if len(source) and len(target):
                np.add.at(target_counts, target, 1)
    return LexicalTable(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        targets=(keys[order] % target_vocab_size).astype(np.int32),
        probabilities=probabilities[order].astype(np.float32),
        target_counts=target_counts,
        units=units,
    )


class CandidateVocabulary:
    """Chooses the candidate target tokens for the translation of a sentence (Jean et al. 2015).

    Candidates are the frequent tokens, probable translations of the source tokens, and the tokens of the reference if
    it is given. Each sentence has its own candidates, also within a batch.

    Args:
        table: The lexical table of the model's subwords.
        frequent: The number of most frequent target subwords to include (K; 10,000 in Wieting et al. 2017).
        per_unit: The number of translations of every source subword to include (K'; 25 in Wieting et al. 2017).
        always: Other tokens to include, such as the special tokens.
    """

    def __init__(self, table: LexicalTable, *, frequent: int, per_unit: int, always: Iterable[int]) -> None:
        self.table = table
        self.per_unit = per_unit
        # A stable sort: among equally frequent tokens the smaller ids come first.
        most_frequent = np.argsort(-table.target_counts, kind="stable")[:frequent]
        self.always = np.union1d(most_frequent, np.fromiter(always, dtype=np.int64))

    def for_sentence(self, input_ids: Sequence[int], reference_ids: Sequence[int] = ()) -> np.ndarray:
        """Return the candidates of a sentence, ascending, besides the common candidates of all sentences.

        `reference_ids` are the tokens of its reference, which Wieting et al. (2017) add for its rare words.
        """
        offsets, lists = self.table.offsets, [np.asarray(reference_ids, dtype=np.int64)]
        for token in set(input_ids):
            begin, end = offsets[token], offsets[token + 1]
            lists.append(self.table.targets[begin : min(end, begin + self.per_unit)].astype(np.int64))
        return np.setdiff1d(np.concatenate(lists), self.always)

    def for_batch(self, candidates: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the candidates of a batch, and a mask of those that each sentence must not use.

        The common candidates come first (candidates,). The mask is for the others, bool (sentences, other candidates).
        """
        some = np.unique(np.concatenate(candidates))
        return np.concatenate([self.always, some]), np.array([~np.isin(some, own) for own in candidates])


@dataclass(kw_only=True)
class LexicalTableSettings(Settings):
    """Estimate p(target subword | source subword) from bitext, for the candidate vocabularies of back-translate."""

    model: str = setting("folder of the translation model, from train-nmt, that defines the subwords", path=True)
    bitext: list[str] = setting(
        "data folders with the columns source and target, e.g. the training data of the model", path=True, dataset=True
    )
    output: str = setting("file for the table, e.g. lexical_table.safetensors")
    split: str = setting("split of the bitext", "train")
    iterations: int = setting("rounds of expectation maximization", 5, at_least=1)
    max_sentences: int | None = setting("use only the first N pairs of each folder", None, at_least=1)
    overwrite: bool = setting("replace an existing file", False)


@recipe(LexicalTableSettings)
def lexical_table(settings: LexicalTableSettings) -> LexicalTable:
    """Estimate the translations of the source subwords of a translation model, and write them to a file."""
    with output_file(settings.output, overwrite=settings.overwrite) as output:
        bitexts = [open_bitext(folder, settings.split) for folder in settings.bitext]

        from .loading import load_translation_model
        from .tokenized_bitext import ArrowRows, write_texts, write_tokens

        model, tokenizer = load_translation_model(settings.model, device="cpu")
        for bitext in bitexts:
            check_languages(settings.model, model, bitext, settings.max_sentences)
        # Next to the output, because the folder for temporary files may be in memory.
        folder = output.with_name(f".{output.name}.tokens")
        shutil.rmtree(folder, ignore_errors=True)  # a killed run leaves it
        folder.mkdir()
        try:
            left_out = write_texts(
                folder / "texts.arrow", bitexts, max_words=_MAX_WORDS, moses=True, max_rows=settings.max_sentences
            )
            texts = ArrowRows(folder / "texts.arrow")
            log(f"{len(texts):,} sentence pairs ({left_out:,} empty or too long)")
            write_tokens(folder / "tokens.arrow", texts, tokenizer, special=False)
            pairs = ArrowRows(folder / "tokens.arrow")
            table = estimate_from_batches(
                lambda: zip(pairs.batches("input_ids"), pairs.batches("labels"), strict=True),
                source_vocab_size=int(model.config.source_vocab_size),
                target_vocab_size=int(model.config.vocab_size),
                iterations=settings.iterations,
                units=tokenizer_fingerprint(tokenizer),
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        table.save(output)
    log(f"lexical table of {len(table.targets):,} translations saved to {settings.output}")
    return table
