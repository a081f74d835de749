"""`back-translate`: the foreign side of a bitext into n-best English paraphrase pairs."""

from __future__ import annotations

from collections.abc import Sequence

from ..translation.back_translation import BackTranslationSettings, back_translate
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb; under `accelerate launch` the processes share the shards."""
    back_translate.run(parse(BackTranslationSettings, "back-translate", argv))
