"""What `--expansion` adds to `train-sdae`: sentences with definitions in the place of some words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..messages import say

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from ..studies.expansion.expander import Expander
    from ..studies.sdae.sentences import SdaeSentences


@dataclass(frozen=True)
class UnknownWords:
    """How many words of the dev sentences the vocabulary lacks.

    Attributes:
        plain: The share in the sentences as they are.
        expanded: The share in their expansions; None without expansion.
    """

    plain: float
    expanded: float | None


def look_at_dev(
    dev: SdaeSentences, tokenizer: PreTrainedTokenizerFast, expander: Expander | None, source: str
) -> UnknownWords:
    """Expands the dev sentences as their loss will be measured, and looks at what comes out, before the long work.

    Args:
        dev: The dev sentences, with their text where there is an expander.
        tokenizer: Their tokenizer.
        expander: What expands them; None without expansion.
        source: The first of the texts, for a message.

    Raises:
        InputError: If no word of them can be expanded.
    """
    from ..studies.sdae.batches import DEV_EPOCH
    from ..tokenization.token_lookup import ids_of, lookup_for

    unknown = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
    plain = float((np.concatenate([dev.ids(number) for number in range(len(dev))]) == unknown).mean())
    if expander is None:
        return UnknownWords(plain, None)
    found = expander.expand_counted([dev.text(number) for number in range(len(dev))], DEV_EPOCH)
    foreign = int(found.foreign.sum())
    alone = f"{foreign:,} of the {len(dev):,} dev sentences are left alone"
    left_alone = f"{alone} because most of their words are no English words"
    if not found.expandable.any():
        raise InputError(
            "no word of the dev sentences can be expanded" + (f": {left_alone}" if foreign else ""),
            path=source,
            remedy="expansion is for English; leave it out",
        )
    if 2 * foreign > len(dev):
        say(f"{left_alone}: is this text in another language?")
    backend = tokenizer.backend_tokenizer
    ids = ids_of(backend, found.texts, lookup_for(backend)).ids
    return UnknownWords(plain, float((ids == unknown).mean()) if len(ids) else 0.0)
