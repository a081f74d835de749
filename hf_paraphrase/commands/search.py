"""`search`: an index of the sentences of a corpus, nearest neighbours in it, and paraphrase mining."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.hub_models import model_folder
from ..artefacts.inherited_cards import inherited_metadata
from ..artefacts.provenance import write_provenance
from ..data.parquet import split_sizes, write_split
from ..data.sentences import Corpus
from ..data.text_files import PLAIN_OR_COMPRESSED
from ..encoders.devices import check_device, device_setting
from ..errors import InputError, ModelError, UsageError
from ..messages import say
from ..settings import setting, settings_of
from .arguments import parse

if TYPE_CHECKING:
    from ..encoders.search.build import BuiltIndex, IndexOptions
    from ..encoders.search.index import SearchIndex
    from ..encoders.search.paraphrase_mining import MinedPairs
    from ..encoders.sentence_encoder import SentenceEncoder

MINED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())])
_PAIRS_PER_BATCH = 100_000
_TOP_K = 10
_THRESHOLD = 0.8
_MAX_PAIRS = 1_000_000


@dataclass
class Arguments:
    """Find sentences by meaning.

    Build an index: --model DIR --corpus FILE --output INDEX. Search it: --index INDEX --query TEXT. Mine paraphrases:
    --index INDEX --mine --output PAIRS. A small corpus needs no index folder: --model DIR --corpus FILE --query TEXT.
    Two encoders side by side: --model A --compare B --corpus FILE --query TEXT, or --index A --compare B --query TEXT.
    """

    model: str | None = setting(
        "folder of a sentence encoder, which encodes the corpus; with --index it encodes the queries, and must be the "
        "encoder that the index was built with (the index holds a copy that is used by default)",
        None,
    )
    corpus: str | None = setting(
        f"the sentences: a text file, one a line, {PLAIN_OR_COMPRESSED}, or a data folder", None
    )
    columns: list[str] = setting(
        "columns of the data folder to read, separated by commas or spaces; by default sentence, text, sentence1 and "
        "sentence2, as far as there are",
        [],
    )
    split: str | None = setting("split of the data folder to read [default: train]", None)
    keep_repeated: bool = setting("keep a sentence that comes several times as often in the index", False)
    index: str | None = setting("an index folder that this command made", None)
    query: list[str] = setting("one or more sentences, in quotes, whose nearest neighbours are printed", [])
    query_file: str | None = setting(
        "a text file of such sentences, one a line", None, names=["--query-file", "--queries"]
    )
    top_k: int | None = setting("neighbours of each query [default: 10]", None, names=["--top-k", "--neighbours"])
    compare: str | None = setting(
        "with queries: a second encoder (with --corpus) or a second index (with --index), printed beside the first",
        None,
    )
    format: str | None = setting(
        "layout of the neighbours: tsv = query, rank, cosine, position in the corpus, sentence; jsonl; markdown; by "
        "default tsv, with --compare markdown",
        None,
        choices=["tsv", "jsonl", "markdown"],
    )
    mine: bool = setting("write all pairs of sentences of the index that reach --threshold to --output", False)
    threshold: float | None = setting("with --mine: least cosine of a pair, above 0 to 1 [default: 0.8]", None)
    max_pairs: int | None = setting(
        "with --mine: how many pairs to keep at most, those of the greatest cosine [default: 1000000]", None
    )
    identical: str | None = setting(
        "keep or drop neighbours and pairs that are the same text but for case and spacing; by default neighbours are "
        "kept and pairs dropped",
        None,
        choices=["keep", "drop"],
    )
    method: str | None = setting(
        "exact = compare with every sentence; approximate = with those in the nearest of many lists, which needs "
        "faiss-cpu; by default exact for a new index, and approximate for one that was built so",
        None,
        choices=["exact", "approximate"],
    )
    lists: int | None = setting(
        "approximate, when building: how many lists; by default 4 times the root of the sentences, at most 2,048", None
    )
    probes: int | None = setting(
        "approximate: how many lists a query reads (when mining: a list is compared with); by default what the index "
        "was built with, a sixteenth of the lists but at least 8",
        None,
    )
    output: str | None = setting("the index folder, or with --mine the data folder of pairs, to make", None)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256)
    device: str = device_setting()
    seed: int | None = setting("approximate, when building: seed of the lists' centroids [default: 0]", None)
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `search`.

    Raises:
        UsageError: For arguments that do not fit together.
        InputError: For a missing, empty or malformed corpus, query file or index.
        OutputError: If the output exists or cannot be written.
        ModelError: If a folder is not a sentence encoder, or not that of the index.
    """
    arguments = parse(Arguments, "search", argv)
    _check(arguments)
    check_device(arguments.device)
    if arguments.query or arguments.query_file:
        _print_neighbours(arguments)
    elif arguments.mine:
        _mine(arguments)
    else:
        _build(arguments)


