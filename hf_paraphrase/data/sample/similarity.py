"""The graded similarity set of the sample: six levels from the same meaning to unrelated, with hard cases."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from ...errors import InputError
from . import edits
from .bitext import reserved_for_similarity, sample_bitext
from .english_realization import write_english
from .french_realization import passive_allowed
from .grammar import PATTERNS, draw, draw_meanings, identify
from .lexicon import Noun
from .meaning import Clause, Meaning, Nominal, NounPhrase, WordingChooser
from .sampler import MeaningSampler
from .verbs import VERBS, selected_nouns

LEVELS = (0, 1, 2, 3, 4, 5)
MAXIMUM_PAIRS = 3_000
# How many wordings are tried in search of two with few words in common.
_CANDIDATE_WORDINGS = 8
# Synonyms that share more of their words than this are no test of anything.
_MOST_OVERLAP_OF_SYNONYMS = 0.75
# How often two sentences of different meaning are worded as alike as can be.
_ALIKE = 0.6
_EDITS: dict[str, tuple[edits.Edit, ...]] = {
    "detail_dropped": (edits.without_detail,),
    "other_object": (edits.other_object,),
    "other_subject": (edits.other_subject,),
    "other_place": (edits.other_place, edits.other_place, edits.other_landmark),
    "role_swap": (edits.swapped_roles,),
    "opposite_detail": (edits.other_quality,),
    "negation": (edits.negated,),
    "antonym": (edits.antonymous,),
    "other_action": (edits.other_action,),
}
# The kinds of pairs of each level, drawn evenly.
_KINDS: dict[int, tuple[str, ...]] = {
    0: ("unrelated",),
    1: ("same_frame", "shared_noun"),
    2: ("same_topic", "same_action", "negation", "antonym", "other_action"),
    3: ("other_object", "other_subject", "other_place", "role_swap", "role_swap", "opposite_detail"),
    4: ("detail_dropped",),
    5: ("synonym", "synonym", "synonym", "passive", "reordered"),
}
_LEVEL_OF = {kind: level for level, kinds in _KINDS.items() for kind in kinds}
_EDITABLE = tuple(
    name for name, pattern in PATTERNS.items() if pattern.__module__.endswith(("patterns_events", "patterns_states"))
)
# The patterns that edits of a kind start from, where only a few will do.
_PATTERNS_FOR = {
    "role_swap": ("clause_with_people", "clause_with_people", "oblique_past"),
    "antonym": ("quality", "mood", "negated_quality"),
    "negation": (
        "past_action",
        "clause_with_people",
        "giving",
        "future_action",
        "intransitive_past",
        "quality",
        "mood",
    ),
    "other_place": ("ongoing_action", "past_action", "intransitive_action", "location"),
    "opposite_detail": ("past_action", "future_action", "cleft_object", "owned_object", "habitual_action"),
}
_FUNCTION_WORDS = frozenset({
    "a", "an", "the", "some", "any", "this", "these", "my", "your", "his", "her", "our", "their", "i", "you",
    "he", "she", "we", "they", "it", "is", "are", "was", "were", "am", "be", "been", "will", "would", "can",
    "do", "does", "did", "has", "have", "not", "to", "of", "in", "on", "at", "for", "by", "and", "that", "who",
    "which", "there", "going", "than", "as", "from", "with", "one", "isn't", "aren't", "wasn't", "weren't",
    "don't", "doesn't", "didn't", "won't", "can't", "i'm", "you're", "he's", "she's", "we're", "they're",
    "i'll", "you'll", "he'll", "she'll", "we'll", "they'll", "it's", "what", "let's", "please",
})  # fmt: skip


@dataclass(frozen=True)
class GradedPair:
    """Two English sentences and how near their meanings are.

    Attributes:
        sentence1: The first sentence.
        sentence2: The second sentence.
        score: From 0 (unrelated) to 5 (the same meaning).
        kind: How the pair was made, such as "passive", "role_swap" or "unrelated".
    """

    sentence1: str
    sentence2: str
    score: float
    kind: str


@dataclass(frozen=True)
class _Draft:
    """Two meanings to be worded, or one and the same twice."""

    first: Meaning
    second: Meaning
    kind: str
    alike: bool = False


def _words(sentence: str) -> set[str]:
    return set(re.findall(r"[\w']+", sentence.lower()))


def _overlap(first: str, second: str) -> float:
    one, two = _words(first), _words(second)
    return len(one & two) / len(one | two)


@lru_cache(maxsize=1)
def _training_sentences() -> frozenset[str]:
    return frozenset(pair.english for pair in sample_bitext()["train"])


class _PairMaker:
    """Makes graded pairs of new meanings."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._chooser = WordingChooser(rng)
        self._sampler = MeaningSampler(rng)
        self._meanings = draw_meanings(rng)
        self._used: set[str] = set()

    def _new(self) -> Meaning:
        return next(drawn.meaning for drawn in self._meanings if reserved_for_similarity(drawn.meaning))

    def _edited(self, kind: str) -> _Draft | None:
        meaning = draw(self._sampler.pick(_PATTERNS_FOR.get(kind, _EDITABLE)), self._sampler)
        if meaning is None or not reserved_for_similarity(meaning):
            return None
        changed = self._sampler.pick(_EDITS[kind])(self._sampler, meaning)
        if changed is None or changed == meaning:
            return None
        first, second = (meaning, changed) if self._sampler.chance(0.5) else (changed, meaning)
        return _Draft(first, second, kind, self._sampler.chance(0.35 if kind == "detail_dropped" else _ALIKE))

    def _same_meaning(self, kind: str) -> _Draft | None:
        meaning = self._new()
        if kind == "passive" and not (isinstance(meaning, Clause) and passive_allowed(meaning)):
            return None
        return _Draft(meaning, meaning, kind)

    def _same_topic(self) -> _Draft | None:
        """Draws two different actions of one field by different people."""
        one = self._sampler.pick(VERBS)
        others = [verb for verb in VERBS if verb.field == one.field and not set(verb.english) & set(one.english)]
        if "s" in one.flags or not others or one.field in {"things", "taste"}:
            return None
        other = self._sampler.pick(others)
        if "s" in other.flags:
            return None
        tense = self._sampler.pick(("past", "past", "future"))
        clauses = [self._sampler.clause(verb, tense, place=0.3, time=0.3) for verb in (one, other)]
        return None if clauses[0].subject == clauses[1].subject else _Draft(clauses[0], clauses[1], "same_topic")

    def _same_action(self) -> _Draft | None:
        """Draws one action done by other people to other things at another time."""
        verb = self._sampler.pick(VERBS)
        if "s" in verb.flags or not verb.objects:
            return None
        first = self._sampler.clause(verb, "past", place=0.4, time=0.5)
        second = self._sampler.clause(verb, self._sampler.pick(("past", "future")), place=0.4, time=0.5)
        if first.subject == second.subject or _noun(first.object) is _noun(second.object):
            return None
        return _Draft(first, second, "same_action")

    def _shared_noun(self) -> _Draft | None:
        """Draws two unlike sentences about one and the same kind of thing or person."""
        one, other = self._sampler.pick(VERBS), self._sampler.pick(VERBS)
        if one.field == other.field or "s" in one.flags + other.flags:
            return None
        first = self._sampler.clause(one, "past", place=0.3, time=0.3)
        second = self._sampler.clause(other, self._sampler.pick(("past", "future")), place=0.3, time=0.3)
        noun = _noun(first.object) or _noun(first.subject)
        if noun in selected_nouns(other.objects):
            assert noun is not None
            second = replace(second, object=self._sampler.phrase(noun))
        elif noun in selected_nouns(other.subjects):
            assert noun is not None
            second = replace(second, subject=self._sampler.phrase(noun))
        if len(_nouns(first) & _nouns(second)) != 1:
            return None
        return _Draft(first, second, "shared_noun")

    def _same_frame(self) -> _Draft | None:
        """Draws two unlike sentences of one pattern with the same time and place."""
        one, other = self._sampler.pick(VERBS), self._sampler.pick(VERBS)
        if one.field == other.field or "s" in one.flags + other.flags or bool(one.objects) != bool(other.objects):
            return None
        if bool(set(one.places) & set(other.places)) == self._sampler.chance(0.2):
            return None
        tense = self._sampler.pick(("past", "future"))
        first = self._sampler.clause(one, tense, place=0.6, time=0.9, manner=0)
        second = self._sampler.clause(other, tense, place=0, time=0, manner=0)
        place = first.place if first.place and set(other.places) & set(first.place.kinds) else None
        second = Clause(other, second.subject, second.object, second.recipient, tense, place=place, time=first.time)
        if first.time is None or _nouns(first) & _nouns(second) or first.subject == second.subject:
            return None
        return _Draft(first, second, "same_frame", self._sampler.chance(_ALIKE))

    def _unrelated(self) -> _Draft | None:
        first, second = self._new(), self._new()
        if _fields(first) & _fields(second):
            return None
        return _Draft(first, second, "unrelated")

    def _draft(self, kind: str) -> _Draft | None:
        drawing = {
            "same_topic": self._same_topic,
            "same_action": self._same_action,
            "same_frame": self._same_frame,
            "shared_noun": self._shared_noun,
            "unrelated": self._unrelated,
        }
        if kind in drawing:
            return drawing[kind]()
        return self._edited(kind) if kind in _EDITS else self._same_meaning(kind)

    def _worded_alike(self, first: Meaning, second: Meaning) -> tuple[str, str]:
        """Words two meanings so that they share as many words as they can."""
        one = write_english(first, self._chooser)
        candidates = [write_english(second, self._chooser) for _ in range(_CANDIDATE_WORDINGS)]
        return one, max(candidates, key=lambda sentence: _overlap(one, sentence))

    def _worded_unlike(self, meaning: Meaning, kind: str) -> tuple[str, str] | None:
        """Words one meaning twice with as few words in common as can be found for the kind of rewording."""
        candidates = sorted({write_english(meaning, self._chooser) for _ in range(_CANDIDATE_WORDINGS)})
        couples = [
            (one, two)
            for index, one in enumerate(candidates)
            for two in candidates[index + 1 :]
            if _rewording(meaning, one, two) == kind
        ]
        best = min(couples, key=lambda couple: _overlap(*couple), default=None)
        if best is None or (kind == "synonym" and _overlap(*best) > _MOST_OVERLAP_OF_SYNONYMS):
            return None
        return best if self._sampler.chance(0.5) else (best[1], best[0])

    def _worded(self, draft: _Draft) -> GradedPair | None:
        score = float(_LEVEL_OF[draft.kind])
        if draft.first is draft.second:
            reworded = self._worded_unlike(draft.first, draft.kind)
            if reworded is None:
                return None
            first, second = reworded
        elif draft.alike:
            first, second = self._worded_alike(draft.first, draft.second)
        else:
            first, second = write_english(draft.first, self._chooser), write_english(draft.second, self._chooser)
        if draft.kind == "unrelated" and (_words(first) & _words(second)) - _FUNCTION_WORDS:
            return None
        if first == second or {first, second} & _training_sentences():
            return None
        return GradedPair(first, second, score, draft.kind)

    def make(self, level: int) -> GradedPair:
        """Returns a new pair of a level, of reserved meanings that no earlier pair has."""
        kind = self._sampler.pick(_KINDS[level])
        while True:
            draft = self._draft(kind)
            if draft is None:
                continue
            if not (reserved_for_similarity(draft.first) and reserved_for_similarity(draft.second)):
                continue
            identifiers = {identify("", meaning).identifier for meaning in (draft.first, draft.second)}
            same = draft.first is draft.second
            if identifiers & self._used or (not same and len(identifiers) == 1):
                continue
            pair = self._worded(draft)
            # Meanings that differ in French only can have a sentence in common.
            if pair is not None and not {pair.sentence1, pair.sentence2} & self._used:
                self._used |= identifiers | {pair.sentence1, pair.sentence2}
                return pair


