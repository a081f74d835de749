"""The function and the command `deduplicate`: rows of any data without duplicates and near-duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ..artefacts.artefact import Artefact, Card
from ..artefacts.hub_models import BUILTIN
from ..artefacts.provenance import inherited_metadata
from ..data.folder import DataFolder, write_split
from ..data.rows import Rows, open_rows
from ..data.schema import columns_named
from ..data.text_blocks import FormatSettings
from ..errors import InputError, UsageError
from ..inputs import copied_inputs, is_rows
from ..messages import INPUT_COPIES, log, sanitize_line
from ..searching.index import SearchIndex
from ..searching.manifest import MANIFEST_FILE
from ..settings import recipe, setting
from ..tables import format_table, plain_markdown
from ..tokenization.fast_tokenize import list_of_texts
from ..training.devices import DeviceSettings
from .duplicates import Duplicates, find_duplicates

if TYPE_CHECKING:
    import datasets

    from ..encoders.sentence_encoder import SentenceEncoder

REMOVED = "removed"
_ADDED = ("representative", "representative_row", "similarity", "representative_in")
"""The columns that removed rows get in addition, the last one where rows are compared with others."""
_BAR = 0.01
_EXAMPLES = 5
_CHECKED_TEXTS, _FEW_TEXTS = 2000, 10


@dataclass(kw_only=True)
class DeduplicateSettings(DeviceSettings, FormatSettings):
    """Remove the rows whose text is the same as, or similar to, the text of an earlier row.

    The split `train` of the output has the kept rows with all their columns. The split `removed` has the removed rows,
    each with the text and number (from 0) of the row that represents it, and the similarity of the two.
    """

    input: list[str] = setting(
        "text (one per line), CSV, JSON lines or Parquet files of one format, or a folder that load_dataset opens",
        path=True,
        dataset=True,
    )
    output: str = setting("output data folder")
    against: list[str] = setting(
        "more such files, whose rows count as earlier: rows that repeat one of them are removed too; if they lack "
        "the columns of --by, their usual text columns are compared",
        [],
        path=True,
        dataset=True,
    )
    by: list[str] = setting(
        "text column, or several that are compared as one text; by default the columns sentence, text, sentence1 "
        "and sentence2, if they exist, else the only text column",
        [],
    )
    threshold: float = setting("minimum cosine of near-duplicates, 0 to 1", 0.9, at_least=0, at_most=1)
    clusters: str = setting(
        "representative = a row is removed if it is near a row that is kept; components = of all rows linked by a "
        "chain of near-duplicates, the first is kept",
        "representative",
        choices=["representative", "components"],
    )
    encoder: str = setting(
        "sentence encoder that computes the cosine; multilingual supports several languages", BUILTIN, path=True
    )
    remove_contrasts: bool = setting(
        "also remove rows that differ from an earlier row only in negation or numbers; they are kept by default",
        False,
    )
    split: str = setting("split of a folder or a dataset on the Hub", "train")
    subset: str | None = setting("configuration of a dataset on the Hub", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    overwrite: bool = setting("replace an existing output folder", False)
    force: bool = setting("also compare texts in a language that the encoder does not read", False)


def deduplicate(
    rows: Any = None,
    *,
    output: str | Path | None = None,
    input: str | Path | Sequence[str | Path] | None = None,
    against: Any = None,
    return_removed: bool = False,
    **settings: Any,
) -> Any:
    """Remove the rows whose text is the same as, or similar to, the text of an earlier row.

    Args:
        rows: A list of texts, a `datasets.Dataset`, a pandas or polars DataFrame, an Arrow table, dictionaries, or
            the path of a file or folder; with `output` strings are paths.
        output: The data folder to write; without it the rows are returned.
        input: Files, or a folder or dataset on the Hub, instead of `rows`.
        against: Other rows, likewise, or the folder of a search index, that all count as earlier.
        return_removed: Return the removed rows too, with `representative`, `representative_row` and `similarity`.
        **settings: Other options of the command `deduplicate`: `by`, `threshold`, `clusters`, `encoder`, ...

    Returns:
        Without `output` a `datasets.Dataset` of the kept rows, with all their columns; with `return_removed` a pair of
        the kept and the removed rows. With `output` the data folder.

    Raises:
        UsageError: The rows are of another type, or both `rows` and `input` are given.
        InputError: A column is missing, or a file cannot be read.

    Example:
        >>> list(deduplicate(["How do I reset my password?", "How can I reset my password?"])["text"])
        ['How do I reset my password?']
    """
    if (rows is None) == (input is None):
        raise UsageError("give either rows or input", remedy="for instance deduplicate(texts)")
    if isinstance(settings.get("by"), str):
        settings["by"] = [settings["by"]]
    if output is not None:
        if return_removed:
            raise UsageError("return_removed is for a call without output", remedy=f"see the split {REMOVED}")
        given = {"input": rows if input is None else input, "against": [] if against is None else against}
        return deduplicate_files(**given, output=str(output), **settings)
    checked = DeduplicateSettings(input=["rows"], output="none", **settings)
    sources = [_as_source(each) for each in (rows if input is None else input, against) if each is not None]
    with copied_inputs(checked, {"encoder": False}):
        checked.check()
        opened = [_open(source, checked) for source in sources]
        run = DeduplicationRun(checked, opened, [each.name for each in opened])
    kept, removed = (_as_dataset(opened[0], mask) for mask in (run.result.kept, ~run.result.kept))
    run.log_contrasts()
    if not return_removed:
        return kept
    from datasets import Value

    for name, column in run.representatives().items():
        removed = removed.add_column(name, column.to_pylist(), feature=Value(str(column.type)))
    return kept, removed


def _as_source(given: Any) -> Any:
    """Return rows that `open_rows` opens; a list of strings becomes a column of texts."""
    if isinstance(given, str | Path) or is_rows(given):
        return given
    try:
        return pa.table({"text": list_of_texts(given)})
    except TypeError as error:
        remedy = "give a list of strings, a Dataset, a DataFrame, a file or a folder"
        raise UsageError(str(error), remedy=remedy) from error


def _check_languages(encoder: SentenceEncoder, texts: pa.ChunkedArray, name: str) -> None:
    """Refuse texts that the encoder cannot read: different texts would have near vectors."""
    rows = np.linspace(0, max(len(texts) - 1, 0), min(_CHECKED_TEXTS, len(texts))).astype(np.int64)
    unreadable = encoder.find_unreadable_texts([text for text in texts.take(pa.array(rows)).to_pylist() if text])
    # For a few texts the encoder warns.
    if unreadable.are_many and len(texts) >= _FEW_TEXTS:
        raise UsageError(str(unreadable), path=name, remedy="give another --encoder, or compare them with --force")


def _open(source: Any, settings: DeduplicateSettings) -> Rows:
    """Open rows, or the sentences of a search index."""
    path = source[0] if isinstance(source, list) and len(source) == 1 else source
    if isinstance(path, str | Path) and (Path(path) / MANIFEST_FILE).is_file():
        return open_rows(SearchIndex(path).sentences.select(["sentence"]), roles=())
    return open_rows(source, settings.split, subset=settings.subset, roles=(), **settings.format_options())


def _as_dataset(rows: Rows, mask: NDArray[np.bool_]) -> datasets.Dataset:
    import datasets

    return datasets.Dataset(pa.Table.from_batches(rows.batches(keep=mask), rows.schema))


class DeduplicationRun:
    """The rows, their texts, and which of them are duplicates."""

    def __init__(self, settings: DeduplicateSettings, opened: Sequence[Rows], names: Sequence[str]) -> None:
        from ..encoders.sentence_encoder import SentenceEncoder

        self.settings, self.rows = settings, opened[0]
        by = columns_named(settings.by, self.rows.columns)
        self.columns = [self.rows.text_columns(by)]
        for rows in opened[1:]:
            # Rows with other column names are compared by their usual text columns.
            self.columns.append(rows.text_columns(by if {*by} <= {*rows.columns} else []))
        self.texts = [rows.texts(columns) for rows, columns in zip(opened, self.columns, strict=True)]
        for name in _ADDED[: 2 + len(opened)]:
            if name in self.rows.columns:
                raise InputError(f"the column {name} exists already", path=names[0], remedy="rename it")
        encoder = SentenceEncoder.from_pretrained(settings.encoder, device=settings.device)
        if not settings.force:
            _check_languages(encoder, self.texts[0], names[0])
        total = sum(map(len, self.texts))
        with tqdm(desc="compare", total=total, unit=" texts", unit_scale=True) as bar:
            self.result: Duplicates = find_duplicates(
                self.texts[0],
                encoder,
                earlier=self.texts[1] if len(opened) > 1 else None,
                threshold=settings.threshold,
                components=settings.clusters == "components",
                keep_contrasts=not settings.remove_contrasts,
                batch_size=settings.batch_size,
                progress=bar.update,
            )

    def representatives(self) -> dict[str, pa.Array]:
        """Return the columns that the removed rows get in addition."""
        result, earlier = self.result, self.result.num_earlier
        numbers = result.representatives[earlier:][~result.kept]
        is_own = numbers >= earlier
        rows = np.where(is_own, numbers - earlier, numbers)
        columns = [self.take_texts(numbers), pa.array(rows), pa.array(result.similarities[earlier:][~result.kept])]
        if len(self.texts) > 1:
            columns.append(pa.array(np.where(is_own, "input", "against").tolist(), pa.string()))
        return dict(zip(_ADDED, columns, strict=False))

    def log_contrasts(self) -> None:
        """Warn about rows that are kept because they differ from another row only in negation or numbers."""
        pairs = self.result.contrasts
        if not pairs:
            return
        log(
            f"{len(pairs):,} rows are near an earlier row but differ from it only in negation or numbers: kept "
            "(--remove-contrasts removes them)",
            warning=True,
        )
        for row, earlier, similarity in pairs[:2]:
            texts = self.take_texts(np.array([row, earlier])).to_pylist()
            log(f"  {similarity:.3f}  " + "  |  ".join(sanitize_line(text, 70) for text in texts), warning=True)

    def take_texts(self, text_numbers: np.ndarray) -> pa.Array:
        """Return texts by their numbers; the texts of `against` are numbered first."""
        every = pa.chunked_array([chunk for texts in self.texts[::-1] for chunk in texts.chunks], pa.string())
        taken = every.take(pa.array(text_numbers))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


@recipe(DeduplicateSettings)
def deduplicate_files(settings: DeduplicateSettings) -> DataFolder:
    """Write the rows of files, a folder or a dataset on the Hub without those that repeat earlier rows."""
    sources = [settings.input, *([settings.against] if settings.against else [])]
    local = [path for path in [*settings.input, *settings.against] if Path(path).exists()]
    inputs = [*local, settings.encoder]
    with Artefact(settings.output, command="deduplicate", settings=settings, inputs=inputs) as artefact:
        opened = [_open(source, settings) for source in sources]
        run = DeduplicationRun(settings, opened, [source[0] for source in sources])
        if not len(run.texts[0]):
            raise InputError("there are no rows", path=settings.input[0], remedy="give a file or --split with some")
        schema, added = run.rows.schema, pa.table(run.representatives())
        kept = write_split(artefact.staging, "train", run.rows.batches(keep=run.result.kept), schema)
        for field in added.schema:
            schema = schema.append(field)
        rest = _append_columns(run.rows.batches(keep=~run.result.kept), added)
        removed = write_split(artefact.staging, REMOVED, rest, schema)
        results = {"rows": kept, "removed": removed, **run.result.counts}
        above, below = _examples(run)
        artefact.finish(results=results, card=Card("deduplicated", _card_values(run, results, above, below)))
    _report(settings, results, [*above[:2], *below[:2]])
    run.log_contrasts()
    return DataFolder(settings.output)


def _append_columns(tables: Iterable[pa.RecordBatch], added: pa.Table) -> Iterator[pa.Table]:
    """Yield tables with further columns."""
    start = 0
    for batch in tables:
        part = added.slice(start, batch.num_rows)
        yield pa.table([*batch.columns, *part.columns], [*batch.schema.names, *part.column_names])
        start += batch.num_rows


def _card_values(
    run: DeduplicationRun, results: dict[str, int], above: list[list[str]], below: list[list[str]]
) -> dict[str, Any]:
    settings = run.settings
    source = Path(settings.input[0])
    return {
        **inherited_metadata(source),
        "title": f"{source.resolve().name}, deduplicated",
        "source": ", ".join(INPUT_COPIES.get(path) or Path(path).resolve().name for path in settings.input),
        "against": ", ".join(Path(path).name for path in settings.against),
        "by": run.columns[0],
        "encoder": Path(settings.encoder).name,
        "threshold": settings.threshold,
        "components": settings.clusters == "components",
        "results": {"checked": 0, "missed": 0, "contrasts": 0, **results},
        "histogram": _histogram(run.result),
        "above": format_table(["similarity", "removed", "kept"], above),
        "below": format_table(["similarity", "kept", "kept too"], below),
    }


def _examples(run: DeduplicationRun) -> tuple[list[list[str]], list[list[str]]]:
    """Make tables of the pairs nearest to the threshold: removed rows, and pairs of kept rows."""
    result, threshold = run.result, run.settings.threshold
    rows = np.flatnonzero((result.representatives >= 0) & (result.similarities < 1.0))
    # Equal rows have the same similarity to their representative.
    keys = np.column_stack([result.similarities[rows], result.representatives[rows]])
    rows = rows[np.unique(keys, axis=0, return_index=True)[1][:_EXAMPLES]]
    removed = [(int(row), int(result.representatives[row]), float(result.similarities[row])) for row in rows]
    kept = sorted((pair for pair in result.below if pair[2] < threshold), key=lambda pair: -pair[2])[:_EXAMPLES]
    tables = []
    for pairs in (removed, kept):
        sides = [run.take_texts(np.array([pair[side] for pair in pairs], np.int64)).to_pylist() for side in (0, 1)]
        cells = zip(pairs, *sides, strict=True)
        tables.append([[f"{pair[2]:.3f}", *map(plain_markdown, texts)] for pair, *texts in cells])
    return tables[0], tables[1]


def _histogram(result: Duplicates) -> str:
    """Format a table with the number of removed rows by similarity."""
    similarities = result.similarities[result.num_earlier :][~result.kept]
    bars = np.floor(similarities / _BAR + 1e-9).astype(np.int64)
    rows = [
        [f"{bar * _BAR:.2f} to {(bar + 1) * _BAR:.2f}" if bar * _BAR < 1.0 else "1.00", f"{count:,}"]
        for bar, count in zip(*np.unique(bars, return_counts=True), strict=True)
    ]
    return format_table(["similarity", "rows"], rows)


def _report(settings: DeduplicateSettings, results: dict[str, int], examples: list[list[str]]) -> None:
    total = results["rows"] + results["removed"]
    log(
        f"of {total:,} rows {results['exact']:,} are exact and {results['near']:,} near-duplicates of earlier ones; "
        f"{results['rows']:,} are kept"
    )
    for name, what in (
        ("without_text", "have no text: they are kept"),
        ("unknown_words", "have no word in the encoder's vocabulary: only exact duplicates of them are found"),
    ):
        if results[name]:
            log(f"{results[name]:,} rows {what}")
    if results.get("checked"):
        log(f"of {results['checked']:,} kept rows {results['missed']:,} have a near-duplicate that was missed")
    for similarity, *texts in examples:
        log(f"  {similarity}  " + "  |  ".join(sanitize_line(text, 70) for text in texts))
    if not results["rows"]:
        log(f"Saved to {settings.output}: no row is kept; the split `{REMOVED}` has all rows")
        return
    log(f"Saved to {settings.output}. Use it with: load_dataset({settings.output!r}, split='train')")