def _check(arguments: Arguments) -> None:
    """Refuses what does not fit together before any long work."""
    queries = bool(arguments.query or arguments.query_file)
    wrong = None
    if (arguments.corpus is None) == (arguments.index is None):
        wrong = "give either --corpus, with --model, or --index"
    elif arguments.corpus is not None and arguments.model is None:
        wrong = "--corpus needs --model, the encoder"
    elif arguments.query and arguments.query_file:
        wrong = "give --query or --query-file, not both"
    elif queries and arguments.mine:
        wrong = "give queries or --mine, not both"
    elif queries and arguments.output is not None:
        wrong = "neighbours are printed: leave --output out, or build the index first and search it with --index"
    elif not queries and arguments.output is None:
        wrong = "name the folder to make with --output, or give --query"
    elif not queries and not arguments.mine and arguments.index is not None:
        wrong = "nothing to do with the index: give --query, --query-file or --mine"
    elif arguments.compare is not None and not queries:
        wrong = "--compare needs --query or --query-file"
    elif arguments.compare is not None and arguments.index is not None and arguments.model is not None:
        wrong = "two indexes use the encoders that they hold: leave --model out"
    elif arguments.compare is not None and arguments.format not in (None, "markdown"):
        wrong = f"two indexes are printed as markdown, not as {arguments.format}"
    if wrong is None:
        wrong = _misplaced(arguments, queries)
    if wrong is not None:
        raise UsageError(f"search: {wrong}", remedy="see hf-paraphrase search --help")
    numbers = {"top_k": 1, "max_pairs": 1, "lists": 1, "probes": 1, "batch_size": 1, "seed": 0}
    for name, least in numbers.items():
        value = getattr(arguments, name)
        if value is not None and value < least:
            raise UsageError(f"--{name.replace('_', '-')} must be at least {least}, not {value}")
    if arguments.threshold is not None and not 0 < arguments.threshold <= 1:
        raise UsageError(f"--threshold must be above 0 and at most 1, not {arguments.threshold}")
    if any(not text.strip() for text in arguments.query):
        raise UsageError("search: a --query is empty", remedy="give a sentence")
    if arguments.output is not None:
        check_output(arguments.output, overwrite=arguments.overwrite)


def _misplaced(arguments: Arguments, queries: bool) -> str | None:
    """Finds a flag that would have no effect, and says what it is for."""
    corpus = arguments.corpus is not None
    lists = corpus and arguments.method == "approximate"
    rules = (
        (("columns", "split", "keep_repeated"), corpus, "for reading a --corpus"),
        (("lists", "seed"), lists, "for building an index with --method approximate"),
        (("probes",), arguments.method != "exact" and (lists or not corpus), "for the approximate method"),
        (("top_k", "format"), queries, "for queries"),
        (("threshold", "max_pairs"), arguments.mine, "for --mine"),
        (("identical",), queries or arguments.mine, "for queries and --mine"),
        (("overwrite",), arguments.output is not None, "for an --output"),
    )
    for names, allowed, purpose in rules:
        for name in names:
            if not allowed and getattr(arguments, name) not in (None, False, []):
                return f"--{name.replace('_', '-')} is {purpose}"
    return None


def _build(arguments: Arguments) -> None:
    corpus = _corpus(arguments)
    model = str(arguments.model)
    encoder = _encoder(model, arguments.device)
    with output_folder(str(arguments.output), overwrite=arguments.overwrite) as staging:
        built = _build_into(staging, encoder, corpus, arguments)
        _copy_encoder(model_folder(model), staging)
        settings, counts = built.settings, built.counts
        results = {**vars(settings), "read": counts.sentences, "empty": counts.empty, "repeated": counts.repeated}
        record = settings_of(arguments)
        inputs: list[str | Path] = [model, corpus.path]
        write_provenance(staging, command="search", settings=record, inputs=inputs, results=results)
        _write_index_card(staging, arguments, corpus, results)
    say(f"an index of {settings.rows:,} sentences is in {arguments.output}")


