"""A lexical translation table p(target unit | source unit), estimated from bitext by expectation maximisation.

An aligner of our own, because the table must be about the very units of the model's tokenizer, fast_align is a program
to be compiled, and all that is asked of the table are each source unit's likeliest translations. The model is
fast_align's (Dyer et al. 2013) without its variational prior and with a fixed tension: IBM model 1 (Brown et al. 1993)
whose alignments prefer the diagonal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import output_file
from ..artefacts.files import written_whole
from ..data.folder import DataFolder
from ..errors import InputError
from ..messages import log
from ..settings import Settings, recipe, setting

NULL_PROBABILITY = 0.08
"""Prior share of target units that come from no source unit, as in fast_align."""
_UNITS = "units"
_ENTRIES_PER_BLOCK = 1 << 22
"""Pairs of units that are handled together; memory does not grow with the bitext beyond its distinct pairs."""


@dataclass(frozen=True)
class LexicalTable:
    """Translations of every source unit, likeliest first, in compressed rows, and how frequent target units are.

    Attributes:
        offsets: Where the row of each source unit begins and the last one ends, int64 (source units + 1,).
        targets: Target units, int32 (entries,).
        probabilities: p(target | source), float32 (entries,), falling in each row.
        target_counts: How often each target unit occurs in the bitext, int64 (target units,).
    """

    offsets: np.ndarray
    targets: np.ndarray
    probabilities: np.ndarray
    target_counts: np.ndarray

    def translations(self, unit: int) -> list[tuple[int, float]]:
        """Returns the translations of a source unit with their probabilities, likeliest first."""
        row = slice(int(self.offsets[unit]), int(self.offsets[unit + 1]))
        return list(zip(self.targets[row].tolist(), self.probabilities[row].tolist(), strict=True))

    def save(self, path: str | os.PathLike[str], *, units: str | None = None) -> None:
        """Writes the table to a safetensors file, by way of a temporary one."""
        from safetensors import SafetensorError
        from safetensors.numpy import save_file

        arrays = {name: np.ascontiguousarray(value) for name, value in vars(self).items()}
        with written_whole(path) as temporary:
            try:
                save_file(arrays, temporary, None if units is None else {_UNITS: units})
            except SafetensorError as error:
                raise OSError(str(error)) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LexicalTable:
        """Reads a table."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        remedy = "make it with the verb lexical-table"
        if not Path(path).exists():
            raise InputError("no such lexical table", path=Path(path), remedy=remedy)
        try:
            table = cls(**load_file(path))
        except (OSError, SafetensorError, TypeError, ValueError, KeyError) as error:
            raise InputError(f"not a lexical table: {error}", path=path, remedy=remedy) from error
        kinds = {"offsets": "i", "targets": "i", "probabilities": "f", "target_counts": "i"}
        if (
            any(array.ndim != 1 or array.dtype.kind != kinds[name] for name, array in vars(table).items())
            or not len(table.offsets)
            or table.offsets[0] != 0
            or (np.diff(table.offsets) < 0).any()
            or not table.offsets[-1] == len(table.targets) == len(table.probabilities)
            or (len(table.targets) and not 0 <= table.targets.min() <= table.targets.max() < len(table.target_counts))
        ):
            raise InputError("a damaged lexical table", path=path, remedy=remedy)
        return table


