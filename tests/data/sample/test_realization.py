from __future__ import annotations

import random
from dataclasses import replace

from hf_paraphrase.data.sample.adjectives import ADJECTIVE_BY_FRENCH
from hf_paraphrase.data.sample.adjuncts import CONTROL_VERBS, FREQUENCIES, PLACES, TIMES
from hf_paraphrase.data.sample.english_realization import write_english
from hf_paraphrase.data.sample.french_realization import write_french
from hf_paraphrase.data.sample.lexicon import Verb
from hf_paraphrase.data.sample.meaning import (
    AgentlessPassive,
    Agreement,
    Clause,
    Cleft,
    Command,
    Comparison,
    Complex,
    Copula,
    Existential,
    Link,
    Meaning,
    NounPhrase,
    Pronoun,
    Question,
    Relative,
    WordingChooser,
)
from hf_paraphrase.data.sample.nouns import NOUN_BY_FRENCH
from hf_paraphrase.data.sample.verbs import VERBS


def verb(french: str, english: str, tail: str = "") -> Verb:
    return next(one for one in VERBS if one.french == french and one.english[0] == english and one.tail == tail)


def the(french: str, plural: bool = False, adjective: str | None = None) -> NounPhrase:
    return NounPhrase(NOUN_BY_FRENCH[french], "definite", plural, adjective and ADJECTIVE_BY_FRENCH[adjective])


def a(french: str, plural: bool = False, adjective: str | None = None) -> NounPhrase:
    return replace(the(french, plural, adjective), determiner="indefinite")


def adjunct(french: str) -> object:
    return next(one for one in TIMES + PLACES + FREQUENCIES if one.french == french)


BUY = verb("acheter", "buy")
BOUGHT = Clause(BUY, the("médecin"), a("voiture"), tense="past", time=adjunct("hier"))


def both(meaning: Meaning) -> tuple[str, str]:
    return write_french(meaning), write_english(meaning)


def wordings(meaning: Meaning, tries: int = 400) -> set[str]:
    chooser = WordingChooser(random.Random(1))
    return {write_english(meaning, chooser) for _ in range(tries)}


def test_golden_past_statement() -> None:
    assert both(BOUGHT) == ("Le médecin a acheté une voiture hier.", "The doctor bought a car yesterday.")


def test_golden_negation_turns_un_into_de() -> None:
    negative = replace(BOUGHT, polarity="negative", object=a("orange"), time=None)
    assert both(negative) == ("Le médecin n'a pas acheté d'orange.", "The doctor did not buy an orange.")


def test_golden_partitive_and_its_negation() -> None:
    drink = Clause(verb("boire", "drink"), the("femme"), a("eau"), tense="past")
    assert both(drink) == ("La femme a bu de l'eau.", "The woman drank some water.")
    assert both(replace(drink, polarity="negative")) == (
        "La femme n'a pas bu d'eau.",
        "The woman did not drink any water.",
    )


def test_golden_prenominal_adjectives() -> None:
    see = Clause(verb("voir", "see"), Pronoun(Agreement(0)), a("arbre", adjective="beau"), tense="past")
    assert both(see) == ("J'ai vu un bel arbre.", "I saw a beautiful tree.")
    many = replace(see, object=a("fleur", True, "beau"))
    assert both(many) == ("J'ai vu de belles fleurs.", "I saw some beautiful flowers.")


def test_golden_possessive_before_a_feminine_vowel() -> None:
    friend = NounPhrase(NOUN_BY_FRENCH["amie"], "possessive", possessor=Agreement(0))
    old = replace(friend, adjective=ADJECTIVE_BY_FRENCH["vieux"])
    help_ = Clause(verb("aider", "help"), the("garçon"), friend, tense="past")
    assert both(help_) == ("Le garçon a aidé mon amie.", "The boy helped my friend.")
    assert write_french(replace(help_, object=old)) == "Le garçon a aidé ma vieille amie."


def test_golden_his_and_her_follow_the_owner() -> None:
    for owner, determiner in (("femme", "her"), ("homme", "his")):
        subject = the(owner)
        book = NounPhrase(NOUN_BY_FRENCH["livre"], "possessive", possessor=subject.agreement)
        clause = Clause(verb("lire", "read"), subject, book, tense="past")
        assert write_english(clause).endswith(f"read {determiner} book.")
        assert write_french(clause).endswith("a lu son livre.")


def test_golden_reflexive_with_etre_agrees() -> None:
    up = Clause(verb("lever", "get up"), Pronoun(Agreement(0, True, True)), tense="past")
    assert both(up) == ("Nous nous sommes levées.", "We got up.")


def test_golden_motion_verb_agrees_with_its_subject() -> None:
    leave = Clause(verb("partir", "leave"), the("fille", True), tense="past", time=adjunct("hier"))
    assert both(leave) == ("Les filles sont parties hier.", "The girls left yesterday.")


