"""Labels of words: parts of speech and dependencies that a file gives or a tagger finds, else kinds by closed lists.

Four layouts of files are distinguished by the first line that is not empty:

* `word/TAG word/TAG …`, a sentence a line, the last slash counts;
* `word TAB tag` or `word TAB tag TAB dependency`, a word a line, an empty line between sentences;
* CoNLL-U (https://universaldependencies.org/format.html): ten fields a word; the tag is the language's own (XPOS)
  where there is one, else the universal one, and the label that of the dependency on its head;
* the files of PIT-2015: seven fields a line, the last two of which are sentences of `word/entity/tag/chunk/event`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...data.text_files import LineErrors, read_lines
from ...errors import InputError
from ..expansion.tagger import PartOfSpeechTagger

TAG, DEPENDENCY = "tag", "dependency"
_LAYOUTS = "word/TAG on one line, word TAB tag a line, CoNLL-U, or a file of PIT-2015"
PUNCTUATION = "PUNCT"
"""The label of words without a letter or digit, which the tagger does not see."""
CONTENT = "other words"
_LISTS = {
    "articles": "a an the",
    "demonstratives and quantifiers": "this that these those some any no every each all both either neither another "
    "much many few several more most",
    "personal pronouns": "i you he she it we they me him her us them myself yourself himself herself itself ourselves "
    "themselves mine yours hers ours theirs",
    "possessives": "my your his its our their 's '",
    "question words": "who whom whose which what when where why how",
    "prepositions": "of in on at by for with from into onto about over under between among through during before "
    "after above below against without within across behind beside near toward towards upon off out up down around "
    "along as like than per via",
    "to": "to",
    "conjunctions": "and or but nor so yet if because although though while since unless until whether",
    "auxiliaries and modals": "be am is are was were been being do does did have has had having can could will would "
    "shall should may might must ca wo 'm 're 've 'll 'd",
    "negation": "not n't never cannot",
    "there": "there",
}
_KIND_OF = {word: kind for kind, words in _LISTS.items() for word in words.split()}
_NUMBER = re.compile(r"[+-]?\d[\d.,:/]*%?")
_LETTER = re.compile(r"[^\W_]")
_PIT_FIELDS, _PIT_PARTS, _CONLLU_FIELDS = 7, 5, 10


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
    def of_words(cls, words: list[str], labels: dict[str, list[str]] | None = None) -> LabelledSentence:
        """Makes a sentence of words with a space between them."""
        spans, start = [], 0
        for word in words:
            spans.append((start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(spans), {name: tuple(items) for name, items in (labels or {}).items()})

    @property
    def words(self) -> list[str]:
        """The words as they stand in the text."""
        return [self.text[start:end] for start, end in self.spans]


def read_tagged(path: Path) -> Iterator[LabelledSentence]:
    """Streams the sentences of a tagged file."""
    lines = _numbered(path)
    first = next((item for item in lines if item[1].strip()), None)
    if first is None:
        raise InputError("the file contains no text", path=path, remedy=f"give {_LAYOUTS}")
    number, line = first
    fields = line.split("\t")
    items = _rejoined(first, lines)
    if line.startswith("# ") or (len(fields) == _CONLLU_FIELDS and fields[0].split("-")[0].isdigit()):
        yield from _conllu(items, path)
    elif len(fields) == _PIT_FIELDS:
        yield from _pit(items, path)
    elif len(fields) in {2, 3}:
        yield from _vertical(items, len(fields), path)
    elif len(fields) == 1 and "/" in line:
        for number, line in items:
            if line.strip():
                yield _slashed(line, 2, 1, path, number)
    else:
        raise InputError("words and tags cannot be detected", path=path, line=number, remedy=f"give {_LAYOUTS}")


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    number = 0
    for block in read_lines(path, LineErrors()):
        for line in block.to_pylist():
            number += 1
            yield number, line


def _rejoined(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _slashed(line: str, parts: int, place: int, path: Path, number: int) -> LabelledSentence:
    words, tags = [], []
    for item in line.split():
        # The word itself may hold slashes.
        fields = item.rsplit("/", parts - 1)
        if len(fields) != parts or not fields[0] or not fields[place]:
            expected = "word/TAG" if parts == 2 else "word/entity/tag/chunk/event"
            raise InputError(f"`{item[:80]}` is not {expected}", path=path, line=number, remedy="fix the line")
        words.append(fields[0])
        tags.append(fields[place])
    return LabelledSentence.of_words(words, {TAG: tags})


def _pit(lines: Iterator[tuple[int, str]], path: Path) -> Iterator[LabelledSentence]:
    for number, line in lines:
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != _PIT_FIELDS:
            raise InputError(
                f"{len(fields)} tab-separated fields where {_PIT_FIELDS} are expected", path=path, line=number
            )
        for text in fields[5:]:
            yield _slashed(text, _PIT_PARTS, 2, path, number)


def _vertical(lines: Iterator[tuple[int, str]], count: int, path: Path) -> Iterator[LabelledSentence]:
    names = (TAG, DEPENDENCY)[: count - 1]
    words: list[str] = []
    labels: dict[str, list[str]] = {name: [] for name in names}
    for number, line in lines:
        if not line.strip():
            if words:
                yield LabelledSentence.of_words(words, labels)
            words, labels = [], {name: [] for name in names}
            continue
        fields = [item.strip() for item in line.split("\t")]
        if len(fields) != count or not all(fields):
            raise InputError(
                f"`{line[:80]}` is not {count} tab-separated fields (word, {', '.join(names)})",
                path=path,
                line=number,
                remedy="fix the line; an empty one stands between sentences",
            )
        words.append(fields[0])
        for name, value in zip(names, fields[1:], strict=True):
            labels[name].append(value)
    if words:
        yield LabelledSentence.of_words(words, labels)


def _conllu(lines: Iterator[tuple[int, str]], path: Path) -> Iterator[LabelledSentence]:
    words: list[str] = []
    labels: dict[str, list[str]] = {TAG: [], DEPENDENCY: []}
    for number, line in lines:
        if not line.strip():
            if words:
                yield LabelledSentence.of_words(words, labels)
            words, labels = [], {TAG: [], DEPENDENCY: []}
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != _CONLLU_FIELDS:
            raise InputError(
                f"{len(fields)} tab-separated fields where CoNLL-U has {_CONLLU_FIELDS}", path=path, line=number
            )
        if not fields[0].isdigit():
            continue  # a contraction that is spelled out below, or a word that is not there
        words.append(fields[1])
        labels[TAG].append(fields[4] if fields[4] != "_" else fields[3])
        labels[DEPENDENCY].append(fields[7])
    if words:
        yield LabelledSentence.of_words(words, labels)


def tagged_lines(text: Path, tags: Path) -> Iterator[LabelledSentence]:
    """Streams sentences whose words, separated by spaces, are in one file and their tags in another, line by line."""
    words_of, tags_of = list(_numbered(text)), list(_numbered(tags))
    if len(words_of) != len(tags_of):
        raise InputError(
            f"{len(tags_of)} lines, but {text} has {len(words_of)}", path=tags, remedy="give a line of tags a sentence"
        )
    for (number, line), (_, labels) in zip(words_of, tags_of, strict=True):
        words, line_tags = line.split(), labels.split()
        if len(words) != len(line_tags):
            raise InputError(
                f"{len(line_tags)} tags for {len(words)} words",
                path=tags,
                line=number,
                remedy="give a tag for every word between spaces",
            )
        if words:
            yield LabelledSentence.of_words(words, {TAG: line_tags})


def with_tags(tagger: PartOfSpeechTagger, sentences: Sequence[LabelledSentence]) -> list[LabelledSentence]:
    """Labels every word with its universal part of speech.

    Returns:
        The same sentences with the labels :data:`TAG`.
    """
    seen = [[word for word in sentence.words if _has_letter(word)] for sentence in sentences]
    labelled = []
    for sentence, labels in zip(sentences, tagger.tag(seen), strict=True):
        following = iter(labels)
        # Of verbs the labels tell the form too, behind a bar.
        tags = [next(following).partition("|")[0] if _has_letter(word) else PUNCTUATION for word in sentence.words]
        labelled.append(dataclasses.replace(sentence, labels={**sentence.labels, TAG: tuple(tags)}))
    return labelled


def _has_letter(word: str) -> bool:
    return any(letter.isalnum() for letter in word)


def kind_of_word(word: str) -> str:
    """Returns the kind of an English word by its form alone: `her` is always a pronoun, `like` a preposition.

    Words of other languages, and all that no list has, are :data:`CONTENT`.
    """
    word = word.lower().replace("\u2019", "'")
    if word in _KIND_OF:
        return _KIND_OF[word]
    if _NUMBER.fullmatch(word):
        return "numbers"
    return CONTENT if _LETTER.search(word) else "punctuation"
