"""The recipe of the verb `encode`: lines of text in, a NumPy file of sentence embeddings out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts.hub_models import BUILTIN
from ..artefacts.whole_files import output_file
from ..data.sentences import estimated_lines, lines_of_file, lines_of_standard_input
from ..data.text_blocks import PLAIN_OR_COMPRESSED
from ..errors import InputError, UsageError
from ..messages import say
from ..settings import Settings, recipe, setting
from ..streams import is_stream_copy
from .devices import check_device, device_setting

STANDARD_INPUT = "-"


@dataclass(kw_only=True)
class EncodeSettings(Settings):
    """Embed the lines of a text file, one sentence a line, as the rows of a NumPy file (float32)."""

    model: str = setting(
        "folder of a sentence encoder, as train-encoder and train-sdae make it, or namespace/name of one on the Hub; "
        "builtin is the one that is installed with this package",
        BUILTIN,
    )
    input: str = setting(f"text file, one sentence a line, {PLAIN_OR_COMPRESSED}; - reads standard input")
    output: str | None = setting(
        "the .npy file to write; it appears whole or not at all [default: the name of the input with .npy behind it]",
        None,
    )
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    truncate_dim: int | None = setting(
        "keep the first so many components of each embedding, which is for encoders that were trained for it; "
        "--normalize comes after it",
        None,
        at_least=1,
    )
    normalize: bool = setting("divide each embedding by its Euclidean norm", False)
    device: str = device_setting()
    overwrite: bool = setting("replace an existing output file", False)

    def check(self) -> None:
        """Refuses values that do not fit.

        Raises:
            UsageError: For a value out of range, a device that is not here, and a name that NumPy would not find.
        """
        super().check()
        check_device(self.device)
        if self.output is None:
            if self.input == STANDARD_INPUT or is_stream_copy(self.input):
                raise UsageError(
                    "standard input and other streams have no name to put .npy behind", remedy="give --output"
                )
            self.output = f"{self.input}.npy"
        if Path(self.output).suffix != ".npy":
            raise UsageError("--output must end in .npy", path=self.output, remedy="name a NumPy file")


@dataclass(frozen=True)
class Encoded:
    """What was embedded.

    Attributes:
        path: The NumPy file, which `np.load` opens: float32 (rows, dimension).
        rows: How many lines there were.
        dimension: The number of components of an embedding.
        empty: How many of the lines were empty; they are embedded to zeros.
    """

    path: Path
    rows: int
    dimension: int
    empty: int


@recipe(EncodeSettings)
def encode(settings: EncodeSettings) -> Encoded:
    """Embeds the lines of a text file.

    Returns:
        The file that was made, and what is in it.

    Raises:
        UsageError: For settings that do not fit, or embeddings that cannot be truncated so.
        InputError: For a missing, empty or malformed input file.
        OutputError: If the output exists or cannot be written.
        ModelError: If the model folder is not a sentence encoder.
    """
    if settings.input != STANDARD_INPUT and not Path(settings.input).exists():
        raise InputError("no such file", path=settings.input, remedy="check --input")

    from .search.vector_file import NpyWriter
    from .sentence_embedder import SentenceEmbedder, empty_texts

    embedder = SentenceEmbedder(
        settings.model,
        batch_size=settings.batch_size,
        truncate_dim=settings.truncate_dim,
        normalize=settings.normalize,
        device=settings.device,
    )
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
    if empty:
        say(f"{empty} empty line{'s' if empty > 1 else ''}: embedded to zeros")
    say(f"{writer.rows} embeddings of {dimension} components lie in {output}; np.load opens them")
    return Encoded(output, writer.rows, dimension, empty)
