"""English inflection: verb forms, plurals, the indefinite article, comparatives, and negative contraction."""

from __future__ import annotations

# "base past participle"
_IRREGULAR_VERB_TABLE = """
be was been
become became become
begin began begun
bite bit bitten
break broke broken
bring brought brought
build built built
buy bought bought
catch caught caught
choose chose chosen
come came come
cost cost cost
cut cut cut
do did done
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed fed
feel felt felt
find found found
forget forgot forgotten
get got gotten
give gave given
go went gone
grow grew grown
have had had
hear heard heard
hide hid hidden
hit hit hit
keep kept kept
know knew known
leave left left
lend lent lent
lie lay lain
lose lost lost
make made made
meet met met
pay paid paid
put put put
read read read
ride rode ridden
ring rang rung
rise rose risen
run ran run
say said said
see saw seen
sell sold sold
send sent sent
shut shut shut
sing sang sung
sleep slept slept
speak spoke spoken
spend spent spent
steal stole stolen
strike struck struck
swim swam swum
take took taken
teach taught taught
tell told told
think thought thought
throw threw thrown
understand understood understood
wake woke woken
wear wore worn
weep wept wept
win won won
write wrote written
"""
IRREGULAR_VERBS: dict[str, tuple[str, str]] = {}
for _line in _IRREGULAR_VERB_TABLE.strip().splitlines():
    _base, _past, _participle = _line.split()
    IRREGULAR_VERBS[_base] = (_past, _participle)

IRREGULAR_PLURALS = {
    "child": "children",
    "man": "men",
    "woman": "women",
    "mouse": "mice",
    "sheep": "sheep",
    "fish": "fish",
    "knife": "knives",
    "wife": "wives",
    "shelf": "shelves",
    "wolf": "wolves",
    "thief": "thieves",
    "leaf": "leaves",
    "potato": "potatoes",
    "tomato": "tomatoes",
    "person": "people",
    "scarf": "scarves",
}
_VOWELS = "aeiou"
_UNSTRESSED_FINAL = {"visit", "open", "water", "order", "answer", "offer", "enter", "listen", "travel", "cancel"}
_STRESSED_FINAL = {"begin", "forget", "prefer", "permit"}
_SIBILANTS = ("s", "x", "z", "ch", "sh")
# Spelled with a vowel but spoken with a consonant, and the other way round.
_CONSONANT_SOUND = ("uni", "use", "euro", "one", "used")
_VOWEL_SOUND = ("hour", "honest", "heir")
_IRREGULAR_COMPARATIVES = {
    "little": "smaller",
    "shy": "shyer",
    "good": "better",
    "great": "greater",
    "bad": "worse",
    "ill": "more ill",
}
_SHORT_ADJECTIVES = frozenset({
    "big", "large", "small", "little", "old", "young", "tall", "high", "long", "short", "wide", "broad",
    "narrow", "strong", "weak", "rich", "poor", "kind", "nice", "fresh", "cold", "hot", "warm", "clean",
    "quiet", "smart", "brave", "mean", "dull", "hard", "fat", "loud", "light", "odd", "strange", "new", "rare",
    "cheap",
})  # fmt: skip


def _doubles_final_consonant(base: str) -> bool:
    if base in _STRESSED_FINAL:
        return True
    groups = 0
    previous_is_vowel = False
    for letter in base:
        is_vowel = letter in _VOWELS
        groups += is_vowel and not previous_is_vowel
        previous_is_vowel = is_vowel
    closed = len(base) > 2 and base[-1] not in _VOWELS + "wxy" and base[-2] in _VOWELS and base[-3] not in _VOWELS
    return closed and groups == 1 and base not in _UNSTRESSED_FINAL


def _add_s(word: str) -> str:
    if word.endswith(_SIBILANTS) or word in {"go", "do", "echo"}:
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def third_person(base: str) -> str:
    """Returns the third person singular of the simple present."""
    return {"be": "is", "have": "has"}.get(base) or _add_s(base)


def present_participle(base: str) -> str:
    """Returns the -ing form."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "ye")) and base != "be":
        return base[:-1] + "ing"
    return base + (base[-1] if _doubles_final_consonant(base) else "") + "ing"


def _regular_past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return base + (base[-1] if _doubles_final_consonant(base) else "") + "ed"


def past(base: str) -> str:
    """Returns the simple past (the singular one for "be")."""
    return IRREGULAR_VERBS[base][0] if base in IRREGULAR_VERBS else _regular_past(base)


def past_participle(base: str) -> str:
    """Returns the past participle."""
    return IRREGULAR_VERBS[base][1] if base in IRREGULAR_VERBS else _regular_past(base)


def plural_noun(noun: str) -> str:
    """Returns the plural of an English noun, of its last word where it is a compound."""
    head, space, last = noun.rpartition(" ")
    if last in IRREGULAR_PLURALS:
        plural = IRREGULAR_PLURALS[last]
    elif last.endswith("man"):
        plural = last[:-3] + "men"
    else:
        plural = _add_s(last)
    return head + space + plural


def possessive(noun_phrase: str) -> str:
    """Returns the Saxon genitive."""
    return noun_phrase + ("'" if noun_phrase.endswith("s") and noun_phrase.split()[-1][0].islower() else "'s")


def indefinite_article(following: str) -> str:
    """Returns "a" or "an" for the word that follows."""
    lowered = following.lower()
    if lowered.startswith(_VOWEL_SOUND):
        return "an"
    if lowered.startswith(_CONSONANT_SOUND):
        return "a"
    return "an" if lowered[:1] in _VOWELS else "a"


def comparative(adjective: str) -> str:
    """Returns the comparative of an adjective."""
    if adjective in _IRREGULAR_COMPARATIVES:
        return _IRREGULAR_COMPARATIVES[adjective]
    if adjective.endswith("y") and len(adjective) < 8:
        return adjective[:-1] + "ier"
    if adjective in _SHORT_ADJECTIVES:
        if adjective in {"big", "hot", "fat"}:
            return adjective + adjective[-1] + "er"
        return adjective + ("r" if adjective.endswith("e") else "er")
    return "more " + adjective


_NEGATIVE_CONTRACTIONS = {"will": "won't", "can": "can't", "shall": "shan't", "am": "am not", "may": "may not"}


def contract_not(auxiliary: str) -> str:
    """Returns an auxiliary contracted with "not", where English has such a form."""
    return _NEGATIVE_CONTRACTIONS.get(auxiliary, auxiliary + "n't")


def spell_not(auxiliary: str) -> str:
    """Returns an auxiliary followed by a full "not"."""
    return "cannot" if auxiliary == "can" else auxiliary + " not"


def sentence(phrase: str, mark: str = ".") -> str:
    """Resolves each indefinite article, capitalises the phrase and adds the final mark."""
    words = phrase.split()
    for index, word in enumerate(words[:-1]):
        if word == "a":
            words[index] = indefinite_article(words[index + 1])
    text = " ".join(words).replace(" ,", ",")
    return text[0].upper() + text[1:] + mark
