"""The command `prepare comparable`: makes a mining task like BUCC 2017, and a training bitext, from prepared bitexts.

The shared task (Zweigenbaum, Sharoff and Rapp 2017, section 3) plants sentence pairs of a parallel corpus in two
monolingual corpora. Here single sentences of the bitext fill the collections instead. Rows that share a normalized
source or target form a group (a connected component of the graph of translations). A group contributes at most one
pair or one sentence, so that the gold pairs are complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card
from ...artefacts.cards import check_license
from ...data.folder import DataFolder, write_split
from ...data.row_selection import hold_out
from ...data.schema import BITEXT
from ...data.sources.source import OutputSettings
from ...encoders.dev_sets.pair_sets import number_components
from ...errors import InputError, UsageError
from ...messages import log
from ...mining.collections import SIDES, write_gold, write_side
from ...settings import recipe, seed_setting, setting
from ...text.hashing import draw_keys
from ...text.normalization import normalize_words_all
from ...text.words import count_words

LARGEST_GROUP = 100
"""Larger groups, in rows, go to the training bitext as a whole."""
NEAR_DUPLICATE = 0.9
"""Minimum similarity of near-duplicates: 1 − Levenshtein distance / length of the longer sentence."""
_SPARE = 0.25
_LEAST_SPARE = 20
_ROWS_AT_A_TIME = 500
_SMALLER = "make the parts smaller, or add bitexts"
BITEXT_FOLDER = "bitext"
PARTS = ("test", "training")
"""The parts of the task, in the order in which they are drawn."""


@dataclass(kw_only=True)
class ComparableSettings(OutputSettings):
    """Make two collections of sentences with a few translations hidden in them, to be found with `mine`.

    The output has the task in the layout of BUCC 2017, and the remaining bitext in bitext/.
    """

    bitext: list[str] = setting("folders made by `prepare bitext`, of one pair of languages", path=True, dataset=True)
    split: str = setting("the split of the bitexts to use", "train")
    sentences: int = setting("sentences per language in each of the parts training and test", 20_000)
    license: str | None = setting("the licence of the sentences for the card, as the Hub spells it", None)
    share: float = setting("fraction of the sentences that have a translation in the task", 0.03, above=0, below=1)
    min_words: int = setting("minimum words of a sentence of the task", 4, at_least=1)
    max_words: int = setting("maximum words of a sentence of the task", 60)
    validation_size: int = setting("rows of the remaining bitext to hold out for validation", 1_000, at_least=0)
    seed: int = seed_setting("random seed")

    @property
    def planted(self) -> int:
        """The number of pairs that are hidden in a part."""
        return round(self.share * self.sentences)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        check_license(self.license)
        if not 1 <= self.planted < self.sentences:
            remedy = f"at least {2 / self.share:.0f}"
            raise UsageError(f"{self.sentences} sentences per language are too few to hide a pair", remedy=remedy)


class ComparablePart(NamedTuple):
    """One part of the task, with the planted pairs as positions in the two lists (pairs, 2), in source order."""

    source: list[str]
    target: list[str]
    gold: NDArray[np.int64]


class ComparableTask(NamedTuple):
    """A task, masks of the rows of its training bitext and of the validation part (rows,), and counts."""

    parts: dict[str, ComparablePart]
    train: NDArray[np.bool_]
    validation: NDArray[np.bool_]
    counts: dict[str, int]


def make_comparable(rows: pa.Table, settings: ComparableSettings) -> ComparableTask:
    """Draw a task from the rows of a bitext.

    Sentences that differ only in case and punctuation are equal. No sentence occurs in two parts of the task, or in a
    part and the bitext.
    """
    texts = {side: rows.column(side).combine_chunks().fill_null("") for side in SIDES}
    normal = {side: normalize_words_all(column) for side, column in texts.items()}
    source, target = (column.to_numpy(zero_copy_only=False) for column in normal.values())
    usable = (source != "") & (target != "")
    group = _groups(*normal.values())
    sizes = np.bincount(group[usable], minlength=int(group.max(initial=-1)) + 1)
    # A sentence that equals its translation is too easy to find.
    fits = usable & (source != target) & (sizes[group] <= LARGEST_GROUP)
    for length in map(count_words, texts.values()):
        fits &= (length >= settings.min_words) & (length <= settings.max_words)
    random = np.random.default_rng([settings.seed, len(rows)])
    # One fitting row per group, in random order.
    order = random.permutation(np.flatnonzero(fits))
    chosen = order[np.sort(np.unique(group[order], return_index=True)[1])]
    counts = {"rows": len(rows), "groups": int((sizes > 0).sum()), "groups_that_fit": len(chosen)}
    parts: dict[str, ComparablePart] = {}
    taken = np.zeros(len(sizes), bool)
    for name in PARTS:
        parts[name], used, chosen = _draw(chosen, texts, normal, settings, random)
        taken[group[used]] = True
    left = usable & ~taken[group]
    validation = hold_out(group, settings.validation_size, settings.seed, left)
    train = left & ~validation
    counts |= {"train": int(train.sum()), "validation": int(validation.sum())}
    if not train.any():
        raise InputError("no row is left for the training bitext", remedy=_SMALLER)
    return ComparableTask(parts, train, validation, counts)


def _groups(source: pa.Array, target: pa.Array) -> NDArray[np.int64]:
    """Assign numbers to the components of rows that share a normalized source or target (rows,)."""
    keys = np.concatenate([draw_keys(source), draw_keys(target)])
    _, nodes = np.unique(keys, return_inverse=True)
    return number_components(*nodes.reshape(2, -1))


def _draw(
    chosen: NDArray[np.int64],
    texts: Mapping[str, pa.Array],
    normal: Mapping[str, pa.Array],
    settings: ComparableSettings,
    random: np.random.Generator,
) -> tuple[ComparablePart, NDArray[np.int64], NDArray[np.int64]]:
    """Draw a part of the task from the first rows of `chosen`; return it, the used rows, and the remaining rows."""
    planted, single = settings.planted, settings.sentences - settings.planted
    sizes = [size + max(_LEAST_SPARE, round(_SPARE * size)) for size in (planted, single, single)]
    if sum(sizes) > len(chosen):
        problem = f"a part takes {sum(sizes):,} groups of translations, and {len(chosen):,} are left"
        raise InputError(problem, remedy=_SMALLER)
    pairs, *drawn = np.split(chosen[: sum(sizes)], np.cumsum(sizes)[:-1])
    # Drop pairs with a near-duplicate of a sentence of an earlier pair.
    repeated = np.any([_like_any(column, pairs, pairs, earlier=True) for column in normal.values()], axis=0)
    pairs = pairs[~repeated]
    pairs, spare = pairs[:planted], [pairs[planted:]]
    sides: list[NDArray[np.int64]] = []
    for side, other, rows in zip(SIDES, SIDES[::-1], drawn, strict=True):
        # A near-duplicate of a planted sentence would make a true pair that is not gold. So would a hidden translation
        # in the opposite collection.
        alike = _like_any(normal[side], rows, pairs)
        against = np.concatenate([pairs, *sides])
        alike |= _like_any(normal[other], rows, against)
        if sides:
            alike |= _like_any(normal[side], rows, sides[0])
        sides.append(rows[~alike][:single])
        spare.append(rows[~alike][single:])
    if len(pairs) < planted or min(map(len, sides)) < single:
        raise InputError("too many sentences are near-duplicates of others", remedy=_SMALLER)
    order = [random.permutation(settings.sentences) for _ in range(2)]
    placed = [np.concatenate([pairs, own])[positions] for own, positions in zip(sides, order, strict=True)]
    gold = np.stack([np.argsort(positions)[:planted] for positions in order], axis=1)
    sentences = [
        [" ".join(text.split()) for text in texts[side].take(pa.array(which)).to_pylist()]
        for side, which in zip(SIDES, placed, strict=True)
    ]
    left = np.concatenate(spare)
    used = np.setdiff1d(chosen[: sum(sizes)], left)
    part = ComparablePart(sentences[0], sentences[1], gold[np.argsort(gold[:, 0])])
    return part, used, np.concatenate([chosen[sum(sizes) :], left])


def _like_any(
    normal: pa.Array, rows: NDArray[np.int64], others: NDArray[np.int64], *, earlier: bool = False
) -> NDArray[np.bool_]:
    """Return which sentences (rows,) are near-duplicates of one in `others`, or with `earlier` of a previous row."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    order, queries = _by_length(normal, rows)
    other_order, references = _by_length(normal, others)
    lengths, alike = list(map(len, references)), np.zeros(len(rows), bool)
    # Sentences of very different lengths need no comparison, so sentences of similar length are processed together.
    for start in range(0, len(queries), _ROWS_AT_A_TIME):
        block, positions = queries[start : start + _ROWS_AT_A_TIME], order[start : start + _ROWS_AT_A_TIME]
        ends = NEAR_DUPLICATE * len(block[0]), len(block[-1]) / NEAR_DUPLICATE + 1
        part = slice(*np.searchsorted(lengths, ends))
        if near := references[part]:
            similar = cdist(block, near, scorer=Levenshtein.normalized_similarity, score_cutoff=NEAR_DUPLICATE)
            is_similar = similar >= NEAR_DUPLICATE
            if earlier:
                is_similar &= other_order[part] < positions[:, None]
            alike[positions] = is_similar.any(axis=1)
    return alike


