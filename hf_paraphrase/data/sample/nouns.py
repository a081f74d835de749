"""The nouns: French lemma, gender, English wordings and semantic classes."""

from __future__ import annotations

from functools import cache

from .lexicon import Name, Noun, table_rows, wordings

# A class implies the classes listed here, which verbs and adjectives select by.
_IMPLIED_CLASSES: dict[str, tuple[str, ...]] = {
    "worker": ("human",),
    "kin": ("human",),
    "youth": ("human",),
    "adult": ("human",),
    "pet": ("animal",),
    "farm": ("animal",),
    "wild": ("animal",),
    "fruit": ("food", "grocery"),
    "vegetable": ("food", "grocery"),
    "bakery": ("food", "grocery", "dish"),
    "dish": ("food",),
    "produce": ("food", "grocery"),
    "drink": ("grocery",),
    "car": ("vehicle", "buyable", "machine"),
    "transport": ("vehicle",),
    "dwelling": ("building", "buyable"),
    "public": ("building",),
    "shop": ("public",),
    "letter": ("document", "readable", "small"),
    "prose": ("readable", "small"),
    "clothing": ("buyable", "portable"),
    "furniture": ("buyable", "solid"),
    "tool": ("small",),
    "device": ("machine", "buyable", "portable"),
    "container": ("portable", "buyable"),
    "tableware": ("portable", "breakable", "buyable"),
    "valuable": ("small", "buyable"),
    "toy": ("portable", "buyable"),
    "instrument": ("buyable",),
    "small": ("portable",),
}

