"""The batch function of `back-translate`: bitext in, n-best paraphrase pairs out (paper 000 §3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from transformers import PreTrainedTokenizerBase

from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..errors import InputError
from .ensemble import load_translation_models
from .lexical_table import LexicalTable, recorded_units
from .loading import unit_fingerprint
from .table_translator import SearchOptions, TableTranslator


@dataclass(frozen=True)
class BackTranslator(BatchFunction):
    """Translates the foreign side of bitext; each translation becomes a pair with the English side.

    The rows of a batch share searches, so another size of batches may change the last digits of a score.

    Attributes:
        models: Folders of translation models; several with one vocabulary translate together.
        options: The settings of the search.
        lexical_table: The lexical table from which candidate vocabularies are chosen, if the options want them.
        device: Where to compute; a GPU if there is one and None is given.
    """

    models: tuple[str, ...]
    options: SearchOptions = SearchOptions()
    lexical_table: str | None = None
    device: str | None = None

    @cached_property
    def translator(self) -> TableTranslator:
        """The open model."""
        table = None if self.lexical_table is None else LexicalTable.load(self.lexical_table)
        model, tokenizer = load_translation_models(self.models, device=self.device)
        if table is not None:
            self._check_table(table, model.config, tokenizer)
        return TableTranslator(model, tokenizer, self.options, table)

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the pairs, in the order of the rows and their ranks.

        Args:
            table: Rows with `id`, `source`, `target` and `source_lang`.
            progress: Called with the number of rows done since the last call.

        Returns:
            The pairs, and the numbers of `sentences` and `pairs`, with as `skipped` the `id` of every row that has no
            pair and the `reason`.
        """
        pairs, skipped = self.translator.translate_table(table, progress)
        return pairs, {"sentences": table.num_rows, "pairs": pairs.num_rows, "skipped": skipped}

    def _check_table(self, table: LexicalTable, config: Any, tokenizer: PreTrainedTokenizerBase) -> None:
        assert self.lexical_table is not None
        remedy = "make one for this model with the verb lexical-table"
        sizes = len(table.offsets) - 1, len(table.target_counts)
        if sizes != (config.source_vocab_size, config.vocab_size):
            raise InputError(
                f"the lexical table is about {sizes[0]} source and {sizes[1]} target units, the model about "
                f"{config.source_vocab_size} and {config.vocab_size}",
                path=self.lexical_table,
                remedy=remedy,
            )
        if recorded_units(self.lexical_table) not in {None, unit_fingerprint(tokenizer)}:
            raise InputError(
                f"the lexical table is about the units of another model than {self.models[0]}",
                path=self.lexical_table,
                remedy=remedy,
            )
