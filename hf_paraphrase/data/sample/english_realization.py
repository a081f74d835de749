"""Writes a meaning in English, in one of its wordings."""

from __future__ import annotations

from . import english_morphology as morphology
from .english_phrases import (
    VerbGroup,
    attach,
    inflect_first,
    invert,
    nominal,
    noun_word,
    verb_group,
)
from .french_realization import passive_allowed
from .lexicon import Noun
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

_DEGREES = {
    "": ("",),
    "very": ("very",),
    "too": ("too",),
    "quite": ("quite", "fairly", "rather"),
    "really": ("really", "truly"),
}


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)


class _Writer:
    """Writes meanings with one chooser of wordings."""

    def __init__(self, chooser: WordingChooser) -> None:
        self._chooser = chooser

    def noun_phrase(self, phrase: Nominal, negated: bool = False) -> str:
        """Returns a nominal with its relative clause."""
        text = nominal(phrase, self._chooser, negated)
        if not isinstance(phrase, NounPhrase) or phrase.relative is None:
            return text
        clause, gap = phrase.relative.clause, phrase.relative.gap
        human = "human" in phrase.noun.classes
        if gap == "subject":
            pronoun = self._chooser.pick(("who", "who", "that") if human else ("that", "which"))
            return _join(text, pronoun, self._finite_clause("", clause, phrase.agreement))
        pronoun = self._chooser.pick(("that", "") if human else ("that", "", "which"))
        subject = self.noun_phrase(clause.subject)
        return _join(text, pronoun, self._finite_clause(subject, clause, None, with_object=False))

    def _arguments(self, clause: Clause, word: str, with_object: bool) -> str:
        negated = clause.polarity != "affirmative"
        patient = ""
        if clause.object is not None and with_object:
            patient = self.noun_phrase(clause.object, negated)
        if clause.recipient is None:
            return patient
        recipient = self.noun_phrase(clause.recipient)
        if not patient or word in clause.verb.active_only or self._chooser.chance(0.5):
            return _join(patient, "to", recipient)
        return _join(recipient, patient)

    def _adjuncts(self, clause: Clause, with_time: bool = True, with_manner: bool = True) -> str:
        adjuncts = (
            clause.manner if with_manner else None,
            clause.place,
            clause.duration,
            clause.time if with_time else None,
        )
        return _join(*(self._chooser.pick(adjunct.english) for adjunct in adjuncts if adjunct is not None))

    def _aspect(self, clause: Clause) -> str:
        if "s" in clause.verb.flags:
            return "state" if clause.duration and clause.duration.french.startswith("depuis") else "simple"
        if clause.duration is not None and clause.duration.french.startswith("depuis"):
            return "perfect"
        if clause.tense == "imperfect":
            return "simple" if clause.frequency or (clause.time and "habit" in clause.time.kinds) else "progressive"
        if clause.tense != "present" or clause.frequency is not None or clause.polarity in {"never", "no longer"}:
            return "simple"
        if clause.time is not None and "habit" in clause.time.kinds:
            return "simple"
        if clause.time is not None or ("n" in clause.verb.flags and "h" not in clause.verb.flags):
            return "progressive"
        if "n" in clause.verb.flags:
            return "simple" if self._chooser.chance(0.3) else "progressive"
        return "simple"

    def _verb(self, clause: Clause, agreement: Agreement) -> tuple[VerbGroup, str]:
        """Returns the verb group and which of the verb's wordings is in it."""
        word = self._chooser.pick(clause.verb.english)
        if clause.control is None:
            aspect = self._aspect(clause)
            if clause.tense == "past" and clause.polarity == "never" and self._chooser.chance(0.5):
                group = VerbGroup("has" if agreement.index == 2 else "have", inflect_first(word, "en"))
                return group, word
            return verb_group(word, clause.tense, agreement, aspect, self._chooser), word
        return verb_group(self._controlled(clause, word), clause.tense, agreement, "simple", self._chooser), word

    def _controlled(self, clause: Clause, word: str) -> str:
        assert clause.control is not None
        options = clause.control.english
        if clause.control.french == "devoir" and clause.polarity != "affirmative":
            options = options[:1]
        template = self._chooser.pick(options)
        start, _, slot = template.rpartition(" ")
        return _join(start, inflect_first(word, slot[1:]) if slot != "_" else word)

    def _finite_clause(
        self,
        subject: str,
        clause: Clause,
        agreement: Agreement | None,
        with_object: bool = True,
        with_time: bool = True,
    ) -> str:
        group, word = self._verb(clause, agreement or clause.subject.agreement)
        adverb = self._chooser.pick(clause.frequency.english) if clause.frequency else ""
        with_manner = True
        fits = clause.control is None and clause.tense != "future" and not adverb
        if clause.manner is not None and fits and self._chooser.chance(0.4):
            adverbs = [english for english in clause.manner.english if english.endswith("ly")]
            if adverbs and clause.polarity == "affirmative":
                adverb, with_manner = self._chooser.pick(adverbs), False
        pronoun = bool(subject) and isinstance(clause.subject, Pronoun)
        verb = attach(subject, pronoun, group, clause.polarity, adverb, self._chooser)
        anymore = verb.endswith(" anymore")
        verb = verb.removesuffix(" anymore")
        arguments = _join(self._arguments(clause, word, with_object), self._adjuncts(clause, with_time, with_manner))
        return _join(verb, arguments, "anymore" if anymore else "")

    def _passive(self, clause: Clause, with_agent: bool, with_time: bool = True) -> str:
        assert clause.object is not None
        words = [word for word in clause.verb.english if word not in clause.verb.active_only]
        participle = inflect_first(self._chooser.pick(words), "en")
        group = verb_group("be " + participle, clause.tense, clause.object.agreement, "simple", self._chooser)
        patient = self.noun_phrase(clause.object)
        verb = attach(patient, False, group, clause.polarity, "", self._chooser)
        agent = "by " + self.noun_phrase(clause.subject) if with_agent else ""
        return _join(verb, agent, self._adjuncts(clause, with_time))

    def clause(self, clause: Clause, nested: bool = False, active: bool = False) -> str:
        """Returns a statement, possibly in the passive (unless it must be active) or with its time first."""
        front = clause.time is not None and not nested and self._chooser.chance(0.35)
        if not active and passive_allowed(clause) and self._chooser.chance(0.4):
            body = self._passive(clause, with_agent=True, with_time=not front)
        else:
            body = self._finite_clause(self.noun_phrase(clause.subject), clause, None, with_time=not front)
        if front and clause.time is not None:
            return f"{self._chooser.pick(clause.time.english)} , {body}"
        return body

    def _predicate(self, copula: Copula) -> str:
        if isinstance(copula.predicate, Noun):
            word = noun_word(copula.predicate, copula.subject.agreement.plural, self._chooser)
            return word if copula.subject.agreement.plural else "a " + word
        word = self._chooser.pick(copula.predicate.english)
        if copula.degree and word.startswith("very "):
            word = copula.predicate.english[0]
        return _join(self._chooser.pick(_DEGREES[copula.degree]), word)

    def copula(self, copula: Copula) -> str:
        """Returns a statement or question with "be"."""
        agreement = copula.subject.agreement
        subject = self.noun_phrase(copula.subject)
        group = verb_group("be " + self._predicate(copula), copula.tense, agreement, "definite", self._chooser)
        if copula.question:
            return invert(subject, group, copula.polarity, "", self._chooser)
        return attach(subject, isinstance(copula.subject, Pronoun), group, copula.polarity, "", self._chooser)

    def comparison(self, comparison: Comparison) -> str:
        """Returns a comparison of two things."""
        adjective = self._chooser.pick(comparison.adjective.english)
        if adjective.startswith("very "):
            adjective = comparison.adjective.english[0]
        if comparison.relation == "more":
            predicate = morphology.comparative(adjective) + " than"
        elif comparison.relation == "less":
            options = [f"not as {adjective} as"]
            if morphology.comparative(adjective).startswith("more "):
                options.append(f"less {adjective} than")
            predicate = self._chooser.pick(options)
        else:
            predicate = self._chooser.pick((f"as {adjective} as", f"just as {adjective} as"))
        verb = verb_group("be", "present", comparison.subject.agreement, "simple", self._chooser).auxiliary
        return _join(self.noun_phrase(comparison.subject), verb, predicate, self.noun_phrase(comparison.standard))

    def existential(self, existential: Existential) -> str:
        """Returns a statement with "there is"."""
        agreement = existential.subject.agreement
        verb = verb_group("be", existential.tense, agreement, "simple", self._chooser).auxiliary
        place = self._chooser.pick(existential.place.english)
        if existential.polarity != "affirmative":
            bare = NounPhrase(existential.subject.noun, "generic", existential.subject.plural)
            negated = self._chooser.pick((f"{verb} no", f"{morphology.contract_not(verb)} any"))
            if not existential.subject.plural and not existential.subject.noun.mass and negated.endswith("any"):
                negated = negated.removesuffix("any") + "a"
            return _join("there", negated, nominal(bare, self._chooser), place)
        subject = self.noun_phrase(existential.subject)
        if (
            self._chooser.chance(0.2)
            and not subject.startswith("some ")
            and existential.subject.determiner != "generic"
        ):
            return f"{place} , there {verb} {subject}"
        return _join("there", verb, subject, place)

    def location(self, location: Location) -> str:
        """Returns where something is."""
        subject = self.noun_phrase(location.subject)
        place = _join(self._chooser.pick(location.relation.english), self.noun_phrase(location.landmark))
        group = verb_group("be " + place, location.tense, location.subject.agreement, "simple", self._chooser)
        if location.question:
            return invert(subject, group, "affirmative", "", self._chooser)
        return attach(subject, False, group, "affirmative", "", self._chooser)

    def possession(self, possession: Possession) -> str:
        """Returns who has what."""
        agreement = possession.subject.agreement
        subject = self.noun_phrase(possession.subject)
        verbs = ["have"]
        if {"buyable", "pet", "farm"} & set(possession.object.noun.classes):
            verbs.append("own")
        phrase = self._chooser.pick(verbs)
        group = verb_group(phrase, "present", agreement, "simple", self._chooser)
        if possession.polarity != "affirmative" and phrase == "have" and self._chooser.chance(0.3):
            bare = NounPhrase(possession.object.noun, "generic", possession.object.plural, possession.object.adjective)
            if possession.object.determiner == "indefinite":
                return _join(subject, group.merged, "no", nominal(bare, self._chooser))
        negated = possession.polarity != "affirmative"
        verb = attach(subject, False, group, possession.polarity, "", self._chooser)
        return _join(verb, self.noun_phrase(possession.object, negated))

    def question(self, question: Question) -> str:
        """Returns a question about a clause."""
        clause = question.clause
        if question.kind == "subject":
            return _join("who", self._finite_clause("", clause, Agreement()))
        group, word = self._verb(clause, clause.subject.agreement)
        adverb = self._chooser.pick(clause.frequency.english) if clause.frequency else ""
        subject = self.noun_phrase(clause.subject)
        inverted = invert(subject, group, clause.polarity, adverb, self._chooser)
        if question.kind == "object":
            human = isinstance(clause.object, NounPhrase) and "human" in clause.object.noun.classes
            return _join("who" if human else "what", inverted, self._adjuncts(clause))
        start = "" if question.kind == "whether" else question.kind
        return _join(start, inverted, self._arguments(clause, word, True), self._adjuncts(clause))

    def command(self, command: Command) -> str:
        """Returns an order or a suggestion."""
        clause = command.clause
        word = self._chooser.pick(clause.verb.english)
        negative = Clause(clause.verb, clause.subject, polarity="negative") if command.negative else clause
        patient = "" if clause.object is None else self.noun_phrase(clause.object, negative.polarity == "negative")
        arguments = patient if clause.recipient is None else self._arguments(clause, word, True)
        body = _join(word, arguments, self._adjuncts(clause))
        if command.person == 3:
            return self._chooser.pick(("let's ", "let us ")) + body
        if command.negative:
            body = self._chooser.pick(("don't ", "do not ")) + body
        if command.polite:
            return f"please {body}" if not self._chooser.chance(0.5) else f"{body} , please"
        return body

    def cleft(self, cleft: Cleft) -> str:
        """Returns a sentence that brings out the subject or object."""
        clause = cleft.clause
        be = "was" if clause.tense == "past" else "is"
        if cleft.focus == "subject":
            predicate = self._finite_clause("", clause, None)
            focus = self.noun_phrase(clause.subject)
            pronoun = self._chooser.pick(("who", "that"))
            if self._chooser.chance(0.35):
                return _join(focus, "is the one who", predicate)
            return _join("it", be, focus, pronoun, predicate)
        assert clause.object is not None
        rest = self._finite_clause(self.noun_phrase(clause.subject), clause, None, with_object=False)
        if self._chooser.chance(0.35) and "human" not in getattr(clause.object, "noun").classes:  # noqa: B009
            return _join("what", rest, be, self.noun_phrase(clause.object))
        return _join("it", be, self.noun_phrase(clause.object), "that", rest)

    def report(self, report: Report) -> str:
        """Returns what somebody says or thinks."""
        agreement = report.subject.agreement
        group = verb_group(self._chooser.pick(report.verb.english), "present", agreement, "simple", self._chooser)
        verb = attach(self.noun_phrase(report.subject), False, group, "affirmative", "", self._chooser)
        return _join(verb, self._chooser.pick(("that", "")), self.body(report.content, nested=True))

    def complex(self, sentence: Complex) -> str:
        """Returns two clauses with their conjunction, the second one first where that reads well."""
        main, second = (
            self.clause(part, nested=True, active=True) if isinstance(part, Clause) else self.body(part, nested=True)
            for part in (sentence.main, sentence.second)
        )
        link = self._chooser.pick(sentence.link.english)
        if sentence.link.fronting and self._chooser.chance(0.4):
            return f"{link} {second} , {main}"
        if link.startswith("and") and isinstance(sentence.second, Clause) and self._chooser.chance(0.5):
            # The two clauses have one subject, which need not be said again.
            return _join(main, link, self._finite_clause("", sentence.second, None))
        return _join(main, link, second)

    def feeling(self, feeling: Feeling) -> str:
        """Returns an adjective with an infinitive clause."""
        clause = feeling.clause
        word = self._chooser.pick(clause.verb.english)
        start, _, slot = self._chooser.pick(feeling.english).rpartition(" ")
        verb = inflect_first(word, slot[1:]) if slot != "_" else word
        body = _join(verb, self._arguments(clause, word, True), self._adjuncts(clause))
        if feeling.personal:
            group = verb_group(_join(start, body), "present", clause.subject.agreement, "simple", self._chooser)
            subject = self.noun_phrase(clause.subject)
            return attach(subject, isinstance(clause.subject, Pronoun), group, "affirmative", "", self._chooser)
        return _join(start, body)

    def purpose(self, sentence: Purpose) -> str:
        """Returns a clause with an infinitive of purpose, time or lack."""
        main = self._finite_clause(self.noun_phrase(sentence.main.subject), sentence.main, None)
        start, _, slot = self._chooser.pick(sentence.link.english).rpartition(" ")
        word = self._chooser.pick(sentence.purpose.verb.english)
        verb = inflect_first(word, slot[1:]) if slot != "_" else word
        return _join(
            main, start, verb, self._arguments(sentence.purpose, word, True), self._adjuncts(sentence.purpose)
        )

    def impersonal(self, remark: Impersonal) -> str:
        """Returns a remark on the weather and the like."""
        place = self._chooser.pick(remark.place.english) if remark.place else ""
        time = self._chooser.pick(remark.time.english) if remark.time else ""
        words = self._chooser.pick(remark.english)
        if time and self._chooser.chance(0.3):
            return f"{time} , {_join(words, place)}"
        return _join(words, place, time)

    def body(self, meaning: Meaning, nested: bool = False) -> str:
        """Returns the words of any meaning."""
        if isinstance(meaning, Clause):
            return self.clause(meaning, nested)
        if isinstance(meaning, AgentlessPassive):
            return self._passive(meaning.clause, with_agent=False)
        if isinstance(meaning, Report):
            return self.report(meaning)
        if isinstance(meaning, Complex):
            return self.complex(meaning)
        if isinstance(meaning, Copula):
            return self.copula(meaning)
        if isinstance(meaning, Comparison):
            return self.comparison(meaning)
        if isinstance(meaning, Existential):
            return self.existential(meaning)
        if isinstance(meaning, Location):
            return self.location(meaning)
        if isinstance(meaning, Possession):
            return self.possession(meaning)
        if isinstance(meaning, Question):
            return self.question(meaning)
        if isinstance(meaning, Command):
            return self.command(meaning)
        if isinstance(meaning, Cleft):
            return self.cleft(meaning)
        if isinstance(meaning, Feeling):
            return self.feeling(meaning)
        if isinstance(meaning, Purpose):
            return self.purpose(meaning)
        return self.impersonal(meaning)


def write_english(meaning: Meaning, chooser: WordingChooser | None = None) -> str:
    """Returns an English sentence for the meaning: the canonical one, unless a chooser says otherwise."""
    asks = isinstance(meaning, Question) or getattr(meaning, "question", False)
    text = _Writer(chooser or WordingChooser()).body(meaning)
    return morphology.sentence(text, "?" if asks else ".")
