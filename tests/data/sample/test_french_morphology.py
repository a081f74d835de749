from __future__ import annotations

import pytest

from hf_paraphrase.data.sample import french_morphology as french
from hf_paraphrase.data.sample.nouns import NOUNS
from hf_paraphrase.data.sample.verbs import VERBS


@pytest.mark.parametrize(
    ("infinitive", "tense", "person", "form"),
    [
        ("manger", "present", 3, "mangeons"),
        ("manger", "imperfect", 2, "mangeait"),
        ("manger", "imperfect", 3, "mangions"),
        ("commencer", "present", 3, "commençons"),
        ("commencer", "imperfect", 0, "commençais"),
        ("acheter", "present", 0, "achète"),
        ("acheter", "present", 4, "achetez"),
        ("acheter", "future", 2, "achètera"),
        ("appeler", "present", 5, "appellent"),
        ("appeler", "future", 1, "appelleras"),
        ("jeter", "present", 2, "jette"),
        ("préférer", "present", 0, "préfère"),
        ("préférer", "future", 0, "préférerai"),
        ("protéger", "present", 3, "protégeons"),
        ("nettoyer", "present", 2, "nettoie"),
        ("nettoyer", "present", 3, "nettoyons"),
        ("payer", "future", 2, "paiera"),
        ("envoyer", "future", 5, "enverront"),
        ("finir", "present", 3, "finissons"),
        ("finir", "imperfect", 2, "finissait"),
        ("vendre", "present", 2, "vend"),
        ("vendre", "future", 0, "vendrai"),
        ("boire", "present", 5, "boivent"),
        ("boire", "imperfect", 5, "buvaient"),
        ("être", "imperfect", 0, "étais"),
        ("aller", "future", 3, "irons"),
        ("vouloir", "conditional", 2, "voudrait"),
        ("peindre", "present", 3, "peignons"),
        ("dire", "present", 4, "dites"),
        ("recevoir", "present", 5, "reçoivent"),
        ("sourire", "present", 5, "sourient"),
        ("se promener"[3:], "present", 5, "promènent"),
    ],
)
def test_conjugation_of_regular_and_irregular_verbs(infinitive: str, tense: str, person: int, form: str) -> None:
    assert french.conjugate(infinitive, tense, person) == form


def test_unknown_tense_is_refused() -> None:
    with pytest.raises(ValueError, match="subjunctive"):
        french.conjugate("aller", "subjunctive", 0)


@pytest.mark.parametrize(
    ("infinitive", "feminine", "plural", "form"),
    [
        ("prendre", True, False, "prise"),
        ("prendre", False, True, "pris"),
        ("ouvrir", True, True, "ouvertes"),
        ("acheter", True, True, "achetées"),
        ("finir", True, False, "finie"),
        ("perdre", False, True, "perdus"),
        ("devoir", True, False, "due"),
        ("résoudre", True, False, "résolue"),
    ],
)
def test_participles_agree(infinitive: str, feminine: bool, plural: bool, form: str) -> None:
    assert french.past_participle(infinitive, feminine, plural) == form


@pytest.mark.parametrize(
    ("infinitive", "person", "form"),
    [
        ("manger", 1, "mange"),
        ("ouvrir", 1, "ouvre"),
        ("finir", 1, "finis"),
        ("prendre", 4, "prenez"),
        ("aller", 1, "va"),
    ],
)
def test_imperative_drops_the_s_of_er_verbs_only(infinitive: str, person: int, form: str) -> None:
    assert french.imperative(infinitive, person) == form


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("cheval", "chevaux"),
        ("gâteau", "gâteaux"),
        ("souris", "souris"),
        ("bus", "bus"),
        ("pomme de terre", "pommes de terre"),
        ("appareil photo", "appareils photo"),
        ("grand-mère", "grands-mères"),
        ("journal", "journaux"),
        ("lieu", "lieux"),
        ("chat", "chats"),
    ],
)
def test_noun_plurals(singular: str, plural: str) -> None:
    assert french.plural_noun(singular) == plural


