"""The recipe of the verb `paraphrase`: sentences in, pairs with paraphrases out, by a round trip of translation."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..artefacts.artefact import check_early
from ..artefacts.provenance import inherited_metadata
from ..data.folder import DataFolder, write_split
from ..data.records import arrow_tables, open_rows, schema_of, text_columns
from ..data.schema import SENTENCES, columns_named, require_columns
from ..data.sentences import lines_of_file
from ..data.text_blocks import DEFAULT_COLUMNS, kind_of_rows
from ..errors import HfParaphraseError, InputError
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut, reports
from ..messages import log
from ..settings import recipe, setting
from .back_translation import finish_pairs, merged_reports, model_name
from .search_settings import SearchJobSettings

if TYPE_CHECKING:
    from .paraphraser import Paraphraser


@dataclass(kw_only=True)
class ParaphraseSettings(SearchJobSettings):
    """Paraphrase sentences: translate them into other languages and back, and keep what is alike but not the same."""

    models: list[str] = setting(
        "for every round trip a translation model and one that translates back; or one of several languages", path=True
    )
    input: str = setting(
        "sentences: lines of text, - for standard input; Parquet, CSV, JSON lines; a data folder",
        path=True,
        dataset=True,
    )
    output: str = setting("data folder for the pairs; it appears whole at the end")
    column: str | None = setting(
        f"column of the sentences; if not given, the first of {', '.join(DEFAULT_COLUMNS)} that is there",
        None,
        names=["--column", "--columns"],
    )
    keep_columns: list[str] = setting("columns, such as label, whose values every paraphrase of a row gets", [])
    split: str = setting("split of the data folder", "train")
    language: str | None = setting(
        "language of the sentences, by the code of models that know several, such as eng_Latn",
        None,
        names=["--language", "--lang"],
    )
    pivots: list[str] = setting("language in between, likewise, one for every round trip", [])
    num: int = setting("paraphrases kept per sentence, at most", 5, at_least=1)
    num_beams: int = setting(
        "beam width of both directions: so many ways there, each with so many back", 5, at_least=1
    )
    encoder: str | None = setting("encoder that measures similarity [default: builtin, for English]", None, path=True)
    min_similarity: float = setting(
        "least similarity of a paraphrase to its sentence; -1 keeps all", 0.7, at_least=-1, at_most=1
    )
    min_edit_distance: float = setting(
        "least edit distance to its sentence, as a share of the characters", 0.15, at_least=0, at_most=1
    )
    max_sentences: int | None = setting("paraphrase only the first N sentences", None, at_least=1)
    shard_size: int = setting("sentences per shard, the unit of work that is never done twice", 200, at_least=1)

    def __post_init__(self) -> None:
        """Takes the word for standard input as the name of its file, which every recipe copies first."""
        if self.input == "-":
            self.input = "/dev/stdin"

    def paraphraser(self, device: str | None) -> Paraphraser:
        """Returns the batch function of these settings."""
        from .paraphraser import Paraphraser

        return Paraphraser(
            tuple(self.models),
            num=self.num,
            options=self.options(device, num_return_sequences=self.num_beams),
            language=self.language,
            pivots=tuple(self.pivots),
            encoder=self.encoder,
            min_similarity=self.min_similarity,
            min_edit_distance=self.min_edit_distance,
            device=device,
            keep=tuple(self.keep_columns),
        )


def paraphrase(
    sentences: str | Sequence[str], *, models: str | Sequence[str], num: int = 5, **settings: Any
) -> list[list[str]]:
    """Paraphrases sentences by a round trip through another language, or several.

        paraphrase(["How are you?"], models=["Helsinki-NLP/opus-mt-en-fr", "Helsinki-NLP/opus-mt-fr-en"])

    Args:
        sentences: The sentences; a single one is a list of one.
        models: For every round trip the model into another language and the one back; or one model of several
            languages.
        num: Paraphrases of a sentence, at most.
        **settings: Other settings of :func:`paraphrase_file`, such as `pivots`, `num_beams` or `min_similarity`.

    Returns:
        The paraphrases of every sentence, a likely and different one first; none where no candidate is left.
    """
    from ..tokenization.token_lookup import list_of_texts

    texts = list_of_texts(sentences)
    chosen = [models] if isinstance(models, str | os.PathLike) else list(models)
    checked = ParaphraseSettings(models=chosen, input="sentences", output="none", num=num, **settings)
    checked.check()
    function = checked.paraphraser(checked.device)
    found: list[list[str]] = [[] for _ in texts]
    for start in range(0, len(texts), checked.shard_size):
        part = texts[start : start + checked.shard_size]
        rows = {"id": [str(start + index) for index in range(len(part))], "sentence": part}
        for pair in function(pa.table(rows, schema=SENTENCES)).to_pylist():
            found[int(pair["id"])].append(pair["sentence2"])
    return found


@recipe(ParaphraseSettings)
def paraphrase_file(settings: ParaphraseSettings) -> DataFolder:
    """Paraphrases the sentences of a file or data folder by round trips through other languages.

    A job that was killed is continued with `resume`; the bytes are the same.

    Returns:
        The data folder of the pairs; with `shard`, while parts are missing, that of the incomplete work.
    """
    if not settings.resume and settings.shard is None:
        check_early(settings.output, overwrite=settings.overwrite)
    kept = list(dict.fromkeys(columns_named(settings.keep_columns, ())))
    settings = dataclasses.replace(settings, keep_columns=kept)
    function = settings.paraphraser(settings.device or (None if settings.computes_here else "cpu"))
    here = settings.here(function)
    encoder, trips = here.used_encoder, here.trips
    here.check_kept()
    if encoder is None:
        log("similarity is not measured: the built-in encoder knows English alone; --encoder names another")
    output = ShardedOutput(
        settings.output,
        settings,
        command="paraphrase",
        inputs=[*settings.models, settings.input, *([settings.encoder] if settings.encoder else [])],
        resume=settings.resume,
        job={"bf16": function.options.bf16},
        free=["device", "precision"],
    )
    with output:
        if output.finished:
            return DataFolder(output.target)
        staging = output.begin()
        try:
            sentences = _sentences(settings, output.work)
        except HfParaphraseError:
            # No part has begun without them.
            output.discard()
            raise
        shards = cut("train", sentences.count("train"), settings.shard_size, source="train")
        job = ShardJob(sentences, {"train": function}, settings.shard_size)
        output.run(job, output.own(shards), what="paraphrase", unit="sentence")
        if output.is_whole(shards):
            results = merged_reports(output.current, reports(shards, output.current), function.COUNTS)
            results["search"] = dataclasses.asdict(function.options)
            results["encoder"] = None if encoder is None else model_name(encoder)
            results["pivots"] = [trip.pivot for trip in trips]
            _finish(settings, output, results)
    return DataFolder(staging if staging.is_dir() else output.target)


def _sentences(settings: ParaphraseSettings, work: Path) -> DataFolder:
    """Returns the sentences, numbered from 0, as a data folder, which is written where it is not there yet."""
    folder = work / "sentences"
    if folder.is_dir():
        return DataFolder(folder)
    schema, tables = _opened(settings, work / "rows")
    temporary = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}")
    write_split(temporary, "train", _numbered(tables, schema, settings.max_sentences), schema)
    with suppress(OSError):  # another part of the job was faster
        temporary.rename(folder)
    return DataFolder(folder)


def _opened(settings: ParaphraseSettings, cache: Path) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Opens the input: the schema of the sentences with the columns to keep, and their tables without numbers."""
    path, wanted = Path(settings.input), [] if settings.column is None else [settings.column]
    if path.is_file() and kind_of_rows(path) is None:
        require_columns(["sentence"], [*wanted, *settings.keep_columns], settings.input)
        return SENTENCES, (pa.table({"sentence": lines}) for lines in lines_of_file(path))
    rows = open_rows([settings.input], cache, split=settings.split)
    (column, *_) = text_columns(rows, wanted, settings.input)
    require_columns(rows.column_names, settings.keep_columns, settings.input)
    if not len(rows):
        raise InputError("there are no rows", path=settings.input, remedy="give a file or --split with some")
    kept = schema_of(rows).remove_metadata()
    schema = pa.schema([*SENTENCES, *(kept.field(name) for name in settings.keep_columns)])
    names = [column, *settings.keep_columns]
    return schema, (table.select(names).rename_columns(schema.names[1:]) for table in arrow_tables(rows))


