"""The kinds of sentence encoders that can be trained, one line each, and how an untrained one is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..models.registry import config_class, model_class

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from .encoder_vocabulary import EncoderVocabulary

_AVERAGE = ("skip_unknown", "initial_distribution")
_RECURRENT = (
    "cell",
    "peepholes",
    "candidate_activation",
    "negative_slope",
    "bidirectional",
    "direction_merge",
    "variational_dropout",
    "skip_unknown",
)
HIDDEN_SIZE = 300
"""Components of word vectors and embeddings where nothing else says how many (papers 000 and 001)."""


@dataclass(frozen=True)
class EncoderKind:
    """A kind of sentence encoder.

    Attributes:
        model_type: The model type in :mod:`..models.registry`.
        epochs: How many passes over the pairs it takes in paper 000, section 5.2, or for others a like effort.
        options: The settings of its configuration that not every encoder has.
        words: Whether words, or the tokens of a given tokenizer, are among its tokens.
        trigrams: Whether character trigrams are.
    """

    model_type: str
    epochs: float
    options: tuple[str, ...] = ()
    words: bool = True
    trigrams: bool = False


ENCODER_KINDS = {
    "avg": EncoderKind("avg", 20.0, _AVERAGE),
    "gran": EncoderKind("gran", 3.0, _RECURRENT),
    "recurrent": EncoderKind("recurrent", 3.0, (*_RECURRENT, "pooling", "output_gate", "embedding_size")),
    "trigram": EncoderKind("avg", 20.0, _AVERAGE, words=False, trigrams=True),
    "word-trigram": EncoderKind("concatenation", 20.0, trigrams=True),
}
"""The kinds by the names that the command line knows."""


def new_encoder(
    kind: str,
    vocabulary: EncoderVocabulary,
    *,
    hidden_size: int | None,
    embedding_size: int | None,
    seed: int,
    **settings: Any,
) -> PreTrainedModel:
    """Makes an encoder with random weights.

    Args:
        kind: One of :data:`ENCODER_KINDS`.
        vocabulary: Its tokens.
        hidden_size: Components of the sentence embedding (of each part, in a concatenation); None for those of the
            word vectors.
        embedding_size: Components of the word vectors; None for those of the sentence embedding, and 300 if neither is
            given.
        seed: Seed of the weights.
        **settings: Settings of the configuration; those that are None keep the configuration's own default.

    Raises:
        ValueError: If the configuration does not take a value, or the two sizes differ where they cannot.
    """
    from transformers import set_seed

    found = ENCODER_KINDS[kind]
    tokenizer = vocabulary.tokenizer
    hidden_size = hidden_size or embedding_size or HIDDEN_SIZE
    if "embedding_size" in found.options:
        settings["embedding_size"] = embedding_size
    elif embedding_size not in (None, hidden_size):
        raise ValueError(f"word vectors of {embedding_size} components cannot give embeddings of {hidden_size}")
    if found.model_type == "concatenation":
        settings |= {"vocab_sizes": vocabulary.sizes, "part_size": hidden_size}
    else:
        settings |= {"vocab_size": len(tokenizer), "hidden_size": hidden_size, "unk_token_id": tokenizer.unk_token_id}
    config = config_class(found.model_type)(
        pad_token_id=tokenizer.pad_token_id,
        **{name: value for name, value in settings.items() if value is not None or name == "unk_token_id"},
    )
    set_seed(seed)
    return model_class(found.model_type)(config)
