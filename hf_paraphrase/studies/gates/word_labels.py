"""Sentences whose words have labels: parts of speech and dependencies that a file gives or a tagger finds.

Two layouts of files are read: `word/TAG word/TAG …`, a sentence a line, and CoNLL-U
(https://universaldependencies.org/format.html), of which the tag is the language's own (XPOS) where there is one, else
the universal one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...data.sentences import lines_of_file
from ...errors import InputError
from ..expansion.words import PartOfSpeechTagger

TAG, DEPENDENCY = "tag", "dependency"
_PUNCTUATION = "PUNCT"
_CONLLU_FIELDS = 10


@dataclass(frozen=True)
class LabelledSentence:
    """A sentence whose words are known, with labels for each of them.

    Attributes:
        text: The sentence as an encoder reads it.
        spans: Where each word begins and ends in the text.
        labels: For each kind of label, e.g. :data:`TAG`, that of every word.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of_words(cls, words: Sequence[str], **labels: Sequence[str]) -> LabelledSentence:
        """Makes a sentence of words with a space between them."""
        spans, start = [], 0
        for word in words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(spans), {name: tuple(items) for name, items in labels.items()})

    @property
    def words(self) -> list[str]:
        """The words as they are in the text."""
        return [self.text[start:end] for start, end in self.spans]


def read_tagged(path: Path) -> Iterator[LabelledSentence]:
    """Streams the sentences of a tagged file."""
    rows: list[list[str]] = []
    is_conllu = False
    for number, line in enumerate((line for lines in lines_of_file(path) for line in lines), start=1):
        is_conllu = is_conllu or line.startswith("# ") or "\t" in line
        if not line.strip():
            if rows:
                yield _conllu(rows)
            rows = []
        elif not is_conllu:
            yield _slashed(line, path, number)
        elif not line.startswith("#"):
            rows.append(line.split("\t"))
            if len(rows[-1]) != _CONLLU_FIELDS:
                found = f"{len(rows[-1])} tab-separated fields where CoNLL-U has {_CONLLU_FIELDS}"
                raise InputError(found, path=path, line=number, remedy="give CoNLL-U, or word/TAG on one line")
    if rows:
        yield _conllu(rows)


def _slashed(line: str, path: Path, number: int) -> LabelledSentence:
    # The word itself may have slashes.
    pairs = [item.rpartition("/")[::2] for item in line.split()]
    for (word, tag), item in zip(pairs, line.split(), strict=True):
        if not word or not tag:
            remedy = "fix the line, or give CoNLL-U"
            raise InputError(f"`{item[:80]}` is not word/TAG", path=path, line=number, remedy=remedy)
    words, tags = zip(*pairs, strict=True)
    return LabelledSentence.of_words(words, tag=tags)


def _conllu(rows: Sequence[Sequence[str]]) -> LabelledSentence:
    # Others are contractions that are spelled out below, or words that are not in the text.
    rows = [row for row in rows if row[0].isdigit()]
    tags = [row[3] if row[4] == "_" else row[4] for row in rows]
    return LabelledSentence.of_words([row[1] for row in rows], tag=tags, dependency=[row[7] for row in rows])


def with_tags(tagger: PartOfSpeechTagger, sentences: Sequence[LabelledSentence]) -> Iterator[LabelledSentence]:
    """Labels every word with its universal part of speech."""
    seen = [[word for word in sentence.words if _has_letter(word)] for sentence in sentences]
    for sentence, labels in zip(sentences, tagger.tag(seen), strict=True):
        following = iter(labels)
        # Labels of verbs have the form too, after a bar.
        tags = [next(following).partition("|")[0] if _has_letter(word) else _PUNCTUATION for word in sentence.words]
        yield dataclasses.replace(sentence, labels={TAG: tuple(tags)})


def _has_letter(word: str) -> bool:
    return any(letter.isalnum() for letter in word)
