"""The verbs' frames as tables: wordings, selectional restrictions and uses.

Flags of a row: "h" may be a habit; "n" may be going on now; "s" is a state (no progressive, no command); "p" may be
passive; "c" natural as a command. An English wording that ends in "*" is not used in the passive.
"""

from __future__ import annotations

# French | English | subjects | objects | flags | places | field
TRANSITIVE_TABLE = """
# food
manger | eat, have* | human | fruit bakery dish | hnc | eating | food
manger | eat | pet farm | fruit vegetable | hn | animal | food
boire | drink, have* | human | drink | hnc | eating | food
préparer | prepare, make | human | dish hot | hnpc | kitchen | food
couper | cut, slice | human | fruit vegetable baked | np | kitchen | food
commander | order | human | dish drink | np | eatery | food
servir | serve | kitchen parent | dish drink | hnp | eatery kitchen | food
goûter | taste, try | human | dish bakery produce drink | nc | eating market | food
partager | share | human | bakery fruit | n | school park | food
# shopping
acheter | buy, purchase | human | grocery | hnpc | market shop | shopping
acheter | buy, purchase | human | buyable prose ticket | p | shop | shopping
vendre | sell | adult kin worker | car dwelling instrument jewel picture | p | - | shopping
choisir | choose, pick | human | garment jewel toy prose furniture device gift | npc | shop | shopping
louer | rent | adult kin worker | dwelling | p | vacation | shopping
louer | rent, hire | adult kin worker | car | p | vacation | shopping
payer | pay for | human | ticket dish drink | p | eatery | shopping
essayer | try on | human | garment footwear | n | shop | shopping
rendre | return, give back | human | prose tool container | p | library | shopping
emprunter | borrow | human | prose tool ridden instrument | p | library | shopping
# home
laver | wash, clean | adult kin | garment tableware vegetable washed | hnpc | home | home
laver | wash, clean | adult kin | car | npc | street | travel
nettoyer | clean | adult kin | room footwear washed | hnpc | - | home
ranger | tidy, tidy up | kin youth | room | hnc | - | home
repasser | iron | adult kin | garment | hnp | home | home
fermer | close, shut | human | part_closed opened shop_owned | pc | - | home
ouvrir | open | human | part_closed opened | npc | home | home
casser | break | human | breakable | p | home | home
peindre | paint | painter adult kin | painted room furniture_painted | np | - | home
allumer | turn on, switch on | human | switched | pc | home | home
éteindre | turn off, switch off | human | switched | pc | home | home
remplir | fill | human | filled | npc | kitchen | home
arroser | water | grower kin adult | plant_watered | hnpc | garden | home
planter | plant | grower kin adult | plant | np | garden | home
cueillir | pick, gather | human | picked fruit | hnp | garden | home
réparer | repair, fix | maker | car device machine furniture part ridden | npc | - | making
réparer | repair, fix | adult kin | toy furniture ridden part device | np | home | making
construire | build, construct | maker | building structure | np | city | making
détruire | destroy, demolish | maker | structure dwelling | p | city | making
déplacer | move | human | furniture instrument container | np | home | home
nourrir | feed | human | pet | hnpc | home | care
nourrir | feed | grower adult | farm wild_fed | hnpc | farmyard | care
promener | walk, take out | human | dog | hnc | outdoor | care
caresser | pet, stroke | human | pet ridden_animal | np | home | care
# small things
chercher | look for, search for | human | small container pet youth jewel | n | home street | things
trouver | find, discover | human | small container jewel | p | street home | things
perdre | lose, misplace | human | tool jewel valuable ticket footwear phone | - | street | things
oublier | forget, leave behind | human | tool container ticket phone parapluie | p | travel | things
cacher | hide, conceal | human | jewel valuable tool letter gift | p | home | things
voler | steal | thief | jewel valuable car ridden picture device | p | city | conflict
porter | carry | human | container | n | street | things
porter | wear | human | garment hat_worn jewel | hn | - | clothes
jeter | throw away, throw out | human | letter furniture footwear toy | pc | - | things
ramasser | pick up | human | toy letter_paper footwear ticket | npc | - | things
garder | keep, hold on to* | human | letter jewel cash gift secret | c | - | things
utiliser | use | human | device tool dictionary | hnpc | work | things
emballer | wrap, pack | human | gift tableware toy | np | shop home | things
# reading and study
lire | read | human | readable | hnpc | reading | study
écrire | write | human | letter | hnpc | reading | study
écrire | write | author | novel article_work | np | - | study
traduire | translate | author learner worker_text | prose letter poem song | np | work | study
corriger | correct, mark | teacher | exam fault letter | np | school | study
étudier | study | learner | language poem_studied rules | hn | school library | study
apprendre | learn | youth adult | learned | hn | school | study
comprendre | understand | human | asked_understood language told rules solved | s | - | study
résoudre | solve, resolve | human | solved | pc | - | study
finir | finish, complete | human | letter work prose | p | - | study
commencer | begin, start | human | work prose lesson trip | f | - | study
signer | sign | adult worker kin | signed letter_answered | pc | work | work
vérifier | check, verify | worker | letter list address | npc | work | work
recevoir | receive, get* | human | letter gift cash | p | - | communication
envoyer | send, mail | human | letter | pc | work | communication
répéter | repeat, say again | human | asked answer name | c | school | communication
deviner | guess, figure out | human | truth secret answer | - | - | communication
décrire | describe, depict | human | sight picture nature_described | n | - | communication
visiter | visit, tour | human | sight | np | - | travel
quitter | leave | human | region building event_left | - | - | travel
traverser | cross, go across* | human | crossed | np | - | travel
admirer | admire, marvel at* | human | sight picture nature_described artist | n | - | leisure
photographier | photograph, take a picture of | human | sight animal plant nature_described | n | - | leisure
dessiner | draw, sketch | human | animal plant dwelling sight | np | school park | leisure
regarder | watch | human | watched | hn | home | leisure
regarder | look at | human | picture plant magazine | n | museum | leisure
écouter | listen to | human | heard song radio_heard | hn | home | leisure
chanter | sing | human | song | hnp | home school | leisure
aimer | like, love | human | food drink work_liked picture song | s | - | taste
aimer | love | kin | kin_loved | s | - | taste
détester | hate, dislike* | human | food drink noise_hated | s | - | taste
voir | see | human | wild show sight human_seen | - | outdoor | leisure
organiser | organize, arrange | boss friend adult kin | event | np | - | work
annuler | cancel, call off | boss worker | event_cancelled | p | - | work
préparer | prepare, plan | adult kin worker | event_prepared trip lesson | np | - | work
manquer | miss | human | transport_missed event_left | - | - | travel
prendre | take, catch | human | transport | hc | - | travel
conduire | drive | adult kin worker | car_driven | hn | street | travel
garer | park | adult kin worker | car_driven | pc | street | travel
attendre | wait for, await* | human | transport answer human_seen | n | waiting | travel
passer | take | learner | exam | - | school | study
réussir | pass | learner | exam | - | - | study
accepter | accept | human | gift accepted help_given | pc | - | communication
refuser | refuse, reject | human | refused gift help_given | p | - | communication
expliquer | explain | teacher worker | rules asked_understood solved accepted | np | school work | communication
cacher | hide, conceal | human | truth | - | - | communication
connaître | know | human | human_seen region sight | s | - | people
# people
rencontrer | meet, run into* | human | human_seen | - | city | people
aider | help, assist | human | human | hnpc | home school | people
inviter | invite | human | human_seen | p | - | people
appeler | call, phone | human | human_seen | nc | - | communication
remercier | thank | human | human_seen | npc | - | people
saluer | greet, say hello to* | human | human_seen | np | street | people
écouter | listen to | human | human_seen | nc | - | people
suivre | follow | human | human_seen | np | street | people
suivre | follow | pet farm | human animal | n | outdoor | animals
embrasser | kiss, give a kiss to* | kin | kin | n | - | people
féliciter | congratulate | human | learner artist worker kin | np | - | people
critiquer | criticize, find fault with* | boss author | artist worker accepted_criticized | p | work | conflict
interroger | question, interview | police judge author | human_seen thief | np | work | conflict
arrêter | arrest | police | thief | p | city | conflict
poursuivre | chase, pursue | police pet wild_hunter | thief prey | np | outdoor | conflict
poursuivre | chase | hunter | hunter prey | np | animal | animals
attaquer | attack | hunter wild | farm prey hunter | p | animal | animals
attraper | catch, seize | hunter | prey | p | animal | animals
observer | observe, watch | human | wild prey | np | outdoor | animals
mordre | bite | dog | human_seen | p | street | animals
soigner | treat, look after | medical | human animal | hnp | hospital | care
examiner | examine | medical dentist | youth adult kin | np | hospital | care
sauver | save, rescue | rescuer human | youth pet kin | p | - | care
protéger | protect, guard | police parent dog | youth adult farm | n | - | care
tromper | deceive, fool | thief | adult_client royal | p | - | conflict
surveiller | watch over, keep an eye on* | human | baby youth farm | nc | - | care
réveiller | wake up | kin animal_loud | kin baby | c | - | home
attendre | wait for | pet | human | n | - | animals
"""

