"""Five corpora with a file layout of their own: MSRP, PPDB, SimpWiki, the transfer sets of SentEval, and Turku.

* MSRP (Dolan, Quirk and Brockett 2004) has a header, no quoting, and quotes that open and never close.
* PPDB comes in versions 1.0 and 2.0, in packs of several sizes.
* SimpWiki 2.0 (Coster and Kauchak 2011) aligns English and Simple English Wikipedia line by line.
* The transfer sets (Conneau and Kiela 2018) have one sentence per line and one file per class. TREC has
  `CLASS:subclass question`, in Latin-1.
* The Turku Paraphrase Corpus (Kanerva et al. 2021) is JSON lists, which are read whole. Errors name the position of
  an entry in its list, from 1. `opus_parsebank` has the pairs drawn from OPUS and the Parsebank, `sample` their
  annotated sample (TSV), and `rewrites` the pairs as the annotators rewrote them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, UsageError
from ...settings import setting
from ..records import json_objects, read_objects
from ..schema import PAIRS, with_column
from ..text_blocks import PLAIN_OR_COMPRESSED, LineErrors, clean_returns, read_blocks
from ..text_files import Field, count_fields, read_aligned_tables, read_lines, read_tables, typed
from .rows import fitted
from .source import LineErrorSettings, Part, Source, TrainingSettings, find_files, folder_setting

_MSRP_FIELDS = (
    Field("label", pa.int64(), low=0, high=1),
    Field("id1", pattern="[0-9]+", example="702876"),
    Field("id2", pattern="[0-9]+", example="702977"),
    Field("sentence1"),
    Field("sentence2"),
)
_MSRP_COLUMNS = ("sentence1", "sentence2", "label", "id1", "id2")
MSRP = pa.schema([(name, pa.int64() if name == "label" else pa.string()) for name in _MSRP_COLUMNS])
_MSRP_FILES = {"train": "msr_paraphrase_train.txt", "test": "msr_paraphrase_test.txt"}


@dataclass(kw_only=True)
class MsrpSource(Source, LineErrorSettings):
    """Make a data folder of the Microsoft Research Paraphrase Corpus."""

    SUMMARY: ClassVar[str] = "Microsoft Research Paraphrase Corpus: labelled pairs"
    TITLE: ClassVar[str] = "Microsoft Research Paraphrase Corpus"
    URL: ClassVar[str] = "https://www.microsoft.com/en-us/download/details.aspx?id=52398"
    TASKS: ClassVar[tuple[str, ...]] = ("text-classification",)
    TEMPLATE: ClassVar[str] = "msrp"

    data_dir: str = folder_setting("msr_paraphrase_train.txt and msr_paraphrase_test.txt")

    def parts(self) -> list[Part]:
        """List the splits whose files exist."""
        return [
            Part(split, MSRP, [path], partial(read_tables, path, _MSRP_FIELDS, header_lines=1))
            for split, path in find_files(self.data_dir, _MSRP_FILES).items()
        ]


_PPDB_SEPARATOR = " ||| "
PPDB = pa.schema([*PAIRS, *((name, pa.string()) for name in ("lhs", "features", "alignment", "entailment"))])


@dataclass(kw_only=True)
class PpdbSource(Source, TrainingSettings):
    """Make a data folder of PPDB 1.0 or 2.0, any pack and size."""

    SUMMARY: ClassVar[str] = "PPDB 1.0 and 2.0, the paraphrase database"
    TITLE: ClassVar[str] = "PPDB: The Paraphrase Database"
    LICENSE: ClassVar[str] = "cc-by-3.0"
    URL: ClassVar[str] = "http://paraphrase.org/"
    TEMPLATE: ClassVar[str] = "ppdb"

    file: list[str] = setting(f"one or more files, {PLAIN_OR_COMPRESSED}, read in their order", path=True)
    lang: str = setting("language code of the phrases", "en", names=["--lang", "--language"])

    def parts(self) -> list[Part]:
        """Return the part `train`."""
        if not self.file:
            raise UsageError("no --file", remedy="name one or more files of PPDB")
        files = tuple(map(Path, self.file))
        return [Part("train", PPDB, files, partial(_read_ppdb, files), training=True)]


def _read_ppdb(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Read `[LHS] ||| phrase ||| paraphrase ||| features ||| alignment`, and in 2.0 ` ||| entailment`."""
    for path in files:
        first_line = 1
        for lines in read_lines(path, errors):
            counts = count_fields(lines, _PPDB_SEPARATOR)
            good = (counts == 5) | (counts == 6)
            for row in np.flatnonzero(~good & (counts > 0)):
                problem = f"{counts[row]} fields where 5 or 6 separated by `{_PPDB_SEPARATOR.strip()}` are expected"
                errors.handle(problem, path, first_line + int(row), "fix the line, or download the file again")
            first_line += len(lines)
            fields = pc.split_pattern(lines.filter(pa.array(good)), _PPDB_SEPARATOR)
            lhs, first, second, features, alignment = (pc.list_element(fields, index) for index in range(5))
            entailment = pc.list_element(pc.list_slice(fields, 5, 6, return_fixed_size_list=True), 0)
            sides = (pc.utf8_trim_whitespace(side) for side in (first, second))
            yield pa.table([*sides, lhs, features, alignment, entailment], schema=PPDB)


