"""The settings of the verb `encode`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..artefacts.hub_models import BUILTIN
from ..data.text_blocks import PLAIN_OR_COMPRESSED
from ..errors import UsageError
from ..jobs.shard_settings import ShardSettings, shard_size_setting
from ..messages import STREAM_COPIES
from ..settings import setting
from ..training.devices import DeviceSettings

STANDARD_INPUT = "-"


@dataclass(kw_only=True)
class EncodeSettings(ShardSettings, DeviceSettings):
    """Embed the lines of a text file, one sentence a line, as the rows of a NumPy file (float32).

    With --columns embed those of a data folder; the output is one too, with COLUMN_embedding for each.
    """

    model: str = setting(
        "folder of a sentence encoder, as train-encoder and train-sdae make it, or namespace/name of one on the Hub; "
        "builtin is the one that is installed with this package",
        BUILTIN,
        path=True,
    )
    input: str = setting(
        f"text file, one sentence a line, {PLAIN_OR_COMPRESSED}; - reads standard input; with --columns a data "
        "folder, or its address, e.g. s3://bucket/folder",
        path=True,
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
            if self.input == STANDARD_INPUT or self.input in STREAM_COPIES:
                raise UsageError(
                    "standard input and other streams have no name to put .npy behind", remedy="give --output"
                )
            self.output = f"{self.input}.npy"
        if Path(self.output).suffix != ".npy":
            raise UsageError("--output must end in .npy", path=self.output, remedy="name a NumPy file")
