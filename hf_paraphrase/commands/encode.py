"""`encode`: lines of text to a NumPy file of sentence embeddings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data.sentences import lines_of_file, lines_of_standard_input
from ..data.text_files import PLAIN_OR_COMPRESSED
from ..encoders.devices import check_device, device_setting
from ..encoders.search.vector_file import NpyWriter
from ..errors import InputError, OutputError, UsageError
from ..messages import say
from ..settings import setting
from .arguments import parse


@dataclass
class Arguments:
    """Embed the lines of a text file, one sentence a line, as the rows of a NumPy file (float32)."""

    model: str = setting(
        "folder of a sentence encoder, as train-encoder and train-sdae make it, or namespace/name of one on the Hub"
    )
    input: str = setting(f"text file, one sentence a line, {PLAIN_OR_COMPRESSED}; - reads standard input")
    output: str = setting("the .npy file to write; it appears whole or not at all")
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256)
    normalize: bool = setting("divide each embedding by its Euclidean norm", False)
    device: str = device_setting()
    overwrite: bool = setting("replace an existing output file", False)


def main(argv: Sequence[str]) -> None:
    """Runs `encode`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For a missing, empty or malformed input file.
        OutputError: If the output exists or cannot be written.
        ModelError: If the model folder is not a sentence encoder.
    """
    arguments = parse(Arguments, "encode", argv)
    if arguments.batch_size < 1:
        raise UsageError(f"--batch-size must be at least 1, not {arguments.batch_size}")
    device = check_device(arguments.device)
    output = check_file(Path(arguments.output), overwrite=arguments.overwrite)
    if arguments.input != "-" and not Path(arguments.input).exists():
        raise InputError("no such file", path=arguments.input, remedy="check --input")

    from tqdm.auto import tqdm

    from ..encoders.sentence_encoder import SentenceEncoder

    encoder = SentenceEncoder.from_pretrained(arguments.model, device=device)
    empty = 0
    with (
        NpyWriter(output, encoder.dimension) as writer,
        tqdm(unit=" lines", desc="encode", file=sys.stderr) as progress,
    ):
        for lines in lines_of_standard_input() if arguments.input == "-" else lines_of_file(Path(arguments.input)):
            writer.write(encoder.encode(lines, batch_size=arguments.batch_size, normalize=arguments.normalize))
            empty += sum(not line.strip() for line in lines)
            progress.update(len(lines))
    if empty:
        say(f"{empty} empty line{'s' if empty > 1 else ''}: embedded to zeros")
    say(f"{writer.rows} embeddings of {encoder.dimension} components lie in {output}; np.load opens them")


def check_file(output: Path, *, overwrite: bool) -> Path:
    """Refuses an output file that would destroy something or that NumPy would not find under this name.

    Raises:
        OutputError: If it is a folder, or exists and `overwrite` is false.
        UsageError: If its name does not end in .npy.
    """
    if output.suffix != ".npy":
        raise UsageError("--output must end in .npy", path=output, remedy="name a NumPy file")
    if output.is_dir():
        raise OutputError("the output is a folder, not a file", path=output, remedy="name a .npy file")
    if output.exists() and not overwrite:
        raise OutputError("the output exists", path=output, remedy="give another --output, or --overwrite")
    return output