# gender: m or f, with "-" after it for a noun that is not counted (m-, f-).
_TABLE = """
# people
homme | m | man | adult
femme | f | woman, lady | adult
enfant | m | child, kid | youth
garçon | m | boy | youth
fille | f | girl | youth
bébé | m | baby, infant | baby
ami | m | friend | adult friend
amie | f | friend | adult friend
voisin | m | neighbor | adult friend
voisine | f | neighbor | adult friend
étudiant | m | student | youth learner
étudiante | f | student | youth learner
élève | m | pupil, student | youth learner
professeur | m | teacher, instructor | worker
médecin | m | doctor, physician | worker medical
infirmière | f | nurse | worker medical
avocat | m | lawyer, attorney | worker
boulanger | m | baker | worker
boucher | m | butcher | worker
facteur | m | mailman, postman | worker
policier | m | policeman, police officer | worker police
pompier | m | firefighter, fireman | worker rescuer
cuisinier | m | cook, chef | worker kitchen
serveur | m | waiter | worker kitchen
serveuse | f | waitress | worker kitchen
chanteur | m | singer, vocalist | worker artist
chanteuse | f | singer, vocalist | worker artist
acteur | m | actor | worker artist
actrice | f | actress | worker artist
écrivain | m | writer, author | worker artist author
peintre | m | painter, artist | worker artist
journaliste | m | journalist, reporter | worker author
ingénieur | m | engineer | worker maker
ouvrier | m | worker, laborer | worker maker
agriculteur | m | farmer | worker grower
jardinier | m | gardener | worker grower
mécanicien | m | mechanic | worker maker
dentiste | m | dentist | worker
juge | m | judge | worker
soldat | m | soldier | worker
pilote | m | pilot | worker
vendeur | m | salesman, shop assistant | worker
vendeuse | f | saleswoman, shop assistant | worker
directeur | m | director, manager | worker boss
secrétaire | f | secretary | worker author
client | m | customer, client | adult
touriste | m | tourist, sightseer | adult
voyageur | m | traveler | adult
invité | m | guest, visitor | adult
voleur | m | thief, robber | thief
roi | m | king | royal
reine | f | queen | royal
père | m | father, dad | kin parent
mère | f | mother, mom | kin parent
frère | m | brother | kin
sœur | f | sister | kin
grand-père | m | grandfather, grandpa | kin
grand-mère | f | grandmother, grandma | kin
oncle | m | uncle | kin
tante | f | aunt | kin
cousin | m | cousin | kin
cousine | f | cousin | kin
fils | m | son | kin
épouse | f | wife, spouse | kin
mari | m | husband | kin
collègue | m | colleague, coworker | adult friend
# animals
chien | m | dog | pet hunter
chat | m | cat | pet hunter
lapin | m | rabbit, bunny | pet prey
cheval | m | horse | farm horse
vache | f | cow | farm
mouton | m | sheep | farm prey
cochon | m | pig | farm
poule | f | hen | farm prey
canard | m | duck | farm prey
oiseau | m | bird | wild prey
souris | f | mouse | wild prey
loup | m | wolf | wild hunter
renard | m | fox | wild hunter
ours | m | bear | wild
singe | m | monkey | wild
éléphant | m | elephant | wild
# food and drink
pomme | f | apple | fruit sold
poire | f | pear | fruit sold
banane | f | banana | fruit sold
orange | f | orange | fruit sold
fraise | f | strawberry | fruit sold
carotte | f | carrot | vegetable sold
tomate | f | tomato | vegetable sold
pomme de terre | f | potato | vegetable sold
gâteau | m | cake | bakery baked
tarte | f | pie, tart | bakery baked
biscuit | m | cookie, biscuit | bakery baked
sandwich | m | sandwich | dish
omelette | f | omelet | dish
salade | f | salad | dish
œuf | m | egg | produce
soupe | f- | soup | dish
pain | m- | bread | produce baked
fromage | m- | cheese | produce
viande | f- | meat | produce
poisson | m- | fish | produce
riz | m- | rice | produce
beurre | m- | butter | produce
chocolat | m- | chocolate | produce
miel | m- | honey | produce
confiture | f- | jam | produce
glace | f- | ice cream | dish
eau | f- | water | drink
lait | m- | milk | drink
café | m- | coffee | drink hot
thé | m- | tea | drink hot
vin | m- | wine | drink
bière | f- | beer | drink
# vehicles
voiture | f | car, automobile | car road
camion | m | truck, lorry | car road
vélo | m | bicycle, bike | car ridden
moto | f | motorcycle, motorbike | car road
bateau | m | boat, ship | car
bus | m | bus | transport
train | m | train | transport
avion | m | plane, airplane | transport
taxi | m | taxi, cab | transport
métro | m | subway, metro | transport
# buildings and their parts
maison | f | house | dwelling home
appartement | m | apartment, flat | dwelling home
ferme | f | farm | dwelling
château | m | castle | building sight
école | f | school | public institution
hôpital | m | hospital | public institution
église | f | church | public sight
bibliothèque | f | library | public institution
musée | m | museum | public sight institution
gare | f | train station, railway station | public
banque | f | bank | public institution
restaurant | m | restaurant | shop
hôtel | m | hotel | shop
magasin | m | store, shop | shop
boulangerie | f | bakery | shop
pharmacie | f | pharmacy, drugstore | shop
usine | f | factory, plant | public
théâtre | m | theater | public sight
cinéma | m | movie theater, cinema | public
pont | m | bridge | structure
tour | f | tower | structure sight
mur | m | wall | structure painted
toit | m | roof | part fixed
cuisine | f | kitchen | room
chambre | f | bedroom | room
salon | m | living room, lounge | room
salle de bain | f | bathroom | room
bureau | m | office | room
garage | m | garage | room
porte | f | door | part opened painted
fenêtre | f | window | part opened breakable washed
jardin | m | garden | area plot
# outdoors
ville | f | city, town | region sight
village | m | village | region sight
pays | m | country | region
île | f | island | region sight
rue | f | street, road | area crossed
place | f | square, plaza | area crossed
parc | m | park | area crossed plot
forêt | f | forest | area crossed
rivière | f | river, stream | area crossed nature
lac | m | lake | area nature
montagne | f | mountain | nature
plage | f | beach | area nature
champ | m | field | area crossed
arbre | m | tree | plant
fleur | f | flower | plant picked
rose | f | rose | plant picked
# furniture and household
table | f | table | furniture fixed
chaise | f | chair | furniture fixed
lit | m | bed | furniture
canapé | m | sofa, couch | furniture
armoire | f | wardrobe, closet | furniture
étagère | f | shelf | furniture
tapis | m | rug, carpet | furniture washed
miroir | m | mirror | furniture breakable
lampe | f | lamp, light | device breakable switched
verre | m | glass | tableware filled
tasse | f | cup, mug | tableware filled
assiette | f | plate, dish | tableware
bouteille | f | bottle | tableware filled
couverture | f | blanket | clothing
# clothes
chemise | f | shirt | clothing garment
robe | f | dress, gown | clothing garment
manteau | m | coat, overcoat | clothing garment
chapeau | m | hat | clothing
jupe | f | skirt | clothing garment
veste | f | jacket | clothing garment
pull | m | sweater, pullover | clothing garment
chaussure | f | shoe | clothing footwear
gant | m | glove | clothing footwear
cravate | f | tie, necktie | clothing
écharpe | f | scarf | clothing
# things
clé | f | key | tool
couteau | m | knife | tool
marteau | m | hammer | tool
corde | f | rope, cord | tool
outil | m | tool | tool
parapluie | m | umbrella | small buyable
sac | m | bag, sack | container
valise | f | suitcase | container opened
boîte | f | box | container opened
panier | m | basket | container filled
ballon | m | ball | toy
jouet | m | toy | toy
poupée | f | doll | toy
cadeau | m | gift, present | valuable opened
bague | f | ring | valuable jewel
collier | m | necklace | valuable jewel
montre | f | watch | valuable jewel
portefeuille | m | wallet | valuable
billet | m | ticket | small ticket
argent | m- | money, cash | cash
photo | f | photo, picture | small picture
tableau | m | painting | art picture
portrait | m | portrait | art picture
téléphone | m | phone, telephone | device
ordinateur | m | computer | device switched
télévision | f | television, TV | device switched
radio | f | radio | device switched
machine | f | machine | machine
appareil photo | m | camera | device
piano | m | piano | instrument
guitare | f | guitar | instrument
violon | m | violin | instrument
# texts and works
lettre | f | letter | letter
message | m | message, note | letter
rapport | m | report | letter work
article | m | article | letter work
poème | m | poem | letter learned
contrat | m | contract, agreement | document signed
liste | f | list | letter
livre | m | book | prose
roman | m | novel | prose work
journal | m | newspaper, paper | prose
dictionnaire | m | dictionary | prose
magazine | m | magazine | prose
histoire | f | story, tale | told
chanson | f | song, tune | song learned
musique | f- | music | heard
film | m | movie, film | show
spectacle | m | show, performance | show event
match | m | game, match | show event
concert | m | concert | event heard
réunion | f | meeting | event
fête | f | party, celebration | event
cours | m | class, course | event lesson
voyage | m | trip, journey | event trip
mariage | m | wedding | event
examen | m | exam, test | event exam
exposition | f | exhibition, exhibit | event sight
# ideas
problème | m | problem, issue | idea solved
question | f | question | idea asked
réponse | f | answer, reply | idea
idée | f | idea | idea accepted
secret | m | secret | idea told
projet | m | project, plan | idea work accepted
vérité | f- | truth | truth
erreur | f | mistake, error | idea fault
décision | f | decision | idea accepted
règle | f | rule | idea asked
français | m- | French | language learned
anglais | m- | English | language learned
espagnol | m- | Spanish | language learned
italien | m- | Italian | language learned
travail | m- | work | labor
nom | m | name | label
adresse | f | address | label address
aide | f- | help, assistance | need
temps | m- | time | need
repos | m- | rest | need
"""


def _expand(classes: str) -> tuple[str, ...]:
    pending = classes.split()
    expanded: set[str] = set()
    while pending:
        name = pending.pop()
        expanded.add(name)
        pending.extend(_IMPLIED_CLASSES.get(name, ()))
    return tuple(sorted(expanded))


def _parse() -> tuple[Noun, ...]:
    return tuple(
        Noun(french, gender[0] == "f", wordings(english), _expand(classes), gender.endswith("-"))
        for french, gender, english, classes in table_rows(_TABLE, 4)
    )


NOUNS = _parse()
NOUN_BY_FRENCH = {noun.french: noun for noun in NOUNS}

NAMES = tuple(
    [Name(text, False) for text in ("Paul", "Lucas", "Antoine", "Hugo", "Thomas", "Nicolas", "Marc", "David")]
    + [Name(text, True) for text in ("Marie", "Emma", "Claire", "Julie", "Sophie", "Alice", "Sarah", "Laura")]
)


@cache
def nouns_of(*classes: str) -> tuple[Noun, ...]:
    """Returns, in table order, the nouns that have at least one of the classes."""
    return tuple(noun for noun in NOUNS if any(name in noun.classes for name in classes))