def _rewording(meaning: Meaning, first: str, second: str) -> str:
    """Names the way in which two wordings of one meaning differ most."""
    if isinstance(meaning, Clause) and passive_allowed(meaning) and (" by " in first) != (" by " in second):
        return "passive"
    if sorted(re.findall(r"[\w']+", first.lower())) == sorted(re.findall(r"[\w']+", second.lower())):
        return "reordered"
    return "synonym"


def _noun(phrase: Nominal | None) -> Noun | None:
    return phrase.noun if isinstance(phrase, NounPhrase) else None


def _nouns(meaning: Meaning) -> set[str]:
    """Returns the lemmas of a meaning's nouns."""
    parts = [meaning, getattr(meaning, "clause", None)]
    names = ("subject", "object", "recipient", "landmark", "standard")
    found = [_noun(getattr(part, name, None)) for part in parts if part is not None for name in names]
    return {noun.french for noun in found if noun is not None}


def _fields(meaning: object) -> set[str]:
    """Returns the fields of a meaning's verbs."""
    found: set[str] = set()
    if isinstance(meaning, Clause):
        found.add(meaning.verb.field)
    for name in ("clause", "main", "second", "purpose", "content"):
        part = getattr(meaning, name, None)
        if part is not None:
            found |= _fields(part)
    return found or {type(meaning).__name__}


