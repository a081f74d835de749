"""From raw parallel text to the rows of a bitext: parsing, cleaning, held-out parts, decontamination and order.

The datasets builder (`bitext.py`) and the command `prepare bitext` both run this. The raw files are read once; the
rows that pass the cleaning rules wait in a temporary Arrow file, and which of them go where is decided on arrays of
8 bytes a row, so memory stays flat as the corpus grows. One thread reads, several clean, in blocks of a few megabytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ..cleaning import CleaningRules, clean, normalize_punctuation
from ..decontamination import Fingerprints, load_fingerprints, normalise_all
from ..parallel import available_cores, mapped_in_order, prefetched
from ..row_selection import also_among, first_occurrences, hold_out, repeat_keys, shuffled, text_keys
from ..schema import BITEXT
from ..skipped_lines import SkippedLines
from ..temporary_rows import TemporaryRows
from ..text_files import LineErrors
from .bitext_options import HELD_OUT, BitextOptions
from .bitext_sources import Blocks, open_aligned, open_training

_STORED = pa.schema([("id", pa.string()), ("source", pa.string()), ("target", pa.string())])
_REPEATS = {"none": (), "pair": ("source", "target"), "source": ("source",), "target": ("target",)}
# Blocks wait for the workers, so more of them would take more memory; the one reading thread keeps no more than these
# busy.
_MOST_WORKERS = 4

__all__ = ["REPEATING", "BitextCorpus", "BitextOptions"]

REPEATING = ("source_lang", "target_lang")
"""The columns whose values repeat in a bitext, for `write_split`."""


class BitextCorpus(TemporaryRows):
    """A parsed bitext: its parts, their rows, and what became of every line. Use it as a context manager.

    Args:
        options: What to read and what to keep.
        work: A folder for temporary rows, as large as the raw text; the system's by default.
        progress: Called with the number of lines after each block.
        listing: A file for the list of all malformed lines left out under `on_error="skip"`.

    Attributes:
        counts: For each part that was read from files: `lines`, then how many of them each rule left out or moved
            (`malformed`; of a translation memory `other_languages`; of catalogues `obsolete`, `fuzzy`,
            `untranslated`, `plural`, `placeholder`; then `empty_side`, `identical_sides`, `too_short`, `too_long`,
            `length_ratio`, `wrong_language`, `duplicate`, `to_test`, `to_validation`, `held_out_source`,
            `contaminated`), and `rows`; `lines` is the sum of the others. For a drawn part: `rows`.
        contamination: For each evaluation set, how many training rows it met.
        malformed: The first lines left out under `on_error="skip"`.

    Raises:
        UsageError: For settings that do not fit together.
        InputError: For files that are missing or malformed, and if no training row is left.
    """

    def __init__(
        self,
        options: BitextOptions,
        *,
        work: Path | None = None,
        progress: Callable[[int], object] | None = None,
        listing: Path | None = None,
    ) -> None:
        options.check()
        self.options = options
        self.counts: dict[str, dict[str, int]] = {}
        self.contamination: dict[str, int] = {}
        self.malformed: list[str] = []
        self._rows: dict[str, np.ndarray] = {}
        self._progress = progress or (lambda lines: None)
        self._fingerprints: Fingerprints | None = None
        if options.decontaminate:
            self._fingerprints = load_fingerprints(
                options.decontaminate, ngrams=options.decontaminate_ngrams, share=options.decontaminate_share
            )
        super().__init__("bitext-", work)
        self._store = self._new_store("rows.arrow", _STORED)
        try:
            with SkippedLines(listing) as self._skipped:
                self._read()
        except BaseException:
            self.close()
            raise

    @property
    def splits(self) -> list[str]:
        """The parts, `train` first."""
        return self.options.splits

    @property
    def checked(self) -> list[str]:
        """The evaluation sets that the training rows were checked against."""
        return [] if self._fingerprints is None else self._fingerprints.names

    def num_rows(self, split: str) -> int:
        """Returns the number of rows of a part."""
        return len(self._rows[split])

    def batches(self, split: str) -> Iterator[pa.Table]:
        """Streams the rows of a part in the schema BITEXT."""
        with closing(prefetched(self._store.gather(self._rows[split]))) as tables:
            for rows in tables:
                for name in ("source_lang", "target_lang"):
                    code = pa.scalar(getattr(self.options, name))
                    rows = rows.append_column(name, pa.repeat(code, rows.num_rows))
                yield rows.cast(BITEXT)

    def _read(self) -> None:
        options = self.options
        given_sources = []
        # The given parts are small; an error in them shall not come after the long read of the training part.
        for part in HELD_OUT:
            source, target = options.held_out_files(part)
            if source is not None and target is not None:
                work = _BlockWork(for_sources=options.hold_out_sources)
                rows, _, _, sources = self._read_part(part, partial(open_aligned, source, target), work)
                given_sources.append(sources)
                self._rows[part] = rows
                self.counts[part]["rows"] = len(rows)
                if not len(rows):
                    raise InputError(f"no {part} row is left: every line has an empty side", path=source)
        work = _BlockWork(
            rules=options.rules(),
            repeats=_REPEATS[options.drop_duplicates],
            for_draw=any(map(options.held_out_size, HELD_OUT)),
            for_sources=options.hold_out_sources,
        )
        rows, *keys = self._read_part("train", partial(open_training, options), work)
        # What the blocks took is of use again, now for the arrays that decide which rows go where.
        pa.default_memory_pool().release_unused()
        self._rows["train"] = self._select(rows, keys, given_sources)
        self.counts = {part: self.counts[part] for part in self.splits}
        if not len(self._rows["train"]):
            left_out = ", ".join(f"{name} {count}" for name, count in self.counts["train"].items() if count)
            raise InputError(f"no training row is left ({left_out})", path=options.files[0], remedy="loosen the rules")

    def _read_part(
        self, part: str, open_blocks: Callable[[LineErrors], Blocks], work: _BlockWork
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Parses and cleans one set of files into the store.

        Returns:
            The numbers of its rows, and their keys for repeats, for the draw and of the source sides where these are
            wanted, (rows,) each.
        """
        options = self.options
        errors = LineErrors(options.on_error, record=self._skipped.record)
        prefix = f"{options.source_lang}-{options.target_lang}" + ("" if part == "train" else f"-{part}")
        languages = (options.source_lang, options.target_lang) if options.normalize_punctuation else None
        work = replace(work, prefix=prefix, punctuation=languages)
        removed: Counter[str] = Counter()
        first = len(self._store)
        parsed = 0
        repeats = [np.empty(0, np.uint64)]
        targets = [np.empty(0, np.uint64)]
        sources = [np.empty(0, np.uint64)]
        # One thread reads, several clean, and this one stores.
        with (
            closing(prefetched(open_blocks(errors))) as blocks,
            closing(mapped_in_order(work, blocks, min(available_cores(), _MOST_WORKERS))) as cleaned,
        ):
            for block in cleaned:
                parsed += block.lines
                # `update` keeps the order of the rules and their zeros.
                removed.update(block.removed)
                self._store.append(block.kept)
                repeats.append(block.repeats)
                targets.append(block.targets)
                sources.append(block.sources)
                self._progress(block.lines)
        self.counts[part] = {
            "lines": parsed + errors.count + errors.left_out.total(),
            "malformed": errors.count,
            **errors.left_out,
            "empty_side": 0,
            **removed,
        }
        self.malformed += errors.first
        rows = np.arange(first, len(self._store))
        return rows, np.concatenate(repeats), np.concatenate(targets), np.concatenate(sources)

    def _select(self, rows: np.ndarray, keys: list[np.ndarray], given_sources: list[np.ndarray]) -> np.ndarray:
        """Decides which rows of the training files stay in training, and fills the drawn parts.

        Args:
            rows: The numbers of the rows in the store (rows,).
            keys: The keys for repeats, those for the draw and those of the source sides, (rows,) each; taken out of
                the list, so that each array lives no longer than it is needed.
            given_sources: The keys of the source sides of each given part (its rows,).
        """
        repeats, targets, sources = keys
        keys.clear()
        options = self.options
        counts = self.counts["train"]
        drawn = [part for part in ("test", "validation") if options.held_out_size(part)]
        train = np.ones(len(rows), dtype=bool)
        if options.drop_duplicates != "none":
            train = first_occurrences(repeats)
            counts["duplicate"] = int((~train).sum())
        del repeats
        wanted = sum(map(options.held_out_size, drawn))
        if wanted and wanted >= train.sum():
            raise InputError(
                f"{wanted} rows are to be held out, but there are only {train.sum()}",
                path=options.files[0],
                remedy="lower --validation-size and --test-size",
            )
        before = train
        for part in drawn:
            chosen = hold_out(targets, options.held_out_size(part), options.seed, train)
            # Repeats that stayed under another rule go with their sentence, so that it is in one part only.
            train = train & ~chosen
            self._rows[part] = rows[chosen]
            counts[f"to_{part}"] = int(chosen.sum())
            self.counts[part] = {"rows": int(chosen.sum())}
        del targets
        if options.hold_out_sources:
            held_out = np.concatenate([*given_sources, sources[before & ~train]])
            shared = train & also_among(sources, held_out)
            counts["held_out_source"] = int(shared.sum())
            train &= ~shared
        del sources, before
        if self._fingerprints is not None:
            contaminated = self._contaminated(rows, train)
            counts["contaminated"] = int(contaminated.sum())
            train &= ~contaminated
        counts["rows"] = int(train.sum())
        return shuffled(rows[train], options.seed) if options.shuffle else rows[train]

    def _contaminated(self, rows: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Finds the training rows that an evaluation set meets: (rows,), bool."""
        assert self._fingerprints is not None
        fingerprints = self._fingerprints
        first = rows[0] if len(rows) else 0

        def match(batch: tuple[int, pa.Table]) -> tuple[np.ndarray, dict[str, int]]:
            start, table = batch
            begin = start - first
            own = np.flatnonzero(train[begin : begin + table.num_rows])
            found, counts = fingerprints.match([table.column("target").combine_chunks().take(pa.array(own))])
            return begin + own[found], counts

        met = np.zeros(len(rows), dtype=bool)
        # A batch never spans two parts: each part appends its own.
        batches = (batch for batch in self._store.batches(["target"]) if batch[0] >= first)
        for found, counts in mapped_in_order(match, batches, min(available_cores(), _MOST_WORKERS)):
            met[found] = True
            for name, count in counts.items():
                self.contamination[name] = self.contamination.get(name, 0) + count
        return met


@dataclass(frozen=True)
class _CleanedBlock:
    """What became of a block of rows.

    Attributes:
        lines: The number of rows that were parsed.
        kept: Those that the rules let through.
        removed: How many went by each rule.
        repeats: Keys by which repeats of the kept rows are found, or none.
        targets: Keys of the target sides for the draw, or none.
        sources: Keys of the source sides, or none.
    """

    lines: int
    kept: pa.Table
    removed: dict[str, int]
    repeats: np.ndarray
    targets: np.ndarray
    sources: np.ndarray


@dataclass(frozen=True)
class _BlockWork:
    """The work on a block of parsed rows, which needs nothing but the block and so runs in any thread.

    Attributes:
        rules: What to leave out.
        repeats: The columns whose repeats are looked for.
        for_draw: Whether rows will be drawn.
        for_sources: Whether source sides will be looked for.
        prefix: The beginning of the ids.
        punctuation: The languages by whose rules to normalise punctuation.
    """

    rules: CleaningRules = CleaningRules()
    repeats: tuple[str, ...] = ()
    for_draw: bool = False
    for_sources: bool = False
    prefix: str = ""
    punctuation: tuple[str, str] | None = None

    def __call__(self, block: tuple[np.ndarray, dict[str, pa.Array]]) -> _CleanedBlock:
        lines, fields = block
        sides = fields["source"], fields["target"]
        if self.punctuation is not None:
            sides = tuple(map(normalize_punctuation, sides, self.punctuation))
        number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=7, padding="0")
        identifier = pc.binary_join_element_wise(self.prefix, number, "-")
        kept, removed = clean(pa.table([identifier, *sides], schema=_STORED), self.rules)
        none = np.empty(0, np.uint64)
        return _CleanedBlock(
            lines=len(lines),
            kept=kept,
            removed=removed,
            repeats=repeat_keys(*(kept.column(name).combine_chunks() for name in self.repeats))
            if self.repeats
            else none,
            targets=text_keys(normalise_all(kept.column("target").combine_chunks())) if self.for_draw else none,
            sources=text_keys(normalise_all(kept.column("source").combine_chunks())) if self.for_sources else none,
        )
