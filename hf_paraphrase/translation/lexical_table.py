"""A lexical translation table p(target unit | source unit), estimated from bitext by expectation maximisation.

The model is fast_align's (Dyer et al. 2013) without its variational prior and with a fixed tension: IBM model 1 (Brown
et al. 1993) whose alignments prefer the diagonal.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import output_file
from ..artefacts.files import atomic_write
from ..data.folder import DataFolder
from ..errors import InputError
from ..messages import log
from ..settings import Settings, recipe, setting
from .bitext import COLUMNS, check_languages, trainable_rows

_NULL_PROBABILITY = 0.08
"""Prior share of target units that come from no source unit, as in fast_align."""
_MOST_WORDS = 80
"""Words of the longer side of the longest pairs, as in the training of a model."""
_MOST_TRANSLATIONS = 100
"""Translations of a source unit that are kept."""
_ARRAYS = ("offsets", "targets", "probabilities", "target_counts")
_SENTENCES_PER_BLOCK = 500
"""Sentence pairs that are handled together; otherwise memory grows with the distinct pairs of units alone."""


@dataclass(frozen=True)
class LexicalTable:
    """Translations of every source unit, likeliest first, in compressed rows, and how frequent target units are.

    Attributes:
        offsets: Where the row of each source unit begins and the last one ends, int64 (source units + 1,).
        targets: Target units, int32 (entries,).
        probabilities: p(target | source), float32 (entries,), falling in each row.
        target_counts: How often each target unit occurs in the bitext, int64 (target units,).
        units: The fingerprint of the units; None in a table of version 0.1.
    """

    offsets: np.ndarray
    targets: np.ndarray
    probabilities: np.ndarray
    target_counts: np.ndarray
    units: str | None = None

    def translations(self, unit: int) -> list[tuple[int, float]]:
        """Returns the translations of a source unit with their probabilities, likeliest first."""
        row = slice(int(self.offsets[unit]), int(self.offsets[unit + 1]))
        return list(zip(self.targets[row].tolist(), self.probabilities[row].tolist(), strict=True))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the table to a safetensors file, by way of a temporary one."""
        from safetensors.numpy import save_file

        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in _ARRAYS}
        with atomic_write(path) as temporary:
            save_file(arrays, temporary, None if self.units is None else {"units": self.units})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LexicalTable:
        """Reads a table."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                units = (file.metadata() or {}).get("units")
                return cls(**{name: file.get_tensor(name) for name in _ARRAYS}, units=units)
        except (OSError, SafetensorError) as error:
            remedy = "make it with the verb lexical-table"
            raise InputError(f"not a lexical table: {error}", path=path, remedy=remedy) from error


def unit_fingerprint(tokenizer: Any) -> str:
    """Computes the SHA-256 of the units of a tokenizer with their numbers, on both sides."""
    backends = [tokenizer.backend_tokenizer, getattr(tokenizer, "source_tokenizer", None)]
    units = [sorted(backend.get_vocab().items()) for backend in backends if backend is not None]
    return hashlib.sha256(json.dumps(units).encode()).hexdigest()


def _blocks(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], null: int, size: int, tension: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields numbers of pairs of units and their priors, (sentences, target length, source length + 1) each.

    The first source unit is `null`, and `size` is how many target units there are. The prior is δ(a_i = j) of Dyer et
    al. 2013 eq. 1, null or falling exponentially off the diagonal; it is 0 where a sentence has no such units.
    """
    from .loading import padded

    order = sorted(range(len(sources)), key=lambda index: (len(sources[index]), len(targets[index])))
    for start in range(0, len(order), _SENTENCES_PER_BLOCK):
        chosen = order[start : start + _SENTENCES_PER_BLOCK]
        source = padded([[null, *sources[index]] for index in chosen], 0).numpy()[:, None, :]
        target = padded([targets[index] for index in chosen], 0).numpy()[:, :, None]
        source_lengths = np.array([len(sources[index]) for index in chosen])[:, None, None]
        target_lengths = np.array([len(targets[index]) for index in chosen])[:, None, None]
        j, i = np.arange(source.shape[2])[None, None, :], np.arange(1, target.shape[1] + 1)[None, :, None]
        prior = np.exp(-tension * np.abs(j / source_lengths - i / target_lengths))
        prior *= (j > 0) & (j <= source_lengths)
        prior *= (1 - _NULL_PROBABILITY) / prior.sum(axis=2, keepdims=True)
        prior[:, :, 0] = _NULL_PROBABILITY
        prior *= i <= target_lengths
        yield source * size + target, prior


