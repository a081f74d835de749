"""The YAML head of a card, which the Hub reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import InputError

CARD = "README.md"


def split_card(card: str, path: str | os.PathLike[str] | None = None) -> tuple[dict[str, Any], str]:
    """Splits a card into the entries of its head, which may be missing, and the text; `path` is for the error."""
    import yaml
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    match = REGEX_YAML_BLOCK.search(card)
    if match is None:
        return {}, card
    try:
        head = yaml.safe_load(match[2])
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 2
        raise InputError(f"the head of the card is not YAML: {error.problem}", path=path, line=line) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that does not exist, lists within lists
        raise InputError(f"the head of the card is not YAML: {error}", path=path) from error
    if head is not None and not isinstance(head, dict):
        raise InputError("the head of the card is not a YAML mapping", path=path, remedy="write `key: value`")
    return head or {}, card[match.end() :]


def read_head(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the head of a folder's README.md; it is empty if there is no card or no head."""
    path = Path(folder) / CARD
    if not path.exists():
        return {}
    try:
        card = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the card: {error}", path=path) from error
    return split_card(card, path)[0]


def texts(value: object) -> list[str]:
    """Turns an entry of a head, one value or a list, into a list of texts."""
    items = value if isinstance(value, list) else [value]
    return [str(item) if isinstance(item, (str, int, float)) else type(item).__name__ for item in items if item]


def class_names(folder: str | os.PathLike[str], column: str, split: str) -> list[str]:
    """Reads from a data folder's card the names of its classes 0, 1, …; empty if the card does not list them."""
    from datasets import ClassLabel
    from datasets.info import DatasetInfosDict

    try:
        configurations = DatasetInfosDict.from_directory(str(folder))
    except Exception as error:  # datasets checks nothing: a damaged head raises whatever the first wrong type does
        raise InputError(f"datasets cannot read the card: {error}", path=Path(folder) / CARD) from error
    # A split of a configuration is called e.g. `mr.train`.
    own = configurations.get(split.rpartition(".")[0]) or next(iter(configurations.values()), None)
    feature = None if own is None or own.features is None else own.features.get(column)
    return list(feature.names) if isinstance(feature, ClassLabel) else []
