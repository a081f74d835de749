"""From raw parallel text to the rows of a bitext: parsing, cleaning, held-out parts, decontamination and order.

The datasets builder (`bitext.py`) and the command `prepare bitext` both run this. The raw files are read once; the
rows that pass the cleaning rules wait in a temporary Arrow file, and which of them go where is decided on arrays of
8 bytes a row, so memory stays flat as the corpus grows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, UsageError
from .cleaning import clean, normalize_punctuation
from .decontamination import load_fingerprints, normalise_all
from .languages import check_language
from .row_selection import first_occurrences, hold_out, shuffled, text_keys
from .row_store import RowStore
from .schema import BITEXT
from .text_files import LineErrors, check_readable, read_aligned, read_fields

DUPLICATES = ("none", "pair", "source", "target")
HELD_OUT = ("validation", "test")
_STORED = pa.schema([("id", pa.string()), ("source", pa.string()), ("target", pa.string())])


@dataclass
class BitextOptions:
    """What to read and what to keep; the flags of `prepare bitext` have the same names and meanings.

    Attributes:
        source_file: Foreign sentences, one a line (plain, .gz, .bz2 or .xz); with `target_file`.
        target_file: Their English translations, line-aligned.
        tsv: Or: one file with tab-separated fields.
        columns: The fields of `tsv` in their order: `source`, `target`, and `_` for each one to leave out.
        source_lang: Language code of the source side.
        target_lang: Language code of the target side.
        validation_source_file: Given validation part, source side; with `validation_target_file`.
        validation_target_file: Given validation part, target side.
        test_source_file: Given test part, source side; with `test_target_file`.
        test_target_file: Given test part, target side.
        validation_size: Rows to draw for validation; no target sentence is then in two parts.
        test_size: Rows to draw for test; drawn first, so that it does not depend on `validation_size`.
        seed: Of the draw and of the shuffling.
        shuffle: Put the training rows into random order.
        max_length: Greatest number of words of a side, 0 for no limit. This, the next two and `decontaminate` never
            touch parts that are given as files: a test set stays what it is.
        max_length_ratio: Greatest ratio of the longer side to the shorter in words, 0 for no limit.
        drop_duplicates: Leave out repeats of a `pair`, a `source` or a `target`; the first one stays. Or `none`.
        normalize_punctuation: Apply the Moses punctuation rules to both sides of all parts.
        decontaminate: Evaluation files or folders, or fingerprint lists: training rows whose target side is in one of
            them are left out.
        on_error: `raise` at a malformed line, or `skip` it.
    """

    source_file: str | None = None
    target_file: str | None = None
    tsv: str | None = None
    columns: str = "source,target"
    source_lang: str = ""
    target_lang: str = ""
    validation_source_file: str | None = None
    validation_target_file: str | None = None
    test_source_file: str | None = None
    test_target_file: str | None = None
    validation_size: int = 0
    test_size: int = 0
    seed: int = 0
    shuffle: bool = False
    max_length: int = 0
    max_length_ratio: float = 0.0
    drop_duplicates: str = "none"
    normalize_punctuation: bool = False
    decontaminate: list[str] = field(default_factory=list)
    on_error: str = "raise"

    @property
    def files(self) -> list[Path]:
        """The raw files."""
        names = [self.source_file, self.target_file, self.tsv]
        for part in HELD_OUT:
            names += self.held_out_files(part)
        return [Path(name) for name in names if name]

    @property
    def splits(self) -> list[str]:
        """The parts that come out, `train` first."""
        return ["train"] + [part for part in HELD_OUT if any(self.held_out_files(part)) or self.held_out_size(part)]

    def held_out_files(self, part: str) -> tuple[str | None, str | None]:
        """Returns the given source and target file of `validation` or `test`."""
        if part == "validation":
            return self.validation_source_file, self.validation_target_file
        return self.test_source_file, self.test_target_file

    def held_out_size(self, part: str) -> int:
        """Returns the number of rows to draw for `validation` or `test`."""
        return self.validation_size if part == "validation" else self.test_size

    def field_names(self) -> list[str]:
        """Returns the names in `columns`.

        Raises:
            UsageError: If they are not `source` and `target` once each and otherwise `_`.
        """
        names = [name.strip() for name in self.columns.split(",")]
        if sorted(name for name in names if name != "_") != ["source", "target"]:
            raise UsageError(
                f"--columns `{self.columns}` must name source and target once each, and `_` for other fields",
                remedy="e.g. --columns target,source for a file with English first",
            )
        return names

    def check(self) -> None:
        """Checks everything that can be checked before reading.

        Raises:
            UsageError: For settings that do not fit together.
            InputError: For a missing or empty file, or a language code that is none.
        """
        aligned = self.source_file is not None or self.target_file is not None
        if aligned == (self.tsv is not None):
            raise UsageError("give either --source-file and --target-file, or --tsv", remedy="one of the two")
        _check_both("--source-file", self.source_file, "--target-file", self.target_file)
        if not aligned:
            self.field_names()
        for part in HELD_OUT:
            source, target = self.held_out_files(part)
            _check_both(f"--{part}-source-file", source, f"--{part}-target-file", target)
            if source is not None and self.held_out_size(part):
                raise UsageError(
                    f"--{part}-size draws a part that --{part}-source-file gives", remedy="one of the two"
                )
        for flag, value in (
            ("--validation-size", self.validation_size),
            ("--test-size", self.test_size),
            ("--seed", self.seed),
            ("--max-length", self.max_length),
        ):
            if value < 0:
                raise UsageError(f"{flag} {value} is negative", remedy="give 0 or more")
        if self.max_length_ratio and not self.max_length_ratio >= 1:
            raise UsageError(
                f"--max-length-ratio {self.max_length_ratio} is below 1", remedy="give 1 or more, or 0 for no limit"
            )
        if self.drop_duplicates not in DUPLICATES:
            raise UsageError(
                f"--drop-duplicates `{self.drop_duplicates}` is unknown", remedy=f"one of {', '.join(DUPLICATES)}"
            )
        LineErrors(self.on_error)
        check_language(self.source_lang, "--source-lang")
        check_language(self.target_lang, "--target-lang")
        for path in self.files:
            check_readable(path)


class BitextCorpus:
    """A parsed bitext: its parts, their rows, and what became of every line. Use it as a context manager.

    Args:
        options: What to read and what to keep.
        work: A folder for temporary rows, as large as the raw text; the system's by default.
        progress: Called with the number of lines after each block.

    Attributes:
        counts: For each part that was read from files: `lines`, then how many of them each rule left out or moved
            (`malformed`, `empty_side`, `too_long`, `length_ratio`, `duplicate`, `to_validation`, `to_test`,
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
    ) -> None:
        options.check()
        self.options = options
        self.counts: dict[str, dict[str, int]] = {}
        self.contamination: dict[str, int] = {}
        self.malformed: list[str] = []
        self._rows: dict[str, np.ndarray] = {}
        self._progress = progress or (lambda lines: None)
        self._fingerprints = load_fingerprints(options.decontaminate) if options.decontaminate else None
        self._folder = tempfile.TemporaryDirectory(prefix="bitext-", dir=work, ignore_cleanup_errors=True)
        self._store = RowStore(Path(self._folder.name) / "rows.arrow", _STORED)
        try:
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
        return [] if self._fingerprints is None else list(self._fingerprints.sets)

    def num_rows(self, split: str) -> int:
        """Returns the number of rows of a part."""
        return len(self._rows[split])

    def batches(self, split: str) -> Iterator[pa.Table]:
        """Streams the rows of a part in the schema BITEXT."""
        for rows in self._store.gather(self._rows[split]):
            for name, code in (("source_lang", self.options.source_lang), ("target_lang", self.options.target_lang)):
                rows = rows.append_column(name, pa.repeat(pa.scalar(code), rows.num_rows))
            yield rows.cast(BITEXT)

    def close(self) -> None:
        """Removes the temporary rows."""
        self._store.close()
        self._folder.cleanup()

    def __enter__(self) -> BitextCorpus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        options = self.options
        # The given parts are small; an error in them shall not come after the long read of the training part.
        for part in HELD_OUT:
            source, target = options.held_out_files(part)
            if source is not None and target is not None:
                self._rows[part] = self._read_part(part, _aligned(source, target))
                self.counts[part]["rows"] = len(self._rows[part])
                if not len(self._rows[part]):
                    raise InputError(f"no {part} row is left: every line has an empty side", path=source)
        if options.tsv is not None:
            names = options.field_names()
            rows = self._read_part("train", lambda errors: read_fields(Path(options.tsv or ""), names, errors))
        else:
            rows = self._read_part("train", _aligned(options.source_file or "", options.target_file or ""))
        self._rows["train"] = self._select(rows)
        self.counts = {part: self.counts[part] for part in self.splits}
        if not len(self._rows["train"]):
            left_out = ", ".join(f"{name} {count}" for name, count in self.counts["train"].items() if count)
            raise InputError(f"no training row is left ({left_out})", path=options.files[0], remedy="loosen the rules")

    def _read_part(self, part: str, open_blocks: Callable[[LineErrors], _Blocks]) -> np.ndarray:
        """Parses and cleans one set of files into the store; returns its row numbers."""
        options = self.options
        errors = LineErrors(options.on_error)
        prefix = f"{options.source_lang}-{options.target_lang}" + ("" if part == "train" else f"-{part}")
        limits = (
            {}
            if part != "train"
            else {
                "max_length": options.max_length,
                "max_length_ratio": options.max_length_ratio,
            }
        )
        counts = self.counts[part] = {"lines": 0, "malformed": 0}
        first = len(self._store)
        parsed = 0
        for lines, fields in open_blocks(errors):
            source, target = fields["source"], fields["target"]
            parsed += len(lines)
            if options.normalize_punctuation:
                source = normalize_punctuation(source, options.source_lang)
                target = normalize_punctuation(target, options.target_lang)
            number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=7, padding="0")
            identifier = pc.binary_join_element_wise(prefix, number, "-")
            table = pa.table({"id": identifier, "source": source, "target": target}, schema=_STORED)
            kept, removed = clean(table, **limits)  # type: ignore[arg-type]
            for rule, count in removed.items():
                counts[rule] = counts.get(rule, 0) + count
            self._store.append(kept)
            self._progress(len(lines))
        counts["malformed"] = errors.count
        counts["lines"] = parsed + errors.count
        self.malformed += errors.first
        return np.arange(first, len(self._store))

    def _select(self, rows: np.ndarray) -> np.ndarray:
        """Decides which rows of the training files stay in training, and fills the drawn parts."""
        options = self.options
        counts = self.counts["train"]
        drawn = [part for part in ("test", "validation") if options.held_out_size(part)]
        repeats, targets = self._keys(rows[0] if len(rows) else 0, bool(drawn))
        train = np.ones(len(rows), dtype=bool)
        if options.drop_duplicates != "none":
            train = first_occurrences(repeats)
            counts["duplicate"] = int((~train).sum())
        wanted = sum(map(options.held_out_size, drawn))
        if wanted and wanted >= train.sum():
            raise InputError(
                f"{wanted} rows are to be held out, but there are only {train.sum()}",
                path=options.files[0],
                remedy="lower --validation-size and --test-size",
            )
        for part in drawn:
            chosen = hold_out(targets, options.held_out_size(part), options.seed, train)
            # Repeats that stayed under another rule go with their sentence, so that it is in one part only.
            train &= ~chosen
            self._rows[part] = rows[chosen]
            counts[f"to_{part}"] = int(chosen.sum())
            self.counts[part] = {"rows": int(chosen.sum())}
        if self._fingerprints is not None:
            contaminated = self._contaminated(rows, train)
            counts["contaminated"] = int(contaminated.sum())
            train &= ~contaminated
        counts["rows"] = int(train.sum())
        return shuffled(rows[train], options.seed) if options.shuffle else rows[train]

    def _keys(self, first: int, for_draw: bool) -> tuple[np.ndarray, np.ndarray]:
        """Computes the keys for repeats and for the draw, where they are needed, over the training rows."""
        repeats = [np.empty(0, np.uint64)]
        targets = [np.empty(0, np.uint64)]
        by = self.options.drop_duplicates
        if by == "none" and not for_draw:
            return repeats[0], targets[0]
        for start, table in self._store.batches():
            # A batch never spans two parts: each part appends its own.
            if start < first:
                continue
            source, target = (table.column(name).combine_chunks() for name in ("source", "target"))
            if by != "none":
                repeats.append(text_keys(*{"pair": (source, target), "source": (source,), "target": (target,)}[by]))
            if for_draw:
                targets.append(text_keys(normalise_all(target)))
        return np.concatenate(repeats), np.concatenate(targets)

    def _contaminated(self, rows: np.ndarray, train: np.ndarray) -> np.ndarray:
        assert self._fingerprints is not None
        met = np.zeros(len(rows), dtype=bool)
        first = rows[0] if len(rows) else 0
        for start, table in self._store.batches(["target"]):
            if start < first:
                continue
            begin = start - first
            own = np.flatnonzero(train[begin : begin + table.num_rows])
            found, counts = self._fingerprints.match([table.column("target").combine_chunks().take(pa.array(own))])
            met[begin + own[found]] = True
            for name, count in counts.items():
                self.contamination[name] = self.contamination.get(name, 0) + count
        return met


_Blocks = Iterator[tuple[np.ndarray, dict[str, pa.Array]]]


def _aligned(source: str, target: str) -> Callable[[LineErrors], _Blocks]:
    def blocks(errors: LineErrors) -> _Blocks:
        for line, (source_lines, target_lines) in read_aligned([Path(source), Path(target)], errors):
            lines = np.arange(line, line + len(source_lines))
            readable = pc.and_(source_lines.is_valid(), target_lines.is_valid())
            yield (
                lines[readable.to_numpy(zero_copy_only=False)],
                {"source": source_lines.filter(readable), "target": target_lines.filter(readable)},
            )

    return blocks


def _check_both(first_flag: str, first: str | None, second_flag: str, second: str | None) -> None:
    if (first is None) != (second is None):
        given, missing = (first_flag, second_flag) if second is None else (second_flag, first_flag)
        raise UsageError(f"{given} needs {missing}", remedy="give both sides")
    if first is not None and second is not None and Path(first).resolve() == Path(second).resolve():
        raise UsageError(f"{first_flag} and {second_flag} are the same file", path=first, remedy="give both sides")
