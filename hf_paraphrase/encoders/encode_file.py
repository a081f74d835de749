"""The recipe of the verb `encode`: lines of text in, a NumPy file of sentence embeddings out; or data folders."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import output_file
from ..data.sentences import estimated_lines, lines_of_file, lines_of_standard_input
from ..errors import InputError
from ..messages import log
from ..settings import recipe
from .encode_settings import STANDARD_INPUT, EncodeSettings

if TYPE_CHECKING:
    from .sentence_embedder import SentenceEmbedder


@dataclass(frozen=True)
class Encoded:
    """What was embedded.

    Attributes:
        path: The NumPy file, which `np.load` opens: float32 (rows, dimension); or the data folder, with `shard`, while
            parts are missing, that of the incomplete work.
        rows: How many lines or rows there were.
        dimension: The number of components of an embedding.
        empty: How many of the texts were empty; they are embedded to zeros.
    """

    path: Path
    rows: int
    dimension: int
    empty: int


@recipe(EncodeSettings)
def encode(settings: EncodeSettings) -> Encoded:
    """Embeds the lines of a text file, or columns of a data folder.

    Returns:
        The file that was made, and what is in it.
    """
    if settings.input != STANDARD_INPUT and not settings.columns and not Path(settings.input).exists():
        raise InputError("no such file", path=Path(settings.input), remedy="check --input")
    if not settings.columns and Path(settings.input).is_dir():
        raise InputError(
            "this is a folder, not a file",
            path=Path(settings.input),
            remedy="name the file in it, or the columns of a data folder with --columns",
        )

    from .sentence_embedder import SentenceEmbedder

    embedder = SentenceEmbedder(
        settings.model,
        tuple(settings.columns),
        batch_size=settings.batch_size,
        truncate_dim=settings.truncate_dim,
        normalize=settings.normalize,
        device=settings.device,
        bf16=_is_bf16(settings),
    )
    encoded = _encode_columns(settings, embedder) if settings.columns else _encode_lines(settings, embedder)
    if encoded.empty:
        log(f"{encoded.empty} empty line{'s' if encoded.empty > 1 else ''}: embedded to zeros")
    return encoded


def _is_bf16(settings: EncodeSettings) -> bool:
    if settings.precision == "fp32":
        return False
    from ..training.devices import is_bf16

    return is_bf16(settings.precision, settings.device)


def _encode_columns(settings: EncodeSettings, embedder: SentenceEmbedder) -> Encoded:
    from .encode_folder import encode_folder

    path, results = encode_folder(settings, embedder)
    encoded = Encoded(path, results.get("rows", 0), results["dimension"], results.get("empty", 0))
    if "rows" in results:
        log(f"{encoded.rows} rows with embeddings of {encoded.dimension} components saved to {settings.output}")
    return encoded


def _encode_lines(settings: EncodeSettings, embedder: SentenceEmbedder) -> Encoded:
    from .search.vector_file import NpyWriter
    from .sentence_embedder import empty_texts

    empty = size = 0
    with output_file(str(settings.output), overwrite=settings.overwrite) as output:
        dimension = embedder.encoder.dimension
        is_piped = settings.input == STANDARD_INPUT
        blocks = lines_of_standard_input() if is_piped else lines_of_file(Path(settings.input))
        with NpyWriter(output, dimension) as writer, ExitStack() as stack:
            progress: Any = None
            for lines in blocks:
                if writer.rows and progress is None:
                    # What one block of lines takes is not worth the import.
                    from tqdm.auto import tqdm

                    progress = stack.enter_context(tqdm(unit=" lines", desc="encode", initial=writer.rows))
                writer.write(embedder.vectors(lines))
                empty += empty_texts(lines)
                size += sum(len(line.encode()) + 1 for line in lines)
                if progress is not None:
                    progress.total = None if is_piped else estimated_lines(Path(settings.input), writer.rows, size)
                    progress.update(len(lines))
            if progress is not None:
                progress.total = progress.n
    log(f"{writer.rows} embeddings of {dimension} components saved to {settings.output}. Open them with np.load.")
    return Encoded(output, writer.rows, dimension, empty)
