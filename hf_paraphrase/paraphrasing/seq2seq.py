"""Paraphrases by one sequence-to-sequence model that was trained to paraphrase, such as a T5 or BART model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..artefacts.hub_models import model_name
from ..data.batch_function import Progress, no_progress
from ..errors import UsageError
from ..translation.bitext import are_different
from ..translation.translator import Translator
from .generators import Candidate, Generator


class Seq2SeqParaphraser(Generator):
    """A model that reads a sentence and writes a paraphrase of it."""

    def __init__(self, translator: Translator, name: str, language: str | None = None) -> None:
        config: Any = translator.model.config
        if are_different(config.source_lang, config.target_lang):
            problem = f"the model translates {config.source_lang}→{config.target_lang}, so it is no paraphraser"
            raise UsageError(
                problem, path=name, remedy="use --generator round-trip, with a model that translates back"
            )
        self.translator, self.name = translator, name
        self.language = config.source_lang or language

    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Searches for paraphrases, or samples them."""
        nbest_lists = self.translator.nbest_lists(sentences, self.language, progress=progress)
        return [
            nbest
            if isinstance(nbest, str)
            else [Candidate(item.text, item.log_prob, item.num_tokens) for item in nbest[:num]]
            for nbest in nbest_lists
        ]

    def describe(self) -> dict[str, Any]:
        """Returns the name of the model and its prefix."""
        prefix = getattr(self.translator.model.config, "prefix", None)
        return {"model": model_name(self.name), "prefix": prefix}
