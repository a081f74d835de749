"""ARPA files: the text format in which backoff language models are exchanged."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...artefacts.files import written_whole
from ...data.text_files import lines_of_bytes
from ...errors import InputError
from .counts import WORD_BITS, WORD_MASK
from .kneser_ney import Estimate

_REMEDY = "give an ARPA file, as lmplz, SRILM or score --language-model-text write it"
_BETWEEN = re.compile(r"[ \t]+")
_COUNT = re.compile(r"ngram\s+([0-9]{1,3})\s*=\s*([0-9]{1,15})")


class ArpaOrder(NamedTuple):
    """The n-grams of one order.

    Attributes:
        ngrams: Word numbers, int64 (n-grams, order).
        log10_probabilities: float64 (n-grams,).
        log10_backoffs: float64 (n-grams,), 0 where the file gives none.
    """

    ngrams: np.ndarray
    log10_probabilities: np.ndarray
    log10_backoffs: np.ndarray


def write_arpa(path: str | os.PathLike[str], estimate: Estimate) -> None:
    """Writes a model, n-grams in the order of their word numbers, logarithms to base 10 with seven digits."""
    # Whole, because parts of a job that begin together write the same file, and the first of them reads it by then.
    with (
        written_whole(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as file,
    ):
        file.write("\\data\\\n")
        file.writelines(f"ngram {order}={len(keys)}\n" for order, keys in enumerate(estimate.keys, 1))
        for order in range(1, len(estimate.keys) + 1):
            file.write(f"\n\\{order}-grams:\n")
            file.writelines(_lines(estimate, order))
        file.write("\n\\end\\\n")


def _lines(estimate: Estimate, order: int) -> Iterator[str]:
    words = estimate.words
    columns = [
        ((estimate.keys[order - 1] >> WORD_BITS * place) & WORD_MASK).tolist() for place in reversed(range(order))
    ]
    grams = (" ".join([words[number] for number in gram]) for gram in zip(*columns, strict=True))
    probabilities = np.log10(estimate.probabilities[order - 1]).tolist()
    if order > len(estimate.backoffs):
        for probability, gram in zip(probabilities, grams, strict=True):
            yield f"{probability:.7g}\t{gram}\n"
    else:
        backoffs = np.log10(estimate.backoffs[order - 1]).tolist()
        for probability, gram, backoff in zip(probabilities, grams, backoffs, strict=True):
            yield f"{probability:.7g}\t{gram}\t{backoff:.7g}\n"


def read_arpa(path: str | os.PathLike[str]) -> tuple[list[str], list[ArpaOrder]]:
    """Reads a model of any order, plain or compressed.

    Returns:
        The word of each number, and for each order its n-grams.
    """
    path = Path(path)
    try:
        return _read(path)
    except UnicodeDecodeError as error:
        raise InputError("not a text file in UTF-8", path=path, remedy=_REMEDY) from error


def _read(path: Path) -> tuple[list[str], list[ArpaOrder]]:
    lines = _Lines(path)
    line = lines.next()
    while line != "\\data\\":
        line = lines.next()
    sizes: list[int] = []
    while not (line := lines.next()).startswith("\\"):
        match = _COUNT.fullmatch(line)
        if match is None or int(match[1]) != len(sizes) + 1:
            raise lines.error(f"expected `ngram {len(sizes) + 1}=…`, found `{line[:60]}`")
        sizes.append(int(match[2]))
    if not sizes:
        raise lines.error("no n-grams are announced")
    numbers: dict[str, int] = {}
    orders = []
    for order, size in enumerate(sizes, 1):
        if line != f"\\{order}-grams:":
            raise lines.error(f"expected `\\{order}-grams:`, found `{line[:60]}`")
        orders.append(_read_order(lines, order, size, numbers, highest=order == len(sizes)))
        line = lines.next()
    if line != "\\end\\":
        raise lines.error(f"expected `\\end\\`, found `{line[:60]}`")
    return list(numbers), orders


def _read_order(lines: _Lines, order: int, size: int, numbers: dict[str, int], *, highest: bool) -> ArpaOrder:
    # Eight bytes a number, where a list of Python's numbers takes four times as many.
    ngrams, probabilities, backoffs = array("q"), array("d"), array("d")
    for _ in range(size):
        # Spaces and tabs alone are between words: others, such as the no-break space, may be within one.
        fields = _BETWEEN.split(lines.next())
        if len(fields) not in ({order + 1} if highest else {order + 1, order + 2}):
            raise lines.error(f"not a log-probability and {order} word{'s' * (order > 1)}: `{' '.join(fields)[:60]}`")
        try:
            probabilities.append(float(fields[0]))
            backoffs.append(float(fields[order + 1]) if len(fields) == order + 2 else 0.0)
            if order == 1:
                ngrams.append(numbers.setdefault(fields[1], len(numbers)))
            else:
                ngrams.extend([numbers[word] for word in fields[1 : order + 1]])
        except ValueError as error:
            raise lines.error(f"not a number: {error}") from error
        except KeyError as error:
            raise lines.error(f"the word {error} is not among the 1-grams") from error
    if order == 1 and len(numbers) != size:
        raise lines.error("a word occurs twice among the 1-grams")
    values = np.array(probabilities, dtype=np.float64), np.array(backoffs, dtype=np.float64)
    if not (np.isfinite(values[0]).all() and np.isfinite(values[1]).all()):
        raise lines.error(f"a log-probability of the {order}-grams is not finite")
    return ArpaOrder(np.array(ngrams, dtype=np.int64).reshape(size, order), *values)


class _Lines:
    """The lines of a file that are not empty, and the number of the last one for messages."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = enumerate(lines_of_bytes(path), 1)
        self._number = 0

    def next(self) -> str:
        for number, line in self._lines:
            self._number = number
            if stripped := line.decode("utf-8", "surrogatepass").strip(" \t\r\n"):
                return stripped
        raise self.error("the file ends before `\\end\\`")

    def error(self, message: str) -> InputError:
        return InputError(message, path=self._path, line=self._number, remedy=_REMEDY)
