"""English words, their parts of speech, and definitions that can replace them, inflected like the word.

Moskvichev and Steyvers (Table 1) insert WordNet's phrases unchanged. Here the head of the definition, if it is clear,
gets the number and tense of the word. Forms come from the tables of `lemminflect`; its models for other words, which
are pickles, are never opened.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

from ...text.fingerprints import Fingerprints
from .wordnet import WordNet

_END = r"(?![^\W_])"
_CLITIC = rf"['’](?:s|re|ve|ll|d|m){_END}"
_SPECIAL = r"/@\\_#=<>|~^*"
_WORD = re.compile(
    # A URL, a file name or a markup tag: one word, which no dictionary has.
    rf"([^\s{_SPECIAL}]{{0,64}}[{_SPECIAL}]\S*"
    rf"|n['’]t{_END}|{_CLITIC}"
    rf"|[^\W_]{{1,32}}?(?=n['’]t{_END})"
    rf"|[^\W_]+(?:(?!n?{_CLITIC})[-.'’][^\W_]+)*)",
    re.IGNORECASE,
)
_NEW_SENTENCE = re.compile(r"[.!?:;]['\"”’)\]]*\s|[\"“„«(\[]\s*$|\n")


def split_words(sentence: str) -> list[str]:
    """Split a sentence into alternating gaps and words; the words have odd indices.

    Clitics are separate words, as in the English Web Treebank: `do`, `n't`; `Tom`, `'s`.
    """
    return _WORD.split(sentence)


def begins_sentence(between: str) -> bool:
    """Return whether a word after the gap `between` may begin a sentence: after a full stop, a colon or a quote."""
    return bool(_NEW_SENTENCE.search(between))


_CLOSED_CLASSES = """
a an the this that these those some any no every each either neither both all half such what which whose whatever
whichever another other others same own several few fewer fewest many more most much less least enough
i me my mine myself we us our ours ourselves you your yours yourself yourselves thou thee thy thine ye
he him his himself she her hers herself it its itself they them their theirs themselves one ones oneself
who whom whoever whomever somebody someone something anybody anyone anything nobody none nothing everybody
everyone everything somewhere anywhere nowhere everywhere
be am is are was were been being have has had having do does did done doing
can could may might must shall should will would ought need dare cannot let lets get gets got gotten getting
ca wo sha ai n't 's 're 've 'll 'd 'm not no nor yes yeah ok okay please oh ah hi hello hey
and or but yet so if unless until till while whereas because since although though lest whether than as like
of in on at by to from for with without within into onto upon over under above below beneath between among
amongst across against along alongside around about after before behind beside besides beyond despite down during
except inside near off out outside past per round through throughout toward towards underneath unlike up versus
via amid
here there where when why how now then once again ever never always often sometimes seldom too very quite rather
just only even also still already almost else away back perhaps maybe however therefore thus hence indeed instead
anyway further moreover otherwise meanwhile together apart ago soon later
one two three four five six seven eight nine ten eleven twelve first second third hundred thousand million billion
mr mrs ms dr etc e.g i.e vs
"""
STOP_WORDS = frozenset(_CLOSED_CLASSES.split())
"""Words of the closed classes, auxiliary verbs, numbers and the commonest adverbs, in lower case."""


class PartOfSpeechTagger:
    """The tagger of the package `denckring-en-pos`, for sentences without their punctuation.

    It is an averaged perceptron trained on the English Web Treebank. A tag, such as `NOUN|-` or `VERB|Fin`, is a
    universal part of speech and the form of a verb.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        # Sentences are tagged again in the next epoch or variant.
        self._tag: Callable[[tuple[str, ...]], list[str]] = lru_cache(maxsize=1 << 16)(model.tag)

    @classmethod
    def load(cls) -> PartOfSpeechTagger:
        """Open the tagger of the package `denckring-en-pos`."""
        from denckring_en_pos import tagger

        return cls(tagger())

    def __contains__(self, word: str) -> bool:
        """Return whether the model was trained on a lower-case word."""
        return word in self._model.vocabulary

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the label of every word."""
        return [self._tag(tuple(words)) for words in sentences]


POS_OF = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
"""The universal parts of speech that have definitions, and WordNet's letters for them."""
# Where the table's first form is not the usual one.
_FORMS = {("person", "NNS"): "people", ("be", "VBD"): "was", ("be", "VBP"): "are"}
_AN = ("hour", "honest", "honor", "honour", "heir")
_NOT_AN = ("uni", "use", "usu", "usa", "eu", "ewe", "one", "once", "ubiq", "uten", "utili", "uto", "uro", "urani")
_AN_ANYWAY = ("unin", "unim", "unid", "unil")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_SPACES = re.compile(r"\s+")
_ARTICLES = frozenset(["a", "an", "the"])
_PERSON = {"someone": "person", "somebody": "person", "something": "thing"}
_BEFORE_HEAD = frozenset(["ADJ", "ADV", "NUM", "PROPN"])


