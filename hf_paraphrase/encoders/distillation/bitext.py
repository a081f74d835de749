"""Bitext from which a student learns: a translation has the teachers' vector of the side that they know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...data.folder import DataFolder
from ...data.languages import is_language, primary_language
from ...errors import InputError

_SIDES = (("source", "source_lang"), ("target", "target_lang"))


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


def open_bitexts(folders: Sequence[str], teacher_lang: str) -> list[Bitext]:
    """Opens bitexts, of each of which one side is in the language that the teachers know."""
    bitexts = []
    for path in folders:
        folder = DataFolder(path)
        columns = [name for pair in _SIDES for name in pair]
        folder.require(*columns)
        first = next(folder.batches("train", columns, batch_size=1), None)
        if first is None or not first.num_rows:
            raise InputError("the bitext has no rows", path=path, remedy="leave it out")
        languages = {side: str(first.column(name)[0]) for side, name in _SIDES}
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
