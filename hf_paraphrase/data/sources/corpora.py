"""Corpora with a file layout of their own: MSRP, PPDB, SimpWiki, the transfer sets, Turku, and Opusparcus.

* MSRP (Dolan, Quirk and Brockett 2004) has a header, no quoting, and quotes that open and never close.
* PPDB comes in versions 1.0 and 2.0, in packs of several sizes.
* SimpWiki 2.0 (Coster and Kauchak 2011) aligns English and Simple English Wikipedia line by line.
* The transfer sets (Conneau and Kiela 2018) have one sentence per line and one file per class. TREC has
  `CLASS:subclass question`, in Latin-1.
* The Turku Paraphrase Corpus (Kanerva et al. 2021) consists of JSON lists, which are read whole. Errors name the
  position of an entry in its list, from 1. The configuration `opus_parsebank` has the pairs drawn from OPUS and the
  Parsebank, `sample` their annotated sample (TSV), and `rewrites` the pairs as the annotators rewrote them.
* Opusparcus 1.0 (Creutz 2018) has subtitles. Training pairs that are also development or test pairs, in either order,
  are left out and counted; `--decontaminate` also compares single sentences of four words or more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, UsageError
from ...settings import setting
from ...text.hashing import are_among, hash_rows
from ..readers import json_objects
from ..schema import PAIRS, with_column
from ..text_blocks import PLAIN_OR_COMPRESSED, LineErrors, clean_returns, read_blocks
from ..text_files import Field, blocks_of, count_fields, read_aligned_tables, read_lines, read_tables, typed
from .rows import fitted
from .source import LineErrorSettings, Part, Read, Source, TrainingSettings, find_files, folder_setting

_MSRP_FIELDS = (
    Field("label", pa.int64(), low=0, high=1),
    Field("id1", pattern="[0-9]+", example="702876"),
    Field("id2", pattern="[0-9]+", example="702977"),
    Field("sentence1"),
    Field("sentence2"),
)
MSRP = pa.schema([*PAIRS, ("label", pa.int64()), ("id1", pa.string()), ("id2", pa.string())])
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
            sides = map(pc.utf8_trim_whitespace, (first, second))
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
            raise UsageError("--normal and --simple are the same file", path=files[0], remedy="give two files")
        return [Part("train", SIMPWIKI, files, partial(_read_simpwiki, files), training=True)]


def _read_simpwiki(files: list[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Stream titles, paragraphs and sentences; aligned lines of both files must have the same title."""
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
                raise InputError(f"{missing} is missing", path=present[0], remedy=remedy)
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
    "txt1": Field("sentence1", pattern="(?s).*", example="text"),
    "txt2": Field("sentence2", pattern="(?s).*", example="text"),
    "label": Field("grade", pattern=r"[1-4][<>is]*|x", example="2, 4, 4>i"),
    "source": Field("source"),
    "lex-similarity": Field("lexical_similarity", pa.float64(), may_be_null=True),
    "fold": Field("fold", pa.int64(), may_be_null=True),
    "goeswith": Field("document"),
}
"""The columns by their names in the files."""
_TURKU_COLUMNS = [(field.name, field.kind) for field in _TURKU_FIELDS.values()]
TURKU = pa.schema([*_TURKU_COLUMNS[:2], ("score", pa.float64()), *_TURKU_COLUMNS[2:]])
"""`score` is the grade without its flags, 1 to 4; a missing value is null."""
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
        fields = [_TURKU_FIELDS[key] for key in ("label", "source", "lex-similarity", "txt1", "txt2")]
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

    return _turku_tables(pairs(), path, ["txt1", "txt2", "fold", "goeswith"], errors)