class Definition(NamedTuple):
    """A definition that can replace a word in the given form (a tag of the Penn Treebank).

    The text is inflected like the word. Its leading article is stored separately; it is empty for a plural.
    """

    text: str
    article: str
    form: str


class Definitions:
    """The definitions of words by their form and label; each is made once.

    The definition is the first clause for the most frequent sense of the word, names (`March`) excluded.

    Args:
        avoid: Senses whose definition is a sentence of these sets are left out. The sets OnWN and FNWN of STS 2012 to
            2014 are made of WordNet's definitions.
    """

    def __init__(self, wordnet: WordNet, tagger: PartOfSpeechTagger, *, avoid: Fingerprints | None = None) -> None:
        self.wordnet, self.tagger, self.avoid = wordnet, tagger, avoid
        self._of: dict[tuple[str, str], Definition | None] = {}

    def find(self, word: str, label: str) -> Definition | None:
        """Return the definition of a word in lower case; None if it has none."""
        if (word, label) not in self._of:
            self._of[word, label] = self._find(word, label)
        return self._of[word, label]

    def _find(self, word: str, label: str) -> Definition | None:
        analysis = analyse(word, label, self.wordnet)
        if analysis is None:
            return None
        for sense in self.wordnet.senses(analysis.lemma, analysis.pos):
            text = clean_definition(sense.definition)
            parts = split_words(text)
            if len(parts) > 1 and not sense.is_name and not self._is_avoided(sense.definition):
                (labels,) = self.tagger.tag([parts[1::2]])
                return fitted(parts, labels, analysis)
        return None

    def _is_avoided(self, gloss: str) -> bool:
        if self.avoid is None:
            return False
        matched, _ = self.avoid.match([[clean_definition(gloss)], [gloss], [clean_definition(gloss, whole=True)]])
        return bool(matched[0])


def clean_definition(gloss: str, *, whole: bool = False) -> str:
    """Drop remarks in brackets, attributions of quotations and stray punctuation."""
    previous = ""
    while previous != gloss:
        previous, gloss = gloss, _BRACKETS.sub(" ", gloss)
    gloss = re.sub(r"[()\[\]\"]", " ", gloss)
    clauses = [_SPACES.sub(" ", clause).strip(" ,.:`'") for clause in gloss.split(";")]
    clauses = [clause.replace(" ,", ",") for clause in clauses if clause and not clause.startswith("-")]
    return "; ".join(clauses if whole else clauses[:1])


def fitted(parts: list[str], labels: list[str], analysis: Analysis) -> Definition:
    """Inflect a definition like the analyzed word, and separate its article."""
    words = parts[1::2]
    between = parts[0::2]
    article = ""
    if analysis.pos == "n":
        if words[0].lower() in _ARTICLES and len(words) > 1:
            article = words[0].lower()
            words, labels, between = words[1:], labels[1:], ["", *between[2:]]
        elif words[0].lower() in _PERSON and len(words) > 1:
            article, words[0], labels = "a", _PERSON[words[0].lower()], ["NOUN|-", *labels[1:]]
        if analysis.form == "NNS":
            article, words = "", _plural(words, labels, between)
    elif analysis.pos == "v":
        words = _conjugated(words, labels, analysis.form)
    elif analysis.form[-1] in "RS" and analysis.form != "RB":
        between[0] = ("more " if analysis.form.endswith("R") else "most ") + between[0]
    text = "".join(piece for pair in zip(between, [*words, ""], strict=True) for piece in pair)
    return Definition(text, article, analysis.form)


