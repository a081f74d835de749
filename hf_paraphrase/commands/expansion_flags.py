"""Turns the flags `--expansion…`, which two trainings have, into what replaces words by their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..messages import say

if TYPE_CHECKING:
    from ..studies.expansion.expander import Expander

AUTO = "auto"


def wordnet_folder(arguments: Any) -> str | None:
    """Returns the folder with WordNet's files, None without `--expansion`.

    Raises:
        InputError: If there is none.
    """
    if arguments.expansion is None:
        return None
    from ..studies.expansion.wordnet import find_wordnet

    return str(find_wordnet(None if arguments.expansion == AUTO else arguments.expansion))


def open_expander(arguments: Any, share: float, *, at_least: int = 0) -> Expander | None:
    """Makes the expander, None without `--expansion`.

    Args:
        arguments: The verb's arguments: `expansion`, `expansion_decontaminate` and `seed`.
        share: The share of the words that are replaced.
        at_least: The words of a sentence that are replaced at least, where there are as many with a definition.

    Raises:
        InputError: If WordNet or an evaluation set is missing or damaged.
        UsageError: If the tagger is not installed.
    """
    folder = wordnet_folder(arguments)
    if folder is None:
        return None
    from ..studies.expansion.processes import ExpanderSettings

    if not arguments.expansion_decontaminate:
        say(
            "the definitions are not compared with evaluation sets, of which OnWN and FNWN of STS are made of them: "
            "--expansion-decontaminate keeps them out"
        )
    decontaminate = tuple(arguments.expansion_decontaminate)
    return ExpanderSettings(folder, share, arguments.seed, decontaminate=decontaminate, at_least=at_least).open()