# People whom one meets, calls or talks to.
_HUMAN_SEEN = (
    "voisin", "voisine", "ami", "amie", "professeur", "médecin", "avocat", "facteur", "directeur", "client",
    "journaliste", "cousin", "tante", "oncle", "grand-mère", "frère", "sœur", "collègue", "dentiste", "acteur",
    "actrice", "chanteur", "étudiant", "étudiante", "enfant", "garçon", "fille", "boulanger", "invité",
)  # fmt: skip

# Classes used only here, as the French lemmas that belong to them.
NAMED_CLASSES: dict[str, tuple[str, ...]] = {
    "gift": ("cadeau",),
    "dog": ("chien",),
    "part_closed": ("porte", "fenêtre"),
    "shop_owned": ("magasin", "restaurant", "boulangerie", "pharmacie"),
    "painter": ("peintre",),
    "furniture_painted": ("table", "chaise", "armoire", "étagère"),
    "plant_watered": ("fleur", "rose", "arbre", "jardin"),
    "ridden_animal": ("cheval",),
    "phone": ("téléphone",),
    "radio_heard": ("radio",),
    "parapluie": ("parapluie",),
    "hat_worn": ("chapeau", "cravate", "écharpe", "gant", "chaussure"),
    "letter_paper": ("lettre", "message", "liste", "clé"),
    "dictionary": ("dictionnaire",),
    "novel": ("roman", "livre"),
    "article_work": ("article", "rapport", "poème"),
    "worker_text": ("secrétaire", "professeur"),
    "poem": ("poème",),
    "poem_studied": ("poème",),
    "rules": ("règle",),
    "teacher": ("professeur",),
    "asked_understood": ("question", "problème", "règle"),
    "list": ("liste", "contrat"),
    "answer": ("réponse",),
    "nature_described": ("montagne", "lac", "rivière", "forêt", "plage"),
    "event_left": ("réunion", "fête", "concert", "match", "spectacle"),
    "event_cancelled": ("réunion", "fête", "concert", "match", "spectacle", "voyage", "cours", "mariage"),
    "event_prepared": ("réunion", "fête", "spectacle", "mariage", "exposition", "examen"),
    "watched": ("télévision", "film", "match"),
    "refused": ("projet", "contrat", "idée"),
    "magazine": ("magazine", "lettre", "liste"),
    "work_liked": ("roman", "poème", "film", "livre", "spectacle"),
    "noise_hated": ("musique", "chanson", "film", "examen"),
    "kin_loved": ("fils", "mère", "père", "frère", "sœur", "grand-mère", "grand-père", "mari", "épouse"),
    "human_seen": _HUMAN_SEEN,
    "transport_missed": ("bus", "train", "avion", "métro"),
    "car_driven": ("voiture", "camion", "moto"),
    "help_given": ("aide",),
    "accepted_criticized": ("projet", "décision", "idée"),
    "wild_hunter": ("loup", "renard"),
    "adult_client": ("client", "touriste", "policier"),
    "animal_loud": ("chien", "chat"),
    "name": ("nom", "adresse"),
    "secret": ("secret",),
    "wild_fed": ("oiseau", "singe"),
    "judge": ("juge",),
    "dentist": ("dentiste",),
}

