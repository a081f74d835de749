"""The batch function of `back-translate`: bitext in, n-best paraphrase pairs out (paper 000 §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.same_text import is_blank
from ..data.schema import BACK_TRANSLATED
from .beam_search import Hypothesis
from .loading import load_translation_model
from .search_settings import SearchOptions
from .translator import Translator, is_copy, is_loop

COLUMNS = ["id", "source", "target", "source_lang"]
"""The columns of a bitext that are read."""


@dataclass(frozen=True)
class BackTranslator(BatchFunction):
    """Translates the foreign side of bitext; each translation becomes a pair with the English side.

    The rows of a batch share searches, so another size of batches may change the last digits of a score.

    Attributes:
        model: A translation model, as :func:`.loading.load_translation_model` opens it.
        options: The settings of the search.
        lexical_table: The lexical table from which candidate vocabularies are chosen, if the options want them.
        device: Where to compute; a GPU if there is one and None is given.
        source_lang: The language to translate from, for a model that knows several.
        target_lang: The language to translate into.
        task_prefix: What stands before every source.
    """

    model: str
    options: SearchOptions = SearchOptions()
    lexical_table: str | None = None
    device: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    task_prefix: str | None = None

    @cached_property
    def translator(self) -> Translator:
        """The open model."""
        model, tokenizer = load_translation_model(
            self.model,
            device=self.device,
            source_lang=self.source_lang,
            target_lang=self.target_lang,
            task_prefix=self.task_prefix,
        )
        return Translator(model, tokenizer, self.options, self.lexical_table)

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the pairs, in the order of the rows and their ranks.

        Args:
            table: Rows with `id`, `source`, `target` and `source_lang`.
            progress: Called with the number of rows done since the last call.

        Returns:
            The pairs, and the numbers of `sentences` and `pairs`, of translations that are `copies` of their source
            or `loops`, with as `skipped` the `id` of every row that has no pair and the `reason`.
        """
        return back_translated(self.translator, table, progress)


def back_translated(
    translator: Translator, table: pa.Table, progress: Progress = no_progress
) -> tuple[pa.Table, Report]:
    """Translates rows of a bitext with an open model; see :meth:`BackTranslator.reported`."""
    rows = table.select(COLUMNS).to_pylist()
    references = [row["target"] or "" for row in rows]
    # A row without a reference has no pair, whatever its source.
    sources = [
        "" if is_blank(reference) else row["source"] or "" for row, reference in zip(rows, references, strict=True)
    ]
    language = rows[0]["source_lang"] if rows else None
    outcomes = translator.nbest_lists(sources, language, references=references, progress=progress)
    # Of a model that writes no capitals both sides of a pair have none, or case would distinguish them.
    lower_case = bool(getattr(translator.model.config, "lowercase", False))
    kept: list[tuple[dict[str, Any], Hypothesis, int]] = []
    skipped = []
    for row, reference, outcome in zip(rows, references, outcomes, strict=True):
        if isinstance(outcome, str):
            skipped.append({"id": row["id"], "reason": "empty reference" if is_blank(reference) else outcome})
            continue
        kept += [(row, hypothesis, rank) for rank, hypothesis in enumerate(outcome)]
    pairs = pa.Table.from_pylist(
        [
            {
                **row,
                "sentence1": row["target"].lower() if lower_case else row["target"],
                "sentence2": hypothesis.text,
                "rank": rank,
                "log_prob": hypothesis.log_prob,
                "num_tokens": hypothesis.num_tokens,
            }
            for row, hypothesis, rank in kept
        ],
        schema=BACK_TRANSLATED,
    )
    counts = _oddities([(hypothesis.text, row["source"]) for row, hypothesis, _ in kept])
    return pairs, {"sentences": len(rows), "pairs": pairs.num_rows, **counts, "skipped": skipped}


def _oddities(translations: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Counts translations that are copies of their source, and loops."""
    return {
        "copies": sum(is_copy(text, source) for text, source in translations),
        "loops": sum(is_loop(text) and not is_loop(source) for text, source in translations),
    }
