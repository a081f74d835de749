"""Opens what replaces words by their definitions, from the settings `expansion…` that two trainings have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...messages import log

if TYPE_CHECKING:
    from .expander import Expander

AUTO = "auto"


def wordnet_folder(settings: Any) -> str | None:
    """Returns the folder with WordNet's files, None without `--expansion`."""
    if settings.expansion is None:
        return None
    from .wordnet import find_wordnet

    return str(find_wordnet(None if settings.expansion == AUTO else settings.expansion))


def open_expander(settings: Any, share: float, *, at_least: int = 0) -> Expander | None:
    """Makes the expander, None without `--expansion`."""
    folder = wordnet_folder(settings)
    if folder is None:
        return None
    from .processes import ExpanderSettings

    if not settings.expansion_decontaminate:
        log(
            "the definitions are not compared with evaluation sets, of which OnWN and FNWN of STS are made of them: "
            "--expansion-decontaminate keeps them out"
        )
    decontaminate = tuple(settings.expansion_decontaminate)
    return ExpanderSettings(folder, share, settings.seed, decontaminate=decontaminate, at_least=at_least).open()
