"""The vectors of two collections by one encoder, or by one for each language with a common space."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tqdm.auto import tqdm

from ...encoders.search.vector_file import NpyWriter, VectorFile
from ...errors import InputError, UsageError
from ...settings import Settings, setting
from .collections import Collection

if TYPE_CHECKING:
    from ...encoders.known_texts import KnownTexts

_SENTENCES_AT_A_TIME = 16_384


@dataclass(frozen=True)
class EncoderFolders:
    """The folders of the encoders of both sides."""

    source: str
    target: str

    @classmethod
    def of(cls, both: str | None, source: str | None, target: str | None, flag: str) -> EncoderFolders | None:
        """Makes sense of three flags: `--encoder`, or `--source-encoder` with `--target-encoder`.

        Returns:
            The folders; None if none was given.
        """
        if both is not None and source is None and target is None:
            return cls(both, both)
        if both is None and source is not None and target is not None:
            return cls(source, target)
        if both is None and source is None and target is None:
            return None
        raise UsageError(
            f"give either --{flag}, or --source-{flag} and --target-{flag}", remedy="one encoder, or one a side"
        )

    @classmethod
    def parse(cls, text: str) -> EncoderFolders:
        """Reads `DIR` or `SOURCE_DIR:TARGET_DIR`."""
        if ":" in text and not os.path.isdir(text):  # noqa: PTH112
            source, _, target = text.partition(":")
            return cls(source, target)
        return cls(text, text)

    @property
    def names(self) -> str:
        """How the encoders are called in a table: the name of the folder, or of the one that contains both."""
        one, two = Path(self.source).resolve(), Path(self.target).resolve()
        return one.name if one == two or one.parent != two.parent else one.parent.name

    @property
    def folders(self) -> list[str]:
        """The folders, each once."""
        return list(dict.fromkeys([self.source, self.target]))


@dataclass(kw_only=True)
class FilterEncoderSettings(Settings):
    """The encoders that find candidates."""

    encoder: str | None = setting(
        "folder of an encoder of both languages, which finds the candidates", None, path=True
    )
    source_encoder: str | None = setting(
        "with --target-encoder: folder of an encoder of the source language", None, path=True
    )
    target_encoder: str | None = setting(
        "folder of an encoder of the target language, in the same space", None, path=True
    )

    def filter_encoders(self) -> EncoderFolders:
        """Returns their folders."""
        encoders = EncoderFolders.of(self.encoder, self.source_encoder, self.target_encoder, "encoder")
        if encoders is None:
            raise UsageError(
                "candidates need an encoder", remedy="give --encoder, or --source-encoder and --target-encoder"
            )
        return encoders


@dataclass(frozen=True)
class EncodedSides:
    """The vectors of both collections, of length 1, or 0 for a sentence without a word in the encoder's vocabulary.

    Attributes:
        source: (sources, dim).
        target: (targets, dim).
    """

    source: VectorFile
    target: VectorFile


def encode_sides(
    encoders: EncoderFolders,
    collections: Sequence[Collection],
    folder: Path,
    name: str,
    *,
    batch_size: int = 256,
    device: str | None = None,
    show_progress_bar: bool = False,
) -> EncodedSides:
    """Encodes both collections into files; one that is there is taken as it is."""
    from ...encoders.known_texts import KnownTexts
    from ...encoders.sentence_encoder import SentenceEncoder

    opened = {path: KnownTexts(SentenceEncoder.from_pretrained(path, device=device)) for path in encoders.folders}
    texts = [opened[path] for path in (encoders.source, encoders.target)]
    dimensions = [item.encoder.dimension for item in texts]
    if dimensions[0] != dimensions[1]:
        raise InputError(
            f"vectors of {dimensions[1]} components, those of the source side have {dimensions[0]}",
            path=encoders.target,
            remedy="give two encoders that were trained together",
        )
    files = []
    for side, encoder, collection in zip(("source", "target"), texts, collections, strict=True):
        path = folder / f"{name}-{side}.npy"
        if not path.is_file():
            _encode(encoder, collection, path, batch_size, show_progress_bar)
        files.append(VectorFile(path))
        if files[-1].shape != (len(collection), dimensions[0]):
            raise InputError("vectors of another input", path=path, remedy="start from scratch with --overwrite")
    return EncodedSides(*files)


def _encode(encoder: KnownTexts, collection: Collection, path: Path, batch_size: int, show_progress_bar: bool) -> None:
    has_vectors = False
    with (
        NpyWriter(path, encoder.encoder.dimension) as writer,
        tqdm(
            total=len(collection),
            unit=" sentences",
            desc=f"encode {path.stem}",
            disable=not show_progress_bar or None,
        ) as progress,
    ):
        for start in range(0, len(collection), _SENTENCES_AT_A_TIME):
            vectors = encoder.embed(collection.sentences[start : start + _SENTENCES_AT_A_TIME], batch_size=batch_size)
            if not np.isfinite(vectors).all():
                raise InputError("the encoder gives vectors with NaN or infinity", path=collection.path)
            has_vectors = has_vectors or bool(vectors.any())
            writer.write(vectors)
            progress.update(len(vectors))
        if not has_vectors:
            raise InputError(
                "none of the words is in the encoder's vocabulary",
                path=collection.path,
                remedy="give an encoder for their language; source and target may have been exchanged",
            )