def _plural(words: list[str], labels: list[str], between: list[str]) -> list[str]:
    """Put the head of a noun phrase into the plural; keep the phrase as it is if the head is not clear."""
    # The head is the last of the first nouns, after nothing but adjectives, adverbs and numbers.
    kinds = [label.partition("|")[0] for label in labels]
    head = next((index for index, kind in enumerate(kinds) if kind not in _BEFORE_HEAD), len(words))
    if head == len(words) or kinds[head] != "NOUN":
        return words
    while head + 1 < len(words) and kinds[head + 1] == "NOUN" and between[head + 1] == " ":
        head += 1
    return [*words[:head], inflected(words[head], "NNS") or words[head], *words[head + 1 :]]


def _conjugated(words: list[str], labels: list[str], form: str) -> list[str]:
    """Inflect the verb that heads a definition, its first word or the word after an adverb."""
    adverb = len(words) > 1 and labels[0].startswith("ADV") and not is_verb(words[0])
    if not is_verb(words[adverb]):
        return words
    return [*words[:adverb], inflected(words[adverb], form) or words[adverb], *words[adverb + 1 :]]


class Analysis(NamedTuple):
    """The analysis of a word: its lemma, WordNet's letter for its part of speech, and its tag of the Penn Treebank.

    VBP, the finite base form, is also the form of an imperative.
    """

    lemma: str
    pos: str
    form: str


def analyse(word: str, label: str, wordnet: WordNet) -> Analysis | None:
    """Find the form of a lower-case word and its lemma in WordNet; None if WordNet has none.

    The label is a universal part of speech and the form of a verb: `NOUN|-`, `VERB|Part`.
    """
    upos, _, verb_form = label.partition("|")
    pos = POS_OF.get(upos)
    if pos is None:
        return None
    candidates = [*_tables().getLemma(word, upos, lemmatize_oov=False), word]
    present = [lemma for lemma in dict.fromkeys(candidates) if (lemma, pos) in wordnet]
    if not present:
        return None
    # `lay` to the infinitive is a lemma; as a finite form it is rather one of `lie`, which the table names first.
    lemma = word if verb_form == "Inf" and word in present else present[0]
    return Analysis(lemma, pos, _form(word, lemma, pos, verb_form))


def _form(word: str, lemma: str, pos: str, verb_form: str) -> str:
    if pos == "n":
        return "NN" if word == lemma else "NNS"
    if pos != "v":
        base = "JJ" if pos == "a" else "RB"
        if word == lemma:
            return base
        return base + ("S" if word.endswith("st") or word in {"most", "least"} else "R")
    if word.endswith("ing") and word != lemma:
        return "VBG"
    if word == lemma:
        return {"Part": "VBN", "Fin": "VBP"}.get(verb_form, "VB")
    presents = _tables().getInflection(lemma, "VBZ", inflect_oov=False) or (word,)
    if word.endswith("s") and not verb_form.startswith("Part") and word in presents:
        return "VBZ"
    return "VBN" if verb_form == "Part" else "VBD"


@cache
def inflected(lemma: str, form: str) -> str | None:
    """Return a form (NNS, VBZ, VBD, …) of a lemma; None if the tables do not have it."""
    if form in {"NN", "VB", "JJ", "RB"}:
        return lemma
    if irregular := _FORMS.get((lemma, form)):
        return irregular
    forms = _tables().getInflection(lemma, form, inflect_oov=False)
    return forms[0] if forms else None


@cache
def is_verb(word: str) -> bool:
    """Return whether the tables have a verb with this base form."""
    return "VB" in _tables().getAllInflections(word, "VERB")


def a_or_an(following: str) -> str:
    """Return the indefinite article before a text, by its initial sound as estimated from its letters."""
    word = following.lstrip("'\"“(").lower()
    if word.startswith(_AN) or word.startswith(_AN_ANYWAY):
        return "an"
    if word.startswith(_NOT_AN):
        return "a"
    return "an" if word[:1] in {"a", "e", "i", "o", "u"} or word.startswith(("8", "11 ", "18 ")) else "a"


@cache
def _tables() -> ModuleType:
    import lemminflect

    return lemminflect
