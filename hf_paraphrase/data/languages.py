"""Language codes: two letters (ISO 639-1) or three (ISO 639-2 and 639-3), with optional BCP 47 subtags."""

from __future__ import annotations

import re

from ..errors import InputError

_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de "
    "dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id "
    "ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu "
    "lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu "
    "rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to "
    "tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
)
_TWO_LETTERS = frozenset(_CODES.split())
_TAG = re.compile(r"(?P<language>[a-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*")


def check_language(code: str, flag: str) -> str:
    """Returns `code` if it is a language code, e.g. `fr`, `fin` or `pt-BR`.

    Args:
        code: What the user gave.
        flag: The flag it was given with, for the message.

    Raises:
        InputError: If it is none.
    """
    match = _TAG.fullmatch(code)
    if match is None or (len(match["language"]) == 2 and match["language"] not in _TWO_LETTERS):
        raise InputError(
            f"{flag}: `{code}` is not a language code", remedy="give an ISO 639 code such as fr, en, cs or fin"
        )
    return code
