"""Queries of a backoff language model in an ARPA file: by kenlm where it is installed, else by dictionaries."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ...data.text_files import lines_of_bytes
from ...errors import InputError
from .counts import BEGIN, END, UNKNOWN

_REMEDY = "give an ARPA file, as lmplz, SRILM or score --language-model-text write it"
_BETWEEN = re.compile(r"[ \t]+")
_COUNT = re.compile(r"ngram\s+([0-9]{1,3})\s*=\s*([0-9]{1,15})")
_LOG10_UNKNOWN = -100.0
"""Log-probability of an unknown word where the file has no `<unk>`: KenLM's."""


class LanguageModel(Protocol):
    """A language model over words."""

    def log10_probability(self, words: Sequence[str]) -> float:
        """Computes log10 p of the words of a sentence and its end."""

    def __contains__(self, word: object) -> bool:
        """Returns whether it knows a word."""


def load_language_model(path: str | os.PathLike[str]) -> LanguageModel:
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
    sizes: dict[int, int] = {}
    order = number = 0
    for number, raw in enumerate(lines_of_bytes(path), 1):
        line = raw.decode("utf-8", "surrogatepass").strip(" \t\r\n")
        if line == "\\end\\" and order and order == len(sizes) and len(ngrams) == sum(sizes.values()):
            return ngrams, order
        if match := _COUNT.fullmatch(line):
            sizes[int(match[1])] = int(match[2])
        elif line == f"\\{order + 1}-grams:" and order + 1 in sizes:
            if len(ngrams) != sum(size for length, size in sizes.items() if length <= order):
                raise InputError(f"not {sizes[order]} different {order}-grams before `{line}`", path=path, line=number)
            order += 1
        elif order and line:
            # Spaces and tabs alone are between words: others, such as the no-break space, may be within one.
            fields = _BETWEEN.split(line)
            try:
                backoff = float(fields[order + 1]) if len(fields) == order + 2 else 0.0
                probability = float(fields[0])
            except ValueError:
                probability = backoff = math.nan
            if len(fields) not in (order + 1, order + 2) or not math.isfinite(probability + backoff):
                raise InputError(
                    f"not a log-probability and {order} word{'s' * (order > 1)}: `{line[:60]}`",
                    path=path,
                    line=number,
                    remedy=_REMEDY,
                )
            ngrams[" ".join(fields[1 : order + 1])] = probability, backoff
    raise InputError("the file ends before `\\end\\`", path=path, line=number, remedy=_REMEDY)
