"""French inflection: verb conjugation, noun and adjective agreement, elision and contraction."""

from __future__ import annotations

import re

# Person indices run over je, tu, il/elle, nous, vous, ils/elles.
FIRST_SINGULAR, SECOND_SINGULAR, THIRD_SINGULAR, FIRST_PLURAL, SECOND_PLURAL, THIRD_PLURAL = range(6)

# "six present forms | past participle (masculine singular) | future stem"
_IRREGULAR_TABLE = """
être: suis es est sommes êtes sont | été | ser
avoir: ai as a avons avez ont | eu | aur
aller: vais vas va allons allez vont | allé | ir
faire: fais fais fait faisons faites font | fait | fer
vouloir: veux veux veut voulons voulez veulent | voulu | voudr
pouvoir: peux peux peut pouvons pouvez peuvent | pu | pourr
devoir: dois dois doit devons devez doivent | dû | devr
savoir: sais sais sait savons savez savent | su | saur
connaître: connais connais connaît connaissons connaissez connaissent | connu | connaîtr
prendre: prends prends prend prenons prenez prennent | pris | prendr
apprendre: apprends apprends apprend apprenons apprenez apprennent | appris | apprendr
comprendre: comprends comprends comprend comprenons comprenez comprennent | compris | comprendr
mettre: mets mets met mettons mettez mettent | mis | mettr
promettre: promets promets promet promettons promettez promettent | promis | promettr
voir: vois vois voit voyons voyez voient | vu | verr
croire: crois crois croit croyons croyez croient | cru | croir
boire: bois bois boit buvons buvez boivent | bu | boir
lire: lis lis lit lisons lisez lisent | lu | lir
écrire: écris écris écrit écrivons écrivez écrivent | écrit | écrir
décrire: décris décris décrit décrivons décrivez décrivent | décrit | décrir
dire: dis dis dit disons dites disent | dit | dir
rire: ris ris rit rions riez rient | ri | rir
sourire: souris souris sourit sourions souriez sourient | souri | sourir
souvenir: souviens souviens souvient souvenons souvenez souviennent | souvenu | souviendr
venir: viens viens vient venons venez viennent | venu | viendr
revenir: reviens reviens revient revenons revenez reviennent | revenu | reviendr
appartenir: appartiens appartiens appartient appartenons appartenez appartiennent | appartenu | appartiendr
ouvrir: ouvre ouvres ouvre ouvrons ouvrez ouvrent | ouvert | ouvrir
offrir: offre offres offre offrons offrez offrent | offert | offrir
découvrir: découvre découvres découvre découvrons découvrez découvrent | découvert | découvrir
cueillir: cueille cueilles cueille cueillons cueillez cueillent | cueilli | cueiller
partir: pars pars part partons partez partent | parti | partir
sortir: sors sors sort sortons sortez sortent | sorti | sortir
dormir: dors dors dort dormons dormez dorment | dormi | dormir
endormir: endors endors endort endormons endormez endorment | endormi | endormir
servir: sers sers sert servons servez servent | servi | servir
recevoir: reçois reçois reçoit recevons recevez reçoivent | reçu | recevr
conduire: conduis conduis conduit conduisons conduisez conduisent | conduit | conduir
construire: construis construis construit construisons construisez construisent | construit | construir
détruire: détruis détruis détruit détruisons détruisez détruisent | détruit | détruir
traduire: traduis traduis traduit traduisons traduisez traduisent | traduit | traduir
courir: cours cours court courons courez courent | couru | courr
vivre: vis vis vit vivons vivez vivent | vécu | vivr
suivre: suis suis suit suivons suivez suivent | suivi | suivr
poursuivre: poursuis poursuis poursuit poursuivons poursuivez poursuivent | poursuivi | poursuivr
peindre: peins peins peint peignons peignez peignent | peint | peindr
éteindre: éteins éteins éteint éteignons éteignez éteignent | éteint | éteindr
résoudre: résous résous résout résolvons résolvez résolvent | résolu | résoudr
envoyer: envoie envoies envoie envoyons envoyez envoient | envoyé | enverr
"""

_PRESENT_ENDINGS = {
    "er": ("e", "es", "e", "ons", "ez", "ent"),
    "ir": ("is", "is", "it", "issons", "issez", "issent"),
    "re": ("s", "s", "", "ons", "ez", "ent"),
}
_IMPERFECT_ENDINGS = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTURE_ENDINGS = ("ai", "as", "a", "ons", "ez", "ont")
_PARTICIPLE_ENDINGS = {"er": "é", "ir": "i", "re": "u"}

