"""The command `paraphrase`: reads sentences and writes a data folder of pairs with paraphrases."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from ..artefacts.hub_models import model_name
from ..artefacts.provenance import inherited_metadata
from ..data.folder import DataFolder, write_split
from ..data.rows import open_rows
from ..data.schema import SENTENCES, columns_named
from ..data.text_blocks import DEFAULT_COLUMNS
from ..errors import HfParaphraseError, InputError, UsageError
from ..jobs.sharded_output import ShardedOutput, finish_pairs, merge_reports
from ..jobs.shards import REPORTS, ShardJob, cut, reports
from ..messages import log
from ..settings import flag, is_given, recipe, seed_setting, setting
from ..translation.search_settings import SearchJobSettings
from .generators import (
    DEFAULT_PROMPT,
    GENERATORS,
    LLM,
    ROUND_TRIP,
    SENTENCE,
    SEQ2SEQ,
    ApiOptions,
    SamplingOptions,
    check_prompt,
)
from .paraphraser import Paraphraser

_LLM = {"generator": LLM}


@dataclass(kw_only=True)
class GeneratorSettings(SearchJobSettings):
    """The generator that proposes paraphrases, and its settings."""

    GROUP = "generator"

    models: list[str] = setting(
        "for each round trip a translation model and a model back, or one multilingual model; for seq2seq and llm one "
        "model: a folder, a name on the Hub, or its name at the endpoint",
        names=["--models", "--model"],
        path=True,
    )
    generator: str = setting(
        "source of the paraphrases: round-trip (translation into another language and back), seq2seq (a T5 or BART "
        "model that was trained to paraphrase), llm (a decoder-only model with a chat template)",
        ROUND_TRIP,
        choices=GENERATORS,
    )
    language: str | None = setting(
        "language of the sentences: its code in a multilingual model, such as eng_Latn, or else such as en",
        None,
        names=["--language", "--lang"],
    )
    pivots: list[str] = setting(
        "code of the pivot language, one for every round trip", [], only_with={"generator": ROUND_TRIP}
    )
    task_prefix: str | None = setting(
        "text to put before every sentence, such as `paraphrase: ` [default: the prefix in the model's configuration]",
        None,
        only_with={"generator": SEQ2SEQ},
    )
    prompt: str | None = setting(
        f"text file with the message to the chat model, with {SENTENCE} for the sentence [default: asks for one "
        "paraphrase in the same language]",
        None,
        path=True,
        only_with=_LLM,
    )
    max_new_tokens: int = setting("maximum length of an answer in tokens", 128, at_least=1, only_with=_LLM)
    num_beams: int = setting(
        "beam width; in round trips of both directions: N translations, each with N translations back", 5, at_least=1
    )
    do_sample: bool = setting(
        "sample twice --num candidates instead of searching for the most probable ones; they depend on the sentence "
        "and --seed alone; an endpoint always samples",
        False,
    )
    temperature: float = setting("divides the logits before tokens are sampled", 1.0, above=0)
    top_p: float = setting(
        "sample from the most probable tokens that have this probability together", 1.0, above=0, at_most=1
    )
    top_k: int = setting("sample from the K most probable tokens; 0 for all", 0, at_least=0)
    seed: int = seed_setting("seed of sampling")
    api_base: str | None = setting(
        "URL of an OpenAI-compatible endpoint, such as http://localhost:8000/v1, that runs the chat model; its key is "
        "read from the environment variable OPENAI_API_KEY",
        None,
        only_with=_LLM,
    )
    requests_per_minute: float | None = setting(
        "maximum number of requests per minute", None, above=0, only_with="api_base"
    )

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if self.api_base is not None and "@" in urlsplit(self.api_base).netloc:
            problem = "--api-base has a user name or a password"
            raise UsageError(problem, remedy="give the key in the environment variable OPENAI_API_KEY")
        if self.samples:
            return
        for name in ("temperature", "top_p", "top_k"):
            if is_given(self, name):
                raise UsageError(f"{flag(name)} is for sampling", remedy="give --do-sample too")

    @property
    def samples(self) -> bool:
        """Whether tokens are sampled; an endpoint always samples."""
        return self.do_sample or self.api_base is not None

    @property
    def local_models(self) -> list[str]:
        """The models that are read on this machine."""
        return [] if self.api_base is not None else self.models


def _read_prompt(path: Path) -> str:
    try:
        prompt = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the prompt: {error}", path=path, remedy="give a text file in UTF-8") from error
    return check_prompt(prompt, path)


@dataclass(kw_only=True)
class ParaphraseSettings(GeneratorSettings):
    """Paraphrase sentences with any generator, and keep paraphrases that are similar and worded differently."""

    input: str = setting(
        "sentences: lines of text, - for standard input; Parquet, CSV, JSON lines; a data folder",
        path=True,
        dataset=True,
    )
    output: str = setting("data folder for the pairs; it appears only when complete")
    column: str | None = setting(
        f"column of the sentences; if not given, the first of {', '.join(DEFAULT_COLUMNS)} that exists",
        None,
        names=["--column", "--columns"],
    )
    keep_columns: list[str] = setting("columns, such as label, to copy to every paraphrase of a row", [])
    split: str = setting("split of the data folder", "train")
    num: int = setting("maximum number of paraphrases per sentence", 5, at_least=1)
    encoder: str | None = setting("encoder that measures similarity [default: builtin, for English]", None, path=True)
    min_similarity: float = setting(
        "minimum similarity of a paraphrase to its sentence; -1 keeps all", 0.7, at_least=-1, at_most=1
    )
    min_edit_distance: float = setting(
        "minimum edit distance to its sentence, as a fraction of the characters", 0.15, at_least=0, at_most=1
    )
    max_sentences: int | None = setting("paraphrase only the first N sentences", None, at_least=1)
    shard_size: int = setting("sentences per shard, the unit of work", 200, at_least=1)

    def __post_init__(self) -> None:
        """Replace `-` by the file of standard input."""
        if self.input == "-":
            self.input = "/dev/stdin"

    def paraphraser(self, device: str | None) -> Paraphraser:
        """Return the batch function of these settings."""
        # Most fields have the names and the values of settings.
        names = [field.name for field in dataclasses.fields(Paraphraser) if field.name in vars(self)]
        fields: dict[str, Any] = {name: getattr(self, name) for name in names}
        fields |= {
            "options": self.options(device, num_return_sequences=self.num_beams),
            "prompt": DEFAULT_PROMPT if self.prompt is None else _read_prompt(Path(self.prompt)),
            "device": device,
            "keep": self.keep_columns,
        }
        if self.samples:
            fields["sampling"] = SamplingOptions(self.temperature, self.top_p, self.top_k, self.seed)
        if self.api_base is not None:
            fields["api"] = ApiOptions(self.api_base, self.requests_per_minute)
        return Paraphraser(**fields)


def paraphrase(
    sentences: str | Sequence[str], *, models: str | Sequence[str], num: int = 5, **settings: Any
) -> list[list[str]]:
    """Paraphrase sentences.

    The models stay open for the next call with the same settings.

    Args:
        sentences: A sentence or several.
        models: For each round trip a model into another language and a model back, or one multilingual model for
            all; for other generators one model.
        num: Maximum number of paraphrases per sentence.
        **settings: Other settings of :func:`paraphrase_file`, such as `generator`, `pivots` or `min_similarity`.

    Returns:
        The paraphrases of each sentence, the best first; an empty list where no candidate is left.

    Example:
        >>> paraphrase(["How are you?"], models=["Helsinki-NLP/opus-mt-en-fr", "Helsinki-NLP/opus-mt-fr-en"])
    """
    chosen = [models] if isinstance(models, str | os.PathLike) else list(models)
    checked = ParaphraseSettings(models=chosen, input="sentences", output="none", num=num, **settings)
    checked.check()
    folders = [Path(name) for name in [*checked.local_models, *filter(None, [checked.encoder])]]
    files = sorted(path for folder in folders if folder.is_dir() for path in folder.iterdir())
    times = tuple((str(path), path.stat().st_mtime_ns) for path in files)
    return _keep_open(checked.paraphraser(checked.device), times)(sentences)


@functools.lru_cache(maxsize=1)
def _keep_open(paraphraser: Paraphraser, file_times: tuple[tuple[str, int], ...]) -> Paraphraser:
    """Return the paraphraser of the last call, with its open models, if its fields and files are the same."""
    return paraphraser


@recipe(ParaphraseSettings)
def paraphrase_file(settings: ParaphraseSettings) -> DataFolder:
    """Paraphrase the sentences of a file or data folder.

    `resume` continues a killed job with the same result.

    Returns:
        The data folder of the pairs; with `shard`, the folder of the incomplete job while shards are missing.
    """
    kept = list(dict.fromkeys(columns_named(settings.keep_columns, ())))
    settings = dataclasses.replace(settings, keep_columns=kept)
    function = settings.paraphraser(settings.device or (None if settings.computes_here else "cpu"))
    output = ShardedOutput(
        settings.output,
        settings,
        command="paraphrase",
        inputs=[*settings.local_models, settings.input, *filter(None, [settings.encoder, settings.prompt])],
        job={"bf16": function.options.bf16},
        free=["device", "precision", "api_base", "requests_per_minute"],
    )
    here = settings.here(function)
    encoder = here.used_encoder
    here.check_kept()
    if encoder is None:
        log("similarity is not measured: the built-in encoder is for English; give --language en or an --encoder")
    with output:
        if output.finished:
            return DataFolder(output.target)
        output.begin()
        try:
            sentences = _write_sentences(settings, output.work)
        except HfParaphraseError:
            output.discard()
            raise
        if function.api is not None:
            folder = str(output.checkpoint(REPORTS))
            function = dataclasses.replace(function, api=dataclasses.replace(function.api, answers=folder))
        shards = cut("train", sentences.count("train"), settings.shard_size, source="train")
        job = ShardJob(sentences, {"train": function}, settings.shard_size)
        output.run(job, output.own(shards), what="paraphrase", unit="sentence")
        if not output.is_whole(shards):
            return DataFolder(output.current)
        described = here.opened.describe()
        values = {
            "license": inherited_metadata(settings.input)["license"] if Path(settings.input).is_dir() else None,
            "settings": settings.record(),
            "generator": {**dict.fromkeys(("trips", "model", "endpoint", "prefix", "prompt")), **described},
            "sampling": None if function.sampling is None else dataclasses.asdict(function.sampling),
            "round_trip": settings.generator == ROUND_TRIP,
        }
        results = merge_reports(
            output.current, reports(shards, output.current), [*function.COUNTS, *function.NO_PARAPHRASES]
        ) | {
            "search": dataclasses.asdict(function.options),
            "encoder": None if encoder is None else model_name(encoder),
            "generator": {"name": settings.generator, **described},
        }
        finish_pairs(output, results, "paraphrased", values)
    kinds = [name for name in [*function.COUNTS[3:], *function.NO_PARAPHRASES] if results[name]]
    left_out = ", ".join(f"{results[name]:,} {name.replace('_', ' ')}" for name in kinds)
    log(f"{results['candidates']:,} candidates; left out: {left_out or 'none'}")
    return DataFolder(output.target)


def _write_sentences(settings: ParaphraseSettings, work: Path) -> DataFolder:
    """Return the folder of the numbered sentences; write it if necessary."""
    folder = work / "sentences"
    if folder.is_dir():
        return DataFolder(folder)
    schema, tables = _open_input(settings)
    temporary = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}")
    write_split(temporary, "train", _number_rows(tables, schema, settings.max_sentences), schema)
    with suppress(OSError):  # another part of the job was faster
        temporary.rename(folder)
    return DataFolder(folder)


def _open_input(settings: ParaphraseSettings) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Open the input: the schema of the sentences with the columns to keep, and their tables without numbers."""
    rows = open_rows(settings.input, settings.split, roles=())
    (column, *_) = rows.text_columns([] if settings.column is None else [settings.column])
    names = [column, *settings.keep_columns]
    schema = pa.schema([*SENTENCES, *map(rows.require(*settings.keep_columns).field, settings.keep_columns)])
    if next(rows.tables(names, stop=1), None) is None:
        raise InputError("the input has no rows", path=settings.input, remedy="give a file or --split with some")
    return schema, (table.rename_columns(schema.names[1:]) for table in rows.tables(names))


def _number_rows(tables: Iterable[pa.Table], schema: pa.Schema, most: int | None) -> Iterator[pa.Table]:
    """Assign numbers to rows from 0, up to a maximum."""
    count = 0
    for table in tables:
        table = table if most is None else table.slice(0, most - count)
        ids = pa.array([str(count + index) for index in range(table.num_rows)], pa.string())
        yield pa.table([ids, *table.columns], schema.names).cast(schema)
        count += table.num_rows
        if count == most:
            return
