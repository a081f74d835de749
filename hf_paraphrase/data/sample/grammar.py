"""The grammar as a whole: the list of sentence patterns, and meanings drawn from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from . import (
    patterns_adverbial,
    patterns_embedded,
    patterns_events,
    patterns_questions,
    patterns_states,
    patterns_succession,
)
from .french_realization import write_french
from .meaning import Meaning
from .sampler import MeaningSampler

Pattern = Callable[[MeaningSampler], Meaning | None]

# Each pattern with its share of the meanings; one that has little to say has a small share.
_WEIGHTED_PATTERNS: tuple[tuple[Pattern, int], ...] = (
    (patterns_events.ongoing_action, 6),
    (patterns_events.past_action, 10),
    (patterns_events.future_action, 6),
    (patterns_events.habitual_action, 4),
    (patterns_events.frequent_action, 4),
    (patterns_events.negative_action, 5),
    (patterns_events.never_action, 2),
    (patterns_events.never_visited, 1),
    (patterns_events.no_longer_action, 2),
    (patterns_events.intransitive_action, 3),
    (patterns_events.intransitive_past, 3),
    (patterns_events.intransitive_future, 2),
    (patterns_events.daily_routine, 2),
    (patterns_events.going_somewhere, 3),
    (patterns_events.giving, 4),
    (patterns_events.giving_soon, 3),
    (patterns_events.oblique_action, 3),
    (patterns_events.oblique_past, 3),
    (patterns_events.controlled_action, 8),
    (patterns_events.since_long, 2),
    (patterns_events.for_hours, 2),
    (patterns_events.agentless, 3),
    (patterns_events.cleft_subject, 2),
    (patterns_events.cleft_object, 2),
    (patterns_events.two_people, 3),
    (patterns_events.two_objects, 2),
    (patterns_events.owned_object, 3),
    (patterns_events.clause_with_people, 4),
    (patterns_states.quality, 5),
    (patterns_states.mood, 3),
    (patterns_states.negated_quality, 2),
    (patterns_states.asked_quality, 2),
    (patterns_states.profession, 2),
    (patterns_states.comparison, 3),
    (patterns_states.compared_people, 2),
    (patterns_states.there_is, 4),
    (patterns_states.location, 4),
    (patterns_states.possession, 3),
    (patterns_states.weather, 2),
    (patterns_questions.whether_question, 4),
    (patterns_questions.where_question, 2),
    (patterns_questions.when_question, 2),
    (patterns_questions.why_question, 2),
    (patterns_questions.who_question, 2),
    (patterns_questions.what_question, 2),
    (patterns_questions.command, 3),
    (patterns_questions.prohibition, 2),
    (patterns_questions.suggestion, 2),
    (patterns_embedded.relative_subject, 3),
    (patterns_embedded.relative_object, 3),
    (patterns_embedded.known_person, 2),
    (patterns_adverbial.because_mood, 2),
    (patterns_adverbial.because_weather, 1),
    (patterns_adverbial.when_arrived, 2),
    (patterns_adverbial.while_doing, 2),
    (patterns_adverbial.if_weather, 1),
    (patterns_adverbial.if_action, 2),
    (patterns_adverbial.contrast, 1),
    (patterns_adverbial.consequence, 1),
    (patterns_succession.sequence, 2),
    (patterns_embedded.report, 3),
    (patterns_embedded.hope, 2),
    (patterns_succession.purpose, 2),
    (patterns_succession.before_doing, 2),
    (patterns_succession.without_doing, 1),
    (patterns_embedded.ready_to_act, 3),
    (patterns_embedded.general_remark, 2),
)
PATTERNS: dict[str, Pattern] = {pattern.__name__: pattern for pattern, _ in _WEIGHTED_PATTERNS}
_NAMES = tuple(name for (pattern, weight) in _WEIGHTED_PATTERNS for name in (pattern.__name__,) * weight)
_TRIES_PER_PATTERN = 400


@dataclass(frozen=True)
class DrawnMeaning:
    """A meaning with its pattern's name, its canonical French and an identifier made from that."""

    pattern: str
    meaning: Meaning
    french: str
    identifier: str


def identify(pattern: str, meaning: Meaning) -> DrawnMeaning:
    """Names a meaning by its canonical French sentence, so that equal sentences are one meaning."""
    french = write_french(meaning)
    digest = hashlib.blake2b(french.encode("utf-8"), digest_size=6).hexdigest()
    return DrawnMeaning(pattern, meaning, french, "m" + digest)


def draw(pattern: str, sampler: MeaningSampler) -> Meaning | None:
    """Draws one meaning of a pattern, or None where it finds nothing that fits in reasonable time."""
    for _ in range(_TRIES_PER_PATTERN):
        meaning = PATTERNS[pattern](sampler)
        if meaning is not None:
            return meaning
    return None


def draw_meanings(rng: Random) -> Iterator[DrawnMeaning]:
    """Yields meanings without end, each of them once for as long as the grammar has new ones."""
    sampler = MeaningSampler(rng)
    seen: set[str] = set()
    while True:
        name = sampler.pick(_NAMES)
        meaning = draw(name, sampler)
        if meaning is None:
            continue
        drawn = identify(name, meaning)
        if drawn.identifier not in seen:
            seen.add(drawn.identifier)
            yield drawn
