"""Makes batches of sentences and their expansions while a model is being trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .expander import Expander

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase


class ExpandingCollator:
    """Turns sentences into token ids, of themselves and of their expansions.

    The expansions depend on the sentence, the expander's seed and the epoch alone, so the number of worker processes
    of a `DataLoader` changes nothing.

    Args:
        tokenizer: Any tokenizer of transformers; it pads.
        expander: Expands.
        column: The key of the sentence in an example.
        max_length: Cut sentences to so many tokens; None keeps all.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        expander: Expander,
        *,
        column: str = "text",
        max_length: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.expander = expander
        self.column = column
        self.max_length = max_length

    def __call__(self, examples: Sequence[str | Mapping[str, Any]]) -> dict[str, Tensor]:
        """Makes a batch.

        Args:
            examples: Sentences, or mappings with the sentence and, where the expansions are to change from one epoch
                to the next, the `epoch` (from 0). The epoch is part of an example because worker processes do not
                see what is set on their parent's collator later.

        Returns:
            `input_ids` and `attention_mask` of the sentences (sentences, length), and with `expanded_` before their
            names those of the expansions, row by row (sentences, expanded length); int64.
        """
        sentences = [item if isinstance(item, str) else str(item[self.column]) for item in examples]
        epochs = [0 if isinstance(item, str) else int(item.get("epoch", 0)) for item in examples]
        expanded = list(sentences)
        for epoch in sorted(set(epochs)):
            places = [place for place, found in enumerate(epochs) if found == epoch]
            texts = self.expander.expand([sentences[place] for place in places], epoch)
            for place, text in zip(places, texts, strict=True):
                expanded[place] = text
        batch = {}
        for prefix, texts in (("", sentences), ("expanded_", expanded)):
            encoded = self.tokenizer(
                texts,
                padding=True,
                truncation=self.max_length is not None,
                max_length=self.max_length,
                return_attention_mask=True,
                return_tensors="pt",
            )
            for name in ("input_ids", "attention_mask"):
                batch[prefix + name] = encoded[name]
        return batch
