"""Language codes: BCP 47 tags whose subtags are in the IANA registry, which includes ISO 639-1, -2, -3 and -5."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

import langcodes

from ..errors import InputError, UsageError

_TAG = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")


def check_language(code: str, flag: str) -> str:
    """Return `code` if it is a language code, e.g. `fr`, `fin` or `pt-BR`; else raise an error that names `flag`."""
    if not _TAG.fullmatch(code) or not langcodes.tag_is_valid(code):
        raise InputError(f"{flag}: `{code}` is not a language code", remedy="give an ISO 639 code such as fr or fin")
    return code


@lru_cache(maxsize=4096)
def language_tag(code: str) -> str | None:
    """Return a tag in standard form: `fr-FR` for `FR_fr`, `fr` for `fra` and `fr.UTF-8`; None for an invalid tag."""
    code = re.split(r"[.@]", code.strip())[0]
    try:
        return langcodes.standardize_tag(code) if langcodes.tag_is_valid(code) else None
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def is_language(tag: str, code: str) -> bool:
    """Return whether text marked `tag` is in a language: `fr-CA` is `fr`, but `fr` is not `fr-CA`."""
    stated, wanted = language_tag(tag), language_tag(code)
    if stated is None or wanted is None:
        return False
    language, *subtags = stated.lower().split("-")
    wanted_language, *wanted_subtags = wanted.lower().split("-")
    return language == wanted_language and set(wanted_subtags) <= set(subtags)


@cache
def open_language_identifier() -> Any:
    """Open the model of py3langid, which classifies and ranks languages with probabilities."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        remedy = "pip install 'hf-paraphrase[language]'"
        raise UsageError("language identification needs the package py3langid", remedy=remedy) from error
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def primary_language(code: str) -> str:
    """Return the language of a tag alone, in its shortest code: `pt` for `pt-BR`, `fr` for `fra`."""
    return (language_tag(code) or code).split("-")[0].lower()
