"""The base classes of our configurations; saved with each model."""

from __future__ import annotations

import importlib
import sys
from typing import Any, ClassVar

from transformers import AutoConfig, PreTrainedConfig

_PACKAGE = "hf_paraphrase.models"
"""The installed package; a copy saved with a model registers nothing."""
_DROPOUTS = ("dropout", "word_dropout", "variational_dropout")


class ModelConfig(PreTrainedConfig):
    """Fields and checks that our configurations share.

    Args:
        pad_token_id: The id of padding, which never counts.
        unk_token_id: The id of unknown words. They share a trained vector and count like other words.
        initializer_range: The standard deviation of the random initial word vectors.
        dropout: The probability of dropping a single component of a vector in training.
        word_dropout: The probability of dropping the whole vector of a word in training. Means still divide by the
            number of all words. At most one kind of dropout may be above 0.
    """

    choices: ClassVar[dict[str, tuple[str, ...]]] = {}
    """The allowed values of each field that is a choice."""
    # As `register_for_auto_class` sets it: the code is saved with the weights.
    _auto_class = "AutoConfig"

    pad_token_id: int | None = 0
    initializer_range: float = 0.01
    id2label: dict[int, str] | None = None
    label2id: dict[str, int] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register the configuration with `AutoConfig`."""
        super().__init_subclass__(**kwargs)
        if cls.model_type and cls.__module__.rpartition(".")[0] == _PACKAGE:
            AutoConfig.register(cls.model_type, cls, exist_ok=True)

    def __post_init__(self, **kwargs: Any) -> None:
        """Check the fields, and register the model where the Auto classes of models are imported."""
        is_of_package = type(self).__module__.rpartition(".")[0] == _PACKAGE
        if is_of_package and "transformers.models.auto.modeling_auto" in sys.modules:
            # An import statement would make the registry travel.
            importlib.import_module(f"{_PACKAGE}.registry").register_type(self.model_type)
        for name, allowed in self.choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        dropouts = {name: getattr(self, name) for name in _DROPOUTS if hasattr(self, name)}
        for name, probability in dropouts.items():
            if not 0.0 <= probability < 1.0:
                raise ValueError(f"{name} must be at least 0 and below 1, not {probability}")
        if sum(probability > 0 for probability in dropouts.values()) > 1:
            raise ValueError(f"{', '.join(dropouts)} exclude each other: set all but one of them to 0")
        if getattr(self, "skip_unknown", False) and self.unk_token_id is None:
            raise ValueError("skip_unknown needs unk_token_id, the id that it skips")
        super().__post_init__(**kwargs)
        if self.label2id is None and self.id2label is not None:
            self.label2id = {label: number for number, label in self.id2label.items()}


class RecurrentLayersConfig(ModelConfig):
    """Configuration of word vectors and of the recurrent layers over them.

    Args:
        vocab_size: The number of word vectors.
        hidden_size: The dimension of the sentence embedding.
        cell: `lstm` or `gru` (Wieting and Gimpel 2017).
        peepholes: Whether the gates of the LSTM read its cell through diagonal weights. None means True for an LSTM,
            as in the reference code of Wieting et al. (2017).
        output_gate: Whether the LSTM has an output gate. Without one, its state is tanh of its cell.
        candidate_activation: The activation of the GRU's candidate state, `leaky_relu` or `tanh`.
        negative_slope: The slope of the leaky ReLU below zero. The default is TensorFlow's; the paper names none.
        bidirectional: Whether a second network reads each sentence from its end.
        direction_merge: How the states of both networks are merged, `concat` or `sum`.
        skip_unknown: Whether unknown words are skipped like padding, except in sentences of unknown words only.
        variational_dropout: The probability of dropping a component of the word vectors and of the recurrent state in
            training, with one mask for all steps of a sentence (Gal and Ghahramani 2016).
        initializer_range: The standard deviation of the random initial word vectors (`lstm`), or the bound of their
            uniform distribution (`gru`).
    """

    choices: ClassVar[dict[str, tuple[str, ...]]] = {
        "cell": ("lstm", "gru"),
        "candidate_activation": ("leaky_relu", "tanh"),
        "direction_merge": ("concat", "sum"),
    }

    vocab_size: int = 30_000
    hidden_size: int = 300
    cell: str = "lstm"
    peepholes: bool | None = None
    output_gate: bool = True
    candidate_activation: str = "leaky_relu"
    negative_slope: float = 0.2
    bidirectional: bool = False
    direction_merge: str = "concat"
    unk_token_id: int | None = 1
    skip_unknown: bool = False
    dropout: float = 0.0
    word_dropout: float = 0.0
    variational_dropout: float = 0.0

    @property
    def initial_distribution(self) -> str:
        """The distribution of the random initial word vectors."""
        return "uniform" if self.cell == "gru" else "normal"

    def __post_init__(self, **kwargs: Any) -> None:
        """Fill in `peepholes` and check that the fields fit together."""
        if self.peepholes is None:
            self.peepholes = self.cell == "lstm"
        if self.cell == "gru" and (self.peepholes or not self.output_gate):
            raise ValueError("peepholes and output_gate are for cell='lstm': a GRU has neither")
        super().__post_init__(**kwargs)