def _turku_tables(
    entries: Iterable[tuple[int, Mapping[str, Any]]], path: Path, keys: Sequence[str], errors: LineErrors
) -> Iterator[pa.Table]:
    """Stream typed tables of numbered objects; a list or object is null, and so is a sentence that is not text."""

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        for position, entry in entries:
            texts: list[str | None] = []
            for key in keys:
                value = entry.get(key)
                is_number = isinstance(value, int | float) and not key.startswith("txt")
                texts.append(value if isinstance(value, str) else json.dumps(value) if is_number else None)
            try:
                "".join(filter(None, texts)).encode()
            except UnicodeEncodeError:
                problem = "a text has a lone surrogate, which is not a valid character"
                errors.handle(problem, path, position, _TURKU_REMEDY)
            else:
                yield position, texts

    fields = [_TURKU_FIELDS[key] for key in keys]
    blocks = blocks_of([field.name for field in fields], rows())
    return (table for _, table in typed(blocks, fields, path, errors, _TURKU_REMEDY))


_RANKING_NAMES = ("pmi", "expected_alignments", "num_pivot_languages", "edit_distance")
_RANKING = [Field(name, pa.int64() if name.startswith("num") else pa.float64()) for name in _RANKING_NAMES]
OPUSPARCUS = pa.schema(
    [(name, pa.string()) for name in ("id", "sentence1", "sentence2", "lang")]
    + [(field.name, field.kind) for field in _RANKING]
    + [("score", pa.float64()), ("label", pa.int64())]
)
"""Training pairs have the four ranking columns, annotated pairs `score` and `label`; missing values are null."""

UNDECIDED = 2.5
"""The mean score of a pair that only one of two annotators accepts as a paraphrase."""

_OPUSPARCUS_FILES = {"train": "{0}-train.txt", "validation": "{0}-dev.txt", "test": "{0}-test.txt"}
_LETTERS = {"train": "N", "validation": "D", "test": "T"}

PUBLISHED = {
    "de": {90: 1_000_000, 80: 4_000_000, 70: 6_000_000, 60: 12_000_000},
    "en": {97: 1_000_000, 80: 5_000_000, 70: 20_000_000, 60: 34_000_000},
    "fi": {83: 1_000_000, 80: 2_500_000, 70: 3_500_000, 60: 9_000_000},
    "fr": {95: 1_000_000, 80: 5_000_000, 70: 13_000_000, 60: 22_000_000},
    "ru": {85: 1_000_000, 80: 2_000_000, 70: 5_000_000, 60: 15_000_000},
    "sv": {85: 1_000_000, 80: 1_200_000, 70: 1_800_000, 60: 5_000_000},
}
"""For each language and estimated percentage of good pairs, the number of pairs from the beginning of the file:
Sjöblom, Creutz and Aulamo (2018), Table 3, with rounded figures."""


@dataclass(kw_only=True)
class OpusparcusSource(Source, TrainingSettings):
    """Make a data folder of Opusparcus 1.0 (Creutz 2018) for one language.

    The split train has ranked pairs, best first; validation and test have pairs with the annotators' mean score. The
    configuration `labelled` is validation and test without the pairs scored 2.5.
    """

    SUMMARY: ClassVar[str] = "Opusparcus 1.0: subtitle paraphrases in six languages"
    LICENSE: ClassVar[str] = "cc-by-nc-4.0"
    URL: ClassVar[str] = "https://huggingface.co/datasets/GEM/opusparcus"
    TEMPLATE: ClassVar[str] = "opusparcus"

    data_dir: str = setting("the unpacked distribution, with fr/train/fr-train.txt.bz2 and so on", path=True)
    lang: str = setting("the language", choices=list(PUBLISHED), names=["--lang", "--language"])
    quality: int | None = setting(
        "use the best training pairs, with this estimated percentage of good ones; published values: 90, 80, "
        "70, 60 (de), 97, 80, 70, 60 (en), 83, 80, 70, 60 (fi), 95, 80, 70, 60 (fr), 85, 80, 70, 60 (ru, sv)",
        None,
    )

    @property
    def title(self) -> str:
        """The name, with the language."""
        return f"Opusparcus 1.0 ({self.lang})"

    def parts(self) -> list[Part]:
        """List the splits whose files exist; annotated splits are also the configuration `labelled`."""
        files = find_files(self.data_dir, {split: name.format(self.lang) for split, name in _OPUSPARCUS_FILES.items()})
        if "train" not in files and (self.quality is not None or self.decontaminate):
            remedy = "--quality and --decontaminate concern the training part only"
            raise InputError(f"no training pairs of {self.lang} below this folder", path=self.data_dir, remedy=remedy)
        num_pairs = None if self.quality is None else pairs_at_quality(self.lang, self.quality)
        parts = [
            Part(name, OPUSPARCUS, [path], partial(_read_opusparcus, path, name, self.lang))
            for name, path in files.items()
        ]
        annotated = [part for part in parts if part.split != "train"]
        if "train" in files:
            training = partial(_training_pairs, parts[0].read, [part.read for part in annotated], num_pairs)
            parts[0] = replace(parts[0], read=training, training=True)
        schema = pa.schema([field for field in OPUSPARCUS if field.name not in _RANKING_NAMES])
        for part in annotated:
            read = partial(_labelled_only, part.read)
            parts.append(Part(part.split, schema, part.files, read, "labelled", may_be_empty=True))
        return parts


