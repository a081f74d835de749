"""The adjectives: French lemma, English wordings, what they may describe, and their antonyms."""

from __future__ import annotations

from functools import cache

from .lexicon import Adjective, Noun, table_rows, wordings

# French | English | noun classes | position (pre, post, or pred for predicates only) | French antonym or -
_TABLE = """
# looks and size
grand | big, large | building room road furniture container animal plant public shop sight | pre | petit
petit | small, little | building room road furniture container animal plant toy shop device nature | pre | grand
beau | beautiful, lovely | sight garment picture plant jewel nature region area adult work song | pre | -
nouveau | new | building road garment furniture device footwear tool work show ridden container | pre | vieux
vieux | old | building road garment furniture device tool adult animal structure container picture | pre | nouveau
joli | pretty, nice | dwelling garment jewel plant toy region room tableware bird | pre | -
gros | big, large | animal fruit vegetable | pre | petit
énorme | huge, enormous | building animal structure bakery plant container | post | minuscule
minuscule | tiny | dwelling room animal toy jewel | post | énorme
haut | high, tall | structure tree | pre | -
long | long, lengthy | letter work show trip event told lesson | pre | court
court | short | letter work show event told garment lesson | post | long
lourd | heavy | container furniture tool machine | post | léger
léger | light | container garment furniture ridden | post | lourd
étroit | narrow | crossed room bed | post | large
large | wide, broad | crossed structure | post | étroit
moderne | modern, up-to-date | public dwelling furniture device | post | ancien
ancien | ancient, very old | sight structure instrument | post | moderne
# quality
bon | good, great | food drink work show idea_good shop | pre | mauvais
mauvais | bad, poor | show work idea_good lesson | pre | bon
excellent | excellent, outstanding | food drink work show shop worker | post | -
magnifique | magnificent, gorgeous | sight picture jewel plant garment nature song region | post | affreux
affreux | awful, horrible | garment picture show hat | post | magnifique
délicieux | delicious, tasty | food | post | -
frais | fresh | fruit vegetable produce_fresh | post | -
mûr | ripe | fruit | post | -
chaud | hot, warm | hot soup garment | post | froid
froid | cold | hot drink room nature soup | post | chaud
cher | expensive, costly | buyable shop ticket dwelling | post | -
célèbre | famous, well-known | artist sight work show region picture | post | inconnu
inconnu | unknown | artist region | post | célèbre
utile | useful, helpful | tool device work idea_good dictionary language | post | inutile
inutile | useless, worthless | tool device exam work | post | utile
neuf | brand-new | road garment device furniture footwear ridden | post | -
rare | rare, uncommon | jewel plant wild prose | post | -
précieux | precious, valuable | jewel picture instrument | post | -
confortable | comfortable, cozy | dwelling room seat garment footwear | post | -
pratique | practical, handy | container tool device furniture | post | -
important | important, significant | letter work event idea signed | post | -
intéressant | interesting | work prose show told event idea trip letter exhibition lesson | post | ennuyeux
ennuyeux | boring, dull | work prose show told event trip lesson | post | intéressant
amusant | funny, amusing | told show song toy trip | post | triste
difficile | difficult, hard | exam asked language lesson solved accepted work trip | post | facile
facile | easy, simple | exam asked language lesson solved accepted | post | difficile
étrange | strange, odd | told idea letter building show song adult | post | -
grave | serious, severe | solved fault | post | -
calme | quiet, calm | region area shop room neighbor baby street | post | bruyant
bruyant | noisy, loud | shop device area youth neighbor region machine | post | calme
propre | clean | room road garment tableware part area shop | post | sale
sale | dirty | room road garment tableware part animal footwear | post | propre
vide | empty | room building container filled | post | plein
plein | full | container filled public | pred | vide
cassé | broken, damaged | device furniture breakable ridden machine toy | post | -
ouvert | open | shop part_opened institution opened | pred | fermé
fermé | closed, shut | shop part_opened institution opened | pred | ouvert
# people and animals
jeune | young | worker adult royal animal artist parent | pre | vieux
gentil | kind, nice | human | post | méchant
méchant | mean, nasty | animal boss royal adult | post | gentil
intelligent | intelligent, smart | human pet | post | -
riche | rich, wealthy | adult worker royal | post | pauvre
pauvre | poor | adult grower artist | post | riche
fort | strong, powerful | worker youth horse | post | faible
faible | weak | adult animal kin | post | fort
courageux | brave, courageous | human | post | -
prudent | careful, cautious | human | post | -
sérieux | serious | human | post | -
timide | shy, timid | youth adult kin | post | -
bavard | talkative, chatty | youth adult kin | post | -
paresseux | lazy, idle | youth adult pet | post | -
patient | patient | worker parent kin | post | -
sympathique | friendly, likable | human | post | -
élégant | elegant, stylish | adult artist royal garment | post | -
honnête | honest, sincere | adult worker kin | post | -
dangereux | dangerous | wild trip thief machine | post | -
sauvage | wild | wild | post | -
curieux | curious, inquisitive | youth pet wild | post | -
# moods, as predicates
content | happy, glad | human | pred | triste
heureux | happy | human | pred | malheureux
malheureux | unhappy, miserable | human | pred | heureux
triste | sad | human told song show | post | content
fatigué | tired, weary | human animal | pred | -
malade | sick, ill | human animal | pred | -
inquiet | worried, anxious | human | pred | -
furieux | furious, very angry | human | pred | -
fier | proud | human | pred | -
occupé | busy | human | pred | -
absent | absent, away | human | pred | -
prêt | ready, prepared | human | pred | -
surpris | surprised, astonished | human | pred | -
# colors
rouge | red | road garment colored footwear plant_colored | post | -
bleu | blue | road garment colored footwear tableware | post | -
vert | green | garment colored road tableware | post | -
jaune | yellow | garment colored plant_colored road | post | -
noir | black | garment road footwear pet_colored colored | post | blanc
blanc | white | garment footwear pet_colored plant_colored tableware ridden colored | post | noir
"""

