"""The recipe of the verb `search`: an index of a corpus that grows, neighbours of queries, mined paraphrases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...artefacts.artefact import Artefact, Card, check_early
from ...artefacts.hub_models import model_folder
from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, write_split
from ...data.sentences import SentenceCorpus, naming
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe
from ..sentence_encoder import SentenceEncoder
from .search_settings import SearchSettings
from .stored_index import copy_encoder, finish_index, metadata_of, rewrite_index

if TYPE_CHECKING:
    from .index import Neighbour, SearchIndex
    from .semantic_search import MinedPairs
    from .stored_index import IndexSettings

MINED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])
_PAIRS_PER_BATCH = 100_000
_TOP_K = 10
_THRESHOLD = 0.8
_MAX_PAIRS = 1_000_000


@dataclass(frozen=True)
class Searched:
    """What a search gave: one of an index, mined pairs and neighbours, as was asked for.

    Attributes:
        folder: The folder that was made, of an index or of pairs; None for neighbours.
        rows: The sentences of the index, or the pairs.
        names: What the indexes that were asked are called.
        neighbours: For each query its nearest neighbours in each of these indexes, as they are found: the encoders
            and an index that is not kept stay open until all were taken.
    """

    folder: Path | None = None
    rows: int = 0
    names: tuple[str, ...] = ()
    neighbours: Iterator[tuple[str, list[list[Neighbour]]]] = iter(())


@recipe(SearchSettings)
def search(settings: SearchSettings) -> Searched:
    """Builds an index or changes one, finds the nearest neighbours of queries, or mines paraphrases."""
    if settings.output is not None:
        check_early(settings.output, overwrite=settings.overwrite)
    if settings.query or settings.query_file:
        return _find_neighbours(settings)
    if settings.add is not None or settings.remove is not None:
        return _change(settings)
    return _mine(settings) if settings.mine else _build(settings)


def _build(settings: SearchSettings) -> Searched:
    corpus = _corpus(settings, settings.corpus)
    model = str(settings.model)
    encoder = SentenceEncoder.from_pretrained(model, device=settings.device)
    with _artefact(settings, [model, corpus.path]) as artefact:
        made = _build_into(artefact.staging, encoder, corpus, settings)
        copy_encoder(model_folder(model), artefact.staging)
        names = {"sources": [corpus.path.resolve().name], "encoder": to_path(model).resolve().name}
        metadata = metadata_of(corpus)
        finish_index(artefact, made, metadata, {**names, "columns": corpus.columns, "kept": settings.keep_repeated})
    log(f"an index of {made.rows:,} sentences is in {settings.output}")
    return Searched(folder=Path(str(settings.output)), rows=made.rows)


def _build_into(
    folder: Path, encoder: SentenceEncoder, corpus: SentenceCorpus, settings: SearchSettings, **options: Any
) -> IndexSettings:
    """Builds the index of a corpus and logs what happened to its sentences."""
    from tqdm.auto import tqdm

    from .build import build_index

    approximate = settings.method == "approximate"
    with (
        tqdm(unit=" sentences", unit_scale=True, desc="encode") as encoded,
        tqdm(unit=" vectors", unit_scale=True, desc="lists", disable=not approximate or None) as placed,
        naming(corpus.path),
    ):
        made = build_index(
            encoder,
            corpus.blocks(),
            folder,
            approximate=approximate,
            lists=settings.lists,
            probes=settings.probes,
            seed=settings.seed or 0,
            keep_repeated=settings.keep_repeated,
            batch_size=settings.batch_size,
            progress=encoded.update,
            place_progress=placed.update,
            **options,
        )
    kept = "kept" if settings.keep_repeated else "left out"
    for number, what in (
        (made.empty, "without any character but space: left out"),
        (made.repeated, f"that had been there before: {kept}"),
        (made.zero_rows, "without a word in the encoder's vocabulary: no search finds them"),
    ):
        if number:
            log(f"{number:,} of {made.read:,} sentences {what}")
    if made.recall is not None:
        log(
            f"{made.lists:,} lists, of which a query reads {made.probes}: they find "
            f"{100 * made.recall:.1f} % of the true 10 nearest neighbours of a sample"
        )
    return made


def _change(settings: SearchSettings) -> Searched:
    """Takes sentences out of an index, or adds some, without encoding the others again."""
    from .index import SearchIndex

    index = SearchIndex(str(settings.index), device=settings.device)
    if settings.remove is not None:
        corpus = _corpus(settings, settings.remove)
        gone = index.remove([text for block in corpus.blocks() for text in block if text])
        log(f"{gone:,} sentences were removed")
    if settings.add is not None:
        corpus = _corpus(settings, settings.add)
        more = rewrite_index(
            index,
            lambda folder: _build_into(folder, index.encoder, corpus, settings, earlier=index),
            corpus=corpus,
            settings=settings,
        )
        log(f"{more:,} sentences were added")
    log(f"an index of {len(index):,} sentences is in {settings.index}")
    return Searched(folder=index.folder, rows=len(index))


def _find_neighbours(settings: SearchSettings) -> Searched:
    from ...tables import short_names

    queries = _queries(settings)
    sources = [str(settings.model if settings.corpus else settings.index), *filter(None, [settings.compare])]
    with ExitStack() as opening:
        indexes = [_open(settings, source, opening) for source in sources]
        stack = opening.pop_all()
    return Searched(names=tuple(short_names(sources)), neighbours=_neighbours(settings, queries, indexes, stack))


def _neighbours(
    settings: SearchSettings, queries: Iterator[list[str]], indexes: list[SearchIndex], stack: ExitStack
) -> Iterator[tuple[str, list[list[Neighbour]]]]:
    """Finds the neighbours of each query in each index, and logs at the end which queries have none."""
    top_k = _TOP_K if settings.top_k is None else settings.top_k
    options: dict[str, Any] = {
        "method": settings.method,
        "probes": settings.probes,
        "drop_identical": settings.identical == "drop",
        "batch_size": settings.batch_size,
    }
    total = without = blank = 0
    with stack:
        for block in queries:
            streams = [index.neighbours(block, top_k, **options) for index in indexes]
            for query, *neighbors in zip(block, *streams, strict=True):
                total += 1
                without += not any(neighbors)
                blank += not any(neighbors) and not query.strip()
                yield query, neighbors
        shortest = min(map(len, indexes))
        if top_k > shortest:
            log(f"{top_k:,} neighbours of each query are wanted, and there are {shortest:,} sentences")
    reason = "none of their words is in the encoder's vocabulary"
    if settings.identical == "drop":
        reason += ", or none is left but identical ones"
    if without == total:
        raise InputError(
            f"no neighbour of any query: {'all lines are blank' if blank == total else reason}",
            path=settings.query_file,
            remedy="give one sentence a line, in the language that the encoder was trained on",
        )
    for number, why in ((blank, "they are blank"), (without - blank, reason)):
        if number:
            log(f"{number:,} of {total:,} queries have no neighbours: {why}")


def _mine(settings: SearchSettings) -> Searched:
    threshold = _THRESHOLD if settings.threshold is None else settings.threshold
    max_pairs = _MAX_PAIRS if settings.max_pairs is None else settings.max_pairs
    with ExitStack() as stack:
        index = _open(settings, str(settings.model if settings.corpus else settings.index), stack)
        # Said now, not after the work.
        approximate = index.uses_lists(settings.method)
        source = Path(str(settings.index or settings.corpus))
        with _artefact(settings, [source, *([] if settings.corpus is None else [str(settings.model)])]) as artefact:
            staging = artefact.staging
            pairs = index.mine(
                threshold,
                max_pairs=max_pairs,
                method=settings.method,
                probes=settings.probes,
                keep_identical=settings.identical == "keep",
                show_progress_bar=True,
            )
            write_split(staging, "train", _sentence_pairs(index, pairs), MINED, repeating=())
            results: dict[str, Any] = {"pairs": len(pairs), "found": pairs.found, "sentences": len(index)}
            values = {
                **(inherited_metadata(source) if source.is_dir() else {"language": [], "license": []}),
                "title": f"Paraphrases mined from {source.resolve().name}",
                "source": source.resolve().name,
                "threshold": threshold,
                "approximate": approximate,
                "keep_identical": settings.identical == "keep",
                "splits": DataFolder(staging).sizes(),
                **results,
            }
            artefact.finish(results=results, card=Card("mined", values))
    if pairs.found > len(pairs):
        log(f"{pairs.found:,} pairs reach the threshold; the best {len(pairs):,} are kept (--max-pairs)")
    if not len(pairs):
        log(f"no pair has a cosine of {threshold} or more")
    log(f"{len(pairs):,} pairs are in {settings.output}")
    return Searched(folder=Path(str(settings.output)), rows=len(pairs))


def _sentence_pairs(index: SearchIndex, pairs: MinedPairs) -> Iterator[pa.Table]:
    """Reads the sentences of mined pairs, block by block."""
    for first in range(0, len(pairs), _PAIRS_PER_BATCH):
        part = slice(first, first + _PAIRS_PER_BATCH)
        sides = [index.sentences_of(rows[part])["sentence"] for rows in (pairs.first, pairs.second)]
        yield pa.table({"sentence1": sides[0], "sentence2": sides[1], "score": pairs.scores[part]}).combine_chunks()


def _open(settings: SearchSettings, source: str, stack: ExitStack) -> SearchIndex:
    """Opens an index folder, or builds one for the time being with the encoder `source`."""
    from .index import SearchIndex

    if settings.corpus is None:
        index = SearchIndex(source, settings.model, device=settings.device)
        if not index.uses_lists(settings.method) and settings.probes is not None:
            raise UsageError("the index has no lists for --probes to read", path=source, remedy="leave --probes out")
        return index
    corpus = _corpus(settings, settings.corpus)
    encoder = SentenceEncoder.from_pretrained(source, device=settings.device)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_")))
    _build_into(folder, encoder, corpus, settings)
    return SearchIndex(folder, encoder)


def _queries(settings: SearchSettings) -> Iterator[list[str]]:
    """Returns the queries in blocks; a file is opened at once and read later, when the copy of a stream is gone."""
    if settings.query_file is None:
        return iter([settings.query])
    blocks = SentenceCorpus(Path(settings.query_file)).blocks()
    first = list(islice(blocks, 1))
    return ([text or "" for text in block] for block in chain(first, blocks))


def _corpus(settings: SearchSettings, source: str | None) -> SentenceCorpus:
    return SentenceCorpus(Path(str(source)), settings.columns, settings.split)


def _artefact(settings: SearchSettings, inputs: list[str | Path]) -> Artefact:
    output = str(settings.output)
    return Artefact(output, command="search", settings=settings, inputs=inputs, overwrite=settings.overwrite)