SIMPWIKI = pa.schema(
    [(name, pa.string()) for name in ("id", "sentence1", "sentence2", "title")]
    + [(name, pa.int64()) for name in ("paragraph1", "paragraph2")]
)


@dataclass(kw_only=True)
class SimpwikiSource(Source, TrainingSettings):
    """Make a data folder of SimpWiki 2.0 (Coster and Kauchak 2011)."""

    SUMMARY: ClassVar[str] = "aligned sentences of English and Simple English Wikipedia"
    TITLE: ClassVar[str] = "SimpWiki: English and Simple English Wikipedia"
    LICENSE: ClassVar[str] = "cc-by-sa-3.0"
    URL: ClassVar[str] = "https://cs.pomona.edu/~dkauchak/simplification/"
    TEMPLATE: ClassVar[str] = "simpwiki"

    normal: str = setting("`normal.aligned`: title, paragraph number and sentence, tab-separated", path=True)
    simple: str = setting("`simple.aligned`, line by line", path=True)

    def parts(self) -> list[Part]:
        """Return the part `train`."""
        files = [Path(self.normal), Path(self.simple)]
        if files[0].resolve() == files[1].resolve():
            raise UsageError("--normal and --simple are the same file", path=files[0], remedy="give both sides")
        return [Part("train", SIMPWIKI, files, partial(_read_simpwiki, files), training=True)]


