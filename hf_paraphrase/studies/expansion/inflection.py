"""English inflection: which form of which lemma a word is, and the form of another lemma that takes its place.

Forms come from the tables of `lemminflect`, which are read as text; its models for words that are not in the tables,
which are pickles, are never opened.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import NamedTuple

from ...errors import UsageError
from .wordnet import WordNet

POS_OF = {"NOUN": "n", "VERB": "v", "ADJ": "a", "ADV": "r"}
"""The universal parts of speech that have definitions, and WordNet's letters for them."""
# Where the table's first form is not the usual one.
_FORMS = {("person", "NNS"): "people", ("be", "VBD"): "was", ("be", "VBP"): "are"}
_AN = ("hour", "honest", "honor", "honour", "heir")
_NOT_AN = ("uni", "use", "usu", "usa", "eu", "ewe", "one", "once", "ubiq", "uten", "utili", "uto", "uro", "urani")
_AN_ANYWAY = ("unin", "unim", "unid", "unil")


class Analysis(NamedTuple):
    """What a word is a form of.

    Attributes:
        pos: WordNet's letter for its part of speech.
        form: The tag of the Penn Treebank for the form: NN or NNS, VB, VBP, VBZ, VBD, VBG or VBN, JJ, JJR or JJS, RB,
            RBR or RBS. VBP, the finite base form, is also that of an imperative.
    """

    lemma: str
    pos: str
    form: str


def analyse(word: str, label: str, wordnet: WordNet) -> Analysis | None:
    """Finds the lemma of a lower-case word that has definitions, and its form; None if there is none.

    The label is a universal part of speech and of verbs the form: `NOUN|-`, `VERB|Part`.
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
    if word.endswith("s") and not verb_form.startswith("Part") and word in _all(lemma, "VBZ", word):
        return "VBZ"
    return "VBN" if verb_form == "Part" else "VBD"


def _all(lemma: str, form: str, regular: str) -> tuple[str, ...]:
    return _tables().getInflection(lemma, form, inflect_oov=False) or (regular,)


@cache
def inflected(lemma: str, form: str) -> str | None:
    """Returns a form (NNS, VBZ, VBD and the like) of a lemma, None if the tables do not have it."""
    if form in {"NN", "VB", "JJ", "RB"}:
        return lemma
    if found := _FORMS.get((lemma, form)):
        return found
    forms = _tables().getInflection(lemma, form, inflect_oov=False)
    return forms[0] if forms else None


@cache
def is_verb(word: str) -> bool:
    """Returns whether the tables have a verb with this base form."""
    return "VB" in _tables().getAllInflections(word, "VERB")


def a_or_an(following: str) -> str:
    """Returns the indefinite article before a text, by the sound with which it begins as far as letters show it."""
    word = following.lstrip("'\"“(").lower()
    if word.startswith(_AN) or word.startswith(_AN_ANYWAY):
        return "an"
    if word.startswith(_NOT_AN):
        return "a"
    return "an" if word[:1] in {"a", "e", "i", "o", "u"} or word.startswith(("8", "11 ", "18 ")) else "a"


@cache
def _tables() -> ModuleType:
    try:
        import lemminflect
    except ImportError as error:
        raise UsageError(
            "the tables of inflected forms are not installed", remedy="pip install hf-paraphrase[expansion]"
        ) from error
    return lemminflect