@pytest.mark.parametrize(
    ("adjective", "feminine", "plural", "form"),
    [
        ("beau", True, False, "belle"),
        ("nouveau", False, True, "nouveaux"),
        ("vieux", False, True, "vieux"),
        ("vieux", True, True, "vieilles"),
        ("gros", True, False, "grosse"),
        ("heureux", True, True, "heureuses"),
        ("cher", True, False, "chère"),
        ("neuf", True, False, "neuve"),
        ("ancien", True, False, "ancienne"),
        ("blanc", True, False, "blanche"),
        ("frais", True, True, "fraîches"),
        ("inquiet", True, False, "inquiète"),
        ("rouge", True, True, "rouges"),
        ("bleu", False, True, "bleus"),
        ("plein", True, False, "pleine"),
        ("gentil", True, False, "gentille"),
    ],
)
def test_adjectives_agree(adjective: str, feminine: bool, plural: bool, form: str) -> None:
    assert french.inflect_adjective(adjective, feminine, plural) == form


@pytest.mark.parametrize(
    ("phrase", "joined"),
    [
        ("le homme de le village", "l'homme du village"),
        ("à le enfant et à le chat", "à l'enfant et au chat"),
        ("de les amis à les filles", "des amis aux filles"),
        ("je ai vu que il ne est pas là", "j'ai vu qu'il n'est pas là"),
        ("de le argent", "de l'argent"),
        ("si il pleut et si elle vient", "s'il pleut et si elle vient"),
        ("il ne y a pas de eau", "il n'y a pas d'eau"),
        ("le haut mur de la haute tour", "le haut mur de la haute tour"),
        ("la huitième heure", "la huitième heure"),
        ("parce que elle se est levée", "parce qu'elle s'est levée"),
        ("est-ce que Alice dort", "est-ce qu'Alice dort"),
    ],
)
def test_elision_and_contraction(phrase: str, joined: str) -> None:
    assert french.join_french(phrase) == joined


def test_masculine_prenominal_adjectives_before_a_vowel() -> None:
    assert french.liaison_adjective("beau", "arbre") == "bel"
    assert french.liaison_adjective("nouveau", "hôtel") == "nouvel"
    assert french.liaison_adjective("vieux", "homme") == "vieil"
    assert french.liaison_adjective("vieux", "chat") == "vieux"


def test_final_marks_of_questions_follow_a_space() -> None:
    assert french.sentence("où est-ce que il dort", "?") == "Où est-ce qu'il dort ?"


def test_every_verb_conjugates_in_every_person() -> None:
    for verb in VERBS:
        for tense in ("present", "imperfect", "future"):
            forms = [french.conjugate(verb.french, tense, person) for person in range(6)]
            assert all(forms)
            assert forms[3].endswith(("ons", "sommes")), (verb.french, tense, forms)
            assert forms[4].endswith(("ez", "es")), (verb.french, tense, forms)
            assert forms[5].endswith(("nt",)), (verb.french, tense, forms)


def test_irregular_infinitives_of_the_lexicon_are_in_the_irregular_table() -> None:
    # A verb in -ir, -re or -oir that is not regular would be conjugated wrongly and silently.
    regular = {"attendre", "choisir", "finir", "mordre", "nourrir", "obéir", "perdre", "remplir", "rendre"}
    regular |= {"réfléchir", "répondre", "réussir", "vendre"}
    for verb in VERBS:
        if not verb.french.endswith("er"):
            assert verb.french in french.IRREGULAR_VERBS or verb.french in regular, verb.french


def test_genders_of_the_noun_table_follow_the_usual_endings() -> None:
    feminine_endings = ("tion", "sion", "ette", "ise", "ance", "ière", "euse", "trice")
    masculine_endings = ("eau", "ment", "ier", "al", "isme", "teur", "et", "ard")
    checked = 0
    for noun in NOUNS:
        if noun.french.endswith(feminine_endings):
            assert noun.feminine, noun.french
            checked += 1
        elif noun.french.endswith(masculine_endings) and noun.french != "eau":
            assert not noun.feminine, noun.french
            checked += 1
    assert checked > 40
