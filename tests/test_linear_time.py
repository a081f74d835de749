"""Texts of others that are made to be slow: what the package does with them must grow as they grow.

A pattern that tries every beginning against every end takes 256 times as long for sixteen times the text.
"""

from __future__ import annotations

import time

import pytest

from hf_paraphrase.artefacts import origins, provenance
from hf_paraphrase.data.sources import gettext_catalogue, tmx
from hf_paraphrase.filtering import tokens as filtering_tokens
from hf_paraphrase.filtering.language_model import arpa
from hf_paraphrase.messages import printable, without_secrets
from hf_paraphrase.studies.expansion import definitions, wordnet, words
from hf_paraphrase.training import word_vectors

MEASURABLE = 0.001
FACTOR, MOST = 16, 64
LONGEST = 1 << 17


def processor_time(function, text, enough=0.0, tries=3):
    """Measures the least processor time of some tries, or one that is below `enough`."""
    least = float("inf")
    for _ in range(tries):
        before = time.process_time()
        function(text)
        least = min(least, time.process_time() - before)
        if least < enough:
            break
    return least


def growth(function, make, tries=3):
    """Computes how much longer sixteen times a text takes; 1 where no text of this kind takes a measurable time."""
    size = 256
    while (once := processor_time(function, make(size))) < MEASURABLE:
        if size >= LONGEST:
            return 1
        size *= 2
    return processor_time(function, make(FACTOR * size), MOST * once, tries) / once


def every(pattern):
    return lambda text: [found.end() for found in pattern.finditer(text)]


def whole(pattern):
    return pattern.fullmatch


CASES = [
    # Records, addresses, messages.
    (provenance._ELSEWHERE.fullmatch, lambda n: "./" * n),
    (provenance._ELSEWHERE.fullmatch, lambda n: "a" * n + "=/" + "../" * n + "\n"),
    (every(origins._URL), lambda n: "https://" * n),
    (every(origins._HUB_DATASET), lambda n: "https://huggingface.co/datasets/" * n),
    (without_secrets, lambda n: "://" + "a@" * n),
    (without_secrets, lambda n: "?" + "a_" * n),
    (without_secrets, lambda n: "hf_jwt_" * n),
    (printable, lambda n: "\x1b[" * n),
    # Translation memories and catalogues.
    (tmx.single_line, lambda n: "a" + " " * n + "b"),
    (tmx.single_line, lambda n: "\n" + " " * n + "b"),
    (tmx.single_line, lambda n: "a \n" * n + " " * n + "b"),
    (every(tmx._REFERENCE), lambda n: "&a" * n),
    (every(gettext_catalogue._PLACEHOLDER), lambda n: "%(" * n),
    (every(gettext_catalogue._PLACEHOLDER), lambda n: "${" * n),
    (every(gettext_catalogue._PLACEHOLDER), lambda n: "<a" * n),
    (every(gettext_catalogue._PLACEHOLDER), lambda n: "%" + "-1" * n),
    (every(gettext_catalogue._RULE), lambda n: "nplurals" + " " * n),
    (every(gettext_catalogue._RULE), lambda n: "nplurals=" + "1" * n),
    # Word vectors, counts, language models, tables of words.
    (whole(word_vectors._NUMBER), lambda n: "1" * n + "x"),
    (whole(word_vectors._NUMBER), lambda n: "1." + "1" * n + "x"),
    (whole(word_vectors._FRACTION), lambda n: "1" * n + "x"),
    (whole(word_vectors._COUNT_LINE), lambda n: " " * n + "x"),
    (whole(word_vectors._COUNT_LINE), lambda n: "x" + " " * n + "y"),
    (whole(word_vectors._COUNT_LINE), lambda n: "x 1" + "1" * n + "y"),
    (whole(arpa._COUNT), lambda n: "ngram" + " " * n + "x"),
    (whole(arpa._COUNT), lambda n: "ngram 1" + " " * n + "x"),
    (every(filtering_tokens._TOKEN), lambda n: "a'" * n),
    (every(words._WORD), lambda n: "a'" * n),
    (every(words._WORD), lambda n: "a-" * n),
    (every(words._NEW_SENTENCE), lambda n: "." + "'" * n),
    (every(words._NEW_SENTENCE), lambda n: "(" + " " * n + "a"),
    (every(words._NEW_SENTENCE), lambda n: ".)" * n),
    (every(definitions._BRACKETS), lambda n: "([" * n),
    (every(wordnet._EXAMPLE), lambda n: '"a' * n),
]


@pytest.mark.parametrize(("function", "make"), CASES)
def test_the_time_for_text_that_is_made_to_be_slow_grows_as_the_text(function, make):
    assert growth(function, make) < MOST


def test_the_measure_of_growth_knows_a_slow_pattern():
    import re

    assert growth(re.compile(r"\s*[\t\n\r]\s*").search, lambda n: " " * n, tries=1) > MOST
