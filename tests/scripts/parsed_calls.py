"""Where the scripts are, and what their calls of verbs mean."""

from __future__ import annotations

from pathlib import Path

from hf_paraphrase.commands.parser import parse
from hf_paraphrase.commands.verbs import recipe_and_flags

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def parsed(words):
    """Reads the words of a call as the command would."""
    name, recipe, flags = recipe_and_flags(words)
    return parse(recipe.settings, name, flags)
