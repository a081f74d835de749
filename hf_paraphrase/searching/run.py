"""The recipe of the verb `search`: an index of a corpus that grows, neighbours of queries, mined paraphrases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..artefacts.artefact import Artefact, Card, check_early
from ..artefacts.fsspec_path import to_path
from ..artefacts.hub_models import BUILTIN, model_folder
from ..artefacts.provenance import inherited_metadata
from ..data.folder import DataFolder, write_split
from ..data.sentences import SentenceCorpus, naming
from ..data.text_blocks import PLAIN_OR_COMPRESSED, FormatSettings
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import is_given, recipe, setting
from ..training.devices import DeviceSettings

if TYPE_CHECKING:
    from ..data.batch_function import Progress
    from ..encoders.sentence_encoder import SentenceEncoder
    from .index import Neighbour, SearchIndex
    from .manifest import Manifest

MINED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])
_PAIRS_PER_BATCH = 100_000


_SEARCH_OPTIONS = ("method", "hybrid", "snippets", "prompt_name", "prompt")
_FOR_QUERIES = ("top_k", "format", "filter", *_SEARCH_OPTIONS[1:])


@dataclass(kw_only=True)
class SearchSettings(DeviceSettings, FormatSettings):
    """Find sentences by meaning.

    Build an index: --corpus FILE --output INDEX. Search it: --index INDEX --query TEXT. Mine paraphrases: --index
    INDEX --mine --output PAIRS. Add sentences: --index INDEX --add FILE. A small corpus needs no index folder:
    --corpus FILE --query TEXT. With --corpus, --model DIR chooses another encoder than the built-in one.
    """

    model: str | None = setting(
        "folder of the sentence encoder for the corpus; by default builtin, which is installed with this package; "
        "an index contains a copy for its queries",
        None,
        only_with="corpus",
        path=True,
    )
    corpus: str | None = setting(
        f"the sentences: a text file, one per line, {PLAIN_OR_COMPRESSED}, or a data folder",
        None,
        excludes="index",
        path=True,
        dataset=True,
    )
    columns: list[str] = setting(
        "columns of the data folder to read, separated by commas or spaces; by default those of sentence, text, "
        "sentence1 and sentence2 that exist",
        [],
    )
    split: str | None = setting("split of the data folder to read [default: train]", None)
    index: str | None = setting("an index folder made by this command", None, path=True)
    add: str | None = setting(
        "sentences to add to the index, as for --corpus; existing ones are not encoded again",
        None,
        only_with="index",
        excludes=("mine", "output"),
        path=True,
        dataset=True,
    )
    remove: str | None = setting(
        "sentences to remove from the index, as for --corpus",
        None,
        only_with="index",
        excludes=("mine", "output"),
        path=True,
        dataset=True,
    )
    remove_id: list[str] = setting(
        "values of the column id whose rows are removed from the index",
        [],
        only_with="index",
        excludes=("mine", "output"),
    )
    remove_where: list[str] = setting(
        "remove the rows of the index whose columns fulfil all these conditions, e.g. 'year<2000'",
        [],
        only_with="index",
        excludes=("mine", "output"),
    )
    unique: bool = setting(
        "leave out sentences that repeat an earlier one except for case and spacing, whatever their other columns; "
        "without it only rows that are equal in all columns are left out",
        False,
    )
    query: list[str] = setting(
        "one or more sentences, in quotes, whose nearest neighbours are printed",
        [],
        excludes=("query_file", "mine", "add", "remove", "remove_id", "remove_where", "output"),
    )
    query_file: str | None = setting(
        "a text file of queries, one per line",
        None,
        excludes=("mine", "add", "remove", "remove_id", "remove_where", "output"),
        names=["--query-file", "--queries"],
        path=True,
    )
    top_k: int = setting("number of neighbours per query", 10, at_least=1, names=["--top-k", "--neighbours"])
    filter: list[str] = setting(
        "find only sentences whose columns fulfil all conditions, e.g. 'year>=2020' or \"source='a b' OR year=2019\"",
        [],
    )
    hybrid: bool = setting(
        "also rank by the words of the queries (BM25); the score is then the sum of the reciprocal ranks", False
    )
    prompt_name: str | None = setting(
        "put the prompt of this name before each query [default: the prompt query, if the encoder has one]",
        None,
        excludes="prompt",
    )
    prompt: str | None = setting("text to put before each query", None)
    snippets: bool = setting(
        "also show the passage of each neighbour that is nearest to the query: a sentence, or about 200 characters",
        False,
    )
    format: str = setting(
        "layout of the neighbours: tsv = query, rank, score, position in the corpus, sentence and, with --snippets, "
        "snippet; jsonl also has the other columns of the corpus",
        "tsv",
        choices=["tsv", "jsonl"],
    )
    mine: bool = setting("write all pairs of sentences of the index that reach --threshold to --output", False)
    threshold: float = setting(
        "with --mine: minimum cosine of a pair, above 0 and at most 1", 0.8, above=0, at_most=1, only_with="mine"
    )
    max_pairs: int = setting(
        "with --mine: maximum number of pairs; those with the highest cosines are kept",
        1_000_000,
        at_least=1,
        only_with="mine",
    )
    method: str | None = setting(
        "exact = compare queries with every sentence; ivf or approximate, hnsw, int8, binary = approximate search "
        "by faiss, by inverted lists, a graph, or vectors of fewer bits; by default exact for a new index, and the "
        "method that an index was built with",
        None,
        choices=["exact", "approximate", "ivf", "hnsw", "int8", "binary"],
        excludes=["mine", "add", "remove"],
    )
    output: str | None = setting("output index folder, or with --mine output data folder of pairs", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    overwrite: bool = setting("replace an existing output folder", False, only_with="output")

    def check(self) -> None:
        """Checks that the settings fit together."""
        super().check()
        queries, changes = bool(self.query or self.query_file), self.changes()
        for_queries = any(is_given(self, name) for name in _FOR_QUERIES)
        rules = (
            (self.corpus is None and self.index is None, "give either --corpus or --index"),
            (not (queries or changes or self.output), "name the folder to make with --output, or give --query"),
            (self.index and not (queries or changes or self.mine), "give --query, --mine or --add for the index"),
            (
                for_queries and not queries,
                "--top-k, --format, --filter, --hybrid, --snippets, --prompt are for queries",
            ),
            ((self.columns or self.split) and not (self.corpus or changes), "--columns and --split are for --corpus"),
        )
        for is_wrong, message in rules:
            if is_wrong:
                raise UsageError(f"search: {message}", remedy="see hf-paraphrase search --help")
        if self.unique and not (self.corpus or self.add):
            raise UsageError("search: --unique is for --corpus and --add", remedy="see hf-paraphrase search --help")
        if any(not text.strip() for text in self.query):
            raise UsageError("search: a --query is empty", remedy="give a sentence")
        if self.corpus is not None and self.model is None:
            self.model = BUILTIN

    def changes(self) -> bool:
        """Returns whether an index is to be changed."""
        return bool(self.add or self.remove or self.remove_id or self.remove_where)


@dataclass(frozen=True)
class Searched:
    """What a search gave: one of an index, mined pairs and neighbours, as was asked for.

    Attributes:
        folder: The folder that was made, of an index or of pairs; None for neighbours.
        rows: The sentences of the index, or the pairs.
        neighbours: Each query with its nearest neighbours, as they are found.
    """

    folder: Path | None = None
    rows: int = 0
    neighbours: Iterator[tuple[str, list[Neighbour]]] = iter(())


@recipe(SearchSettings)
def search(settings: SearchSettings) -> Searched:
    """Builds an index or changes one, finds the nearest neighbours of queries, or mines paraphrases."""
    if settings.output is not None:
        check_early(settings.output, overwrite=settings.overwrite)
    if settings.query or settings.query_file:
        return Searched(neighbours=_neighbours(settings, _open(settings)))
    if settings.changes():
        return _change(settings)
    return _mine(settings) if settings.mine else _build(settings)


def _build(settings: SearchSettings) -> Searched:
    from .index import finish_index

    corpus, model, encoder = _corpus(settings, str(settings.corpus)), str(settings.model), _encoder(settings)
    with _artefact(settings, [model, corpus.path]) as artefact:
        made = _build_into(artefact.staging, encoder, corpus, settings)
        finish_index(
            artefact,
            made,
            [corpus.path],
            encoder=model_folder(model),
            encoder_name=to_path(model).resolve().name,
            sources=[corpus.path.resolve().name],
            columns=corpus.columns,
        )
    log(f"index of {made.rows:,} sentences saved to {settings.output}")
    return Searched(Path(str(settings.output)), made.rows)


def _build_into(folder: Path, encoder: SentenceEncoder, corpus: SentenceCorpus, settings: SearchSettings) -> Manifest:
    from .index import build_index

    with _reading(corpus) as progress:
        made = build_index(
            encoder,
            corpus.tables(),
            folder,
            method=settings.method or "exact",
            unique=settings.unique,
            batch_size=settings.batch_size,
            progress=progress,
        )
    _log_counts(made)
    return made


@contextmanager
def _reading(corpus: SentenceCorpus) -> Iterator[Progress]:
    """Shows how many sentences of a corpus were read, and names it in errors."""
    from tqdm.auto import tqdm

    with tqdm(unit=" sentences", unit_scale=True, desc="encode") as progress, naming(corpus.path):
        yield progress.update


def _log_counts(made: Manifest) -> None:
    for number, what in (
        (made.empty, "have no visible character: left out"),
        (made.repeated, "are repeated: left out"),
        (made.zero_rows, "have no word in the encoder's vocabulary: no search finds them"),
    ):
        if number:
            log(f"{number:,} of {made.read:,} sentences {what}")
    if made.recall is not None:
        lists = f" ({made.nlist:,} lists in the largest segment)" if made.nlist else ""
        log(f"{made.method}{lists}: finds {100 * made.recall:.1f} % of the true 10 nearest neighbors of a sample")


def _change(settings: SearchSettings) -> Searched:
    """Takes sentences out of an index, or adds some, without encoding the others again."""
    index = _open(settings)
    if settings.remove is not None:
        corpus = _corpus(settings, settings.remove)
        removed = index.remove([text for block in corpus.blocks() for text in block if text])
        log(f"{removed:,} sentences were removed")
    for name in ("remove_id", "remove_where"):
        if values := getattr(settings, name):
            removed = index.remove(**{"ids" if name == "remove_id" else "filters": values})
            log(f"{removed:,} sentences were removed by {name.replace('_', ' ')}")
    if settings.add is not None:
        corpus = _corpus(settings, settings.add)
        with _reading(corpus) as progress:
            more = index.add(corpus, unique=settings.unique, batch_size=settings.batch_size, progress=progress)
        _log_counts(index.settings)
        replaced = f", {index.num_replaced:,} of the same id were replaced" if index.num_replaced else ""
        log(f"{more:,} sentences were added{replaced}")
    log(f"index of {len(index):,} sentences saved to {settings.index}")
    return Searched(index.folder, len(index))


def _neighbours(settings: SearchSettings, index: SearchIndex) -> Iterator[tuple[str, list[Neighbour]]]:
    """Finds the neighbours of each query, and logs at the end how many queries have none."""
    queries = settings.query
    if settings.query_file is not None:
        queries = [text or "" for block in SentenceCorpus(Path(settings.query_file)).blocks() for text in block]
    without = 0
    options = {name: getattr(settings, name) for name in (*_SEARCH_OPTIONS, "batch_size")}
    neighbours = index.search(queries, settings.top_k, filters=settings.filter, **options)
    for query, found in zip(queries, neighbours, strict=True):
        without += not found
        yield query, found
    reason = "they are blank, or none of their words is in the encoder's vocabulary"
    if without < len(queries):
        if without:
            log(f"{without:,} of {len(queries):,} queries have no neighbours: {reason}")
        return
    if settings.filter and not len(index.select(settings.filter)):
        what, path = f"no row passes --filter {' '.join(settings.filter)}", settings.index or settings.corpus
        raise InputError(what, path=path, remedy="give other values, or leave --filter out")
    remedy = "give one sentence per line, in the language that the encoder was trained on"
    raise InputError(f"no neighbour of any query: {reason}", path=settings.query_file, remedy=remedy)


def _mine(settings: SearchSettings) -> Searched:
    index, source = _open(settings), Path(str(settings.index or settings.corpus))
    with _artefact(settings, [source, *([] if settings.corpus is None else [str(settings.model)])]) as artefact:
        staging = artefact.staging
        pairs = index.mine(settings.threshold, max_pairs=settings.max_pairs, show_progress_bar=True)

        def tables() -> Iterator[pa.Table]:
            for first in range(0, len(pairs), _PAIRS_PER_BATCH):
                part = slice(first, first + _PAIRS_PER_BATCH)
                sides = [index.sentences_of(rows[part])["sentence"] for rows in (pairs.first, pairs.second)]
                yield pa.table([*sides, pa.array(pairs.scores[part])], schema=MINED).combine_chunks()

        write_split(staging, "train", tables(), MINED, repeating=())
        results: dict[str, Any] = {"pairs": len(pairs), "found": pairs.found, "sentences": len(index)}
        values = {
            **(inherited_metadata(source) if source.is_dir() else {"language": [], "license": []}),
            "title": f"Paraphrases mined from {source.resolve().name}",
            "source": source.resolve().name,
            "threshold": settings.threshold,
            "splits": DataFolder(staging).sizes(),
            **results,
        }
        artefact.finish(results=results, card=Card("mined", values))
    if pairs.found > len(pairs):
        log(f"{pairs.found:,} pairs reach the threshold; the best {len(pairs):,} are kept (--max-pairs)")
    log(f"{len(pairs):,} pairs saved to {settings.output}")
    return Searched(Path(str(settings.output)), len(pairs))


def _open(settings: SearchSettings) -> SearchIndex:
    """Opens the index folder, or builds one for the time being; checks at once that it can be searched as asked."""
    from .index import SearchIndex

    if settings.corpus is None:
        return SearchIndex(str(settings.index), device=settings.device)
    corpus, encoder = _corpus(settings, settings.corpus), _encoder(settings)
    with tempfile.TemporaryDirectory(prefix="hf_paraphrase_", ignore_cleanup_errors=True) as folder:
        _build_into(Path(folder), encoder, corpus, settings)
        index = SearchIndex(folder, encoder)
        index.open_all()
    return index


def _encoder(settings: SearchSettings) -> SentenceEncoder:
    from ..encoders.sentence_encoder import SentenceEncoder

    return SentenceEncoder.from_pretrained(str(settings.model), device=settings.device)


def _corpus(settings: SearchSettings, source: str) -> SentenceCorpus:
    return SentenceCorpus(Path(source), settings.columns, settings.split, **settings.format_options())


def _artefact(settings: SearchSettings, inputs: list[str | Path]) -> Artefact:
    output = str(settings.output)
    return Artefact(output, command="search", settings=settings, inputs=inputs, overwrite=settings.overwrite)
