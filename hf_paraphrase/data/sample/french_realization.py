"""Writes a meaning in French."""

from __future__ import annotations

from . import french_morphology as morphology
from .french_phrases import nominal
from .lexicon import Noun, Verb
from .meaning import (
    AgentlessPassive,
    Agreement,
    Clause,
    Cleft,
    Command,
    Comparison,
    Complex,
    Copula,
    Existential,
    Feeling,
    Impersonal,
    Location,
    Meaning,
    Nominal,
    NounPhrase,
    Possession,
    Pronoun,
    Purpose,
    Question,
    Report,
    WordingChooser,
)
from .verbs import MOTION_VERBS_WITH_ETRE

_NEGATIONS = {"negative": "pas", "never": "jamais", "no longer": "plus"}
_REFLEXIVES = ("me", "te", "se", "nous", "vous", "se")
_DEGREES = {"": "", "very": "très", "too": "trop", "quite": "assez", "really": "vraiment"}


def _words(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def noun_phrase(phrase: Nominal, after_de: bool = False, negated: bool = False) -> str:
    """Returns a nominal with its relative clause."""
    text = nominal(phrase, after_de, negated)
    if isinstance(phrase, NounPhrase) and phrase.relative is not None:
        clause, gap = phrase.relative.clause, phrase.relative.gap
        if gap == "subject":
            return _words(text, "qui", _predicate(clause, phrase.agreement))
        return _words(text, "que", noun_phrase(clause.subject), _predicate(clause, None, gap=phrase.agreement))
    return text


def _finite(
    verb: str, tense: str, polarity: str, subject: Agreement, adverb: str, reflexive: bool, gap: Agreement | None
) -> str:
    """Returns the finite verb with its negation, reflexive pronoun, adverb and, where compound, participle."""
    clitic = _REFLEXIVES[subject.index] if reflexive else ""
    negative = "ne" if polarity != "affirmative" else ""
    second = _NEGATIONS.get(polarity, "")
    if tense != "past":
        return _words(negative, clitic, morphology.conjugate(verb, tense, subject.index), second, adverb)
    if reflexive or verb in MOTION_VERBS_WITH_ETRE:
        participle = morphology.past_participle(verb, subject.feminine, subject.plural)
        auxiliary = morphology.conjugate("être", "present", subject.index)
    else:
        agreed = gap or Agreement()
        participle = morphology.past_participle(verb, agreed.feminine, agreed.plural)
        auxiliary = morphology.conjugate("avoir", "present", subject.index)
    return _words(negative, clitic, auxiliary, second, adverb, participle)


def _arguments(clause: Clause, with_object: bool, negated: bool) -> str:
    """Returns what follows the verb: its fixed tail, objects and adjuncts, all but the time."""
    words = [clause.verb.tail]
    if clause.object is not None and with_object:
        preposition = clause.verb.preposition
        direct = not preposition
        words.append(preposition)
        words.append(noun_phrase(clause.object, after_de=preposition == "de", negated=negated and direct))
    if clause.recipient is not None:
        words.append("à " + noun_phrase(clause.recipient))
    words += [adjunct.french for adjunct in (clause.manner, clause.place, clause.duration) if adjunct is not None]
    return _words(*words)


def infinitive(verb: Verb, subject: Agreement) -> str:
    """Returns the infinitive, with the reflexive pronoun of its subject."""
    return _words(_REFLEXIVES[subject.index] if verb.reflexive else "", verb.french)


def infinitive_phrase(clause: Clause) -> str:
    """Returns the clause as an infinitive with its objects and adjuncts."""
    time = clause.time.french if clause.time else ""
    return _words(infinitive(clause.verb, clause.subject.agreement), _arguments(clause, True, False), time)


def _predicate(
    clause: Clause,
    agreement: Agreement | None = None,
    gap: Agreement | None = None,
    with_object: bool = True,
    with_time: bool = True,
) -> str:
    """Returns a clause without its subject.

    Args:
        clause: The clause.
        agreement: What the verb agrees with; the clause's subject by default.
        gap: What the participle agrees with, where the object stands before the verb.
        with_object: Whether the object is said; never where there is a gap.
        with_time: Whether the time is said.
    """
    subject = agreement or clause.subject.agreement
    adverb = clause.frequency.french if clause.frequency else ""
    negated = clause.polarity != "affirmative"
    if clause.control is None:
        verb = _finite(clause.verb.french, clause.tense, clause.polarity, subject, adverb, clause.verb.reflexive, gap)
    else:
        head, _, tail = clause.control.french.partition(" ")
        finite = _finite(head, clause.tense, clause.polarity, subject, adverb, False, None)
        verb = _words(finite, tail, clause.control.preposition, infinitive(clause.verb, subject))
    time = clause.time.french if clause.time and with_time else ""
    return _words(verb, _arguments(clause, with_object and gap is None, negated), time)


def passive_allowed(clause: Clause) -> bool:
    """Says whether a clause reads well in the passive, in either language."""
    subject, patient = clause.subject, clause.object
    if patient is None or "p" not in clause.verb.flags or clause.verb.preposition or clause.recipient is not None:
        return False
    if isinstance(subject, Pronoun) or isinstance(patient, Pronoun) or clause.control is not None:
        return False
    if clause.tense not in {"past", "future"} or clause.manner is not None or clause.polarity == "never":
        return False
    if isinstance(patient, NounPhrase):
        own = patient.determiner == "possessive" and patient.possessor == subject.agreement
        weak = patient.determiner == "indefinite" and (clause.polarity != "affirmative" or patient.noun.mass)
        return not own and not weak and patient.relative is None
    return True


def _passive(clause: Clause, with_agent: bool, with_time: bool = True) -> str:
    assert clause.object is not None
    patient = clause.object.agreement
    finite = _finite("être", clause.tense, clause.polarity, patient, "", False, None)
    participle = morphology.past_participle(clause.verb.french, patient.feminine, patient.plural)
    agent = "par " + noun_phrase(clause.subject) if with_agent else ""
    place = clause.place.french if clause.place else ""
    time = clause.time.french if clause.time and with_time else ""
    return _words(noun_phrase(clause.object), finite, participle, agent, place, time)


def _clause(clause: Clause, chooser: WordingChooser, nested: bool = False, active: bool = False) -> str:
    front = clause.time is not None and not nested and chooser.chance(0.4)
    if not active and passive_allowed(clause) and chooser.chance(0.15):
        body = _passive(clause, with_agent=True, with_time=not front)
    else:
        body = _words(noun_phrase(clause.subject), _predicate(clause, with_time=not front))
    return f"{clause.time.french} , {body}" if front and clause.time else body


def _copula(copula: Copula) -> str:
    subject = copula.subject.agreement
    finite = _finite("être", copula.tense, copula.polarity, subject, "", False, None)
    if isinstance(copula.predicate, Noun):
        predicate = copula.predicate.french
        predicate = morphology.plural_noun(predicate) if subject.plural else predicate
    else:
        predicate = morphology.inflect_adjective(copula.predicate.french, subject.feminine, subject.plural)
    text = _words(noun_phrase(copula.subject), finite, _DEGREES[copula.degree], predicate)
    return f"est-ce que {text}" if copula.question else text


def _comparison(comparison: Comparison) -> str:
    subject = comparison.subject.agreement
    adjective = morphology.inflect_adjective(comparison.adjective.french, subject.feminine, subject.plural)
    adverb = {"more": "plus", "less": "moins", "equal": "aussi"}[comparison.relation]
    if comparison.relation == "more" and comparison.adjective.french == "bon":
        adverb, adjective = "", morphology.inflect_adjective("meilleur", subject.feminine, subject.plural)
    finite = morphology.conjugate("être", "present", subject.index)
    return _words(noun_phrase(comparison.subject), finite, adverb, adjective, "que", noun_phrase(comparison.standard))


def _existential(existential: Existential) -> str:
    verb = morphology.conjugate("avoir", existential.tense, morphology.THIRD_SINGULAR)
    if existential.polarity == "affirmative":
        return _words("il y", verb, noun_phrase(existential.subject), existential.place.french)
    return _words("il ne y", verb, "pas", noun_phrase(existential.subject, negated=True), existential.place.french)


def _location(location: Location) -> str:
    subject = location.subject.agreement
    finite = morphology.conjugate("être", location.tense, subject.index)
    place = _words(location.relation.french, noun_phrase(location.landmark))
    text = _words(noun_phrase(location.subject), finite, place)
    return f"est-ce que {text}" if location.question else text


def _possession(possession: Possession) -> str:
    finite = _finite("avoir", "present", possession.polarity, possession.subject.agreement, "", False, None)
    negated = possession.polarity != "affirmative"
    return _words(noun_phrase(possession.subject), finite, noun_phrase(possession.object, negated=negated))


def _question(question: Question) -> str:
    clause = question.clause
    if question.kind == "subject":
        return _words("qui", _predicate(clause, Agreement()))
    if question.kind == "object":
        # The question word stands for a masculine singular, so that the participle does not change.
        human = isinstance(clause.object, NounPhrase) and "human" in clause.object.noun.classes
        start = "qui est-ce que" if human else "qu'est-ce que"
        return _words(start, noun_phrase(clause.subject), _predicate(clause, with_object=False))
    start = {"whether": "", "where": "où", "when": "quand", "why": "pourquoi"}[question.kind]
    return _words(start, "est-ce que", noun_phrase(clause.subject), _predicate(clause))


def _command(command: Command) -> str:
    clause = command.clause
    verb = morphology.imperative(clause.verb.french, command.person)
    verb = _words("ne", verb, "pas") if command.negative else verb
    text = _words(verb, _arguments(clause, True, command.negative), clause.time.french if clause.time else "")
    if not command.polite:
        return text
    return text + (" , s'il te plaît" if command.person == 1 else " , s'il vous plaît")


def _cleft(cleft: Cleft) -> str:
    clause = cleft.clause
    if cleft.focus == "subject":
        return _words("c'est", noun_phrase(clause.subject), "qui", _predicate(clause))
    assert clause.object is not None
    gap = clause.object.agreement
    return _words("c'est", noun_phrase(clause.object), "que", noun_phrase(clause.subject), _predicate(clause, gap=gap))


def _report(report: Report, chooser: WordingChooser) -> str:
    verb = morphology.conjugate(report.verb.french, "present", report.subject.agreement.index)
    return _words(noun_phrase(report.subject), verb, "que", _body(report.content, chooser, nested=True))


def _complex(sentence: Complex, chooser: WordingChooser) -> str:
    main, second = (
        _clause(part, chooser, nested=True, active=True) if isinstance(part, Clause) else _body(part, chooser, True)
        for part in (sentence.main, sentence.second)
    )
    # The pronoun follows its antecedent, so that a clause that refers back cannot come first.
    if sentence.link.fronting and chooser.chance(0.3) and not _refers_back(sentence.second):
        return f"{sentence.link.french} {second} , {main}"
    return _words(main, sentence.link.french, second)


def _refers_back(statement: Meaning) -> bool:
    subject = getattr(statement, "subject", None)
    return isinstance(subject, Pronoun) and subject.agreement.person == 2


def _feeling(feeling: Feeling) -> str:
    subject = feeling.clause.subject.agreement
    words = []
    for word in feeling.french.split():
        if word == "{être}":
            words.append(morphology.conjugate("être", "present", subject.index))
        elif word.startswith("{"):
            words.append(morphology.inflect_adjective(word[1:-1], subject.feminine, subject.plural))
        else:
            words.append(word)
    start = noun_phrase(feeling.clause.subject) if feeling.personal else ""
    return _words(start, *words, infinitive_phrase(feeling.clause))


def _purpose(sentence: Purpose) -> str:
    main = _words(noun_phrase(sentence.main.subject), _predicate(sentence.main))
    return _words(main, sentence.link.french, infinitive_phrase(sentence.purpose))


def _impersonal(remark: Impersonal) -> str:
    return _words(remark.french, *(adjunct.french for adjunct in (remark.place, remark.time) if adjunct))


def _body(meaning: Meaning, chooser: WordingChooser, nested: bool = False) -> str:
    if isinstance(meaning, Clause):
        return _clause(meaning, chooser, nested)
    if isinstance(meaning, AgentlessPassive):
        return _passive(meaning.clause, with_agent=False)
    if isinstance(meaning, Report):
        return _report(meaning, chooser)
    if isinstance(meaning, Complex):
        return _complex(meaning, chooser)
    if isinstance(meaning, Copula):
        return _copula(meaning)
    if isinstance(meaning, Comparison):
        return _comparison(meaning)
    if isinstance(meaning, Existential):
        return _existential(meaning)
    if isinstance(meaning, Location):
        return _location(meaning)
    if isinstance(meaning, Possession):
        return _possession(meaning)
    if isinstance(meaning, Question):
        return _question(meaning)
    if isinstance(meaning, Command):
        return _command(meaning)
    if isinstance(meaning, Cleft):
        return _cleft(meaning)
    if isinstance(meaning, Feeling):
        return _feeling(meaning)
    if isinstance(meaning, Purpose):
        return _purpose(meaning)
    return _impersonal(meaning)


def write_french(meaning: Meaning, chooser: WordingChooser | None = None) -> str:
    """Returns a French sentence for the meaning: the canonical one, unless a chooser says otherwise."""
    asks = isinstance(meaning, Question) or getattr(meaning, "question", False)
    return morphology.sentence(_body(meaning, chooser or WordingChooser()), "?" if asks else ".")