# French | English | subjects | flags | places | field
INTRANSITIVE_TABLE = """
dormir | sleep | human pet | hn | sleeping | rest
travailler | work | adult kin worker | hn | work | work
étudier | study | learner | hn | school | study
rire | laugh | human | n | home school | mood
pleurer | cry, weep | youth baby kin | n | home | mood
sourire | smile | human | n | - | mood
danser | dance | human | hn | home park | leisure
chanter | sing | human | hn | home | leisure
jouer | play | youth pet | hnc | outdoor home | leisure
courir | run | youth adult pet | hn | outdoor | sport
nager | swim | youth adult kin | hn | water | sport
marcher | walk | adult kin | hnc | outdoor | sport
voyager | travel, take a trip | adult kin artist | hn | - | travel
attendre | wait | human | nc | waiting | travel
déjeuner | have lunch, eat lunch | human | hn | eatery | food
dîner | have dinner, dine | human | hn | eatery home | food
cuisiner | cook | adult kin | hn | kitchen | food
fumer | smoke | adult | hn | outdoor | rest
crier | shout, yell | youth adult | n | street | mood
réfléchir | think, reflect | human | n | - | study
tomber | fall, fall down | youth adult kin | e | street | accident
arriver | arrive | human transport_missed | e | station | travel
partir | leave, depart | human transport_missed | e | - | travel
sortir | go out | human | he | - | leisure
rentrer | come home, go home | human | he | - | travel
se lever | get up | human | h | - | rest
se coucher | go to bed | human | h | - | rest
se réveiller | wake up | human | h | - | rest
se reposer | rest, relax | human | hnc | home outdoor | rest
se promener | take a walk, go for a walk | human | hn | outdoor | leisure
s'endormir | fall asleep | human pet | - | sleeping | rest
se dépêcher | hurry, hurry up | human | nc | - | travel
se baigner | go swimming, bathe | youth adult kin | hn | water | sport
s'habiller | get dressed, dress | human | n | bedroom | clothes
s'arrêter | stop | vehicle_stopping | - | station | travel
se marier | get married | adult artist | - | church | people
"""
NAMED_CLASSES.update({"vehicle_stopping": ("bus", "train", "voiture", "camion", "taxi")})