def estimate_from_units(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    iterations: int = 5,
    tension: float = 4.0,
    min_probability: float = 1e-6,
    units: str | None = None,
) -> LexicalTable:
    """Estimates p(target unit | source unit) by expectation maximisation from uniform probabilities.

    Units are without special tokens. Time and memory grow with the pairs of units that stand in one sentence pair, the
    latter with the distinct ones. `tension` says how strongly alignments prefer the diagonal (fast_align starts from
    4; 0 is IBM model 1); of a source unit the 100 likeliest translations are kept, and no less likely ones.
    """
    kept = [pair for pair in zip(sources, targets, strict=True) if all(map(len, pair))]
    if not kept:
        raise InputError("no sentence pair has units on both sides", remedy="give another --bitext")
    sources, targets = [pair[0] for pair in kept], [pair[1] for pair in kept]
    blocks = partial(_blocks, sources, targets, source_vocab_size, target_vocab_size, tension)
    keys = np.zeros(0, dtype=np.int64)
    for entries, prior in blocks():
        keys = np.union1d(keys, entries[prior > 0])
    rows = keys // target_vocab_size
    probabilities = 1.0 / np.bincount(rows)[rows]
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for entries, weight in blocks():
            real = weight > 0
            entry = np.searchsorted(keys, entries[real])
            weight[real] *= probabilities[entry]
            weight /= np.maximum(weight.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
            counts += np.bincount(entry, weight[real], minlength=len(keys))
        probabilities = counts / np.bincount(rows, counts)[rows]
    # Likeliest first in every row, the smaller unit first among equals; the null word's row is not kept.
    order = np.lexsort((keys, -probabilities, rows))
    order = order[rows[order] < source_vocab_size]
    first = np.searchsorted(rows[order], rows[order])
    order = order[(np.arange(len(order)) - first < _MOST_TRANSLATIONS) & (probabilities[order] >= min_probability)]
    lengths = np.bincount(rows[order], minlength=source_vocab_size)
    return LexicalTable(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        targets=(keys[order] % target_vocab_size).astype(np.int32),
        probabilities=probabilities[order].astype(np.float32),
        target_counts=np.bincount(np.concatenate(targets), minlength=target_vocab_size).astype(np.int64),
        units=units,
    )


class CandidateVocabulary:
    """Chooses the few target tokens that a sentence may be translated with (Jean et al. 2015).

    They are the frequent ones, likely translations of its source tokens, and those of its reference if it is given.
    Sentences that are searched together do not share them.

    Args:
        table: The lexical table of the model's units.
        frequent: How many of the most frequent target units are always among them (K; paper 000: 10,000).
        per_unit: How many translations of every source unit are (K'; paper 000: 25).
        always: Units that are among them in any case: the special ones.
    """

    def __init__(self, table: LexicalTable, *, frequent: int, per_unit: int, always: Iterable[int]) -> None:
        self.table = table
        self.per_unit = per_unit
        # Stable, so that of equally frequent units the smaller numbers come first.
        most_frequent = np.argsort(-table.target_counts, kind="stable")[:frequent]
        self.always = np.union1d(most_frequent, np.fromiter(always, dtype=np.int64))

    def for_sentence(self, input_ids: Sequence[int], reference_ids: Sequence[int] = ()) -> np.ndarray:
        """Returns the candidates of a sentence that are not candidates of every sentence, ascending.

        `reference_ids` are the tokens of its reference, which paper 000 adds: they tell the search its rare words.
        """
        offsets, lists = self.table.offsets, [np.asarray(reference_ids, dtype=np.int64)]
        for token in set(input_ids):
            begin, end = offsets[token], offsets[token + 1]
            lists.append(self.table.targets[begin : min(end, begin + self.per_unit)].astype(np.int64))
        return np.setdiff1d(np.concatenate(lists), self.always)

    def for_batch(self, candidates: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Joins the candidates of sentences into those of a batch.

        Returns:
            The candidates of all sentences, then those of some (candidates,), and whether a sentence may not use the
            latter (sentences, candidates of some).
        """
        some = np.unique(np.concatenate(candidates))
        return np.concatenate([self.always, some]), np.array([~np.isin(some, own) for own in candidates])


@dataclass(kw_only=True)
class LexicalTableSettings(Settings):
    """Estimate p(target unit | source unit) from bitext, for the candidate vocabularies of back-translate."""

    model: str = setting("folder of the translation model, from train-nmt, whose units the table uses", path=True)
    bitext: list[str] = setting(
        "data folders with the columns source and target, e.g. the training data of the model", path=True, dataset=True
    )
    output: str = setting("file for the table, e.g. lexical_table.safetensors")
    split: str = setting("split of the bitext", "train")
    iterations: int = setting("rounds of expectation maximisation", 5, at_least=1)
    max_sentences: int | None = setting("use only the first N pairs of each folder", None, at_least=1)
    overwrite: bool = setting("replace an existing file", False)


@recipe(LexicalTableSettings)
def lexical_table(settings: LexicalTableSettings) -> LexicalTable:
    """Estimates how the source units of a translation model are translated, and writes it to a file."""
    with output_file(settings.output, overwrite=settings.overwrite) as output:
        folders = [DataFolder(folder) for folder in settings.bitext]
        tables = [folder.table(settings.split, COLUMNS).slice(0, settings.max_sentences) for folder in folders]

        from .loading import load_translation_model

        model, tokenizer = load_translation_model(settings.model, device="cpu")
        for folder, rows in zip(folders, tables, strict=True):
            if rows.num_rows:
                check_languages(settings.model, model, folder, settings.split)
        sources, targets, left_out = trainable_rows(pa.concat_tables(tables), max_words=_MOST_WORDS)
        log(f"{len(sources):,} sentence pairs ({left_out:,} empty or too long)")
        table = estimate_from_units(
            tokenizer(sources, add_special_tokens=False)["input_ids"],
            tokenizer(text_target=targets, add_special_tokens=False)["input_ids"],
            source_vocab_size=int(model.config.source_vocab_size),
            target_vocab_size=int(model.config.vocab_size),
            iterations=settings.iterations,
            units=unit_fingerprint(tokenizer),
        )
        table.save(output)
    log(f"lexical table of {len(table.targets):,} translations saved to {settings.output}")
    return table
