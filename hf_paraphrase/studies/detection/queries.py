"""What the reports on some sentences of a text share: their settings, the queries, and an index of the texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm.auto import tqdm

from ...data.sentences import SentenceCorpus, naming
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...data.text_files import StrictLines, read_lines
from ...encoders.search.build import build_index, text_keys
from ...encoders.search.index import SearchIndex
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...settings import setting
from ...tables import short_names
from ..report import ReportSettings


@dataclass(kw_only=True)
class ComparisonSettings(ReportSettings):
    """What the reports on encoders share."""

    model: list[str] = setting("one or more folders of sentence encoders, which are shown side by side", path=True)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)

    def encoders(self) -> dict[str, SentenceEncoder]:
        """Opens the encoders, by short names."""
        names = distinct_names(self.model, "model")
        opened = [SentenceEncoder.from_pretrained(model, device=self.device) for model in self.model]
        return dict(zip(names, opened, strict=True))


@dataclass(kw_only=True)
class QuerySettings(ComparisonSettings):
    """What the reports on some queries and the sentences of a text share."""

    text: list[str] = setting(
        f"the sentences to search: text files, one sentence a line, {PLAIN_OR_COMPRESSED}, or data folders (split "
        "train)",
        path=True,
        dataset=True,
    )
    query: list[str] = setting("one or more sentences, in quotes, that all sentences are compared with", [])
    queries: str | None = setting(
        "a text file of such sentences, one a line", None, names=["--queries", "--query-file"], path=True
    )

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if bool(self.query) == (self.queries is not None):
            both = ", not both" if self.query else ""
            raise UsageError(f"give --query or --queries{both}", remedy="one or more sentences")

    def inputs(self) -> list[str]:
        """Lists the files and folders that are read."""
        return [*self.model, *self.text, *([] if self.queries is None else [self.queries])]

    def read_queries(self) -> list[str]:
        """Returns the distinct queries that are not empty."""
        given = list(self.query)
        for lines in [] if self.queries is None else read_lines(Path(self.queries), StrictLines()):
            given += lines.to_pylist()
        queries = list(dict.fromkeys(text.strip() for text in given if text.strip()))
        if not queries:
            raise InputError("there are no queries", path=self.queries, remedy="give one or more sentences")
        return queries

    def indexes(self, work: Path, *, keep_repeated: bool) -> Iterator[tuple[str, SearchIndex]]:
        """Encodes the sentences with one model after the other; an index is there until the next is asked for."""
        corpora = [SentenceCorpus(Path(path)) for path in self.text]
        for name, encoder in self.encoders().items():
            sentences = (block for corpus in corpora for block in corpus.blocks())
            blocks = sentences if keep_repeated else _first_spellings(sentences)
            with TemporaryDirectory(dir=work) as folder, tqdm(unit=" sentences", desc=name) as progress:
                with naming(self.text[0]):
                    build_index(
                        encoder,
                        blocks,
                        Path(folder),
                        keep_repeated=keep_repeated,
                        batch_size=self.batch_size,
                        progress=progress.update,
                    )
                yield name, SearchIndex(folder, encoder)


def distinct_names(paths: Sequence[str], kind: str) -> list[str]:
    """Returns a short name for each path; none may come twice."""
    if len(set(paths)) < len(paths):
        raise UsageError(f"a {kind} is given twice", remedy="give each once")
    return short_names(paths)


def _first_spellings(blocks: Iterable[list[str | None]]) -> Iterator[list[str | None]]:
    """Gives sentences that differ in case and spacing only the spelling of the first of them."""
    first: dict[int, str] = {}
    for block in blocks:
        keys = text_keys([text or "" for text in block]).tolist()
        yield [text and first.setdefault(key, text) for key, text in zip(keys, block, strict=True)]