# French with its preposition | English | subjects | objects | flags | places | field
OBLIQUE_TABLE = """
parler à | talk to, speak to | human | human_seen | nc | street work | communication
téléphoner à | call, phone | human | human_seen | nc | - | communication
répondre à | answer, reply to | human | letter_answered question_answered human_seen | nc | - | communication
obéir à | obey | youth pet | parent teacher boss | s | - | people
penser à | think about, think of | human | trip exam kin_loved solved | n | - | mood
parler de | talk about, speak about | human | trip show work prose solved | n | work | communication
jouer de | play | human | instrument | hn | home | leisure
avoir besoin de | need | human | tool device need cash road | s | - | things
avoir peur de | be afraid of, be scared of | human | wild dog exam truth | s | - | mood
avoir envie de | want, feel like having | human | bakery fruit drink dish repos_wanted | s | - | taste
se souvenir de | remember, recall | human | name | s | - | people
rêver de | dream of, dream about | human | trip dwelling car | n | - | mood
se moquer de | make fun of, laugh at | youth adult | human_seen | n | school | conflict
s'occuper de | take care of, look after | human | baby youth pet plot farm kin | hnc | home | care
se servir de | use, make use of | human | tool device | n | - | things
ressembler à | look like, resemble | kin youth | kin | s | - | people
assister à | attend, go to | human | event_left exhibition_seen lesson | - | - | work
participer à | take part in, participate in | human | match_taken lesson event_left | - | - | leisure
rendre visite à | visit, pay a visit to | human | kin friend | h | - | people
dire bonjour à | say hello to, greet | human | human_seen | c | street | people
faire confiance à | trust, have confidence in | human | human_seen | s | - | people
sourire à | smile at | human | human | n | - | mood
appartenir à | belong to | car dwelling jewel instrument prose pet | human_seen | s | - | things
profiter de | enjoy, make the most of | human | trip party_enjoyed repos_wanted | n | - | leisure
"""
NAMED_CLASSES.update(
    {
        "letter_answered": ("lettre", "message"),
        "question_answered": ("question",),
        "repos_wanted": ("repos",),
        "exhibition_seen": ("exposition", "mariage"),
        "match_taken": ("match",),
        "party_enjoyed": ("fête", "spectacle"),
    }
)

# French | English taking both objects either way; "=" marks those that only take "to" | subjects | objects | field
DITRANSITIVE_TABLE = """
donner | give | human | small container pet toy flowers | hnc | things
offrir | give, =present | human | gift jewel flowers prose toy | n | people
montrer | show | human | picture letter road jewel dwelling | nc | communication
envoyer | send, =mail | human | letter gift flowers prose | nc | communication
prêter | lend, loan | human | prose tool road ridden device | c | things
vendre | sell | worker adult | car ridden instrument picture jewel | - | shopping
apporter | bring | human | drink bakery flowers dish medicine | nc | food
raconter | tell, =recount | human | told secret_told | nc | communication
expliquer | =explain | human | solved rules asked_understood | nc | communication
lire | read | kin worker | story_read letter_answered poem | hn | study
écrire | write | human | letter_written | nc | communication
apprendre | teach | kin teacher | song poem language_taught | hn | study
"""
NAMED_CLASSES.update(
    {
        "flowers": ("fleur", "rose"),
        "medicine": ("couverture", "livre"),
        "secret_told": ("histoire",),
        "story_read": ("histoire", "livre"),
        "letter_written": ("lettre", "message"),
        "language_taught": ("chanson",),
    }
)
