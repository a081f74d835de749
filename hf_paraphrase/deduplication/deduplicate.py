"""The function `deduplicate` and the recipe of the verb: the same rows without those that say the same as others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import pyarrow as pa
from tqdm.auto import tqdm

from ..artefacts.artefact import Artefact, Card
from ..artefacts.hub_models import BUILTIN
from ..artefacts.provenance import inherited_metadata
from ..data.folder import DataFolder, write_split
from ..data.rows import Rows, open_rows
from ..data.schema import columns_named
from ..data.text_blocks import FormatSettings
from ..errors import InputError, UsageError
from ..inputs import copied_inputs
from ..messages import log, sanitize_line
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
    """Remove the rows whose text is the same as, or similar to, that of an earlier row.

    The kept rows are the split `train` of the output, with all their columns; the others are the split `removed`, with
    the text and number (from 0) of the row that represents each, and the similarity of the two.
    """

    input: list[str] = setting(
        "text (one per line), CSV, JSON lines or Parquet files of one format, or a folder or dataset on the Hub "
        "that load_dataset opens",
        path=True,
    )
    output: str = setting("output data folder")
    against: list[str] = setting(
        "more such files, whose rows count as earlier: rows that repeat one of them are removed too; if they lack "
        "the columns of --by, their usual text columns are compared",
        [],
        path=True,
    )
    by: list[str] = setting(
        "text column, or several that are compared as one text; by default those of sentence, text, sentence1 and "
        "sentence2 that exist, else the only text column",
        [],
    )
    threshold: float = setting("minimum cosine of near-duplicates, 0 to 1", 0.9, at_least=0, at_most=1)
    clusters: str = setting(
        "representative = a row is removed if it is near a row that is kept; components = rows linked by a chain of "
        "near-duplicates are one cluster, of which the first is kept",
        "representative",
        choices=["representative", "components"],
    )
    encoder: str = setting(
        "sentence encoder that computes the cosine; multilingual knows several languages", BUILTIN, path=True
    )
    split: str = setting("split of a folder or a dataset on the Hub", "train")
    subset: str | None = setting("configuration of a dataset on the Hub", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    overwrite: bool = setting("replace an existing output folder", False)
    force: bool = setting("also compare texts in a language that the encoder does not read", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.clusters == "components" and find_spec("scipy") is None:
            raise UsageError("--clusters components needs the package scipy", remedy="pip install scipy")


@overload
def deduplicate(
    rows: Any, *, against: Any = None, return_removed: Literal[False] = False, **settings: Any
) -> datasets.Dataset: ...


@overload
def deduplicate(
    rows: Any, *, against: Any = None, return_removed: Literal[True], **settings: Any
) -> tuple[datasets.Dataset, datasets.Dataset]: ...


def deduplicate(rows: Any, *, against: Any = None, return_removed: bool = False, **settings: Any) -> Any:
    """Removes the rows whose text is the same as, or similar to, that of an earlier row.

    Args:
        rows: A `datasets.Dataset`, or texts.
        against: Other rows, likewise, that all come first.
        return_removed: Return the rows that go too, with `representative`, `representative_row` and `similarity`.
        **settings: Other settings of :func:`deduplicate_files`: `by`, `threshold`, `clusters`, `encoder`, ...

    Returns:
        The rows that stay with all their columns; with `return_removed` also those that are left out.
    """
    if isinstance(by := settings.get("by", []), str):
        settings["by"] = [by]
    checked = DeduplicateSettings(input=["rows"], output="none", **settings)
    data = [_as_dataset(given) for given in (rows, *([] if against is None else [against]))]
    with copied_inputs(checked, {"encoder": False}):
        checked.check()
        work = _Work(checked, [open_rows(given, roles=()) for given in data], ["the rows", "the rows of against"])
    kept = data[0].select(np.flatnonzero(work.found.stays))
    if not return_removed:
        return kept
    from datasets import Value

    removed = data[0].select(np.flatnonzero(~work.found.stays))
    for name, column in work.representatives().items():
        removed = removed.add_column(name, column.to_pylist(), feature=Value(str(column.type)))
    return kept, removed


def _as_dataset(rows: Any) -> Any:
    import datasets

    if isinstance(rows, datasets.Dataset):
        return rows
    try:
        return datasets.Dataset.from_dict({"text": list_of_texts(rows)})
    except TypeError as error:
        raise UsageError(str(error), remedy="give a datasets.Dataset or a list of strings") from error


def _check_languages(encoder: SentenceEncoder, texts: pa.ChunkedArray, name: str) -> None:
    """Refuse texts that the encoder does not read: it would take different ones for the same."""
    rows = np.linspace(0, max(len(texts) - 1, 0), min(_CHECKED_TEXTS, len(texts))).astype(np.int64)
    found = encoder.find_unreadable_texts([text for text in texts.take(pa.array(rows)).to_pylist() if text])
    # Of a few texts the encoder warns.
    if found.are_many and len(texts) >= _FEW_TEXTS:
        raise UsageError(str(found), path=name, remedy="give another --encoder, or compare them with --force")


class _Work:
    """The rows, their texts, and which of them are duplicates."""

    def __init__(self, settings: DeduplicateSettings, opened: Sequence[Rows], names: Sequence[str]) -> None:
        from ..encoders.sentence_encoder import SentenceEncoder

        self.settings, self.rows = settings, opened[0]
        by = columns_named(settings.by, self.rows.columns)
        self.columns = [self.rows.text_columns(by)]
        for rows in opened[1:]:
            # Other rows may have other names; then those that are usual are compared.
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
            self.found: Duplicates = find_duplicates(
                self.texts[0],
                encoder,
                earlier=self.texts[1] if len(opened) > 1 else None,
                threshold=settings.threshold,
                components=settings.clusters == "components",
                batch_size=settings.batch_size,
                progress=bar.update,
            )

    def representatives(self) -> dict[str, pa.Array]:
        """Returns the columns that the removed rows get in addition."""
        found, earlier = self.found, self.found.num_earlier
        numbers = found.representatives[earlier:][~found.stays]
        is_own = numbers >= earlier
        rows = np.where(is_own, numbers - earlier, numbers)
        columns = [self.text_of(numbers), pa.array(rows), pa.array(found.similarities[earlier:][~found.stays])]
        if len(self.texts) > 1:
            columns.append(pa.array(np.where(is_own, "input", "against").tolist(), pa.string()))
        return dict(zip(_ADDED, columns, strict=False))

    def text_of(self, numbers: np.ndarray) -> pa.Array:
        """Takes texts by their numbers, those of other rows first."""
        every = pa.chunked_array([chunk for texts in self.texts[::-1] for chunk in texts.chunks], pa.string())
        taken = every.take(pa.array(numbers))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


@recipe(DeduplicateSettings)
def deduplicate_files(settings: DeduplicateSettings) -> DataFolder:
    """Leaves out the rows of files, or of a folder or a name on the Hub, that say the same as earlier ones."""
    sources = [settings.input, *([settings.against] if settings.against else [])]
    local = [path for path in [*settings.input, *settings.against] if Path(path).exists()]
    with Artefact(
        settings.output,
        command="deduplicate",
        settings=settings,
        inputs=[*local, settings.encoder],
        overwrite=settings.overwrite,
    ) as artefact:
        options = {"subset": settings.subset, "roles": (), **settings.format_options()}
        opened = [open_rows(source, settings.split, **options) for source in sources]
        work = _Work(settings, opened, [source[0] for source in sources])
        if not len(work.texts[0]):
            raise InputError("there are no rows", path=settings.input[0], remedy="give a file or --split with some")
        schema, added = work.rows.schema, pa.table(work.representatives())
        kept = write_split(artefact.staging, "train", work.rows.batches(keep=work.found.stays), schema)
        for field in added.schema:
            schema = schema.append(field)
        gone = _with_columns(work.rows.batches(keep=~work.found.stays), added)
        removed = write_split(artefact.staging, REMOVED, gone, schema)
        results = {"rows": kept, "removed": removed, **work.found.counts}
        above, below = _examples(work)
        artefact.finish(results=results, card=Card("deduplicated", _card_values(work, results, above, below)))
    _report(settings, results, [*above[:2], *below[:2]])
    return DataFolder(settings.output)


def _with_columns(tables: Iterable[pa.RecordBatch], added: pa.Table) -> Iterator[pa.Table]:
    """Streams tables with columns, of which each takes its rows."""
    start = 0
    for batch in tables:
        table = pa.Table.from_batches([batch])
        for name in added.column_names:
            table = table.append_column(name, added.column(name).slice(start, table.num_rows))
        start += table.num_rows
        yield table


def _card_values(
    work: _Work, results: dict[str, int], above: list[list[str]], below: list[list[str]]
) -> dict[str, Any]:
    settings = work.settings
    source = Path(settings.input[0])
    return {
        **(inherited_metadata(source) if source.is_dir() else {"language": [], "license": []}),
        "title": f"{source.resolve().name if source.exists() else settings.input[0]}, deduplicated",
        "source": ", ".join(Path(path).resolve().name if Path(path).exists() else path for path in settings.input),
        "against": ", ".join(Path(path).name for path in settings.against),
        "by": work.columns[0],
        "encoder": Path(settings.encoder).name,
        "threshold": settings.threshold,
        "components": settings.clusters == "components",
        "results": {"checked": 0, "missed": 0, **results},
        "histogram": _histogram(work.found),
        "above": format_table(["similarity", "removed", "kept"], above),
        "below": format_table(["similarity", "kept", "kept too"], below),
    }


def _examples(work: _Work) -> tuple[list[list[str]], list[list[str]]]:
    """Lays out the pairs nearest to the threshold: some that were removed, and some of which both stay."""
    found, threshold = work.found, work.settings.threshold
    rows = np.flatnonzero((found.representatives >= 0) & (found.similarities < 1.0))
    # Rows of one text have one similarity to their representative.
    keys = np.column_stack([found.similarities[rows], found.representatives[rows]])
    rows = rows[np.unique(keys, axis=0, return_index=True)[1][:_EXAMPLES]]
    removed = [(int(row), int(found.representatives[row]), float(found.similarities[row])) for row in rows]
    stay = sorted((pair for pair in found.below if pair[2] < threshold), key=lambda pair: -pair[2])[:_EXAMPLES]
    tables = []
    for pairs in (removed, stay):
        sides = [work.text_of(np.array([pair[side] for pair in pairs], np.int64)).to_pylist() for side in (0, 1)]
        cells = zip(pairs, *sides, strict=True)
        tables.append([[f"{pair[2]:.3f}", *map(plain_markdown, texts)] for pair, *texts in cells])
    return tables[0], tables[1]


def _histogram(found: Duplicates) -> str:
    """Lays out how many removed rows there are by similarity."""
    similarities = found.similarities[found.num_earlier :][~found.stays]
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
