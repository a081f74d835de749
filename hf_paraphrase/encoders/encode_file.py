"""The verb `encode`: lines of text in, a NumPy file of sentence embeddings out; or columns of a data folder.

:class:`SentenceEmbedder` is its batch function: rows with texts in, the same rows with embeddings out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Card, output_file
from ..artefacts.hub_models import BUILTIN
from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.sentences import lines_of_file, lines_of_standard_input
from ..data.text_blocks import PLAIN_OR_COMPRESSED
from ..errors import UsageError
from ..jobs.shard_settings import ShardSettings, shard_size_setting
from ..messages import INPUT_COPIES, log
from ..settings import recipe, setting
from ..training.devices import CPU, DeviceSettings, is_bf16

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from .sentence_encoder import SentenceEncoder


@dataclass(frozen=True)
class SentenceEmbedder(BatchFunction):
    """Adds the embeddings of columns of texts: `COLUMN_embedding` for each, float32 lists of one length.

    A missing text embeds to zeros, as an empty one does. With `bf16` the products of a network are in bfloat16;
    averages and ONNX models always compute in fp32.
    """

    model: str = BUILTIN
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    batch_size: int = 256
    truncate_dim: int | None = None
    normalize: bool = False
    device: str = CPU
    bf16: bool = False

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The open encoder."""
        from .sentence_encoder import SentenceEncoder

        return SentenceEncoder.from_pretrained(self.model, device=self.device, truncate_dim=self.truncate_dim)

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the rows with their embeddings, and how many texts were `empty`."""
        # `encode` has no rows, and is over sooner than Arrow is imported.
        import pyarrow as pa
        import pyarrow.compute as pc

        from ..data.schema import with_column

        report: Report = {"empty": 0}
        for column in self.columns:
            texts = pc.fill_null(table.column(column), "").to_pylist()
            flat = pa.array(self.vectors(texts).reshape(-1))
            vectors = pa.FixedSizeListArray.from_arrays(flat, self.encoder.dimension)
            table = with_column(table, f"{column}_embedding", vectors)
            report["empty"] += empty_texts(texts)
        progress(table.num_rows)
        return table, report

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embeds texts: float32 (texts, dimension)."""
        with self._arithmetic():
            return self.encoder.encode(texts, batch_size=self.batch_size, normalize=self.normalize)

    def _arithmetic(self) -> AbstractContextManager[object]:
        if not self.bf16:
            # A table of vectors needs no PyTorch.
            return nullcontext()
        import torch

        return torch.autocast(torch.device(self.device).type, torch.bfloat16)


def empty_texts(texts: Sequence[str]) -> int:
    """Counts the texts without a character that is not white space."""
    return sum(not text.strip() for text in texts)


STANDARD_INPUT = "-"


@dataclass(kw_only=True)
class EncodeSettings(ShardSettings, DeviceSettings):
    """Embed the lines of a text file, one sentence a line, as the rows of a NumPy file (float32).

    With --columns embed those of a data folder; the output is one too, with COLUMN_embedding for each.
    """

    model: str = setting(
        "folder of a sentence encoder, of this package, sentence-transformers, transformers or model2vec, or "
        "namespace/name of one on the Hub; builtin is the one that is installed with this package",
        BUILTIN,
        path=True,
    )
    input: str = setting(
        f"text file, one sentence a line, {PLAIN_OR_COMPRESSED}; - reads standard input; with --columns a data "
        "folder, or its address, e.g. s3://bucket/folder",
        path=True,
        dataset=True,
    )
    output: str | None = setting(
        "the .npy file to write, with --columns the data folder; it appears whole or not at all [default: the name of "
        "the input with .npy behind it]",
        None,
    )
    columns: list[str] = setting("columns of texts to embed, in every split; spaces or commas between them", [])
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    truncate_dim: int | None = setting(
        "keep the first N components of each embedding, which is for encoders that were trained for it; "
        "--normalize comes after it",
        None,
        at_least=1,
    )
    normalize: bool = setting("divide each embedding by its Euclidean norm", False)
    precision: str = setting(
        "arithmetic of the products of a network: fp32, bf16, or auto: bf16 where the machine multiplies it in "
        "hardware; averages and ONNX models always compute in fp32",
        "fp32",
        choices=["auto", "bf16", "fp32"],
    )
    shard_size: int | None = shard_size_setting("rows", only_with="columns")
    resume: bool = setting("with --columns: continue the incomplete job for this output", False, only_with="columns")

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.columns:
            if self.output is None or Path(self.output).suffix == ".npy":
                raise UsageError("--columns makes a data folder", remedy="give its name as --output")
            return
        if self.shard is not None or not self.computes_here:
            raise UsageError(
                f"--{'shard' if self.computes_here else 'engine ray'} is for data folders", remedy="give --columns too"
            )
        if self.output is None:
            if self.input == STANDARD_INPUT or self.input in INPUT_COPIES:
                raise UsageError(
                    "standard input and other streams have no name to put .npy behind", remedy="give --output"
                )
            self.output = f"{self.input}.npy"
        if Path(self.output).suffix != ".npy":
            raise UsageError("--output must end in .npy", path=self.output, remedy="name a NumPy file")