def recorded_units(path: str | os.PathLike[str]) -> str | None:
    """Reads the fingerprint of the units that a table is about; None where there is none, as in earlier versions."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return (file.metadata() or {}).get(_UNITS)


class _Bitext:
    """Sentence pairs as flat arrays; iterates over pairs of units in blocks."""

    def __init__(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], null: int) -> None:
        self.null = null
        kept = [index for index, pair in enumerate(zip(sources, targets, strict=True)) if all(map(len, pair))]
        self.source_lengths = np.array([len(sources[index]) for index in kept], dtype=np.int64)
        self.target_lengths = np.array([len(targets[index]) for index in kept], dtype=np.int64)
        self.sources = np.array([unit for index in kept for unit in sources[index]], dtype=np.int64)
        self.targets = np.array([unit for index in kept for unit in targets[index]], dtype=np.int64)
        self.source_starts = np.cumsum(self.source_lengths) - self.source_lengths
        self.target_starts = np.cumsum(self.target_lengths) - self.target_lengths

    def blocks(self, tension: float) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yields source unit, target unit and prior of every entry of some sentences, and where target units begin."""
        # A target unit has one entry for the null word and one for every source unit of its sentence.
        sizes = (self.source_lengths + 1) * self.target_lengths
        block = np.cumsum(sizes) // _ENTRIES_PER_BLOCK
        edges = np.flatnonzero(np.diff(block, prepend=-1))
        for begin, end in zip(edges, [*edges[1:], len(sizes)], strict=True):
            source_lengths, target_lengths = self.source_lengths[begin:end], self.target_lengths[begin:end]
            sentence = np.repeat(np.arange(begin, end), target_lengths)
            target_place = _places(target_lengths)
            entries = np.repeat(source_lengths + 1, target_lengths)
            starts = np.cumsum(entries) - entries
            place = _places(entries)
            of = np.repeat(np.arange(len(sentence)), entries)
            source = self.sources[np.repeat(self.source_starts[sentence], entries) + np.maximum(place - 1, 0)]
            source = np.where(place == 0, self.null, source)
            target = self.targets[(self.target_starts[sentence] + target_place)][of]
            yield source, target, self._prior(place, of, starts, sentence, target_place, tension), starts

    def _prior(
        self,
        place: np.ndarray,
        of: np.ndarray,
        starts: np.ndarray,
        sentence: np.ndarray,
        target_place: np.ndarray,
        tension: float,
    ) -> np.ndarray:
        """Computes δ(a_i = j) of Dyer et al. 2013 eq. 1: null, or falling exponentially off the diagonal."""
        relative = (target_place + 1) / self.target_lengths[sentence]
        own = place / np.maximum(self.source_lengths[sentence], 1)[of]
        weight = np.exp(-tension * np.abs(own - relative[of]))
        weight[place == 0] = 0.0
        weight *= ((1 - NULL_PROBABILITY) / np.add.reduceat(weight, starts))[of]
        weight[place == 0] = NULL_PROBABILITY
        return weight


def _places(lengths: np.ndarray) -> np.ndarray:
    """Returns 0, 1, …, n - 1 for every n, one behind the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def estimate_from_units(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    source_vocab_size: int,
    target_vocab_size: int,
    iterations: int = 5,
    tension: float = 4.0,
    translations: int = 100,
    min_probability: float = 1e-6,
) -> LexicalTable:
    """Estimates p(target unit | source unit) by expectation maximisation from uniform probabilities.

    Units are without special tokens. Time and memory grow with the pairs of units that stand in one sentence pair, the
    latter with the distinct ones. `tension` says how strongly alignments prefer the diagonal (fast_align starts from
    4; 0 is IBM model 1); at most so many `translations` of a source unit are kept, and no less likely ones.
    """
    bitext = _Bitext(sources, targets, null=source_vocab_size)
    if not len(bitext.targets):
        raise InputError("no sentence pair has units on both sides")
    keys = np.zeros(0, dtype=np.int64)
    for source, target, _, _ in bitext.blocks(tension):
        keys = np.union1d(keys, source * target_vocab_size + target)
    rows = keys // target_vocab_size
    probabilities = 1.0 / np.bincount(rows)[rows]
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for source, target, prior, starts in bitext.blocks(tension):
            entry = np.searchsorted(keys, source * target_vocab_size + target)
            weight = prior * probabilities[entry]
            total = np.add.reduceat(weight, starts)
            weight /= np.repeat(total, np.diff(starts, append=len(weight)))
            counts += np.bincount(entry, weight, minlength=len(keys))
        probabilities = counts / np.bincount(rows, counts)[rows]
    # Likeliest first in every row, the smaller unit first among equals; the null word's row is not kept.
    order = np.lexsort((keys, -probabilities, rows))
    order = order[rows[order] < source_vocab_size]
    place = _places(np.unique(rows[order], return_counts=True)[1])
    order = order[(place < translations) & (probabilities[order] >= min_probability)]
    lengths = np.bincount(rows[order], minlength=source_vocab_size)
    return LexicalTable(
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        targets=(keys[order] % target_vocab_size).astype(np.int32),
        probabilities=probabilities[order].astype(np.float32),
        target_counts=np.bincount(bitext.targets, minlength=target_vocab_size).astype(np.int64),
    )


class CandidateVocabulary:
    """Chooses the few target units that a batch of sentences may be translated with (Jean et al. 2015).

    They are the frequent ones, and likely translations of its source units.

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

    def for_batch(
        self, input_ids: Sequence[Sequence[int]], references: Sequence[Sequence[int]] | None = None
    ) -> np.ndarray:
        """Returns the candidates of a batch, one list for all its sentences, in ascending order, (candidates,).

        Args:
            input_ids: Source units of every sentence.
            references: Target units of every reference, if they shall be among the candidates. This is what paper 000
                does, and it tells the search which rare words the reference has.
        """
        unit_lists = [self.always]
        for unit in {unit for ids in input_ids for unit in ids}:
            begin, end = self.table.offsets[unit], self.table.offsets[unit + 1]
            unit_lists.append(self.table.targets[begin : min(end, begin + self.per_unit)].astype(np.int64))
        for units in references or []:
            unit_lists.append(np.asarray(units, dtype=np.int64))
        return np.unique(np.concatenate(unit_lists))


