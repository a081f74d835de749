"""Bitext from which a student learns: a translation has the teachers' vector of the side that they know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...data.folder import DataFolder
from ...data.languages import is_language, primary_language
from ...errors import InputError


@dataclass(frozen=True)
class Bitext:
    """A bitext, the column of the language that the teachers know, the other column, and its language."""

    folder: DataFolder
    known: str
    other: str
    language: str

    def blocks(self) -> Iterator[tuple[list[str], list[str]]]:
        """Streams the texts that the teachers know, and their translations; a missing one is empty."""
        for batch in self.folder.batches("train", [self.known, self.other]):
            known, other = ([(text or "").strip() for text in column.to_pylist()] for column in batch.columns)
            yield known, other


def bitext_languages(folder: DataFolder) -> dict[str, str]:
    """Returns the languages of the sides `source` and `target`, which are the same in all rows."""
    found: set[tuple[str | None, str | None]] = set()
    for batch in folder.batches("train", ["source_lang", "target_lang"]):
        found.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    if len(found) == 1 and None not in (pair := found.pop()):
        return dict(zip(("source", "target"), map(str, pair), strict=True))
    problem = "the bitext has no rows" if not found else "the rows are of several languages, or of none"
    raise InputError(problem, path=folder.path, remedy="give a bitext of two languages, each always on one side")


def open_bitexts(folders: Sequence[str], teacher_lang: str) -> list[Bitext]:
    """Opens bitexts, of each of which one side is in the language that the teachers know."""
    bitexts = []
    for path in folders:
        folder = DataFolder(path)
        folder.require("source", "target", "source_lang", "target_lang")
        languages = bitext_languages(folder)
        known = [side for side, language in languages.items() if is_language(language, teacher_lang)]
        if len(known) != 1:
            raise InputError(
                f"{'both sides are' if known else 'no side is'} in the language of the teachers, {teacher_lang}, but "
                f"{languages['source']} and {languages['target']}",
                path=path,
                remedy="--teacher-lang names the language that the teachers know",
            )
        other = "target" if known == ["source"] else "source"
        bitexts.append(Bitext(folder, known[0], other, primary_language(languages[other])))
    return bitexts
