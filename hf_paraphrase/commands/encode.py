"""`encode`: lines of text to a NumPy file of sentence embeddings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data.text_files import PLAIN_OR_COMPRESSED, LineErrors, read_lines
from ..encoders.vector_file import NpyWriter
from ..errors import InputError, OutputError, UsageError
from ..messages import say
from ..settings import setting
from .arguments import parse
from .devices import check_device, device_argument

_BLOCK_LINES = 20_000


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
    device: str = device_argument()
    overwrite: bool = setting("replace an existing output file", False)


class StrictLines(LineErrors):
    """A line that is not UTF-8 ends the work: leaving it out would shift the rows against the lines."""

    def meet(self, text: str, path: Path, line: int, remedy: str) -> None:
        """Raises for a malformed line.

        Raises:
            InputError: Always.
        """
        raise InputError(text, path=path, line=line, remedy=remedy)


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
        for lines in standard_input() if arguments.input == "-" else blocks(Path(arguments.input)):
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


def blocks(source: Path) -> Iterator[list[str]]:
    """Streams the lines of a file in lists of at most 20,000.

    Raises:
        InputError: As :func:`~hf_paraphrase.data.text_files.read_lines`.
    """
    for array in read_lines(source, StrictLines()):
        for start in range(0, len(array), _BLOCK_LINES):
            yield array.slice(start, _BLOCK_LINES).to_pylist()


def standard_input() -> Iterator[list[str]]:
    """Streams the lines of standard input in lists of at most 20,000, by the rules that hold for files.

    Raises:
        InputError: If it is empty or not UTF-8.
    """
    lines: list[str] = []
    number = 0
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"not UTF-8: byte 0x{raw[error.start]:02x}", path="standard input", line=number, remedy="convert it"
            ) from error
        lines.append(line.removesuffix("\n").removesuffix("\r"))
        if len(lines) == _BLOCK_LINES:
            yield lines
            lines = []
    if not number:
        raise InputError("it is empty", path="standard input", remedy="give one sentence a line")
    if lines:
        yield lines
