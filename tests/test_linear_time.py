"""Texts of others that are made to be slow: what the package does with them must grow as they grow.

A pattern that tries every beginning against every end takes 256 times as long for sixteen times the text.
"""

from __future__ import annotations

import time

import pytest

from hf_paraphrase.artefacts import origins, provenance
from hf_paraphrase.data.line_errors import StrictLines
from hf_paraphrase.data.sources import gettext_catalogue, tmx
from hf_paraphrase.errors import InputError
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
    (whole(gettext_catalogue._PO_LINE), lambda n: " " * n + "a"),
    (whole(gettext_catalogue._PO_LINE), lambda n: "msgid" + " " * n + "a"),
    (whole(gettext_catalogue._PO_LINE), lambda n: '"' + "\\a" * n),
    (whole(gettext_catalogue._PO_LINE), lambda n: '"a"' + " " * n + "a"),
    (whole(gettext_catalogue._PO_LINE), lambda n: '"a" ' * n + "a"),
    (every(gettext_catalogue._BYTES), lambda n: "\\1" * n),
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


# ----- what is bounded by its size instead


def test_a_unit_with_very_many_variants_is_refused_instead_of_multiplied(tmp_path):
    def unit(count):
        variants = "".join(
            f'<tuv xml:lang="{lang}"><seg>{lang}{number}</seg></tuv>'
            for lang in ("en", "fr")
            for number in range(count)
        )
        return f"<tu>{variants}</tu>"

    path = tmp_path / "a.tmx"
    path.write_text(f'<tmx version="1.4"><header/><body>{unit(30)}</body></tmx>')
    assert sum(len(numbers) for numbers, _ in tmx.read_tmx(path, "en", "fr", StrictLines())) == 900
    path.write_text(f'<tmx version="1.4"><header/><body>{unit(6000)}</body></tmx>')
    with pytest.raises(InputError, match="6,000 variants in en and 6,000 in fr"):
        list(tmx.read_tmx(path, "en", "fr", StrictLines()))


@pytest.mark.parametrize("line", ['"{}"', "# {}", "#: {}", "#. {}", '#| "{}"'])
def test_messages_and_comments_without_end_are_refused(tmp_path, line):
    path = tmp_path / "fr.po"
    path.write_text('msgid ""\n' + (line.format("a" * 60) + "\n") * 6000 + 'msgstr "b"\n')
    with pytest.raises(InputError, match=r"fr\.po:\d+: a message or comment of more than 262,144 characters"):
        gettext_catalogue._parse(path)


def compiled(count, length):
    """A compiled catalogue whose messages are all the same piece of the file."""
    head = [0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0]
    text = 28 + 16 * count
    table = [length, text] * (2 * count)
    return b"".join(number.to_bytes(4, "little") for number in head + table) + b"a" * length + b"\0"


def test_a_compiled_catalogue_whose_messages_share_their_bytes_is_refused(tmp_path):
    path = tmp_path / "fr.mo"
    path.write_bytes(compiled(1, 4))
    assert len(gettext_catalogue._parse(path)) == 1
    path.write_bytes(compiled(1000, 50_000))
    with pytest.raises(InputError, match="1,000 messages of 100,000,000 in all"):
        gettext_catalogue._parse(path)
    path.write_bytes(compiled(1, 4)[:8] + b"\xff" * 4 + compiled(1, 4)[12:])
    with pytest.raises(InputError, match=r"4,294,967,295 messages"):
        gettext_catalogue._parse(path)
