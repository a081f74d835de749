"""Checks that a translation model is given sentences of the language that it translates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..data.languages import language_tag
from ..errors import InputError


def check_source_language(folders: Sequence[str], model: Any, bitext: str, language: str | None) -> None:
    """Refuses bitext whose source side is in another language than a model's, where both are known.

    Variants of a language, such as `fr` and `fr-CA`, are one.

    Args:
        folders: The folders of the models.
        model: The model, or their ensemble in the same order.
        bitext: The folder of the bitext, for the message.
        language: What the bitext says of its source side.

    Raises:
        InputError: If the languages differ.
    """
    for folder, member in zip(folders, getattr(model, "members", [model]), strict=True):
        own = member.config.source_lang
        if len({_without_variant(code) for code in (own, language)} - {None}) == 2:
            raise InputError(
                f"the source side is {language}, but the model {folder} translates {own}",
                path=bitext,
                remedy="give a model and bitext of one language",
            )


def _without_variant(code: str | None) -> str | None:
    if not code or code == "und":
        return None
    return (language_tag(code) or code).split("-")[0].lower()
