"""The command `encode`: writes the embeddings of lines of text as a NumPy file, or of columns of a data folder.

:class:`SentenceEmbedder` is its batch function, which adds embeddings to rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Card, output_file
from ..artefacts.fsspec_path import to_path
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
    """Adds the embeddings of columns of texts as columns `COLUMN_embedding`, float32 lists of equal length.

    A missing text embeds to zeros, as an empty text. `bf16` applies to the products of a network; averages and ONNX
    models always compute in fp32.
    """

    model: str = BUILTIN
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    batch_size: int = 256
    truncate_dim: int | None = None
    normalize: bool = False
    device: str = CPU
    bf16: bool = False
    prompt_name: str | None = None
    prompt: str | None = None

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The open encoder."""
        from .sentence_encoder import SentenceEncoder

        return SentenceEncoder.from_pretrained(self.model, device=self.device, truncate_dim=self.truncate_dim)

    def process(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Return the rows with their embeddings, and an empty report."""
        # Imported here, because `encode` of a text file takes less time than the import.
        import pyarrow as pa
        import pyarrow.compute as pc

        from ..data.schema import with_column

        for column in self.columns:
            flat = pa.array(self.vectors(pc.fill_null(table.column(column), "").to_pylist()).reshape(-1))
            vectors = pa.FixedSizeListArray.from_arrays(flat, self.encoder.dimension)
            table = with_column(table, f"{column}_embedding", vectors)
        progress(table.num_rows)
        return table, {}

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts: float32 (texts, dimension)."""
        arithmetic: AbstractContextManager[object] = nullcontext()
        if self.bf16:
            # A static table needs no PyTorch.
            import torch

            arithmetic = torch.autocast(torch.device(self.device).type, torch.bfloat16)
        with arithmetic:
            return self.encoder.encode(
                texts, self.prompt_name, self.prompt, self.batch_size, normalize_embeddings=self.normalize
            )


STANDARD_INPUT = "-"


@dataclass(kw_only=True)
class EncodeSettings(ShardSettings, DeviceSettings):
    """Embed the lines of a text file, one sentence per line, as the rows of a NumPy file (float32).

    With --columns embed columns of a data folder, and write one in which COLUMN_embedding is added or replaced.
    """

    model: str = setting(
        "folder of any sentence encoder, namespace/name on the Hub, or builtin, which is installed with this package",
        BUILTIN,
        path=True,
    )
    input: str = setting(
        f"text file, one sentence per line, {PLAIN_OR_COMPRESSED}; - for standard input; with --columns a data folder",
        path=True,
        dataset=True,
    )
    output: str | None = setting(
        "the .npy file to write, with --columns the data folder [default: the name of the input plus .npy]",
        None,
    )
    columns: list[str] = setting("text columns to embed, in every split, separated by spaces or commas", [])
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    truncate_dim: int | None = setting(
        "keep the first N components of each embedding, for encoders trained for it; --normalize applies afterwards",
        None,
        at_least=1,
    )
    prompt_name: str | None = setting(
        "put the prompt of this name, such as query, before each text [default: the default prompt of the encoder]",
        None,
        excludes="prompt",
    )
    prompt: str | None = setting("text to put before each text", None)
    normalize: bool = setting("divide each embedding by its Euclidean norm", False)
    precision: str = setting(
        "precision of a network: fp32, bf16, or auto (bf16 if the hardware supports it); averages and ONNX models "
        "always compute in fp32",
        "fp32",
        choices=["auto", "bf16", "fp32"],
    )
    shard_size: int | None = shard_size_setting("rows", only_with="columns")
    resume: bool = setting("with --columns: continue the incomplete job for this output", False, only_with="columns")

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if self.columns:
            if self.output is None or Path(self.output).suffix == ".npy":
                raise UsageError("--columns makes a data folder", remedy="give its name as --output")
            return
        if self.shard is not None or not self.computes_here:
            what = "shard" if self.computes_here else "engine ray"
            raise UsageError(f"--{what} is for data folders", remedy="give --columns too")
        if self.output is None:
            if self.input == STANDARD_INPUT or self.input in INPUT_COPIES:
                what = "standard input and other streams have no file name to append .npy to"
                raise UsageError(what, remedy="give --output")
            self.output = f"{self.input}.npy"
        if Path(self.output).suffix != ".npy":
            raise UsageError("--output must end in .npy", path=self.output, remedy="name a NumPy file")


@recipe(EncodeSettings)
def encode(settings: EncodeSettings) -> Path:
    """Embed the lines of a text file, or columns of a data folder, and return the NumPy file or the new folder.

    With `shard`, return the folder of the incomplete job while parts are missing.
    """
    names = ("batch_size", "truncate_dim", "normalize", "device", "prompt_name", "prompt")
    options = {name: getattr(settings, name) for name in names}
    bf16 = is_bf16(settings.precision, settings.device)
    embedder = SentenceEmbedder(settings.model, tuple(settings.columns), bf16=bf16, **options)
    return _encode_columns(settings, embedder) if settings.columns else _encode_lines(settings, embedder)


def _encode_columns(settings: EncodeSettings, embedder: SentenceEmbedder) -> Path:
    """Embed columns of every split of a data folder."""
    # Imported here, because encoding a text file takes less time than these imports.
    from ..artefacts.hub_models import model_folder
    from ..data.folder import BATCH_ROWS, DataFolder
    from ..data.schema import require_texts
    from ..jobs.sharded_output import ShardedOutput
    from ..jobs.shards import ShardJob, cut

    folder = DataFolder(settings.input)
    columns = folder.rows(folder.splits[0]).columns_named(settings.columns)
    settings, embedder = replace(settings, columns=columns), replace(embedder, columns=tuple(columns))
    for split in folder.splits:
        require_texts(folder.require(*columns, split=split), settings.input, columns)
    model_folder(settings.model)
    with ShardedOutput(
        str(settings.output),
        settings,
        command="encode",
        inputs=[settings.model, settings.input],
        # With `auto` the machine chooses the precision, which changes the result.
        job={"bf16": embedder.bf16},
        free=["device", "precision"],
    ) as output:
        if output.finished:
            return output.target
        dimension = settings.here(embedder).encoder.dimension
        shards = [shard for split in folder.splits for shard in cut(split, folder.count(split), settings.shard_size)]
        job = ShardJob(folder, dict.fromkeys(folder.splits, embedder), BATCH_ROWS)
        output.run(job, output.own(shards), what="encode", unit=" rows")
        if not output.is_whole(shards):
            return output.current
        made = DataFolder(output.current)
        rows = {split: made.count(split) for split in made.splits}
        results = {"dimension": dimension, "bf16": embedder.bf16, "rows": sum(rows.values())}
        output.finish(results=results, card=_card(settings, rows, dimension))
    log(f"{results['rows']} rows with embeddings of {dimension} components saved to {settings.output}")
    return output.target


def _encode_lines(settings: EncodeSettings, embedder: SentenceEmbedder) -> Path:
    from ..vectors.storage import npy_writer

    with output_file(str(settings.output), overwrite=settings.overwrite) as output:
        dimension = embedder.encoder.dimension
        is_piped = settings.input == STANDARD_INPUT
        blocks = lines_of_standard_input() if is_piped else lines_of_file(to_path(settings.input))
        with npy_writer(output, dimension) as writer, ExitStack() as stack:
            progress: Any = None
            for lines in blocks:
                if writer.rows and progress is None:
                    # A single block of lines takes less time than the import.
                    from tqdm.auto import tqdm

                    progress = stack.enter_context(tqdm(unit=" lines", desc="encode", initial=writer.rows))
                writer.write(embedder.vectors(lines))
                if progress is not None:
                    progress.update(len(lines))
    log(f"{writer.rows} embeddings of {dimension} components saved to {settings.output}. Open them with np.load.")
    return output


def _card(settings: EncodeSettings, rows: dict[str, int], dimension: int) -> Card:
    from ..artefacts.provenance import inherited_metadata

    folder = to_path(settings.input)
    values = {
        **inherited_metadata(folder),
        "title": f"{folder.resolve().name}, embedded",
        "source": folder.resolve().name,
        "splits": [{"name": split, "rows": count} for split, count in rows.items()],
        "columns": settings.columns,
        "model": to_path(settings.model).name,
        "normalized": settings.normalize,
        "dimension": dimension,
    }
    return Card("embedded", values)