# Verbs whose last stem vowel opens, or whose last stem consonant doubles, before a silent ending.
_GRAVE_ACCENT_STEMS = {"achet": "achèt", "lev": "lèv", "promen": "promèn", "préfér": "préfèr", "espér": "espèr"}
_GRAVE_ACCENT_STEMS |= {"protég": "protèg", "répét": "répèt", "amen": "amèn", "célébr": "célèbr"}
_DOUBLED_STEMS = {"appel": "appell", "jet": "jett"}
_SILENT_PERSONS = (FIRST_SINGULAR, SECOND_SINGULAR, THIRD_SINGULAR, THIRD_PLURAL)


def _parse_irregular() -> dict[str, tuple[tuple[str, ...], str, str]]:
    table: dict[str, tuple[tuple[str, ...], str, str]] = {}
    for line in _IRREGULAR_TABLE.strip().splitlines():
        infinitive, forms = line.split(":")
        present, participle, future = (part.strip() for part in forms.split("|"))
        table[infinitive] = (tuple(present.split()), participle, future)
    return table


IRREGULAR_VERBS = _parse_irregular()


def _silent_stem(stem: str) -> str:
    """Returns the stem as it is written before a silent e."""
    for changed in (_GRAVE_ACCENT_STEMS, _DOUBLED_STEMS):
        if stem in changed:
            return changed[stem]
    if stem.endswith(("oy", "uy", "ay")):
        return stem[:-1] + "i"
    return stem


def _before_hard_vowel(stem: str) -> str:
    """Returns the stem as it is written before a or o, where g and c would change their sound."""
    if stem.endswith("g"):
        return stem + "e"
    if stem.endswith("c"):
        return stem[:-1] + "ç"
    return stem


def _present(infinitive: str, person: int) -> str:
    if infinitive in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[infinitive][0][person]
    stem, group = infinitive[:-2], infinitive[-2:]
    ending = _PRESENT_ENDINGS[group][person]
    if group == "er":
        if person in _SILENT_PERSONS:
            stem = _silent_stem(stem)
        elif person == FIRST_PLURAL:
            stem = _before_hard_vowel(stem)
    return stem + ending


def _imperfect(infinitive: str, person: int) -> str:
    ending = _IMPERFECT_ENDINGS[person]
    if infinitive == "être":
        return "ét" + ending
    if infinitive in IRREGULAR_VERBS or not infinitive.endswith("er"):
        return _present(infinitive, FIRST_PLURAL)[:-3] + ending
    stem = infinitive[:-2]
    return (_before_hard_vowel(stem) if ending.startswith("a") else stem) + ending


def _future_stem(infinitive: str) -> str:
    if infinitive in IRREGULAR_VERBS:
        return IRREGULAR_VERBS[infinitive][2]
    stem = infinitive[:-2]
    if infinitive.endswith("er"):
        # é stays in the future ("préférera"), while e opens ("achètera") and consonants double ("appellera").
        return (stem if "é" in stem[-3:] else _silent_stem(stem)) + "er"
    return infinitive.removesuffix("e")


def conjugate(infinitive: str, tense: str, person: int) -> str:
    """Returns a simple (one-word) finite form of a French verb.

    Args:
        infinitive: The infinitive without a reflexive pronoun.
        tense: "present", "imperfect", "future" or "conditional".
        person: 0 to 5, from je to ils.
    """
    if tense == "present":
        return _present(infinitive, person)
    if tense == "imperfect":
        return _imperfect(infinitive, person)
    if tense == "future":
        return _future_stem(infinitive) + _FUTURE_ENDINGS[person]
    if tense == "conditional":
        return _future_stem(infinitive) + _IMPERFECT_ENDINGS[person]
    raise ValueError(f"unknown French tense: {tense!r}")


def imperative(infinitive: str, person: int) -> str:
    """Returns the imperative; -er verbs and those conjugated like them drop the s of tu."""
    form = _present(infinitive, person)
    if person == SECOND_SINGULAR and form.endswith(("es", "vas")):
        return form[:-1]
    return form


def past_participle(infinitive: str, feminine: bool = False, plural: bool = False) -> str:
    """Returns the past participle with its agreement endings."""
    if infinitive in IRREGULAR_VERBS:
        base = IRREGULAR_VERBS[infinitive][1]
    else:
        base = infinitive[:-2] + _PARTICIPLE_ENDINGS[infinitive[-2:]]
    if feminine:
        base = {"dû": "du"}.get(base, base) + "e"
    return base + "s" if plural and not base.endswith("s") else base


