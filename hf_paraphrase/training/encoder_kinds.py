"""The kinds of sentence encoders that can be trained, one line each, and how an untrained one is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..models.registry import config_class, model_class

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

_RECURRENT = ("cell", "peepholes", "bidirectional", "variational_dropout")
HIDDEN_SIZE = 300
"""Components of word vectors and embeddings where nothing else says how many (papers 000 and 001)."""


@dataclass(frozen=True)
class EncoderKind:
    """A kind of sentence encoder.

    Attributes:
        model_type: The model type in :mod:`..models.registry`.
        epochs: How many passes over the pairs it takes in paper 000, section 5.2, or for others a like effort.
        options: The settings of its configuration that not every encoder has.
    """

    model_type: str
    epochs: float
    options: tuple[str, ...] = ()


ENCODER_KINDS = {
    "avg": EncoderKind("avg", 20.0),
    "gran": EncoderKind("gran", 3.0, _RECURRENT),
}
"""The kinds by the names that the command line knows."""


def new_encoder(
    kind: str, tokenizer: PreTrainedTokenizerFast, *, hidden_size: int | None, seed: int, **settings: Any
) -> PreTrainedModel:
    """Makes an encoder with random weights.

    Args:
        kind: One of :data:`ENCODER_KINDS`.
        tokenizer: Its tokenizer, which gives the size of the vocabulary and the special tokens.
        hidden_size: Components of word vectors and embeddings; None for 300.
        seed: Seed of the weights.
        **settings: Settings of the configuration; those that are None keep the configuration's own default.

    Raises:
        ValueError: If the configuration does not take a value.
    """
    from transformers import set_seed

    found = ENCODER_KINDS[kind]
    config = config_class(found.model_type)(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN_SIZE if hidden_size is None else hidden_size,
        pad_token_id=tokenizer.pad_token_id,
        unk_token_id=tokenizer.unk_token_id,
        **{name: value for name, value in settings.items() if value is not None},
    )
    set_seed(seed)
    return model_class(found.model_type)(config)
