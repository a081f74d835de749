"""`encode` of a data folder: columns of texts in, the same rows with a column of embeddings for each of them out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..artefacts.artefact import Card
from ..artefacts.hub_models import model_folder
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..artefacts.remote_paths import to_path
from ..data.batch_function import Report, add_report
from ..data.folder import DataFolder
from ..data.parquet_files import BATCH_ROWS
from ..data.schema import columns_named
from ..errors import InputError
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut, reports
from .encode_settings import EncodeSettings
from .sentence_embedder import SentenceEmbedder


def encode_folder(settings: EncodeSettings, embedder: SentenceEmbedder) -> tuple[Path, dict[str, Any]]:
    """Embeds columns of every split of a data folder.

    Returns:
        The folder that was made, and its `rows`, the `dimension` of its embeddings, whether a network computed in
        `bf16`, and how many texts were `empty`; with `shard`, while parts are missing, the folder of the incomplete
        work and the dimension alone.
    """
    folder = DataFolder(settings.input)
    columns = columns_named(settings.columns, folder.schema(folder.splits[0]).names)
    settings, embedder = replace(settings, columns=columns), replace(embedder, columns=tuple(columns))
    for split in folder.splits:
        schema = folder.require(*embedder.columns, split=split)
        for column in embedder.columns:
            if not _is_text(schema.field(column).type):
                raise InputError(
                    f"split `{split}`: the column {column} holds {schema.field(column).type}, not text",
                    path=settings.input,
                    remedy="name columns of texts",
                )
    model_folder(settings.model)
    with ShardedOutput(
        str(settings.output),
        settings,
        command="encode",
        inputs=[settings.model, settings.input],
        resume=settings.resume,
        # `auto` leaves to the machine what decides about the result.
        job={"bf16": embedder.bf16},
        free=["device", "precision"],
    ) as output:
        if output.finished:
            return output.target, read_provenance(output.target)["results"]
        dimension = settings.here(embedder).encoder.dimension
        shards = [shard for split in folder.splits for shard in cut(split, folder.count(split), settings.shard_size)]
        job = ShardJob(folder, dict.fromkeys(folder.splits, embedder), BATCH_ROWS)
        output.run(job, output.own(shards), what="encode", unit=" rows")
        if not output.is_whole(shards):
            return output.place, {"dimension": dimension}
        total: Report = {"empty": 0}
        for report in reports(shards, output.place):
            add_report(total, report)
        made = DataFolder(output.place)
        rows = {split: made.count(split) for split in made.splits}
        results = {**total, "dimension": dimension, "bf16": embedder.bf16, "rows": sum(rows.values())}
        output.finish(results=results, card=_card(settings, rows, results))
    return output.target, results


def _is_text(kind: pa.DataType) -> bool:
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(values) or pa.types.is_large_string(values))


def _card(settings: EncodeSettings, rows: dict[str, int], results: dict[str, Any]) -> Card:
    folder = to_path(settings.input)
    values = {
        **inherited_metadata(folder),
        "title": f"{folder.resolve().name}, embedded",
        "source": folder.resolve().name,
        "splits": [{"name": split, "rows": count} for split, count in rows.items()],
        "columns": settings.columns,
        "model": to_path(settings.model).name,
        "normalized": settings.normalize,
        **{name: value for name, value in results.items() if name != "rows"},
    }
    return Card("embedded", values)
