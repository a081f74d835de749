"""The French–English bitext of the sample: pairs drawn from the grammar, in splits that share no meaning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from zlib import crc32

from ...errors import InputError
from .english_realization import write_english
from .french_realization import write_french
from .grammar import DrawnMeaning, draw_meanings
from .meaning import Meaning, WordingChooser

DEFAULT_PAIRS = 22_000
HELD_OUT_PAIRS = 500
MAXIMUM_PAIRS = 200_000
# How many English wordings a meaning gets, drawn evenly from here.
_WORDING_COUNTS = (1,) * 10 + (2,) * 7 + (3,) * 3
_TRIES_PER_WORDING = 5
# One meaning in this many is kept for the graded similarity set and never occurs in a bitext.
_RESERVED_SHARE = 4


@dataclass(frozen=True)
class SamplePair:
    """One line of the bitext.

    Attributes:
        french: The French sentence.
        english: An English sentence of the same meaning.
        meaning: The meaning's identifier, which all its wordings share.
    """

    french: str
    english: str
    meaning: str


def reserved_for_similarity(meaning: Meaning) -> bool:
    """Says whether a meaning is kept for the graded set, whatever the seed and size of a bitext.

    It goes by the canonical English, so that meanings that differ in French only ("tu" and "vous") stay together.
    """
    return crc32(write_english(meaning).encode("utf-8")) % _RESERVED_SHARE == 0


def wordings(drawn: DrawnMeaning, rng: Random) -> list[SamplePair]:
    """Returns one to three pairs of a meaning with different English wordings, where there are so many."""
    chooser = WordingChooser(rng)
    wanted = _WORDING_COUNTS[rng.randrange(len(_WORDING_COUNTS))]
    french = drawn.french if rng.random() < 0.5 else write_french(drawn.meaning, chooser)
    pairs: list[SamplePair] = []
    for _ in range(wanted * _TRIES_PER_WORDING):
        english = write_english(drawn.meaning, chooser)
        if english not in {pair.english for pair in pairs}:
            pairs.append(SamplePair(french, english, drawn.identifier))
            if len(pairs) == wanted:
                break
            if rng.random() < 0.25:
                french = write_french(drawn.meaning, chooser)
    return pairs


def _split_pairs(
    meanings: Iterator[DrawnMeaning], rng: Random, split: str, size: int, taken: dict[str, str]
) -> list[SamplePair]:
    """Fills a split with meanings none of whose sentences is in another split.

    Args:
        meanings: New meanings.
        rng: The source of randomness of the wordings.
        split: The split's name.
        size: How many pairs it gets.
        taken: The split of each sentence so far, which is brought up to date.
    """
    pairs: list[SamplePair] = []
    while len(pairs) < size:
        drawn = next(meanings)
        if reserved_for_similarity(drawn.meaning):
            continue
        found = wordings(drawn, rng)
        sentences = {sentence for pair in found for sentence in (pair.french, pair.english)}
        if any(taken.get(sentence, split) != split for sentence in sentences):
            continue
        taken.update(dict.fromkeys(sentences, split))
        pairs.extend(found[: size - len(pairs)])
    rng.shuffle(pairs)
    return pairs


@lru_cache(maxsize=4)
def _bitext(num_pairs: int, seed: int) -> dict[str, tuple[SamplePair, ...]]:
    rng = Random(f"bitext {seed}")
    meanings = draw_meanings(rng)
    taken: dict[str, str] = {}
    sizes = {"test": HELD_OUT_PAIRS, "validation": HELD_OUT_PAIRS, "train": num_pairs - 2 * HELD_OUT_PAIRS}
    drawn = {split: tuple(_split_pairs(meanings, rng, split, size, taken)) for split, size in sizes.items()}
    return {split: drawn[split] for split in ("train", "validation", "test")}


def sample_bitext(num_pairs: int = DEFAULT_PAIRS, seed: int = 0) -> dict[str, list[SamplePair]]:
    """Returns the built-in French–English bitext, the same for the same arguments on every machine.

    Args:
        num_pairs: The size of all splits together, of which validation and test have 500 pairs each.
        seed: The seed of the drawing.

    Returns:
        The splits "train", "validation" and "test", which share no meaning and no sentence.

    Raises:
        InputError: The size is out of range.
    """
    least = 2 * HELD_OUT_PAIRS + 1
    if not least <= num_pairs <= MAXIMUM_PAIRS:
        raise InputError(
            f"num_pairs of the sample bitext must be between {least} and {MAXIMUM_PAIRS}, got {num_pairs}"
        )
    return {split: list(pairs) for split, pairs in _bitext(num_pairs, seed).items()}
