"""The adjuncts: fixed phrases of time, place, manner, frequency and duration, and the control verbs."""

from __future__ import annotations

from .lexicon import Adjunct, ControlVerb, table_rows, wordings

# French | English | tenses that it goes with
_TIME_TABLE = """
hier | yesterday | past
hier soir | yesterday evening, last night | past
hier matin | yesterday morning | past
avant-hier | the day before yesterday, two days ago | past
la semaine dernière | last week | past
le mois dernier | last month | past
l'année dernière | last year | past
lundi dernier | last Monday | past
samedi dernier | last Saturday | past
il y a trois jours | three days ago | past
il y a une heure | an hour ago, one hour ago | past
ce matin | this morning | past
cet après-midi | this afternoon | past future
ce soir | tonight, this evening | future
demain | tomorrow | future
demain matin | tomorrow morning | future
demain soir | tomorrow evening, tomorrow night | future
la semaine prochaine | next week | future
le mois prochain | next month | future
l'année prochaine | next year | future
dimanche prochain | next Sunday | future
vendredi prochain | next Friday | future
dans deux jours | in two days | future
dans une heure | in an hour, in one hour | future
bientôt | soon | future
maintenant | now, right now | ongoing
en ce moment | at the moment, right now | ongoing
tous les jours | every day, each day | habit
tous les matins | every morning, each morning | habit
tous les soirs | every evening, each evening | habit
le dimanche | on Sundays, every Sunday | habit
le samedi | on Saturdays, every Saturday | habit
le week-end | on weekends, every weekend | habit
"""

# French | English | kinds of places that verbs select
_PLACE_TABLE = """
dans la cuisine | in the kitchen | home kitchen eating
à la maison | at home | home eating sleeping indoor
dans le salon | in the living room | home reading sleeping indoor
dans la chambre | in the bedroom | sleeping bedroom indoor
dans le garage | in the garage | indoor
dans le jardin | in the garden | garden outdoor eating reading animal
au restaurant | at the restaurant, in the restaurant | eatery eating
au café | at the cafe, in the cafe | eatery reading
à la cantine | in the cafeteria, at the cafeteria | eatery
au marché | at the market | market
au supermarché | at the supermarket | shop
dans un magasin | in a store, in a shop | shop
au centre commercial | at the mall, at the shopping center | shop
à l'école | at school | school
en classe | in class | school
à la bibliothèque | at the library, in the library | library reading school
au bureau | at the office, in the office | work
à l'usine | at the factory, in the factory | work
à l'hôpital | at the hospital, in the hospital | hospital waiting
au musée | at the museum, in the museum | museum
à l'église | at church, in the church | church
à la gare | at the train station, at the station | station waiting
à l'aéroport | at the airport | station waiting travel
à l'hôtel | at the hotel | vacation travel
dans le train | on the train | travel reading
dans le bus | on the bus | travel
dans le parc | in the park | park outdoor reading animal
dans la rue | in the street, on the street | street
en ville | in town, downtown | city
dans le village | in the village | city
à la campagne | in the country, in the countryside | outdoor vacation
à la plage | at the beach, on the beach | vacation
au bord du lac | by the lake, near the lake | outdoor water vacation
dans la rivière | in the river | water
dans la forêt | in the forest, in the woods | outdoor animal
à la ferme | on the farm | animal outdoor farmyard
"""

# French | English | destinations and the subjects that go there
_DESTINATION_TABLE = """
à l'école | to school | youth
au bureau | to the office | adult
au travail | to work | adult
à la plage | to the beach | any
au marché | to the market | adult
au restaurant | to the restaurant | any
au cinéma | to the movies, to the movie theater | any
au théâtre | to the theater | any
au musée | to the museum | any
à la bibliothèque | to the library | any
à l'hôpital | to the hospital | any
à la gare | to the train station, to the station | any
à l'église | to church | any
à la banque | to the bank | adult
chez le dentiste | to the dentist, to the dentist's | any
chez le médecin | to the doctor, to the doctor's | any
chez le boulanger | to the bakery, to the baker's | any
en ville | to town, downtown | any
à Paris | to Paris | any
à Londres | to London | any
en France | to France | any
en Italie | to Italy | any
à la montagne | to the mountains | any
"""