def _build_into(folder: Path, encoder: SentenceEncoder, corpus: Corpus, arguments: Arguments) -> BuiltIndex:
    """Builds the index of a corpus and says what happened to its sentences."""
    from tqdm.auto import tqdm

    from ..encoders.search.build import IndexOptions, build_index

    options: IndexOptions = IndexOptions(
        approximate=arguments.method == "approximate",
        lists=arguments.lists,
        probes=arguments.probes,
        keep_repeated=arguments.keep_repeated,
        batch_size=arguments.batch_size,
        seed=arguments.seed or 0,
    )
    with (
        tqdm(unit=" sentences", unit_scale=True, desc="encode") as encoded,
        tqdm(unit=" vectors", unit_scale=True, desc="lists", disable=not options.approximate) as placed,
    ):
        try:
            built = build_index(
                encoder, corpus.blocks(), folder, options, progress=encoded.update, place_progress=placed.update
            )
        except InputError as error:
            if error.path is not None:
                raise
            raise InputError(error.message, path=corpus.path, remedy=error.remedy) from error
    settings, counts = built.settings, built.counts
    kept = "kept" if arguments.keep_repeated else "left out"
    for number, what in (
        (counts.empty, "without any text: left out"),
        (counts.repeated, f"that had been there before: {kept}"),
        (counts.zero, "of which the encoder knows no word: no search finds them"),
    ):
        if number:
            say(f"{number:,} of {counts.sentences:,} sentences {what}")
    if settings.recall is not None:
        say(
            f"{settings.lists:,} lists, of which a query reads {settings.probes}: they find "
            f"{100 * settings.recall:.1f} % of the true 10 nearest neighbours of a sample"
        )
    return built


def _print_neighbours(arguments: Arguments) -> None:
    from ..evaluation.report import short_names
    from .search_results import TSV_HEADER, printer

    queries = _queries(arguments)
    top_k = _TOP_K if arguments.top_k is None else arguments.top_k
    layout = arguments.format or ("tsv" if arguments.compare is None else "markdown")
    with ExitStack() as stack:
        sources = [str(arguments.model if arguments.corpus else arguments.index), *filter(None, [arguments.compare])]
        indexes = [_open(arguments, source, stack) for source in sources]
        lay_out = printer(layout, short_names(sources))
        total = without = 0
        for block in queries:
            options: dict[str, Any] = {
                "method": arguments.method,
                "probes": arguments.probes,
                "drop_identical": arguments.identical == "drop",
                "batch_size": arguments.batch_size,
            }
            streams = [index.neighbours(block, top_k, **options) for index in indexes]
            for query, *found in zip(block, *streams, strict=True):
                if layout == "tsv" and not total:
                    sys.stdout.write(TSV_HEADER)
                total += 1
                without += not any(found)
                sys.stdout.write(lay_out(query, found))
        sys.stdout.flush()
        shortest = min(map(len, indexes))
        if top_k > shortest:
            say(f"--top-k is {top_k:,}, but there are only {shortest:,} sentences")
    if without == total:
        raise InputError(
            "no neighbour of any query: the encoder knows none of their words",
            path=arguments.query_file,
            remedy="give sentences in the language that the encoder was trained on",
        )
    if without:
        say(f"{without:,} of {total:,} queries have no neighbours: the encoder knows none of their words")