def _by_length(normal: pa.Array, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the order of sentences by length (rows,), and the sorted sentences."""
    texts = normal.take(pa.array(rows))
    order = np.argsort(pc.utf8_length(texts).to_numpy(), kind="stable")
    return order, texts.take(pa.array(order)).to_pylist()


@recipe(ComparableSettings)
def prepare_comparable(settings: ComparableSettings) -> ComparableTask:
    """Make a mining task like BUCC 2017 from prepared bitexts: translations hidden in two collections."""
    command = "prepare comparable"
    with Artefact(settings.output, command=command, settings=settings, inputs=settings.bitext) as artefact:
        opened = [DataFolder(folder) for folder in settings.bitext]
        for folder in opened:
            folder.require(*BITEXT.names, split=settings.split)
        tables = [folder.table(settings.split, BITEXT.names).cast(BITEXT) for folder in opened]
        rows = pa.concat_tables(tables).combine_chunks()
        languages = [_language(rows, f"{side}_lang", settings.bitext[0]) for side in SIDES]
        if languages[0] == languages[1]:
            problem = f"source and target are both in {languages[0]}, so that their files would have one name"
            raise InputError(problem, path=settings.bitext[0], remedy="give bitexts of two languages")
        log(f"{len(rows):,} rows; drawing the parts takes some minutes at tens of thousands of sentences")
        task = make_comparable(rows, settings)
        bitext = artefact.staging / BITEXT_FOLDER
        for name, part in task.parts.items():
            stem = f"{'-'.join(languages)}.{name}"
            # As in the shared task: a language code, a dash and nine digits, from 1.
            ids = [[f"{language}-{row:09d}" for row in range(1, settings.sentences + 1)] for language in languages]
            for language, side_ids, texts in zip(languages, ids, (part.source, part.target), strict=True):
                write_side(artefact.staging / f"{stem}.{language}", side_ids, texts)
            write_gold(artefact.staging / f"{stem}.gold", ids[0], ids[1], part.gold)
        for split, mask in (("train", task.train), ("validation", task.validation)):
            # In random order: the bitexts are of different kinds, and often sorted.
            order = np.random.default_rng([settings.seed, len(rows)]).permutation(np.flatnonzero(mask))
            write_split(bitext, split, [rows.take(pa.array(order))], BITEXT)
        card = {
            "title": f"Comparable corpora {languages[0]}-{languages[1]}",
            "source_lang": languages[0],
            "target_lang": languages[1],
            "license": settings.license,
            "files": [folder.path.resolve().name for folder in opened],
            "parts": PARTS,
            "sentences": settings.sentences,
            "planted": settings.planted,
            "near_duplicate": NEAR_DUPLICATE,
            "words": (settings.min_words, settings.max_words),
            "counts": task.counts,
            "seed": settings.seed,
            "splits": DataFolder(bitext).sizes(),
        }
        artefact.finish(results={"counts": task.counts}, card=Card("comparable", card))
        log(f"{', '.join(PARTS)}: {settings.sentences:,} sentences per language, {settings.planted:,} hidden pairs")
        log(f"bitext that shares no sentence with them: {task.counts['train']:,} rows")
        log(f"task folder: {settings.output}")
    return task


def _language(rows: pa.Table, column: str, folder: str) -> str:
    languages = [str(value) for value in pc.unique(rows.column(column)).to_pylist()]
    if len(languages) != 1:
        problem = f"the column {column} has {len(languages)} languages: {', '.join(languages[:5]) or 'none'}"
        raise InputError(problem, path=folder, remedy="give bitexts of one pair of languages")
    return languages[0]
