"""The names of classes, as the card of a data folder has them."""

from __future__ import annotations

from pathlib import Path

from .card_head import read_head


def class_names(folder: str | Path, column: str, split: str) -> list[str]:
    """Reads from a folder's card how its classes 0, 1, … are called; empty if it does not say.

    Raises:
        InputError: If the card is damaged.
    """
    information = read_head(folder).get("dataset_info")
    # A split of a configuration is called e.g. `mr.train`.
    configuration = split.rpartition(".")[0]
    items = [item for item in (information if isinstance(information, list) else [information]) if item]
    named = [item for item in items if isinstance(item, dict) and item.get("config_name") == configuration]
    for item in named or items:
        features = item.get("features") if isinstance(item, dict) else None
        for feature in features if isinstance(features, list) else []:
            kind = feature.get("dtype") if isinstance(feature, dict) and feature.get("name") == column else None
            label = kind.get("class_label") if isinstance(kind, dict) else None
            names = label.get("names") if isinstance(label, dict) else None
            if isinstance(names, dict) and sorted(map(str, names)) == sorted(map(str, range(len(names)))):
                return [str(names[key]) for key in sorted(names, key=lambda key: int(key))]
            if isinstance(names, list):
                return [str(name) for name in names]
    return []
