"""What of a text may be shown: control characters are escaped, and credentials left out.

File names, messages of libraries and sentences may be anyone's. An escape sequence among them rewrites what a terminal
shows, or what it is called; a carriage return or a bidirectional override makes a line read as another one. All that
is shown goes through here: errors, messages, tables and results; all that is recorded loses its credentials here.
Copies of streams (:mod:`.streams`) are shown and recorded under the names that the user gave.
"""

from __future__ import annotations

import os
import re
import tempfile

STREAMS = "hf_paraphrase_stream_"
"""What the names of the temporary folders begin with in which copies of streams lie."""
HIDDEN = "<token>"
"""What stands where a token was."""
# Tokens of the Hub: access tokens, OAuth tokens, organisation tokens.
_TOKEN = re.compile(r"(?:hf_[A-Za-z0-9]{20,}|(?:hf_oauth|hf_jwt|api_org)_[A-Za-z0-9_.-]{10,})")
# A path that was made of an address has one slash less.
_USER_OF_ADDRESS = re.compile(r"(?<=://)[^\s/?#'\"<>]*@|(?<=[a-z0-9+.-]{2}:/)[^\s/?#'\"<>]*@(?!/)")
_SECRET_OF_ADDRESS = re.compile(
    r"(?<=[?&;])((?:[\w-]*[_-])?(?:token|signature|sig|secret|password|passwd|pwd|api-?key|key|auth|credentials?))"
    r"=[^\s&;#'\"<>]*",
    re.ASCII | re.IGNORECASE,
)
# Unicode's control characters but tabs and line feeds, its line separators, what turns the direction of writing
# until it is told to stop, and halves of characters, which no encoding can write.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Escapes what a terminal would obey: `\u001b` for an escape character; line feeds and tabs stay.

    The escapes are those of JSON, so that a line of JSON reads back as the same.
    """
    return _CONTROL.sub(lambda match: _escape(match[0]), text)


def encodable(text: str, encoding: str) -> str:
    """Escapes what an encoding does not have, in the same way."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(letter if _has(encoding, letter) else _escape(letter) for letter in text)
    return text


def without_secrets(text: str) -> str:
    """Takes out what looks like a token of the Hub, and of addresses the users, passwords, keys and signatures."""
    return _TOKEN.sub(HIDDEN, _SECRET_OF_ADDRESS.sub(r"\1=***", _USER_OF_ADDRESS.sub("", text)))


def as_given(text: str) -> str:
    """Puts the names that the user gave to streams in place of those of their copies."""
    if STREAMS not in text:
        return text
    place = tempfile.gettempdir()
    places = "|".join(re.escape(name) for name in dict.fromkeys((place, os.path.realpath(place))))
    return re.sub(rf"(?:{places})/{STREAMS}\w+/(?:relative/|absolute(?=/))", "", text)


def shown_line(text: str, longest: int | None = None) -> str:
    """Puts a text that may be shown on one line, cut where it is too long.

    Args:
        text: Any text.
        longest: Characters of the result at most; None for no limit.
    """
    line = printable(without_secrets(as_given(" ".join(text.split()))))
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def _has(encoding: str, letter: str) -> bool:
    try:
        letter.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