# Classes used only here, as the French lemmas that belong to them.
_NAMED_CLASSES = {
    "bird": ("oiseau",),
    "part_opened": ("porte", "fenêtre"),
    "tree": ("arbre",),
    "seat": ("chaise", "lit", "canapé"),
    "bed": ("lit", "canapé"),
    "hat": ("chapeau", "cravate"),
    "soup": ("soupe", "eau"),
    "song": ("chanson", "musique"),
    "neighbor": ("voisin", "voisine"),
    "street": ("rue",),
    "exhibition": ("exposition",),
    "dictionary": ("dictionnaire", "livre"),
    "idea_good": ("idée", "réponse", "projet", "décision"),
    "produce_fresh": ("poisson", "pain", "œuf", "lait"),
    "colored": ("chapeau", "écharpe", "cravate", "parapluie", "sac", "valise", "porte", "vélo", "ballon", "canapé"),
    "plant_colored": ("fleur", "rose"),
    "pet_colored": ("chien", "chat", "lapin", "cheval", "vache", "canard", "mouton", "oiseau"),
}


def _parse() -> tuple[Adjective, ...]:
    return tuple(
        Adjective(
            french, wordings(english), tuple(classes.split()), position == "pre", None if other == "-" else other
        )
        for french, english, classes, position, other in table_rows(_TABLE, 5)
    )


ADJECTIVES = _parse()
PREDICATE_ONLY = frozenset(row[0] for row in table_rows(_TABLE, 5) if row[3] == "pred")
ADJECTIVE_BY_FRENCH = {adjective.french: adjective for adjective in ADJECTIVES}


def describes(adjective: Adjective, noun: Noun) -> bool:
    """Says whether the adjective may describe the noun."""
    return any(name in noun.classes or noun.french in _NAMED_CLASSES.get(name, ()) for name in adjective.classes)


@cache
def adjectives_for(noun: Noun, attributive: bool) -> tuple[Adjective, ...]:
    """Returns, in table order, the adjectives that may describe the noun.

    Args:
        noun: The noun.
        attributive: Whether the adjective stands beside the noun, where some cannot.
    """
    return tuple(
        adjective
        for adjective in ADJECTIVES
        if describes(adjective, noun) and not (attributive and adjective.french in PREDICATE_ONLY)
    )


def antonym(adjective: Adjective) -> Adjective | None:
    """Returns the adjective of opposite meaning, where there is one."""
    return None if adjective.antonym is None else ADJECTIVE_BY_FRENCH[adjective.antonym]