# French | English | verb fields it goes with
_MANNER_TABLE = """
lentement | slowly | food travel sport study home
rapidement | quickly, rapidly | food study home making communication shopping
avec soin | carefully, with care | home making work care
patiemment | patiently | travel care communication
en silence | silently, in silence | study food travel
avec plaisir | with pleasure, gladly | people shopping leisure
facilement | easily | study making
"""

_FREQUENCY_TABLE = """
souvent | often, frequently
toujours | always
parfois | sometimes, occasionally
rarement | rarely, seldom
"""

_DURATION_TABLE = """
depuis deux ans | for two years
depuis cinq ans | for five years
depuis longtemps | for a long time, for a long while
depuis trois mois | for three months
depuis une semaine | for a week, for one week
depuis une heure | for an hour, for one hour
depuis ce matin | since this morning
depuis hier | since yesterday
depuis lundi | since Monday
"""

_EXTENT_TABLE = """
pendant une heure | for an hour, for one hour
pendant deux heures | for two hours
pendant toute la journée | all day, all day long
pendant toute la nuit | all night, all night long
pendant trois jours | for three days
pendant longtemps | for a long time, for a long while
"""

# French verb | preposition | English | tenses | flags
_CONTROL_TABLE = """
vouloir | - | want to _, wish to _ | present | vp
vouloir | - | would like to _ | conditional | vp
pouvoir | - | can _, be able to _ | present | a
devoir | - | must _, have to _ | present | vp
aimer | - | like to _, enjoy _ing | present | n
détester | - | hate to _, hate _ing | present | n
préférer | - | prefer to _ | present | v
commencer | à | begin to _, start to _, start _ing | past | n
apprendre | à | learn to _, learn how to _ | present past | n
réussir | à | manage to _, succeed in _ing | past | v
continuer | à | continue to _, keep _ing, go on _ing | present past | n
hésiter | à | hesitate to _ | present | v
essayer | de | try to _, attempt to _ | past present | v
décider | de | decide to _ | past | v
refuser | de | refuse to _ | past present | v
oublier | de | forget to _ | past | v
promettre | de | promise to _ | past | v
arrêter | de | stop _ing, quit _ing | past | n
finir | de | finish _ing | past | n
espérer | - | hope to _ | present | v
venir | de | have just _en | present | e
accepter | de | agree to _ | past | v
rêver | de | dream of _ing | present | v
être_en_train | de | be _ing, be in the middle of _ing | present | n
"""


def _adjuncts(table: str, columns: int) -> tuple[Adjunct, ...]:
    rows = table_rows(table, columns)
    return tuple(Adjunct(row[0], wordings(row[1]), tuple(row[2].split()) if columns > 2 else ()) for row in rows)


TIMES = _adjuncts(_TIME_TABLE, 3)
PLACES = _adjuncts(_PLACE_TABLE, 3)
DESTINATIONS = _adjuncts(_DESTINATION_TABLE, 3)
MANNERS = _adjuncts(_MANNER_TABLE, 3)
FREQUENCIES = _adjuncts(_FREQUENCY_TABLE, 2)
DURATIONS = _adjuncts(_DURATION_TABLE, 2)
EXTENTS = _adjuncts(_EXTENT_TABLE, 2)
CONTROL_VERBS = tuple(
    ControlVerb(french.replace("_", " "), "" if link == "-" else link, wordings(english), tuple(tenses.split()), flags)
    for french, link, english, tenses, flags in table_rows(_CONTROL_TABLE, 5)
)


def times_for(tense: str) -> tuple[Adjunct, ...]:
    """Returns the times that go with "past", "future", "ongoing" or "habit"."""
    return tuple(time for time in TIMES if tense in time.kinds)


def places_for(kinds: tuple[str, ...]) -> tuple[Adjunct, ...]:
    """Returns the places of at least one of the kinds."""
    return tuple(place for place in PLACES if set(kinds) & set(place.kinds))
