"""The transfer sets of SentEval (MR, CR, SUBJ, MPQA, TREC), one configuration a set (Conneau and Kiela 2018).

One sentence a line, a file a class; TREC has `CLASS:subclass question`, in Latin-1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ..text_blocks import clean_returns, read_blocks
from ..text_files import LineErrors, read_lines
from .source import LineErrorSettings, Part, Source, find_files, folder_setting

BINARY = pa.schema([("text", pa.string()), ("label", pa.int64())])
TREC = pa.schema([("text", pa.string()), ("label", pa.int64()), ("fine_label", pa.string())])
QUESTION_TYPES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")

_BINARY_FILES = {
    "mr": {"negative": "rt-polarity.neg", "positive": "rt-polarity.pos"},
    "cr": {"negative": "custrev.neg", "positive": "custrev.pos"},
    "subj": {"objective": "subj.objective", "subjective": "subj.subjective"},
    "mpqa": {"negative": "mpqa.neg", "positive": "mpqa.pos"},
}
_TREC_FILES = {"train": "train_5500.label", "test": "TREC_10.label"}


@dataclass(kw_only=True)
class TransferSource(Source, LineErrorSettings):
    """Make a data folder of MR, CR, SUBJ, MPQA and TREC, one configuration per set."""

    SUMMARY: ClassVar[str] = "transfer sets of SentEval: MR, CR, SUBJ, MPQA, TREC"
    TITLE: ClassVar[str] = "SentEval transfer sets"
    URL: ClassVar[str] = "https://github.com/facebookresearch/SentEval"
    TASKS: ClassVar[tuple[str, ...]] = ("text-classification",)
    TAGS: ClassVar[tuple[str, ...]] = ("sentence-embeddings",)
    TEMPLATE: ClassVar[str] = "transfer"

    data_dir: str = folder_setting("rt-polarity.pos, custrev.pos, TREC_10.label and so on")

    def parts(self) -> list[Part]:
        """List the sets whose files exist; a set with one class only is an error."""
        names = [file for files in (*_BINARY_FILES.values(), _TREC_FILES) for file in files.values()]
        paths = find_files(self.data_dir, {name: name for name in names})
        parts = []
        for name, files in _BINARY_FILES.items():
            present = [paths[file] for file in files.values() if file in paths]
            if len(present) == 1:
                missing = next(file for file in files.values() if file not in paths)
                remedy = f"{name.upper()} needs a file for each class"
                raise InputError(f"{missing} is not there", path=present[0], remedy=remedy)
            if present:
                classes = {"label": tuple(files)}
                # Blank lines count: the published sizes have them.
                read = partial(_read_classes, present)
                parts.append(Part("train", BINARY, present, read, name, texts=(), class_names=classes))
        classes = {"label": QUESTION_TYPES}
        for split, file in _TREC_FILES.items():
            if file in paths:
                read = partial(_read_questions, paths[file])
                parts.append(Part(split, TREC, [paths[file]], read, "trec", texts=("text",), class_names=classes))
        return parts


def _read_classes(paths: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    for label, path in enumerate(paths):
        for lines in read_lines(path, errors):
            texts = lines.drop_null()
            yield pa.table([texts, pa.repeat(pa.scalar(label, pa.int64()), len(texts))], schema=BINARY)


def _read_questions(path: Path, errors: LineErrors) -> Iterator[pa.Table]:
    lines = clean_returns(b"".join(read_blocks(path)).decode("latin-1")).removesuffix("\n").split("\n")
    fields = pc.extract_regex(pa.array(lines), r"(?s)^(?P<coarse>[A-Z]+):(?P<fine>[A-Za-z]+) (?P<text>.+)$")
    text, coarse, fine = (pc.struct_field(fields, name) for name in ("text", "coarse", "fine"))
    label = pc.index_in(coarse, pa.array(QUESTION_TYPES)).cast(pa.int64())
    good = label.is_valid()
    remedy = f"expected e.g. `NUM:dist How far …`, with one of {', '.join(QUESTION_TYPES)}"
    for row in np.flatnonzero(~good.to_numpy(zero_copy_only=False)):
        errors.handle("not a question with its type", path, int(row) + 1, remedy)
    yield pa.table([text, label, fine], schema=TREC).filter(good)