def plural_noun(noun: str) -> str:
    """Returns the plural of a French noun, of its first word where it is a compound."""
    head, space, rest = noun.partition(" ")
    if space:
        return f"{plural_noun(head)} {rest}"
    if noun.startswith("grand-"):
        return "grands-" + plural_noun(noun.removeprefix("grand-"))
    if noun.endswith(("s", "x", "z")):
        return noun
    if noun.endswith("al") and noun not in {"festival", "bal", "récital"}:
        return noun[:-2] + "aux"
    if noun == "travail":
        return "travaux"
    if noun.endswith(("eau", "eu")) and noun not in {"pneu", "bleu"}:
        return noun + "x"
    return noun + "s"


_IRREGULAR_FEMININES = {
    "beau": "belle",
    "nouveau": "nouvelle",
    "vieux": "vieille",
    "blanc": "blanche",
    "frais": "fraîche",
    "sec": "sèche",
    "long": "longue",
    "gros": "grosse",
    "gentil": "gentille",
    "ancien": "ancienne",
    "bon": "bonne",
    "doux": "douce",
    "public": "publique",
    "inquiet": "inquiète",
}
_LIAISON_MASCULINES = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}


def inflect_adjective(adjective: str, feminine: bool, plural: bool) -> str:
    """Returns the form of a French adjective that agrees with the given gender and number."""
    form = adjective
    if feminine:
        if adjective in _IRREGULAR_FEMININES:
            form = _IRREGULAR_FEMININES[adjective]
        elif adjective.endswith("e"):
            pass
        elif adjective.endswith("eux"):
            form = adjective[:-1] + "se"
        elif adjective.endswith("er"):
            form = adjective[:-2] + "ère"
        elif adjective.endswith("f"):
            form = adjective[:-1] + "ve"
        elif adjective.endswith(("el", "en")):
            form = adjective + adjective[-1] + "e"
        else:
            form = adjective + "e"
    if not plural or form.endswith(("s", "x")):
        return form
    if form.endswith("al") and not feminine:
        return form[:-2] + "aux"
    return form + ("x" if form.endswith("eau") else "s")


def liaison_adjective(adjective: str, following: str) -> str:
    """Returns the masculine singular of a prenominal adjective, "bel" and the like before a vowel."""
    return _LIAISON_MASCULINES.get(adjective, adjective) if begins_with_vowel(following) else adjective


# Words whose h blocks elision and liaison.
_ASPIRATED = ("haut", "héros", "hibou", "huit", "haricot", "honte")
_VOWELS = "aeiouâàéèêëîïôöùûœæ"


def begins_with_vowel(word: str) -> bool:
    """Says whether elision and liaison happen before the word."""
    lowered = word.lower()
    if lowered in {"y", "y,"}:
        return True
    if lowered.startswith("h"):
        return not lowered.startswith(_ASPIRATED)
    return lowered[:1] in _VOWELS and not lowered.startswith(("onz", "oui"))


_ELIDING = {
    "le": "l'",
    "la": "l'",
    "je": "j'",
    "me": "m'",
    "te": "t'",
    "se": "s'",
    "ne": "n'",
    "de": "d'",
    "que": "qu'",
}
_ELIDING |= {"jusque": "jusqu'", "lorsque": "lorsqu'", "parce_que": "parce qu'"}
_CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def join_french(phrase: str) -> str:
    """Applies elision and contraction to a phrase of full forms ("de le homme" gives "de l'homme")."""
    words = phrase.split()
    out: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        following = words[index + 1] if index + 1 < len(words) else ""
        after = words[index + 2] if index + 2 < len(words) else ""
        lowered = word.lower()
        contraction = _CONTRACTIONS.get((lowered, following))
        elided_article = following == "le" and begins_with_vowel(after)
        if contraction is not None and not elided_article:
            out.append(contraction.capitalize() if word[0].isupper() else contraction)
            index += 2
            continue
        if lowered in _ELIDING and following and begins_with_vowel(following):
            elided = _ELIDING[lowered]
            out.append(elided.capitalize() if word[0].isupper() else elided)
        elif lowered == "si" and following in {"il", "ils"}:
            out.append(word[0] + "'")
        else:
            out.append(word)
        index += 1
    text = re.sub(r"' ", "'", " ".join(out))
    return text.replace(" ,", ",").replace("parce_que", "parce que")


def sentence(phrase: str, mark: str = ".") -> str:
    """Joins a phrase, capitalises it and adds the final mark, which follows a space where it is ? or !."""
    text = join_french(phrase)
    return text[0].upper() + text[1:] + (mark if mark == "." else " " + mark)