def test_golden_participle_agrees_with_a_preceding_object() -> None:
    inner = Clause(verb("écrire", "write"), the("professeur"), the("lettre", True), tense="past")
    head = replace(the("lettre", True), relative=Relative(inner, "object"))
    french, english = both(Copula(head, ADJECTIVE_BY_FRENCH["important"]))
    assert french == "Les lettres que le professeur a écrites sont importantes."
    assert english == "The letters that the teacher wrote are important."


def test_golden_passive_and_cleft() -> None:
    clause = Clause(verb("fermer", "close"), the("serveur"), the("fenêtre"), tense="past")
    assert both(AgentlessPassive(clause)) == ("La fenêtre a été fermée.", "The window was closed.")
    assert both(Cleft(clause, "object")) == (
        "C'est la fenêtre que le serveur a fermée.",
        "It was the window that the waiter closed.",
    )


def test_golden_questions() -> None:
    clause = replace(BOUGHT, time=None)
    assert both(Question(clause, "whether")) == (
        "Est-ce que le médecin a acheté une voiture ?",
        "Did the doctor buy a car?",
    )
    assert both(Question(clause, "object")) == ("Qu'est-ce que le médecin a acheté ?", "What did the doctor buy?")
    assert both(Question(clause, "subject")) == ("Qui a acheté une voiture ?", "Who bought a car?")


def test_golden_command_and_prohibition() -> None:
    clause = Clause(verb("ouvrir", "open"), Pronoun(Agreement(1)), the("porte"))
    assert both(Command(clause, 1, polite=True)) == ("Ouvre la porte, s'il te plaît.", "Please open the door.")
    assert both(Command(clause, 4, negative=True)) == ("N'ouvrez pas la porte.", "Don't open the door.")


def test_golden_control_verbs() -> None:
    wants = next(one for one in CONTROL_VERBS if one.french == "vouloir" and one.tenses == ("conditional",))
    clause = Clause(BUY, the("enfant", True), a("pain"), tense="conditional", control=wants)
    assert both(clause) == ("Les enfants voudraient acheter du pain.", "The children would like to buy some bread.")


def test_golden_comparisons() -> None:
    pair = the("maison"), ADJECTIVE_BY_FRENCH["grand"], the("école")
    assert both(Comparison(pair[0], pair[1], "more", pair[2])) == (
        "La maison est plus grande que l'école.",
        "The house is bigger than the school.",
    )
    better = Comparison(the("soupe"), ADJECTIVE_BY_FRENCH["bon"], "more", the("salade"))
    assert both(better) == ("La soupe est meilleure que la salade.", "The soup is better than the salad.")


def test_golden_existential_and_its_negation() -> None:
    here = Existential(a("chat"), adjunct("dans le jardin"))
    assert both(here) == ("Il y a un chat dans le jardin.", "There is a cat in the garden.")
    none = replace(here, polarity="negative", tense="imperfect")
    assert both(none) == ("Il n'y avait pas de chat dans le jardin.", "There was no cat in the garden.")


def test_golden_oblique_object_contracts() -> None:
    need = Clause(verb("avoir", "need", "besoin"), Pronoun(Agreement(0)), the("couteau"), tense="present")
    assert both(need) == ("J'ai besoin du couteau.", "I need the knife.")


def test_wordings_of_one_meaning_have_synonyms_order_and_voice() -> None:
    found = wordings(BOUGHT)
    assert {
        "The doctor bought a car yesterday.",
        "Yesterday, the physician purchased an automobile.",
        "A car was bought by the doctor yesterday.",
    } <= found


def test_wordings_of_giving_alternate_the_dative() -> None:
    give = Clause(verb("donner", "give"), the("femme"), a("livre"), the("homme"), tense="past")
    assert wordings(give) >= {"The woman gave a book to the man.", "The woman gave the man a book."}


def test_no_passive_with_a_pronoun_or_an_own_object() -> None:
    own = NounPhrase(NOUN_BY_FRENCH["voiture"], "possessive", possessor=the("médecin").agreement)
    for clause in (replace(BOUGHT, subject=Pronoun(Agreement(0))), replace(BOUGHT, object=own)):
        assert not any(" by " in sentence for sentence in wordings(clause))


def test_succession_keeps_one_subject_in_the_active_voice() -> None:
    first = Clause(verb("fermer", "close"), the("serveur"), the("porte"), tense="past")
    second = Clause(verb("éteindre", "turn off"), Pronoun(Agreement()), the("radio"), tense="past")
    found = wordings(Complex(first, Link("et", ("and",)), second))
    assert "The waiter closed the door and he turned off the radio." in found
    assert "The waiter shut the door and switched off the radio." in found
    assert not any(" by " in sentence for sentence in found)