def pairs_at_quality(lang: str, quality: int) -> int:
    """Return the number of pairs with an estimated percentage of good ones."""
    if quality not in PUBLISHED[lang]:
        qualities = ", ".join(map(str, sorted(PUBLISHED[lang], reverse=True)))
        problem = f"no number of pairs is published for --quality {quality} in {lang}; known values are {qualities}"
        raise UsageError(problem, remedy="give one of these, or use filter --first N")
    return PUBLISHED[lang][quality]


def _read_opusparcus(path: Path, split: str, lang: str, errors: LineErrors) -> Iterator[pa.Table]:
    """Read rows, add the language, and for annotated rows the label, which is null at 2.5."""
    identifier = f"{lang}-{_LETTERS[split]}"
    fields = [Field("id", pattern=f"{identifier}[0-9]+", example=f"{identifier}12"), *map(Field, PAIRS.names)]
    fields += _RANKING if split == "train" else [Field("score", pa.float64(), low=1, high=4)]
    for table in read_tables(path, fields, errors, remedy="fix the line, or download Opusparcus 1.0 again"):
        table = table.append_column("lang", pa.repeat(pa.scalar(lang), table.num_rows))
        if split != "train":
            score = table.column("score")
            label = pc.greater(score, UNDECIDED).cast(pa.int64())
            table = table.append_column("label", pc.if_else(pc.equal(score, UNDECIDED), None, label))
        yield table


def _training_pairs(read: Read, annotated: Sequence[Read], stop: int | None, errors: LineErrors) -> Iterator[pa.Table]:
    """Stream the first `stop` rows, and drop pairs that are also development or test pairs, in either order."""
    parts = [np.empty(0, np.uint64)]
    # Errors in these files are reported when their own splits are read.
    for table in chain.from_iterable(other(LineErrors("skip")) for other in annotated):
        sides = table.select(PAIRS.names).columns
        parts += [hash_rows(*sides), hash_rows(*reversed(sides))]
    keys = np.unique(np.concatenate(parts))
    num_rows = 0
    for table in read(errors):
        table = table if stop is None else table.slice(0, stop - num_rows)
        num_rows += table.num_rows
        matched = are_among(hash_rows(*table.select(PAIRS.names).columns), keys)
        if matched.any():
            errors.left_out["evaluation_pair"] += int(matched.sum())
            table = table.filter(pa.array(~matched))
        yield table
        if num_rows == stop:
            return


def _labelled_only(read: Read, errors: LineErrors) -> Iterator[pa.Table]:
    for table in read(errors):
        decided = table.filter(table.column("label").is_valid())
        errors.left_out["undecided"] += table.num_rows - decided.num_rows
        yield decided