@dataclass(frozen=True)
class Encoded:
    """What was embedded: how many lines or rows, of how many components, and how many texts were empty, with zeros.

    `path` is the NumPy file, float32 (rows, dimension), or the data folder; with `shard`, while parts are missing,
    that of the incomplete work.
    """

    path: Path
    rows: int
    dimension: int
    empty: int


@recipe(EncodeSettings)
def encode(settings: EncodeSettings) -> Encoded:
    """Embeds the lines of a text file, or columns of a data folder."""
    embedder = SentenceEmbedder(
        settings.model,
        tuple(settings.columns),
        batch_size=settings.batch_size,
        truncate_dim=settings.truncate_dim,
        normalize=settings.normalize,
        device=settings.device,
        bf16=is_bf16(settings.precision, settings.device),
    )
    encoded = _encode_columns(settings, embedder) if settings.columns else _encode_lines(settings, embedder)
    if encoded.empty:
        log(f"{encoded.empty} empty line{'s' if encoded.empty > 1 else ''}: embedded to zeros")
    return encoded


def _encode_columns(settings: EncodeSettings, embedder: SentenceEmbedder) -> Encoded:
    """Embeds columns of every split of a data folder."""
    # Lines of text are embedded sooner than these are imported.
    from ..artefacts.hub_models import model_folder
    from ..artefacts.provenance import read_provenance
    from ..data.batch_function import add_report
    from ..data.folder import BATCH_ROWS, DataFolder
    from ..data.schema import columns_named, require_texts
    from ..jobs.sharded_output import ShardedOutput
    from ..jobs.shards import ShardJob, cut, reports

    folder = DataFolder(settings.input)
    columns = columns_named(settings.columns, folder.schema(folder.splits[0]).names)
    settings, embedder = replace(settings, columns=columns), replace(embedder, columns=tuple(columns))
    for split in folder.splits:
        require_texts(folder.require(*columns, split=split), settings.input, columns)
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
            results = read_provenance(output.target)["results"]
            return Encoded(output.target, results["rows"], results["dimension"], results.get("empty", 0))
        dimension = settings.here(embedder).encoder.dimension
        shards = [shard for split in folder.splits for shard in cut(split, folder.count(split), settings.shard_size)]
        job = ShardJob(folder, dict.fromkeys(folder.splits, embedder), BATCH_ROWS)
        output.run(job, output.own(shards), what="encode", unit=" rows")
        if not output.is_whole(shards):
            return Encoded(output.current, 0, dimension, 0)
        total: Report = {"empty": 0}
        for report in reports(shards, output.current):
            add_report(total, report)
        made = DataFolder(output.current)
        rows = {split: made.count(split) for split in made.splits}
        results = {**total, "dimension": dimension, "bf16": embedder.bf16, "rows": sum(rows.values())}
        output.finish(results=results, card=_card(settings, rows, results))
    log(f"{results['rows']} rows with embeddings of {dimension} components saved to {settings.output}")
    return Encoded(output.target, results["rows"], dimension, total["empty"])


def _encode_lines(settings: EncodeSettings, embedder: SentenceEmbedder) -> Encoded:
    from .vectors import npy_writer

    empty = 0
    with output_file(str(settings.output), overwrite=settings.overwrite) as output:
        dimension = embedder.encoder.dimension
        is_piped = settings.input == STANDARD_INPUT
        blocks = lines_of_standard_input() if is_piped else lines_of_file(Path(settings.input))
        with npy_writer(output, dimension) as writer, ExitStack() as stack:
            progress: Any = None
            for lines in blocks:
                if writer.rows and progress is None:
                    # What one block of lines takes is not worth the import.
                    from tqdm.auto import tqdm

                    progress = stack.enter_context(tqdm(unit=" lines", desc="encode", initial=writer.rows))
                writer.write(embedder.vectors(lines))
                empty += empty_texts(lines)
                if progress is not None:
                    progress.update(len(lines))
    log(f"{writer.rows} embeddings of {dimension} components saved to {settings.output}. Open them with np.load.")
    return Encoded(output, writer.rows, dimension, empty)


def _card(settings: EncodeSettings, rows: dict[str, int], results: dict[str, Any]) -> Card:
    from ..artefacts.provenance import inherited_metadata
    from ..artefacts.remote_paths import to_path

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
