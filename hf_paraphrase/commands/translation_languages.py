"""Checks that a translation model is given bitext of the languages between which it translates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..data.languages import language_tag
from ..data.parquet import iterate_batches, read_schema
from ..errors import InputError

_SIDES = {"source": "translates", "target": "translates into"}


def check_languages(folders: Sequence[str], model: Any, bitext: str, split: str) -> None:
    """Refuses bitext with a side in another language than a model's, where both are known.

    Variants of a language, such as `fr` and `fr-CA`, are one.

    Args:
        folders: The folders of the models.
        model: The model, or their ensemble in the same order.
        bitext: The folder of the bitext; its first row speaks for all. Without `source_lang` or `target_lang`, that
            side is not known.
        split: Its split.

    Raises:
        InputError: If the languages differ.
    """
    present = [name for side in _SIDES if (name := f"{side}_lang") in read_schema(bitext, split).names]
    rows = next(iter(iterate_batches(bitext, split, present, batch_size=1)), None) if present else None
    if rows is None or not rows.num_rows:
        return
    languages = rows.slice(0, 1).to_pylist()[0]
    for folder, member in zip(folders, getattr(model, "members", [model]), strict=True):
        for name, language in languages.items():
            own, side = getattr(member.config, name, None), name.removesuffix("_lang")
            if len({_without_variant(code) for code in (own, language)} - {None}) == 2:
                raise InputError(
                    f"the {side} side is {language}, but the model {folder} {_SIDES[side]} {own}",
                    path=bitext,
                    remedy="give a model and bitext of the same two languages",
                )


def _without_variant(code: str | None) -> str | None:
    if not code or code == "und":
        return None
    return (language_tag(code) or code).split("-")[0].lower()