@dataclass(kw_only=True)
class LexicalTableSettings(Settings):
    """Estimate p(target unit | source unit) from bitext, for the candidate vocabularies of back-translate."""

    model: str = setting("translation model folder, from train-nmt, whose units the table is about", path=True)
    bitext: list[str] = setting(
        "data folders with the columns source and target, normally those it was trained on", path=True
    )
    output: str = setting("file for the table, e.g. lexical_table.safetensors")
    split: str = setting("split of the bitext", "train")
    iterations: int = setting("rounds of expectation maximisation", 5, at_least=1)
    tension: float = setting("how strongly alignments prefer the diagonal; 0 is IBM model 1", 4.0, at_least=0)
    translations: int = setting("translations kept of each source unit, at most", 100, at_least=1)
    max_words: int = setting("pairs with a longer side are left out, in words", 80, at_least=1)
    max_sentences: int | None = setting("use only the first N pairs of each folder", None, at_least=1)
    overwrite: bool = setting("replace an existing file", False)


@recipe(LexicalTableSettings)
def estimate_lexical_table(settings: LexicalTableSettings) -> LexicalTable:
    """Estimates how the source units of a translation model are translated, and writes it to a file.

    Returns:
        The table.
    """
    with output_file(settings.output, overwrite=settings.overwrite) as output:
        table, units = _estimated(settings)
        table.save(output, units=units)
    log(f"lexical table of {len(table.targets):,} translations: {settings.output}")
    return table


def _estimated(settings: LexicalTableSettings) -> tuple[LexicalTable, str]:
    """Estimates the table; returns it with the fingerprint of the units that it is about."""
    columns = ["source", "target", "source_lang", "target_lang"]
    folders = [DataFolder(folder) for folder in settings.bitext]
    tables = [folder.table(settings.split, columns).slice(0, settings.max_sentences) for folder in folders]

    from .bitext import check_languages, trainable_rows
    from .loading import load_translation_model, unit_fingerprint

    model, tokenizer = load_translation_model(settings.model, device="cpu")
    for folder in folders:
        check_languages(settings.model, model, folder, settings.split)
    sides = trainable_rows(pa.concat_tables(tables), max_words=settings.max_words)
    log(f"{len(sides.sources):,} sentence pairs ({sides.left_out:,} empty or too long)")
    table = estimate_from_units(
        tokenizer(sides.sources, add_special_tokens=False)["input_ids"],
        tokenizer(text_target=sides.targets, add_special_tokens=False)["input_ids"],
        source_vocab_size=int(model.config.source_vocab_size),
        target_vocab_size=int(model.config.vocab_size),
        iterations=settings.iterations,
        tension=settings.tension,
        translations=settings.translations,
    )
    return table, unit_fingerprint(tokenizer)
