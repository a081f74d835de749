"""The command `filter`: writes the pairs of a data folder that pass every step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tqdm import tqdm

from ..artefacts.artefact import Artefact, Card
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import inherited_metadata
from ..data.folder import DataFolder, check_split_name, write_split
from ..data.row_selection import BATCH_ROWS
from ..data.schema import with_column
from ..errors import UsageError
from ..messages import log
from ..settings import recipe, setting
from .filter_pipeline import (
    FilterPipeline,
    RowSelection,
    check_any_left,
    choose_rows,
    count_pair_tokens,
    format_funnel,
    kept_batches,
)
from .measures import SIDES, find_sides
from .measuring import add_columns
from .random_pairs import NOISE, add_random_pairs

_REMOVED_BY = "removed_by"


@dataclass(kw_only=True)
class FilterSettings(FilterPipeline):
    """Keep the pairs that pass every step, and print how many each step leaves.

    The order is: identical sentences, --keep, decontamination, one per reference, --first, --max-tokens, sample; then
    noise and negatives are made from the kept pairs.
    """

    pairs: str = setting(
        "the data folder of pairs (sentence1, sentence2) or bitext (source, target), or its URL, e.g. "
        "s3://bucket/folder",
        path=True,
        dataset=True,
    )
    output: str = setting("output data folder")
    noise: float = setting(
        "fraction of the kept pairs, 0 to 1, whose second sentence is exchanged at random, to test the effect of "
        "wrong pairs; the column noise marks them",
        0.0,
        at_least=0,
        at_most=1,
    )
    negatives: int | None = setting(
        "random seed of as many random pairs as are kept, which are added with label 0 (true pairs get label 1); for "
        "losses that use labels",
        None,
        at_least=0,
    )
    explain: str | None = setting(
        "output data folder for the removed pairs; its column removed_by names the step", None, written=True
    )
    split: str = setting("the split to filter", "train")
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if self.explain is not None and Path(self.explain).absolute() == Path(self.output).absolute():
            raise UsageError("--explain and --output are the same folder", remedy="give another one for --explain")


@recipe(FilterSettings)
def filter(settings: FilterSettings) -> DataFolder:
    """Keep the pairs of a data folder that pass every step (Wieting et al. 2017, section 5.4)."""
    folder, split = DataFolder(settings.pairs), settings.split
    schema, total = folder.schema(split), folder.count(split)
    makes_random = bool(settings.noise) or settings.negatives is not None
    if find_sides(schema.names) != SIDES and makes_random:
        raise UsageError("--noise and --negatives are for paraphrase pairs, not for bitext", remedy="leave them out")
    with ExitStack() as stack:
        # Both outputs are opened first, so that a folder that cannot be written is refused before the work.
        outputs = [output for output in (settings.explain, settings.output) if output]
        inputs = [settings.pairs, *settings.decontaminate]
        *explained, artefact = (stack.enter_context(Artefact(each, "filter", settings, inputs)) for each in outputs)
        with tqdm(desc="choose", total=total, unit=" pairs", unit_scale=True) as bar:
            selected = choose_rows(folder, split, settings, bar.update)
        check_any_left(selected, split, folder)
        counts = dict.fromkeys(("pairs", "negatives", "tokens"), 0)
        with tqdm(desc="write", total=int(selected.kept.sum()), unit=" pairs", unit_scale=True) as bar:

            def kept() -> Iterator[pa.Table]:
                for table in kept_batches(folder, split, selected.kept, settings):
                    counts["pairs"] += table.num_rows
                    counts["tokens"] += int(count_pair_tokens(table).sum())
                    bar.update(table.num_rows)
                    yield table

            batches, written = kept(), add_columns(schema.empty_table(), settings.columns).schema
            if makes_random:
                parts = add_random_pairs(
                    pa.concat_tables(batches),
                    noise=settings.noise,
                    seed=settings.seed,
                    negatives=settings.negatives,
                    path=folder.path,
                    class_names=folder.rows(split).class_names,
                )
                counts["noise"] = pc.sum(parts[0].column(NOISE)).as_py() if settings.noise else 0
                counts["negatives"] = sum(part.num_rows for part in parts[1:])
                batches = (part.slice(i, BATCH_ROWS) for part in parts for i in range(0, part.num_rows, BATCH_ROWS))
                written = parts[0].schema
            rows = write_split(artefact.staging, split, batches, written)
        results = {"rows": rows, **counts, "funnel": selected.funnel, "contamination": selected.contamination}
        artefact.finish(results=results, card=_make_card(settings, selected, rows, written, counts))
        for removed in explained:
            _write_removed(settings, removed, folder, selected)
    log(format_funnel(selected.funnel).rstrip())
    for name, count in sorted(selected.contamination.items()):
        log(f"left out because a sentence is in {name}: {count:,}")
    if left_out := [name for name in folder.splits if name != split]:
        log(f"only the split `{split}` was filtered; not in the output: {', '.join(left_out)}")
    if "noise" in counts:
        log(f"{counts['noise']:,} of the pairs were made random, {counts['negatives']:,} negatives added")
    log(f"{rows:,} pairs saved to {settings.output}; the kept ones have {counts['tokens']:,} tokens")
    return DataFolder(settings.output)


def _write_removed(settings: FilterSettings, artefact: Artefact, folder: DataFolder, selected: RowSelection) -> None:
    """Write the pairs that were left out, each with the step that removed it."""
    steps = np.array(list(selected.funnel), dtype=object)[selected.passed[~selected.kept]]

    def removed() -> Iterator[pa.Table]:
        start = 0
        for batch in folder.batches(settings.split, rows=~selected.kept):
            reasons = pa.array(steps[start : start + batch.num_rows], pa.string())
            start += batch.num_rows
            yield with_column(pa.Table.from_batches([batch]), _REMOVED_BY, reasons)

    schema = with_column(folder.schema(settings.split).empty_table(), _REMOVED_BY, pa.array([], pa.string())).schema
    rows = write_split(artefact.staging, settings.split, removed(), schema)
    card = _make_card(settings, selected, rows, schema, {"negatives": 0}, "left out")
    artefact.finish(results={"rows": rows, "funnel": selected.funnel}, card=card)
    log(f"{rows:,} removed pairs saved to {settings.explain}; the column {_REMOVED_BY} names the step")


def _make_card(
    settings: FilterSettings,
    selected: RowSelection,
    rows: int,
    schema: pa.Schema,
    counts: Mapping[str, int],
    what: str = "filtered",
) -> Card:
    folder = to_path(settings.pairs)
    values = {
        **inherited_metadata(folder),
        "title": f"{folder.resolve().name}, {what}",
        "source": folder.resolve().name,
        "split": check_split_name(settings.split),
        "rows": rows,
        "columns": schema.names,
        "bitext": find_sides(schema.names) != SIDES,
        "counts": counts,
        "funnel": format_funnel(selected.funnel),
        "checked": [to_path(path).name for path in settings.decontaminate],
        "contamination": selected.contamination,
        "ngrams": settings.decontaminate_ngrams,
        "similarity": settings.decontaminate_similarity,
        "seed": settings.seed,
    }
    return Card("filtered", values)