def _read_simpwiki(files: list[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Stream titles, paragraphs and sentences; the titles of the two sides must be the same."""
    sides = [("title", "paragraph1", "sentence1"), ("title2", "paragraph2", "sentence2")]
    fields = [[Field(title), Field(number, pa.int64()), Field(text)] for title, number, text in sides]
    for lines, table in read_aligned_tables(files, fields, errors, "fix the line in both files"):
        titles = [table.column(name).to_pylist() for name in ("title", "title2")]
        for line, one, other in zip(lines.tolist(), *titles, strict=True):
            if one != other:
                errors.handle(f"title `{other}`, but `{one}` on the other side", files[1], line, "fix both files")
        same = pc.equal(table.column("title"), table.column("title2"))
        line_number = pc.utf8_lpad(pa.array(lines).cast(pa.string()), width=6, padding="0")
        table = with_column(table, "id", pc.binary_join_element_wise("simpwiki", line_number, "-"))
        yield table.filter(same)


TRANSFER = pa.schema([("text", pa.string()), ("label", pa.int64())])
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
                parts.append(Part("train", TRANSFER, present, read, name, texts=(), class_names=classes))
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
            yield pa.table([texts, pa.repeat(pa.scalar(label, pa.int64()), len(texts))], schema=TRANSFER)


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


_TURKU_FIELDS = {
    "sentence1": Field("sentence1", pattern="(?s).*", example="text"),
    "sentence2": Field("sentence2", pattern="(?s).*", example="text"),
    "grade": Field("grade", pattern=r"[1-4][<>is]*|x", example="2, 4, 4>i"),
    "source": Field("source"),
    "lexical_similarity": Field("lexical_similarity", pa.float64(), may_be_null=True),
    "fold": Field("fold", pa.int64(), may_be_null=True),
    "document": Field("document"),
}
_TURKU_KEYS = {
    "sentence1": "txt1", "sentence2": "txt2", "grade": "label", "source": "source",
    "lexical_similarity": "lex-similarity", "fold": "fold", "document": "goeswith",
}  # fmt: skip
"""What the columns are called in the files."""
_TURKU_COLUMNS = [(name, field.kind) for name, field in _TURKU_FIELDS.items()]
TURKU = pa.schema([*_TURKU_COLUMNS[:2], ("score", pa.float64()), *_TURKU_COLUMNS[2:]])
"""`score` is the grade without its flags, 1 to 4; what a file does not tell is null."""
TURKU_REWRITES = pa.schema([*_TURKU_COLUMNS[:2], *_TURKU_COLUMNS[5:]])
_TURKU_FILES = {
    "default/train": "train.json",
    "default/validation": "dev.json",
    "default/test": "test.json",
    "opus_parsebank/validation": "opus-pb-dev.json",
    "opus_parsebank/test": "opus-pb-test.json",
    "sample/train": "opus-parsebank-sample-annotated.tsv",
}
_TURKU_REMEDY = "fix the file, or download it again"


@dataclass(kw_only=True)
class TurkuSource(Source, LineErrorSettings):
    """Make a data folder of the Turku Paraphrase Corpus (Kanerva et al. 2021): Finnish, or the Swedish test set."""

    SUMMARY: ClassVar[str] = "Turku Paraphrase Corpus, Finnish: pairs graded 1 to 4"
    TITLE: ClassVar[str] = "Turku Paraphrase Corpus"
    LICENSE: ClassVar[str] = "cc-by-sa-4.0"
    URL: ClassVar[str] = "https://github.com/TurkuNLP/Turku-paraphrase-corpus"
    TEMPLATE: ClassVar[str] = "turku"

    data_dir: str = folder_setting(
        "train.json, dev.json, test.json, opus-pb-dev.json and opus-parsebank-sample-annotated.tsv, or some of them, "
        "plain or compressed"
    )
    lang: str = setting("the language", "fi", choices=["fi", "sv"], names=["--lang", "--language"])
    rewrites: bool = setting(
        "also make the configuration `rewrites` of the pairs as the annotators rewrote them", False
    )

    def parts(self) -> list[Part]:
        """List the splits whose files exist."""
        parts, rewrites = [], []
        for key, path in find_files(self.data_dir, _TURKU_FILES).items():
            configuration, split = key.split("/")
            parts.append(Part(split, TURKU, [path], partial(_read_turku, path, configuration), configuration))
            if configuration == "default" and self.rewrites:
                read = partial(_read_rewrites, path)
                rewrites.append(Part(split, TURKU_REWRITES, [path], read, "rewrites", may_be_empty=True))
        return parts + rewrites


def _read_turku(path: Path, configuration: str, errors: LineErrors) -> Iterator[pa.Table]:
    """Read pairs with the score of their grade, and drop pairs without a grade."""
    if configuration == "sample":
        fields = [_TURKU_FIELDS[name] for name in ("grade", "source", "lexical_similarity", "sentence1", "sentence2")]
        tables = read_tables(path, fields, errors, header_lines=1, remedy=_TURKU_REMEDY)
    else:
        tables = _turku_tables(json_objects(path, errors), path, list(_TURKU_FIELDS), errors)
    for table in tables:
        graded = table.filter(pc.not_equal(table.column("grade"), "x"))
        errors.left_out["no_grade"] += table.num_rows - graded.num_rows
        score = pc.utf8_slice_codeunits(graded.column("grade"), 0, 1).cast(pa.float64())
        yield fitted(graded.append_column("score", score), TURKU)


def _read_rewrites(path: Path, errors: LineErrors) -> Iterator[pa.Table]:
    def pairs() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for position, entry in json_objects(path, errors):
            rewrites = entry.get("rewrites") or []
            if isinstance(rewrites, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in rewrites):
                yield from ((position, {**entry, "txt1": first, "txt2": second}) for first, second in rewrites)
            else:
                errors.handle(f"item {position}: rewrites are not pairs of texts", path, position, _TURKU_REMEDY)

    return _turku_tables(pairs(), path, TURKU_REWRITES.names, errors)


def _turku_tables(
    items: Iterator[tuple[int, Mapping[str, Any]]], path: Path, columns: list[str], errors: LineErrors
) -> Iterator[pa.Table]:
    names = {name: _TURKU_KEYS[name] for name in columns}
    blocks = read_objects(items, path, names, errors)
    return (
        table for _, table in typed(blocks, [_TURKU_FIELDS[name] for name in columns], path, errors, _TURKU_REMEDY)
    )