def _mine(arguments: Arguments) -> None:
    threshold = _THRESHOLD if arguments.threshold is None else arguments.threshold
    max_pairs = _MAX_PAIRS if arguments.max_pairs is None else arguments.max_pairs
    with ExitStack() as stack:
        index = _open(arguments, str(arguments.model if arguments.corpus else arguments.index), stack)
        # Said now, not after the work.
        approximate = index.uses_lists(arguments.method)
        with output_folder(str(arguments.output), overwrite=arguments.overwrite) as staging:
            pairs = index.mine(
                threshold,
                max_pairs=max_pairs,
                method=arguments.method,
                probes=arguments.probes,
                keep_identical=arguments.identical == "keep",
                show_progress_bar=True,
            )
            write_split(staging, "train", _sentence_pairs(index, pairs), MINED, repeating=())
            source = Path(str(arguments.index or arguments.corpus))
            results: dict[str, Any] = {"pairs": len(pairs), "found": pairs.found, "sentences": len(index)}
            inputs: list[str | Path] = [source, *([] if arguments.corpus is None else [str(arguments.model)])]
            record = settings_of(arguments)
            write_provenance(staging, command="search", settings=record, inputs=inputs, results=results)
            values = {
                **(inherited_metadata(source) if source.is_dir() else {"language": [], "license": []}),
                "title": f"Paraphrases mined from {source.resolve().name}",
                "source": source.resolve().name,
                "threshold": threshold,
                "approximate": approximate,
                "keep_identical": arguments.identical == "keep",
                "splits": split_sizes(staging),
                **results,
            }
            write_card(staging, "dataset_cards", "mined", values)
    if pairs.found > len(pairs):
        say(f"{pairs.found:,} pairs reach the threshold; the best {len(pairs):,} are kept (--max-pairs)")
    if not len(pairs):
        say(f"no pair has a cosine of {threshold} or more")
    say(f"{len(pairs):,} pairs are in {arguments.output}")


def _sentence_pairs(index: SearchIndex, pairs: MinedPairs) -> Iterator[pa.Table]:
    """Reads the sentences of mined pairs, block by block."""
    for first in range(0, len(pairs), _PAIRS_PER_BATCH):
        part = slice(first, first + _PAIRS_PER_BATCH)
        sides = [index.sentences.take(rows[part]).column("sentence") for rows in (pairs.first, pairs.second)]
        yield pa.table({"sentence1": sides[0], "sentence2": sides[1], "score": pairs.scores[part]}).combine_chunks()


def _open(arguments: Arguments, source: str, stack: ExitStack) -> SearchIndex:
    """Opens an index folder, or builds one for the time being with the encoder `source`."""
    from ..encoders.search.index import SearchIndex

    if arguments.corpus is None:
        encoder = None if arguments.model is None else _encoder(arguments.model, arguments.device)
        index = SearchIndex(source, encoder, device=arguments.device)
        if not index.uses_lists(arguments.method) and arguments.probes is not None:
            raise UsageError("the index has no lists for --probes to read", path=source, remedy="leave --probes out")
        return index
    corpus, encoder = _corpus(arguments), _encoder(source, arguments.device)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_")))
    _build_into(folder, encoder, corpus, arguments)
    return SearchIndex(folder, encoder)


def _queries(arguments: Arguments) -> Iterator[list[str]]:
    """Gives the queries in blocks; a file is checked at once and read later."""
    if arguments.query_file is None:
        return iter([arguments.query])
    path = Path(arguments.query_file)
    if path.is_dir():
        raise InputError("this is a folder, not a file of queries", path=path, remedy="give one sentence a line")
    blocks = Corpus(path).blocks()
    return ([text or "" for text in block] for block in blocks)


def _corpus(arguments: Arguments) -> Corpus:
    return Corpus(Path(str(arguments.corpus)), arguments.columns, arguments.split)


def _encoder(model: str, device: str) -> SentenceEncoder:
    from ..encoders.sentence_encoder import SentenceEncoder

    return SentenceEncoder.from_pretrained(model, device=device)


def _copy_encoder(model: Path, folder: Path) -> None:
    """Copies the encoder into the index, so that the folder is complete in itself."""
    from ..encoders.search.index import ENCODER_FOLDER

    ignored = shutil.ignore_patterns(".*", "checkpoint-*", "__pycache__")
    try:
        shutil.copytree(model, folder / ENCODER_FOLDER, ignore=ignored)
    except (OSError, shutil.Error) as error:
        raise ModelError(f"the encoder cannot be copied into the index: {error}", path=model) from error


def _write_index_card(folder: Path, arguments: Arguments, corpus: Corpus, results: dict[str, Any]) -> None:
    name = corpus.path.resolve().name
    values = {
        **(inherited_metadata(corpus.path) if corpus.columns else {"language": [], "license": []}),
        "title": f"Search index of {name}",
        "source": name,
        "columns": corpus.columns,
        "encoder": Path(str(arguments.model)).resolve().name,
        "keep_repeated": arguments.keep_repeated,
        "splits": split_sizes(folder),
        **results,
    }
    write_card(folder, "dataset_cards", "search_index", values)
