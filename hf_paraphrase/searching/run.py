"""The command `search`: builds and changes an index, finds neighbours of queries, and mines paraphrases."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from tqdm.auto import tqdm

from ..artefacts.artefact import Artefact, Card, check_early
from ..artefacts.fsspec_path import to_path
from ..artefacts.hub_models import BUILTIN, model_folder
from ..artefacts.provenance import inherited_metadata
from ..data.batch_function import Progress
from ..data.folder import DataFolder, write_split
from ..data.sentences import SentenceCorpus, naming
from ..data.text_blocks import PLAIN_OR_COMPRESSED, FormatSettings
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError, ModelError, UsageError
from ..inputs import temporary_folder
from ..messages import log
from ..settings import is_given, recipe, setting
from ..training.devices import DeviceSettings
from .building import build_index, make_index_card
from .index import ENCODER_FOLDER, Neighbour, SearchIndex
from .manifest import Manifest
from .snapshot import METHODS

MINED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])
_PAIRS_PER_BATCH = 100_000
_SEARCH_OPTIONS = ("method", "hybrid", "reranker", "snippets", "prompt_name", "prompt")
_FOR_QUERIES = ("top_k", "format", "filter", *_SEARCH_OPTIONS[1:])
_CHANGES = ("add", "remove", "remove_id", "remove_where")


def _change_setting(help: str, default: Any = None, **constraints: Any) -> Any:
    return setting(help, default, only_with="index", excludes=("mine", "output"), **constraints)


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
        "columns of the data folder to read, separated by commas or spaces; by default sentence, text, sentence1 "
        "and sentence2, if they exist",
        [],
    )
    split: str | None = setting("split of the data folder to read [default: train]", None)
    index: str | None = setting("an index folder made by this command", None, path=True)
    add: str | None = _change_setting(
        "sentences to add to the index, as for --corpus; existing ones are not encoded again", path=True, dataset=True
    )
    remove: str | None = _change_setting(
        "sentences to remove from the index, as for --corpus", path=True, dataset=True
    )
    remove_id: list[str] = _change_setting("values of the column id whose rows are removed from the index", [])
    remove_where: list[str] = _change_setting(
        "remove the rows of the index whose columns fulfil all these conditions, e.g. 'year<2000'", []
    )
    unique: bool = setting(
        "leave out sentences that repeat an earlier one except for case and spacing, whatever their other columns; "
        "without it only rows that are equal in all columns are left out",
        False,
    )
    query: list[str] = setting(
        "one or more sentences, in quotes, whose nearest neighbours are printed",
        [],
        excludes=("query_file", "mine", *_CHANGES, "output"),
    )
    query_file: str | None = setting(
        "a text file of queries, one per line",
        None,
        excludes=("mine", *_CHANGES, "output"),
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
    reranker: str | None = setting(
        "cross-encoder that ranks the best 100 candidates of each query again: a sequence-classification model of "
        "transformers with one label, by its folder or its name on the Hub, such as "
        "cross-encoder/ms-marco-MiniLM-L6-v2; its score replaces the cosine",
        None,
        path=True,
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
        "snippet; jsonl also has all columns of the corpus",
        "tsv",
        choices=["tsv", "jsonl"],
    )
    mine: bool = setting("write all pairs of sentences of the index that reach --threshold to --output", False)
    threshold: float = setting(
        "with --mine: minimum cosine of a pair, above 0 and at most 1", 0.8, above=0, at_most=1, only_with="mine"
    )
    max_pairs: int = setting(
        "with --mine: maximum number of pairs; the pairs with the highest cosines are kept",
        1_000_000,
        at_least=1,
        only_with="mine",
    )
    method: str | None = setting(
        "exact = compare queries with every sentence; ivf or approximate, hnsw, int8, binary = approximate search "
        "by faiss, by inverted lists, a graph, or vectors of fewer bits; by default exact for a new index, and the "
        "method that an index was built with",
        None,
        choices=METHODS,
        excludes=["mine", "add", "remove"],
    )
    output: str | None = setting("output index folder, or with --mine output data folder of pairs", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    overwrite: bool = setting("replace an existing output folder", False, only_with="output")

    def check(self) -> None:
        """Check that the settings fit together."""
        super().check()
        queries, changes = bool(self.query or self.query_file), any(is_given(self, name) for name in _CHANGES)
        for_queries = ", ".join(
            f"--{name}" for name in ("top-k", "format", "filter", "hybrid", "reranker", "snippets", "prompt")
        )
        rules = (
            (self.corpus is None and self.index is None, "give either --corpus or --index"),
            (not (queries or changes or self.output), "name the folder to make with --output, or give --query"),
            (self.index and not (queries or changes or self.mine), "give --query, --mine or --add for the index"),
            (not queries and any(is_given(self, name) for name in _FOR_QUERIES), f"{for_queries} are for queries"),
            ((self.columns or self.split) and not (self.corpus or changes), "--columns and --split are for --corpus"),
            (self.unique and not (self.corpus or self.add), "--unique is for --corpus and --add"),
            (any(not text.strip() for text in self.query), "a --query is empty"),
        )
        for is_wrong, message in rules:
            if is_wrong:
                raise UsageError(f"search: {message}", remedy="see hf-paraphrase search --help")
        if self.corpus is not None and self.model is None:
            self.model = BUILTIN

    def open_corpus(self, source: str | None) -> SentenceCorpus:
        """Open sentences that are added, removed or indexed."""
        return SentenceCorpus(source, self.columns, self.split, **self.format_options())

    def artefact(self, inputs: Sequence[str | Path | None]) -> Artefact:
        """Start the output folder; inputs that are None are left out."""
        given = [path for path in inputs if path is not None]
        return Artefact(str(self.output), command="search", settings=self, inputs=given)


@dataclass(frozen=True)
class Searched:
    """The result of a search: an index, mined pairs, or neighbours.

    Attributes:
        folder: The folder of the index or of the pairs; None for neighbours.
        rows: Number of sentences of the index, or of pairs.
        neighbours: Each query with its nearest neighbours, computed while they are read.
    """

    folder: Path | None = None
    rows: int = 0
    neighbours: Iterator[tuple[str, list[Neighbour]]] = iter(())


@recipe(SearchSettings)
def search(settings: SearchSettings) -> Searched:
    """Build an index or change one, find the nearest neighbours of queries, or mine paraphrases."""
    if settings.output is not None:
        check_early(settings.output, overwrite=settings.overwrite)
    if settings.query or settings.query_file:
        return Searched(neighbours=_neighbours(settings, _open(settings)))
    if settings.output is None:
        return _change(settings)
    return _mine(settings) if settings.mine else _build(settings)


def _build(settings: SearchSettings) -> Searched:
    with settings.artefact([settings.model, settings.corpus]) as artefact:
        corpus, _, made = _build_into(artefact.staging, settings)
        folder = model_folder(str(settings.model))
        try:
            if folder.is_dir():
                ignored = shutil.ignore_patterns(".*", "checkpoint-*", "__pycache__")
                shutil.copytree(folder, artefact.staging / ENCODER_FOLDER, ignore=ignored)
        except (OSError, shutil.Error) as error:
            raise ModelError(f"the encoder cannot be copied into the index: {error}", path=folder) from error
        sources, encoder = [corpus.path.resolve().name], to_path(str(settings.model)).resolve().name
        made = replace(made, sources=sources, encoder=encoder, columns=corpus.columns)
        made.write(artefact.staging)
        artefact.finish(results=made.results(), card=make_index_card(made, [corpus.path]))
    log(f"index of {made.rows:,} sentences saved to {settings.output}")
    return Searched(Path(str(settings.output)), made.rows)


def _build_into(folder: Path, settings: SearchSettings) -> tuple[SentenceCorpus, SentenceEncoder, Manifest]:
    corpus = settings.open_corpus(settings.corpus)
    encoder = SentenceEncoder.from_pretrained(str(settings.model), device=settings.device)
    options: dict[str, Any] = {"unique": settings.unique, "batch_size": settings.batch_size}
    with _reading(corpus) as progress:
        method = settings.method or "exact"
        made = build_index(encoder, corpus.tables(), folder, method=method, progress=progress, **options)
    _log_counts(made)
    return corpus, encoder, made


@contextmanager
def _reading(corpus: SentenceCorpus) -> Iterator[Progress]:
    """Show a progress bar of the sentences that are read, and name the corpus in errors."""
    with tqdm(unit=" sentences", unit_scale=True, desc="encode") as progress, naming(corpus.path):
        yield progress.update


def _log_counts(made: Manifest, before: Manifest | None = None) -> None:
    """Log how many sentences were left out since an earlier state of the index."""
    before = before or Manifest(0)
    for name, what in (
        ("empty", "have no visible character: left out"),
        ("repeated", "are repeated: left out"),
        ("zero_rows", "have no word in the encoder's vocabulary: no search finds them"),
    ):
        count = getattr(made, name) - getattr(before, name)
        if count > 0:
            log(f"{count:,} of {made.read - before.read:,} sentences {what}")
    if made.recall is not None:
        lists = f" ({made.nlist:,} lists in the largest segment)" if made.nlist else ""
        log(f"{made.method}{lists}: finds {100 * made.recall:.1f} % of the true 10 nearest neighbours of a sample")


def _change(settings: SearchSettings) -> Searched:
    """Remove sentences from an index, or add some."""
    index = _open(settings)
    # Opened first: if it cannot be read, the index does not change.
    to_add = None if settings.add is None else settings.open_corpus(settings.add)
    corpus = None if settings.remove is None else settings.open_corpus(settings.remove)
    if corpus is not None or settings.remove_id or settings.remove_where:
        texts = [text for block in corpus.blocks() for text in block if text] if corpus is not None else []
        removed = index.remove(texts, ids=settings.remove_id, filters=settings.remove_where)
        log(f"{removed:,} sentences were removed")
    if to_add is not None:
        before = index.settings
        with _reading(to_add) as progress:
            more = index.add(to_add, unique=settings.unique, batch_size=settings.batch_size, progress=progress)
        _log_counts(index.settings, before)
        replaced = f", which replace {index.num_replaced:,} of the same id" if index.num_replaced else ""
        log(f"{more:,} sentences were added{replaced}")
    log(f"index of {len(index):,} sentences saved to {settings.index}")
    return Searched(index.folder, len(index))


def _neighbours(settings: SearchSettings, index: SearchIndex) -> Iterator[tuple[str, list[Neighbour]]]:
    """Find the neighbours of each query, and log at the end how many queries have none."""
    queries = settings.query
    if settings.query_file is not None:
        queries = [text or "" for block in SentenceCorpus(settings.query_file).blocks() for text in block]
    without = 0
    options = {name: getattr(settings, name) for name in (*_SEARCH_OPTIONS, "batch_size")}
    hits = index.search(queries, settings.top_k, filters=settings.filter, **options)
    for query, neighbors in zip(queries, hits, strict=True):
        without += not neighbors
        yield query, neighbors
    reason = "they are blank, or none of their words is in the encoder's vocabulary"
    if without < len(queries):
        if without:
            log(f"{without:,} of {len(queries):,} queries have no neighbours: {reason}")
        return
    if settings.filter and not len(index.snapshot.select(settings.filter)):
        what, path = f"no row passes --filter {' '.join(settings.filter)}", settings.index or settings.corpus
        raise InputError(what, path=path, remedy="give other values, or leave --filter out")
    remedy = "give one sentence per line, in the language that the encoder was trained on"
    raise InputError(f"no neighbour of any query: {reason}", path=settings.query_file, remedy=remedy)


def _mine(settings: SearchSettings) -> Searched:
    index, source = _open(settings), to_path(str(settings.index or settings.corpus))
    with settings.artefact([source, settings.model]) as artefact:
        pairs = index.mine(settings.threshold, max_pairs=settings.max_pairs, show_progress_bar=True)

        def tables() -> Iterator[pa.Table]:
            for first in range(0, len(pairs), _PAIRS_PER_BATCH):
                span = slice(first, first + _PAIRS_PER_BATCH)
                sides = [index.snapshot.take(rows[span])["sentence"] for rows in (pairs.first, pairs.second)]
                yield pa.table([*sides, pa.array(pairs.scores[span])], schema=MINED).combine_chunks()

        write_split(artefact.staging, "train", tables(), MINED)
        results: dict[str, Any] = {"pairs": len(pairs), "found": pairs.found, "sentences": len(index)}
        values = {
            **(inherited_metadata(source) if source.is_dir() else {"language": [], "license": []}),
            "title": f"Paraphrases mined from {source.resolve().name}",
            "source": source.resolve().name,
            "threshold": settings.threshold,
            "splits": DataFolder(artefact.staging).sizes(),
            **results,
        }
        artefact.finish(results=results, card=Card("mined", values))
    if pairs.found > len(pairs):
        log(f"{pairs.found:,} pairs reach the threshold; the best {len(pairs):,} are kept (--max-pairs)")
    log(f"{len(pairs):,} pairs saved to {settings.output}")
    return Searched(Path(str(settings.output)), len(pairs))


def _open(settings: SearchSettings) -> SearchIndex:
    """Open the index folder, or build an index of the corpus in a temporary folder."""
    if settings.corpus is None:
        return SearchIndex(str(settings.index), device=settings.device)
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder()) / "index"
        folder.mkdir()
        _, encoder, _ = _build_into(folder, settings)
        index = SearchIndex(folder, encoder)
        weakref.finalize(index, stack.pop_all().close)
    return index
