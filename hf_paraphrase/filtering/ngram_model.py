"""Queries of a backoff language model in an ARPA file: by kenlm where it is installed, else by a dictionary."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..data.text_files import lines_of_bytes
from ..errors import InputError
from .kneser_ney import BEGIN, END, UNKNOWN

_REMEDY = "give an ARPA file, as lmplz, SRILM or score --language-model-text write it"
_BETWEEN = re.compile(r"[ \t]+")
_LOG10_UNKNOWN = -100.0
"""Log-probability of an unknown word where the file has no `<unk>`: KenLM's."""


def load_language_model(path: str | os.PathLike[str]) -> KenlmModel | NgramModel:
    """Reads an ARPA file, plain or compressed."""
    try:
        import kenlm  # noqa: F401
    except ImportError:
        return NgramModel(path)
    return KenlmModel(path)


class KenlmModel:
    """A model as kenlm reads it, which is faster and takes less memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import kenlm

        config = kenlm.Config()
        config.show_progress = False
        config.arpa_complain = kenlm.ARPALoadComplain.NONE
        try:
            self._model = kenlm.Model(os.fspath(path), config)
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"kenlm cannot read the language model: {error}", path=path, remedy=_REMEDY) from error

    def log10_probability(self, words: Sequence[str]) -> float:
        """Computes log10 p of the words of a sentence and its end."""
        return float(self._model.score(" ".join(words)))

    def __contains__(self, word: object) -> bool:
        return word in self._model


class NgramModel:
    """A model of any order in a dictionary: for each n-gram its log10 probability and log10 backoff weight."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.ngrams, self.order = _read_arpa(Path(path))
        except UnicodeDecodeError as error:
            raise InputError("not a text file in UTF-8", path=path, remedy=_REMEDY) from error
        missing = [mark for mark in (BEGIN, END) if mark not in self.ngrams]
        if missing:
            raise InputError(f"the language model has no {' and no '.join(missing)}", path=Path(path), remedy=_REMEDY)
        self.ngrams.setdefault(UNKNOWN, (_LOG10_UNKNOWN, 0.0))

    def log10_probability(self, words: Sequence[str]) -> float:
        """Computes log10 p of the words of a sentence and its end."""
        known = [BEGIN, *(word if word in self.ngrams else UNKNOWN for word in words), END]
        return sum(self._conditional(known, index) for index in range(1, len(known)))

    def __contains__(self, word: object) -> bool:
        return word in self.ngrams

    def _conditional(self, words: list[str], index: int) -> float:
        """Computes log10 p of one word after the words before it, with the backoff of each history without it."""
        backoff = 0.0
        for begin in range(max(0, index - self.order + 1), index):
            history = " ".join(words[begin:index])
            entry = self.ngrams.get(f"{history} {words[index]}")
            if entry is not None:
                return backoff + entry[0]
            backoff += self.ngrams.get(history, (0.0, 0.0))[1]
        return backoff + self.ngrams[words[index]][0]


def _read_arpa(path: Path) -> tuple[dict[str, tuple[float, float]], int]:
    """Returns log10 probability and backoff of each n-gram, its words joined by spaces; and the highest order."""
    ngrams: dict[str, tuple[float, float]] = {}
    order = number = 0
    for number, raw in enumerate(lines_of_bytes(path), 1):
        line = raw.decode("utf-8", "surrogatepass").strip(" \t\r\n")
        if line == "\\end\\":
            return ngrams, order
        if line == f"\\{order + 1}-grams:":
            order += 1
        elif order and line:
            # Spaces and tabs alone are between words: others, such as the no-break space, may be within one.
            fields = _BETWEEN.split(line)
            try:
                values = [float(field) for field in (fields[0], *fields[order + 1 :])]
            except ValueError:
                values = []
            if len(fields) <= order or len(values) not in (1, 2):
                problem = f"not a log-probability and {order} word{'s' * (order > 1)}: `{line[:60]}`"
                raise InputError(problem, path=path, line=number, remedy=_REMEDY)
            ngrams[" ".join(fields[1 : order + 1])] = values[0], values[1] if len(values) == 2 else 0.0
    raise InputError("the file ends before `\\end\\`", path=path, line=number, remedy=_REMEDY)