def _level_sizes(num_pairs: int) -> dict[int, int]:
    share, rest = divmod(num_pairs, len(LEVELS))
    return {level: share + (index < rest) for index, level in enumerate(LEVELS)}


def sample_similarity(num_pairs: int = 600, seed: int = 0) -> dict[str, list[GradedPair]]:
    """Returns the built-in graded similarity set, the same for the same arguments on every machine.

    Its meanings are kept out of every bitext of `sample_bitext`, and none of its sentences is in the default one's
    training split.

    Args:
        num_pairs: The size of each split, shared out equally among the six levels.
        seed: The seed of the drawing.

    Returns:
        The splits "validation" and "test", which share no meaning.

    Raises:
        InputError: The size is out of range.
    """
    if not 1 <= num_pairs <= MAXIMUM_PAIRS:
        raise InputError(
            f"num_pairs of the sample similarity set must be between 1 and {MAXIMUM_PAIRS}, got {num_pairs}"
        )
    maker = _PairMaker(Random(f"similarity {seed}"))
    order = Random(f"similarity order {seed}")
    splits: dict[str, list[GradedPair]] = {}
    for split in ("validation", "test"):
        splits[split] = [maker.make(level) for level, size in _level_sizes(num_pairs).items() for _ in range(size)]
        order.shuffle(splits[split])
    return splits
