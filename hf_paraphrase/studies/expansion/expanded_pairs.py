"""Pairs of sentences and their expansions, from a text or from the sentences of paraphrase pairs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import xxhash

from ...data.folder import DataFolder
from ...data.schema import require_columns, require_texts
from ...data.sources.builder import input_state
from ...data.text_files import LineErrors, read_lines
from ...errors import UsageError
from .expander import SHARE, Expanded, Expander
from .processes import ExpanderSettings
from .wordnet import find_wordnet

EXPANDED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("expanded_words", pa.int32())])
"""`sentence1` is a sentence, `sentence2` its expansion, in which `expanded_words` words gave place to definitions."""
_SIDES = ("sentence1", "sentence2")
_BLOCK = 5_000


def sentences_of_pairs(folder: str | os.PathLike[str], split: str) -> Iterator[list[str]]:
    """Streams both sides of a data folder's pairs, in blocks: the first side of some pairs, then their second."""
    for batch in DataFolder(folder).batches(split, list(_SIDES), batch_size=_BLOCK):
        for name in _SIDES:
            yield [text or "" for text in batch.column(name).to_pylist()]


def sentences_of_text(path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Streams the lines of a text file in blocks."""
    for array in read_lines(Path(path), LineErrors()):
        for start in range(0, len(array), _BLOCK):
            yield array.slice(start, _BLOCK).to_pylist()


def distinct(blocks: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Leaves out the sentences that came before, by 64 bits of a digest of each."""
    seen: set[int] = set()
    for block in blocks:
        new = []
        for sentence in block:
            digest = xxhash.xxh3_64_intdigest(sentence.encode("utf-8", "surrogatepass"))
            if digest not in seen:
                seen.add(digest)
                new.append(sentence)
        if new:
            yield new


def expanded_tables(expanded: Iterable[tuple[Sequence[str], Expanded]]) -> Iterator[pa.Table]:
    """Makes tables of sentences and their expansions (:data:`EXPANDED`); without those in which nothing changed."""
    for sentences, block in expanded:
        rows = [
            (before, after, int(count))
            for before, after, count in zip(sentences, block.texts, block.expanded, strict=True)
            if count
        ]
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        arrays = [pa.array(column, field.type) for column, field in zip(columns, EXPANDED, strict=True)]
        yield pa.table(arrays, schema=EXPANDED)


@dataclass
class ExpandedPairsConfig(datasets.BuilderConfig):
    """The settings of :class:`ExpandedPairs`.

    Attributes:
        text: A text file, one sentence a line.
        pairs: A data folder of pairs; each of its splits becomes one.
        wordnet: As for :class:`~.wordnet.WordNet`.
        share: As for :class:`~.expander.Expander`, like the rest.
        senses: `first` or `random`.
        decontaminate: Evaluation files or folders, or lists of fingerprints: definitions in them are not used.
    """

    text: str | None = None
    pairs: str | None = None
    wordnet: str | None = None
    share: float = SHARE
    seed: int = 0
    senses: str = "first"
    whole: bool = False
    epoch: int = 0
    decontaminate: list[str] | None = None


class ExpandedPairs(datasets.ArrowBasedBuilder):
    """Builds pairs of sentences (`sentence1`) and their expansions (`sentence2`), each distinct sentence once."""

    BUILDER_CONFIG_CLASS = ExpandedPairsConfig

    def __init__(self, cache_dir: str | None = None, **settings: Any) -> None:
        if (settings.get("text") is None) == (settings.get("pairs") is None):
            raise UsageError("expanded pairs are made of a text or of pairs", remedy="give one of `text` and `pairs`")
        settings["wordnet"] = str(find_wordnet(settings.get("wordnet")).resolve())
        inputs = [settings["wordnet"]]
        for name in ("text", "pairs"):
            if settings.get(name) is not None:
                settings[name] = str(Path(settings[name]).resolve())
                inputs.append(settings[name])
        if settings.get("decontaminate"):
            settings["decontaminate"] = [str(Path(path).resolve()) for path in settings["decontaminate"]]
            inputs += settings["decontaminate"]
        settings["hash"] = input_state(inputs, settings.get("hash"))
        self._expander: Expander | None = None
        super().__init__(cache_dir=cache_dir, **settings)

    def _info(self) -> datasets.DatasetInfo:
        description = "Sentences and their expansions: a share of the words replaced by their definitions in WordNet."
        return datasets.DatasetInfo(description=description, features=datasets.Features.from_arrow_schema(EXPANDED))

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        # What is wrong belongs here: what is raised while tables are generated would be wrapped in another error.
        self._open()
        if self.config.pairs is None:
            for _ in sentences_of_text(self.config.text):
                pass
            names = ["train"]
        else:
            opened = DataFolder(self.config.pairs)
            names = opened.splits
            for name in names:
                schema = opened.schema(name)
                require_columns(schema.names, _SIDES, self.config.pairs)
                require_texts(schema, self.config.pairs)
        return [datasets.SplitGenerator(name=name, gen_kwargs={"split": name}) for name in names]

    def _generate_tables(self, split: str) -> Iterator[tuple[tuple[int, int], pa.Table]]:
        options, expander = self.config, self._open()
        blocks = sentences_of_text(options.text) if options.pairs is None else sentences_of_pairs(options.pairs, split)
        expanded = ((block, expander.expand_counted(block, options.epoch)) for block in distinct(blocks))
        for index, table in enumerate(expanded_tables(expanded)):
            yield (0, index), table

    def _open(self) -> Expander:
        if self._expander is None:
            options = self.config
            self._expander = ExpanderSettings(
                options.wordnet,
                options.share,
                options.seed,
                options.senses,
                options.whole,
                options.epoch,
                tuple(options.decontaminate or ()),
            ).open()
        return self._expander