def _numbered(tables: Iterable[pa.Table], schema: pa.Schema, most: int | None) -> Iterator[pa.Table]:
    """Numbers rows from 0, and ends after so many."""
    count = 0
    for table in tables:
        table = table if most is None else table.slice(0, most - count)
        ids = pa.array([str(count + index) for index in range(table.num_rows)], pa.string())
        yield pa.table([ids, *table.columns], schema.names).cast(schema)
        count += table.num_rows
        if count == most:
            return


def _finish(settings: ParaphraseSettings, output: ShardedOutput, results: dict[str, Any]) -> None:
    """Turns the finished shards into a data folder, with provenance and card."""
    models, pivots = [model_name(model) for model in settings.models], results["pivots"]
    models = models * 2 * len(pivots) if len(models) == 1 else models
    values = {
        "license": inherited_metadata(settings.input)["license"] if Path(settings.input).is_dir() else None,
        "settings": settings.record(),
        "trips": list(zip(models[::2], models[1::2], pivots, strict=True)),
    }
    finish_pairs(output, results, "paraphrased", values)
    log(
        f"of {results['candidates']:,} candidates {results['copies']:,} are copies, {results['near_copies']:,} "
        f"near-copies, {results['loops']:,} loops, {results['dissimilar']:,} dissimilar"
    )
